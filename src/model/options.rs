//! Section `model` of the settings.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{chain::Entry, price::Prices};
use crate::base::Secret;

/// Which models are asked, and how.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct ModelOptions {
    /// Models as `adapter::name`, the first one first, the others when it fails. With a base URL of its own an entry reads
    /// `adapter::name@URL`, and `adapter::name@URL#VARIABLE` when its key is in another variable than the provider's usual one.
    pub chain: Vec<String>,
    /// Base URL of the entries that name none, in place of the provider's own.
    pub url: Option<String>,
    /// Key of the entries that name no variable. Unset: from the providers' usual variables, or a file that `VARIABLE_FILE` names.
    #[serde(skip_serializing)]
    pub key: Option<Secret>,
    /// Whether answers are read while they are written. Off for servers that cannot do that.
    pub stream: bool,
    /// How long one call may take.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// How long a call may be silent: before its first word and between any two. Counts while streaming only.
    #[serde(with = "humantime_serde")]
    pub idle_timeout: Duration,
    /// How freely models choose words. Unset: as the provider does; some models accept no other.
    pub temperature: Option<f64>,
    /// The most tokens of an answer.
    pub max_output_tokens: u32,
    /// The most tokens of a prompt and its answer together. What is larger is divided, or not asked.
    pub context_tokens: u64,
    /// The waits before a failed call is tried again; then the next model is asked. Up to half of each is added at random.
    #[serde(with = "crate::base::durations")]
    pub retries: Vec<Duration>,
    /// The longest that is waited for a limit, of the provider's or of these settings, before the next model is asked.
    #[serde(with = "humantime_serde")]
    pub max_wait: Duration,
    /// Calls to one provider at a time, of all processes that share the store.
    pub concurrency: usize,
    /// Calls to one provider a minute, of all processes that share the store; 0 for no limit.
    pub requests_per_minute: u32,
    /// Tokens for one provider a minute, estimated, of all processes that share the store; 0 for no limit.
    pub tokens_per_minute: u64,
    /// How long an answer about the same content is used again, in later reviews as well; `0s` for never.
    #[serde(with = "humantime_serde")]
    pub memo: Duration,
    /// About a review's change of at most so many lines only `logic` and `security` ask, unless it touches a path where a defect
    /// opens a door; 0 for no such change.
    pub small_change: u64,
    /// Of a review's change of more lines than these models are shown no tests and no prose; 0 for no such change.
    pub large_change: u64,
    /// What one run may cost, in the unit of the prices; 0 for no bound.
    pub run_budget: f64,
    /// What the runs of one repository may cost in a day; 0 for no bound.
    pub repository_budget: f64,
    /// What runs about changes of people who have no part in their repository may cost in a day; 0 for no bound.
    pub outsider_budget: f64,
    /// What all runs of one store may cost in a day; 0 for no bound.
    pub day_budget: f64,
    /// Prices of a million tokens: `adapter::name = INPUT / OUTPUT / CACHED`.
    pub prices: Vec<String>,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            chain: Vec::new(),
            url: None,
            key: None,
            stream: true,
            timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(30),
            temperature: None,
            max_output_tokens: 8_000,
            context_tokens: 64_000,
            retries: [1, 2, 4].map(Duration::from_secs).to_vec(),
            max_wait: Duration::from_secs(60),
            concurrency: 8,
            requests_per_minute: 0,
            tokens_per_minute: 0,
            memo: Duration::from_secs(30 * 24 * 3600),
            small_change: 10,
            large_change: 5_000,
            run_budget: 0.0,
            repository_budget: 0.0,
            outsider_budget: 0.0,
            day_budget: 0.0,
            prices: Vec::new(),
        }
    }
}

impl ModelOptions {
    fn budgets(&self) -> [f64; 4] {
        [self.run_budget, self.repository_budget, self.outsider_budget, self.day_budget]
    }

    /// Whether anything bounds the costs.
    pub fn has_budget(&self) -> bool {
        self.budgets().iter().any(|budget| *budget > 0.0)
    }

    /// What costs nobody knows though there is a budget for them.
    fn unpriced(&self) -> Option<String> {
        let prices = Prices::parse(&self.prices).ok().filter(|_| self.has_budget())?;
        let names =
            self.chain.iter().filter_map(|text| Entry::parse(text).ok()?.name().to_owned().into());
        let unknown = names.into_iter().find(|name: &String| !prices.know(name))?;
        Some(format!("`{unknown}` has no price, and a budget needs one"))
    }

    /// The first option that cannot work, with the reason.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let bad_entry = self.chain.iter().find_map(|text| Entry::parse(text).err());
        let bad_price = Prices::parse(&self.prices).err();
        let needs = |ok: bool, name, why: &str| (!ok).then(|| (name, why.to_owned()));
        bad_entry
            .map(|why| ("chain", why))
            .or_else(|| bad_price.map(|why| ("prices", why)))
            .or_else(|| self.unpriced().map(|why| ("prices", why)))
            .or_else(|| {
                let positive = |budget: f64| budget.is_finite() && budget >= 0.0;
                let fit = self.budgets().into_iter().all(positive);
                needs(fit, "day_budget", "expected amounts of 0 or more")
            })
            .or_else(|| {
                needs(self.concurrency > 0, "concurrency", "expected a whole number of at least 1")
            })
            .or_else(|| {
                let fits = u64::from(self.max_output_tokens) < self.context_tokens;
                needs(fits, "context_tokens", "expected more than model.max_output_tokens")
            })
    }
}

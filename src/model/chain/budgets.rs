//! Budgets: what a run, a repository and all of them may cost, counted in the store as answers are paid.
//!
//! A call is refused once what was counted before it reaches a budget; calls in hand at that moment are still paid, so a budget
//! can be exceeded by `model.concurrency` calls.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::super::{Account, Cost, FailureKind, ModelError, ModelOptions, Usage};
use crate::base::{
    Fault, Result, Timestamp,
    key_value::{Expect, KeyValueStore, Write},
};

/// Where sums are kept.
const SPACE: &str = "model-spent";

/// A day, the period of all budgets but a run's.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long a run's sum is kept.
const RUN_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

/// How often a sum is added to that others add to as well.
const MAX_ROUNDS: usize = 50;

/// What was paid, and what may be.
pub(super) struct Budgets {
    store: Arc<dyn KeyValueStore>,
    run: Option<Cost>,
    repository: Option<Cost>,
    outsider: Option<Cost>,
    day: Option<Cost>,
}

/// A sum: its key, how long it is kept, and what it may reach.
struct Sum {
    key: String,
    ttl: Duration,
    budget: Option<Cost>,
    /// What to call it, and whether waiting for the next day helps.
    name: &'static str,
    daily: bool,
}

impl Budgets {
    /// Those of the options, if there are any.
    pub(super) fn new(options: &ModelOptions, store: Arc<dyn KeyValueStore>) -> Option<Self> {
        let budget = |amount: f64| {
            Cost::parse(&amount.to_string()).ok().filter(|cost| *cost > Cost::default())
        };
        let run = budget(options.run_budget);
        let (repository, day) = (budget(options.repository_budget), budget(options.day_budget));
        let outsider = budget(options.outsider_budget);
        options.has_budget().then_some(Self { store, run, repository, outsider, day })
    }

    fn sums(&self, account: &Account, now: Timestamp) -> Vec<Sum> {
        let day = now.0.div_euclid(i64::try_from(DAY.as_millis()).unwrap_or(i64::MAX));
        let daily = |key, budget, name| Sum { key, ttl: DAY * 3, budget, name, daily: true };
        let run = Sum {
            key: format!("run/{}", account.run),
            ttl: RUN_TTL,
            budget: self.run,
            name: "model.run_budget",
            daily: false,
        };
        let repository = format!("repository/{}/{day}", account.repository);
        let repository = daily(repository, self.repository, "model.repository_budget");
        let outsider = daily(format!("outsider/{day}"), self.outsider, "model.outsider_budget");
        let all = daily(format!("day/{day}"), self.day, "model.day_budget");
        let named = [
            (!account.run.is_empty(), run),
            (!account.repository.is_empty(), repository),
            (account.by_outsider, outsider),
            (true, all),
        ];
        named.into_iter().filter(|(named, _)| *named).map(|(_, sum)| sum).collect()
    }
}

impl Budgets {
    /// Refuses once a budget of the account is spent.
    pub(super) async fn check(&self, account: &Account) -> Result<(), ModelError> {
        let now = self.now().await.map_err(no_store)?;
        for sum in self.sums(account, now) {
            self.check_sum(&sum, now).await?;
        }
        Ok(())
    }

    /// Counts what was paid.
    pub(super) async fn add(&self, account: &Account, paid: Cost) {
        match self.now().await {
            Ok(now) => {
                for sum in self.sums(account, now) {
                    self.add_to(&sum, paid).await;
                }
            }
            Err(fault) => tracing::warn!(error = %fault, "what a model cost could not be counted"),
        }
    }

    /// The store's time.
    async fn now(&self) -> Result<Timestamp> {
        Ok(self.store.read(SPACE, "now").await?.now)
    }

    async fn check_sum(&self, sum: &Sum, now: Timestamp) -> Result<(), ModelError> {
        let Some(budget) = sum.budget else { return Ok(()) };
        let entry = self.store.read(SPACE, &sum.key).await.map_err(no_store)?.live();
        let spent = entry.map_or(Cost::default(), |entry| cost_of(&entry.value));
        if spent < budget {
            return Ok(());
        }
        let message = format!("{} of {budget} is spent ({spent})", sum.name);
        let error = ModelError::new(FailureKind::OverBudget, message);
        if !sum.daily {
            return Err(error);
        }
        let day = i64::try_from(DAY.as_millis()).unwrap_or(i64::MAX);
        let left = day - now.0.rem_euclid(day);
        Err(error.after(Duration::from_millis(u64::try_from(left).unwrap_or(0))))
    }

    /// Adds to a sum, one process after the other. What cannot be counted is paid all the same.
    async fn add_to(&self, sum: &Sum, paid: Cost) {
        for _ in 0..MAX_ROUNDS {
            match self.add_once(sum, paid).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(fault) => {
                    tracing::warn!(error = %fault, budget = sum.key, "what a model cost could not be counted");
                    return;
                }
            }
        }
        tracing::warn!(
            budget = sum.key,
            "what a model cost could not be counted: too many count at once"
        );
    }

    async fn add_once(&self, sum: &Sum, paid: Cost) -> Result<bool> {
        let entry = self.store.read(SPACE, &sum.key).await?.live();
        let spent = entry.as_ref().map_or(Cost::default(), |entry| cost_of(&entry.value));
        let expect = entry.map_or(Expect::Nothing, |entry| Expect::Revision(entry.revision));
        let value = Bytes::copy_from_slice(&(spent + paid).0.to_le_bytes());
        self.store.write(Write::new((SPACE, &sum.key), value, sum.ttl, expect)?).await
    }
}

fn cost_of(value: &[u8]) -> Cost {
    Cost(value.try_into().map_or(0, u64::from_le_bytes))
}

/// Without its sums nobody may spend.
fn no_store(fault: Fault) -> ModelError {
    let fault = fault.while_doing("the budgets of models");
    ModelError { kind: FailureKind::Unavailable, fault, usage: Usage::default() }
}

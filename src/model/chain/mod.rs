//! The chain: models of `model.chain`, asked one after the other over HTTP until one answers.
//!
//! What it promises: a call that failed in a way that may pass is tried again after 1, 2 and 4 s with jitter (a server's
//! Retry-After wins when longer), then the next model is asked; all processes of a store share the limits of a provider; a provider
//! that keeps failing is left alone for a while; every call that was answered is paid for by name. What it never does: ask twice
//! what was refused for good.
//!
//! | file | is |
//! |---|---|
//! | `entry.rs` | an entry of the chain as it is written |
//! | `call.rs` | one call over HTTP, streamed or not |
//! | `classify.rs` | what a failed call means |
//! | `limits.rs` | rate limits and places shared by all processes |
//! | `budgets.rs` | what runs, repositories and days may cost |
//! | `breaker.rs` | leaving a provider alone that is down |
//! | `repetition.rs` | answers that go round in a loop |

mod breaker;
mod budgets;
mod call;
mod classify;
mod entry;
mod limits;
mod repetition;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use genai::Client;

pub use self::entry::Entry;
use self::{
    breaker::Breaker,
    budgets::Budgets,
    call::{Called, Connection},
    limits::Limits,
};
use super::{
    FailureKind, Model, ModelError, ModelInfo, ModelOptions,
    estimate::{self, Measure},
    price::Prices,
    request::{Answer, Request, Usage},
};
use crate::base::{Clock, Fault, Result, Secret, key_value::KeyValueStore};

/// Where a key comes from, by the name of its variable.
pub type Keys<'k> = &'k dyn Fn(&str) -> Option<Secret>;

/// Several models, the first that answers counts.
pub struct Chain {
    links: Vec<Link>,
    info: ModelInfo,
    options: ModelOptions,
    prices: Prices,
    limits: Limits,
    budgets: Option<Budgets>,
}

/// One model of the chain.
struct Link {
    connection: Connection,
    measure: Measure,
    breaker: Breaker,
}

impl Chain {
    /// The chain of the settings, if there is one. Its processes share limits through `store`; `keys` looks keys up.
    ///
    /// # Errors
    /// Permanent when an entry is none.
    pub fn open(
        options: &ModelOptions,
        store: Arc<dyn KeyValueStore>,
        keys: Keys<'_>,
    ) -> Result<Option<Self>> {
        if options.chain.is_empty() {
            return Ok(None);
        }
        let client = Client::builder().build();
        let client =
            client.map_err(|error| Fault::permanent(format!("no HTTP client: {error}")))?;
        let link = |text: &String| {
            let entry = Entry::parse(text).map_err(Fault::permanent)?;
            let connection = Connection::new(client.clone(), entry, options, keys);
            let breaker = Breaker::new(Clock::system());
            Ok(Link { connection, measure: Measure::default(), breaker })
        };
        let links: Vec<Link> = options.chain.iter().map(link).collect::<Result<_>>()?;
        let names: Vec<&str> = links.iter().map(|link| link.connection.name()).collect();
        let temperature = options.temperature.map_or(String::new(), |t| format!(" at {t}"));
        let info = ModelInfo {
            name: format!("{}{temperature}", names.join(", ")),
            context_tokens: options.context_tokens,
            max_output_tokens: options.max_output_tokens,
        };
        Ok(Some(Self {
            links,
            info,
            prices: Prices::parse(&options.prices).map_err(Fault::permanent)?,
            budgets: Budgets::new(options, store.clone()),
            limits: Limits::new(options, store),
            options: options.clone(),
        }))
    }

    /// Asks the models one after the other.
    async fn ask(&self, request: &Request) -> Result<Answer, ModelError> {
        let mut failures: Vec<ModelError> = Vec::new();
        for (at, link) in self.links.iter().enumerate() {
            match self.ask_link(link, request, at + 1 == self.links.len()).await {
                Ok(mut answer) => {
                    answer.usage += failures.iter().map(|failure| failure.usage).sum();
                    return Ok(answer);
                }
                // No other model is for free.
                Err(error) if error.kind == FailureKind::OverBudget => {
                    let paid = failures.iter().map(|failure| failure.usage).sum();
                    return Err(error.having_paid(paid));
                }
                Err(error) => {
                    let (model, kind) = (link.connection.name(), error.kind.word());
                    tracing::warn!(purpose = request.purpose, model, kind, error = %error.fault.message, "a model did not answer");
                    failures.push(error);
                }
            }
        }
        Err(exhausted(failures))
    }

    /// Asks one model, again as long as that may help. One that is left alone is waited for only if it is the `last`.
    async fn ask_link(
        &self,
        link: &Link,
        request: &Request,
        last: bool,
    ) -> Result<Answer, ModelError> {
        let name = link.connection.name();
        let estimated: u64 = request.texts().map(estimate::tokens).sum();
        let output = u64::from(request.max_output_tokens.unwrap_or(self.options.max_output_tokens));
        if link.measure.with_margin(estimated) + output > self.options.context_tokens {
            let message = format!(
                "{}: about {estimated} tokens and {output} of answer are more than model.context_tokens",
                request.purpose
            );
            return Err(ModelError::new(FailureKind::TooLong, message));
        }
        let mut waits = self.options.retries.iter();
        let mut paid = Usage::default();
        loop {
            let error = match self.ask_once(link, request, (estimated, output)).await {
                Ok(mut answer) => {
                    answer.usage += paid;
                    return Ok(answer);
                }
                Err(error) => error,
            };
            paid += error.usage;
            let error = ModelError { usage: paid, ..error };
            let again = error.kind.is_worth_retrying() && (last || !link.breaker.refuses());
            let wait = waits.next().filter(|_| again);
            let Some(wait) = wait.and_then(|wait| self.wait_before_retry(*wait, &error)) else {
                return Err(error);
            };
            metrics::counter!("verdict_model_retries_total", "model" => name.to_owned())
                .increment(1);
            tokio::time::sleep(wait).await;
        }
    }

    /// How long to wait before another try; `None` when that is longer than anybody should.
    fn wait_before_retry(&self, wait: Duration, error: &ModelError) -> Option<Duration> {
        let jittered = wait.mul_f64(1.0 + fastrand::f64() / 2.0);
        let wait = error.fault.retry_after.map_or(jittered, |asked| asked.max(jittered));
        (wait <= self.options.max_wait).then_some(wait)
    }

    /// One call, when limits, budgets and breaker let it through.
    async fn ask_once(
        &self,
        link: &Link,
        request: &Request,
        (estimated, output): (u64, u64),
    ) -> Result<Answer, ModelError> {
        let (name, provider) = (link.connection.name(), link.connection.provider());
        link.breaker.check(name)?;
        let place = self.limits.enter(provider, estimated + output).await?;
        // Checked and counted in the place: whoever gets it next sees the sum.
        let called = match &self.budgets {
            Some(budgets) => budgets.check(&request.account).await,
            None => Ok(()),
        };
        let called = match called {
            Ok(()) => {
                let called = link.connection.call(request, &self.options).await;
                // Of a provider that was not asked a refusal says nothing.
                link.breaker.note(called.as_ref().err().map(|error| error.kind));
                called
            }
            Err(error) => Err(error),
        };
        let outcome = called.as_ref().map_or_else(|error| error.kind.word(), |_| "answered");
        let labels = [("model", name.to_owned()), ("outcome", outcome.to_owned())];
        metrics::counter!("verdict_model_calls_total", &labels).increment(1);
        let accepted = called.and_then(|called| self.accept(link, estimated, called));
        let usage = accepted.as_ref().map_or_else(|error| error.usage, |answer| answer.usage);
        if let Some(budgets) = self.budgets.as_ref().filter(|_| usage.cost.0 > 0) {
            budgets.add(&request.account, usage.cost).await;
        }
        place.leave().await;
        accepted
    }

    /// What an answered call is worth: its cost is counted, and a prompt that was cut makes it a failure.
    fn accept(&self, link: &Link, estimated: u64, called: Called) -> Result<Answer, ModelError> {
        let name = link.connection.name();
        let (input, output, cached) =
            called.tokens.unwrap_or((estimated, estimate::tokens(&called.text), 0));
        let cost = self.prices.cost(name, (input, output, cached));
        let usage = Usage { calls: 1, input, output, cached, cost };
        count(name, usage);
        if let Some((reported, ..)) = called.tokens {
            if estimate::was_cut(estimated, reported) {
                let message = format!(
                    "{name} read {reported} tokens of a prompt of about {estimated}: its context is smaller than \
                     model.context_tokens; raise the one or lower the other"
                );
                return Err(ModelError::new(FailureKind::PromptCut, message).having_paid(usage));
            }
            link.measure.learn(estimated, reported);
        }
        Ok(Answer { text: called.text, usage, model: name.to_owned(), finish: called.finish })
    }
}

#[async_trait]
impl Model for Chain {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn answer(&self, request: &Request) -> Result<Answer, ModelError> {
        tokio::select! {
            biased;
            () = request.cancel.cancelled() => {
                let message = format!("{}: no longer wanted", request.purpose);
                Err(ModelError::new(FailureKind::Cancelled, message))
            }
            answer = self.ask(request) => answer,
        }
    }
}

fn count(model: &str, usage: Usage) {
    let of = |kind: &str| [("model", model.to_owned()), ("kind", kind.to_owned())];
    metrics::counter!("verdict_model_tokens_total", &of("input")).increment(usage.input);
    metrics::counter!("verdict_model_tokens_total", &of("output")).increment(usage.output);
    metrics::counter!("verdict_model_tokens_total", &of("cached")).increment(usage.cached);
    metrics::counter!("verdict_model_cost_millionths_total", "model" => model.to_owned())
        .increment(usage.cost.0);
}

/// The failure of a whole chain: that of the first model whose failure may pass, or else of the first; and what each said.
fn exhausted(failures: Vec<ModelError>) -> ModelError {
    let usage = failures.iter().map(|failure| failure.usage).sum();
    let messages: Vec<String> = failures.iter().map(|f| f.fault.message.clone()).collect();
    let waits = failures.iter().filter(|f| f.kind.may_pass()).filter_map(|f| f.fault.retry_after);
    let retry_after = waits.min();
    let at = failures.iter().position(|failure| failure.kind.may_pass()).unwrap_or(0);
    let Some(mut error) = failures.into_iter().nth(at) else {
        return ModelError::new(FailureKind::Invalid, "the chain is empty");
    };
    error.usage = usage;
    if messages.len() > 1 {
        error.fault.message = ModelError::new(error.kind, messages.join("; then ")).fault.message;
    }
    error.fault.retry_after = retry_after;
    error
}

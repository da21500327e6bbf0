//! From an outcome to a durable one: the run settled, the dead letter written and confirmed, then the
//! message.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, field::Empty};

use super::{
    Worker,
    dead_letters::letter_about,
    disposition::{Action, Disposition, HAND_BACK_WAIT, decide},
    metrics,
    work::without_replay,
};
use crate::{
    base::{Fault, Result, Timestamp, TraceContext},
    graph::{Envelope, Failure, store::Letter},
    queue::{Delivery, Message, Settled, Settlement},
    runs::{Outcome, UnsettledRun, WorkResult},
};

/// The message that brought work: a delivery's, or the wake-up that a sweep stands for.
pub(super) struct Origin<'a> {
    pub(super) message: &'a Message,
    /// How often it was delivered.
    pub(super) deliveries: u32,
    pub(super) enqueued_at: Timestamp,
}

/// How many messages and runs were settled, by outcome.
#[derive(Debug, Default)]
pub struct Counts(Mutex<BTreeMap<&'static str, u64>>);

impl Counts {
    fn add(&self, outcome: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(outcome).or_default() += 1;
    }

    /// The counts now.
    pub fn get(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Worker {
    /// Works on one message and settles it, keeping it in hand meanwhile.
    pub(super) async fn handle(&self, delivery: Delivery) {
        let trace: Option<TraceContext> =
            delivery.message.header(TraceContext::HEADER).and_then(|trace| trace.parse().ok());
        let trace_id = trace.as_ref().map(TraceContext::trace_id);
        let span = tracing::info_span!("message", trace_id, run = Empty, workflow = Empty);
        let in_hand = metrics::in_hand();
        let age = self.shared.runs.now().since(delivery.enqueued_at);
        metrics::received(age, delivery.deliveries);
        self.work_and_settle(delivery).instrument(span).await;
        drop(in_hand);
    }

    async fn work_and_settle(&self, delivery: Delivery) {
        // A task of its own: reading a large message must not keep it from being extended.
        let keeping =
            AbortOnDropHandle::new(tokio::spawn(keep(delivery.clone()).in_current_span()));
        let result = self.work(&delivery).await;
        let outcome = result.outcome.as_str();
        let Delivery { message, deliveries, enqueued_at, .. } = &delivery;
        let origin = Origin { message, deliveries: *deliveries, enqueued_at: *enqueued_at };
        let settlement = self.settle(result, &origin).await;
        drop(keeping);
        match delivery.settle(settlement).await {
            Ok(Settled::Done) => metrics::settled(outcome, settlement),
            // Somebody else has it now; the run's lease decides whose work counts.
            Ok(Settled::Stale) => tracing::info!("the message was another's before it was settled"),
            // The queue delivers it again; the run knows what is done.
            Err(error) => tracing::warn!(%error, "settling a message failed"),
        }
    }

    /// Makes everything durable that must be before the message is settled; answers how that is.
    pub(super) async fn settle(&self, result: WorkResult, origin: &Origin<'_>) -> Settlement {
        let Disposition { message, action, pause } = decide(&result.outcome, &self.shared.options);
        log(&result, &action, message);
        self.shared.counts.add(result.outcome.as_str());
        let why = result.error.clone();
        if let Err(fault) = self.carry_out(result, &action, origin).await {
            tracing::warn!(%fault, "an outcome could not be recorded; the message goes back");
            self.pause(&fault.message);
            return Settlement::HandBack;
        }
        if let Action::GiveUp(reason) = action {
            metrics::dead_letter(reason);
        }
        if pause {
            self.pause(&why);
        }
        message
    }

    /// Does with the run, or with the message that came to none, what the table says.
    async fn carry_out(
        &self,
        result: WorkResult,
        action: &Action,
        origin: &Origin<'_>,
    ) -> Result<()> {
        let WorkResult { outcome, error, workflow, run } = result;
        let Some(run) = run else {
            return match action {
                Action::Nothing => Ok(()),
                Action::GiveUp(reason) => {
                    let now = self.shared.runs.now();
                    let letter = Letter { workflow, ..letter_about(origin, *reason, error, now) };
                    self.shared.runs.record_dead_letter(&letter).await
                }
                Action::RetryAfter(_) | Action::HandBack | Action::AwaitVersion(_) => {
                    Err(Fault::permanent(format!("no run was claimed that could go on: {error}")))
                }
            };
        };
        let failure = match outcome {
            Outcome::Failed { failure, .. } => failure,
            _ => Failure { step: 0, node: None, fault: Fault::permanent(error) },
        };
        let runs = &self.shared.runs;
        match action {
            Action::Nothing | Action::HandBack => {
                runs.give_back(run, &failure, HAND_BACK_WAIT, false).await
            }
            Action::AwaitVersion(wait) => runs.await_version(run, *wait).await,
            Action::RetryAfter(wait) => runs.give_back(run, &failure, *wait, true).await,
            Action::GiveUp(reason) => {
                let Origin { message, .. } = origin;
                let message = Envelope::of(without_replay(message), &message.body);
                runs.fail_with_dead_letter(run, &failure, *reason, message).await
            }
        }
    }
}

/// Extends the delivery for as long as it is worked on.
async fn keep(delivery: Delivery) {
    loop {
        sleep(delivery.held_for / 3).await;
        if let Err(error) = delivery.extend(delivery.held_for).await {
            tracing::warn!(%error, "extending a delivery failed");
        }
    }
}

fn log(result: &WorkResult, action: &Action, message: Settlement) {
    let (outcome, error) = (result.outcome.as_str(), &result.error);
    let run = result.run.as_ref().map(UnsettledRun::id).map(ToString::to_string);
    let run = run.unwrap_or_default();
    match action {
        Action::GiveUp(reason) => tracing::error!(outcome, run, error, ?reason, "given up"),
        _ if !error.is_empty() => {
            tracing::warn!(outcome, run, error, how = ?message, "put off");
        }
        _ => tracing::info!(outcome, how = ?message, "settled"),
    }
}

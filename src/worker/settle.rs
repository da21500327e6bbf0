//! From an outcome to a durable one: the run settled, the dead letter written and confirmed, then the
//! message.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use tokio::{sync::OwnedSemaphorePermit, time::sleep};
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, field::Empty};

use super::{
    Shared, Worker,
    dead_letters::letter_about,
    disposition::{Action, Disposition, HAND_BACK_WAIT, decide},
    metrics,
    work::without_replay,
};
use crate::{
    base::{Fault, Result, Timestamp, TraceContext},
    graph::{Envelope, Failure, store::Letter},
    queue::{Delivery, Message, Settled, Settlement},
    runs::{Drive, Outcome, UnsettledRun, WorkResult},
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
    pub(super) async fn handle(&self, delivery: Delivery, slot: OwnedSemaphorePermit) {
        let trace: Option<TraceContext> =
            delivery.message.header(TraceContext::HEADER).and_then(|trace| trace.parse().ok());
        let trace_id = trace.as_ref().map(TraceContext::trace_id);
        let span = tracing::info_span!("message", trace_id, run = Empty, workflow = Empty);
        let in_hand = metrics::in_hand();
        let age = self.shared.runs.now().since(delivery.enqueued_at);
        metrics::received(age, delivery.deliveries);
        self.work_and_settle(delivery, slot).instrument(span).await;
        drop(in_hand);
    }

    async fn work_and_settle(&self, delivery: Delivery, slot: OwnedSemaphorePermit) {
        // A task of its own: reading a large message must not keep it from being extended.
        let keeping =
            AbortOnDropHandle::new(tokio::spawn(keep(delivery.clone()).in_current_span()));
        let work = |drive| {
            let delivery = &delivery;
            async move { self.work(delivery, &drive).await }
        };
        let (result, _slots) = self.alone_if_needed(slot, work).await;
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

    /// Works; once more with every slot of this worker when the run is to be worked on alone.
    pub(super) async fn alone_if_needed<W: Future<Output = WorkResult>>(
        &self,
        slot: OwnedSemaphorePermit,
        work: impl Fn(Drive) -> W,
    ) -> (WorkResult, Option<OwnedSemaphorePermit>) {
        let Shared { drive, slots, options, .. } = &*self.shared;
        let result = work(drive.clone()).await;
        if result.outcome != Outcome::NeedsToBeAlone {
            return (result, Some(slot));
        }
        tracing::warn!("processes died over this run: it waits until nothing else is in hand");
        // Its own place goes back first: of two that wait for all, one must get them.
        drop(slot);
        let all = u32::try_from(options.concurrency.max(1)).unwrap_or(u32::MAX);
        let all = drive.control.drain.run_until_cancelled(slots.clone().acquire_many_owned(all));
        let Some(Ok(all)) = all.await else { return (Outcome::Stopping.into(), None) };
        tracing::warn!("works on this run alone");
        (work(Drive { alone: true, ..drive.clone() }).await, Some(all))
    }

    /// Makes everything durable that must be before the message is settled; answers how that is.
    pub(super) async fn settle(&self, result: WorkResult, origin: &Origin<'_>) -> Settlement {
        let Disposition { message, action, pause } = decide(&result.outcome, &self.shared.options);
        log(&result, &action, message);
        self.shared.counts.add(result.outcome.as_str());
        let why = result.error.clone();
        if let Err(fault) = self.carry_out(result, &action, origin).await {
            tracing::warn!(error = %fault, "an outcome could not be recorded; the message goes back");
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
                Action::RetryAfter(_)
                | Action::Park(_)
                | Action::HandBack
                | Action::AwaitVersion(_)
                | Action::PutOff(_) => {
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
            Action::Park(wait) => runs.give_back(run, &failure, *wait, false).await,
            Action::PutOff(wait) => runs.put_off(run, &failure.fault.message, *wait).await,
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
    let run = result.run.as_ref().map(|run| UnsettledRun::id(run).as_str());
    let settlement = message.as_str();
    let wait_s = match message {
        Settlement::Later(wait) => Some(wait.as_secs_f64()),
        Settlement::Ack | Settlement::HandBack => None,
    };
    match action {
        Action::GiveUp(reason) => {
            tracing::error!(outcome, run, error, reason = reason.as_str(), "given up");
        }
        _ if !error.is_empty() => {
            tracing::warn!(outcome, run, error, settlement, wait_s, "put off");
        }
        _ => tracing::info!(outcome, run, settlement, wait_s, "settled"),
    }
}

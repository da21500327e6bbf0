//! From what happened to durable outcomes: the run settled, the letter written and confirmed, then
//! the message.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, field::Empty};

use super::{
    Worker,
    disposition::{Disposition, ForRun, Happened, SOON, decide},
    letters::{letter_of_message, letter_of_run},
    metrics,
    work::{Held, Worked, trace_of},
};
use crate::{
    base::{Fault, Result, TraceContext},
    graph::{
        ClaimHow, Envelope, Failure, Head, Meta, Outcome, RunStatus, Stop,
        store::{Claimed, HeadChange, Lease, Letter, LetterReason},
    },
    queue::{Delivery, Message, Settled, Settlement},
};

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
    /// Sees one message through, keeping it in hand meanwhile.
    pub(super) async fn handle(&self, delivery: Delivery) {
        let trace = trace_of(&delivery.message);
        let trace_id = trace.as_ref().map(TraceContext::trace_id);
        let span = tracing::info_span!("message", trace_id, run = Empty, workflow = Empty);
        let in_hand = metrics::in_hand();
        let age = self.shared.runtime.clock.now().since(delivery.enqueued_at);
        metrics::received(age, delivery.deliveries);
        self.see_through(delivery).instrument(span).await;
        drop(in_hand);
    }

    async fn see_through(&self, delivery: Delivery) {
        // A task of its own: reading a large message must not keep it from being extended.
        let keeping =
            AbortOnDropHandle::new(tokio::spawn(keep(delivery.clone()).in_current_span()));
        let worked = self.work(&delivery).await;
        let outcome = outcome(&worked.happened);
        let settlement = self.settle(worked, Some(&delivery)).await;
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
    pub(super) async fn settle(&self, worked: Worked, delivery: Option<&Delivery>) -> Settlement {
        let mut disposition = decide(&worked.happened, &self.shared.options);
        log(&worked, &disposition);
        self.shared.counts.add(outcome(&worked.happened));
        let pause = disposition.pause.then(|| worked.error.clone());
        let letter = disposition.letter;
        if let Err(fault) = self.carry_out(worked, &disposition, delivery).await {
            tracing::warn!(%fault, "an outcome could not be recorded; the message goes back");
            self.pause(&fault.message);
            disposition.message = Settlement::HandBack;
        } else {
            letter.into_iter().for_each(metrics::dead_letter);
            pause.into_iter().for_each(|why| self.pause(&why));
        }
        disposition.message
    }

    async fn carry_out(
        &self,
        worked: Worked,
        disposition: &Disposition,
        delivery: Option<&Delivery>,
    ) -> Result<()> {
        let Worked { happened, error, workflow, run } = worked;
        let failure = match happened {
            Happened::Failed { failure, .. } => failure,
            _ => Failure { step: 0, node: None, fault: Fault::permanent(error.clone()) },
        };
        match (run, &disposition.run, disposition.letter) {
            (_, ForRun::Nothing, None) => Ok(()),
            (Some(Held::Ran(run, mut ran)), ForRun::Fail, Some(reason)) => {
                let letter = letter_of_run(
                    (&run, ran.letters()),
                    reason,
                    (&failure, workflow),
                    (ran.executions() + 1, ran.started_at(), self.shared.runtime.clock.now()),
                    ran.envelope(),
                );
                ran.fail(&failure, Some(letter.clone())).await.map_err(lost)?;
                self.shared.letters.deliver(&letter).await?;
                ran.confirm_letter(&letter.id).await.map_err(lost)
            }
            (Some(Held::Ran(_, mut ran)), ForRun::RetryAfter(wait), _) => {
                let at = self.shared.runtime.clock.now().plus(*wait);
                ran.retry_later(&failure, at).await.map_err(lost)
            }
            (Some(Held::Ran(_, mut ran)), _, _) => {
                let at = self.shared.runtime.clock.now().plus(SOON);
                ran.hand_back(&failure, at).await.map_err(lost)
            }
            (Some(Held::Raw(lease, head)), ForRun::Fail, Some(reason)) => {
                self.bury(lease, *head, &failure, reason, delivery).await
            }
            (Some(Held::Free(head)), ForRun::Fail, Some(reason)) => {
                let runtime = &self.shared.runtime;
                let how = ClaimHow { early: true, reopen: false };
                match runtime.claim(&head.id, how).await? {
                    Claimed::Yours(lease, head) => {
                        self.bury(lease, *head, &failure, reason, delivery).await
                    }
                    _ => Ok(()),
                }
            }
            (_, _, Some(reason)) => match delivery {
                Some(delivery) => self.letter_alone(delivery, reason, (error, workflow)).await,
                None => Ok(()),
            },
            (_, _, None) => Ok(()),
        }
    }

    /// Ends a run whose workflow this worker cannot read, with a letter.
    async fn bury(
        &self,
        lease: Lease,
        head: Head,
        failure: &Failure,
        reason: LetterReason,
        delivery: Option<&Delivery>,
    ) -> Result<()> {
        let runtime = &self.shared.runtime;
        let envelope = delivery.map(|delivery| Envelope {
            headers: delivery.message.headers.clone(),
            body: String::from_utf8_lossy(&delivery.message.body).into_owned(),
            trace: None,
        });
        let number = usize::try_from(head.version).unwrap_or(usize::MAX);
        let letter = letter_of_run(
            (&head.id, number),
            reason,
            (failure, Some(head.workflow.clone())),
            (head.executions + 1, head.created_at, runtime.clock.now()),
            envelope,
        );
        let metas = [
            Meta::Finished { outcome: Outcome::Failed(failure.clone()) },
            Meta::Letter { id: letter.id.clone() },
        ];
        let change = HeadChange {
            status: RunStatus::Failed,
            not_before: None,
            waiting: None,
            executions: head.executions + 1,
            active: head.active,
            error: Some(failure.fault.to_string()),
        };
        runtime.note((&lease, &head), &metas, change, Some(letter.clone()), false).await?;
        self.shared.letters.deliver(&letter).await
    }

    /// A letter about a message that never came to a run.
    async fn letter_alone(
        &self,
        delivery: &Delivery,
        reason: LetterReason,
        (error, workflow): (String, Option<String>),
    ) -> Result<()> {
        let now = self.shared.runtime.clock.now();
        let letter = Letter {
            workflow,
            executions: delivery.deliveries,
            first_at: delivery.enqueued_at,
            ..letter_of_message(&delivery.message, reason, error, now)
        };
        self.shared.runtime.store.put_letter(letter.clone()).await?;
        self.shared.letters.deliver(&letter).await
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

/// The original message of a letter, for the queue.
pub(super) fn message_of(letter: &Letter) -> Message {
    Message { headers: letter.headers.clone(), body: letter.payload.clone() }
}

/// The store did not take an outcome: what was fenced is another's business, the rest an outage.
fn lost(stop: Stop) -> Fault {
    match stop {
        Stop::StoreLost(fault) => fault,
        other => Fault::transient(format!("the run was lost before it was settled ({other:?})")),
    }
}

fn outcome(happened: &Happened) -> &'static str {
    match happened {
        Happened::Done => "done",
        Happened::Parked => "parked",
        Happened::Failed { .. } => "failed",
        Happened::NotAdmitted { .. } => "not_admitted",
        Happened::Unreachable => "unreachable",
        Happened::Undecodable => "undecodable",
        Happened::UnknownWorkflow => "unknown_workflow",
        Happened::UnknownVersion { .. } => "unknown_version",
        Happened::Held { .. } => "held",
        Happened::Early { .. } => "early",
        Happened::LeaseLost => "lease_lost",
        Happened::Stopping => "stopping",
    }
}

fn log(worked: &Worked, disposition: &Disposition) {
    let outcome = outcome(&worked.happened);
    let (error, how) = (&worked.error, &disposition.message);
    let run = match &worked.run {
        Some(Held::Ran(run, _)) => run.to_string(),
        Some(Held::Raw(_, head) | Held::Free(head)) => head.id.to_string(),
        None => String::new(),
    };
    match disposition.letter {
        Some(reason) => tracing::error!(outcome, run, error, ?reason, "given up"),
        None if !error.is_empty() => tracing::warn!(outcome, run, error, ?how, "put off"),
        None => tracing::info!(outcome, ?how, "settled"),
    }
}

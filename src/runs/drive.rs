//! From a request to an [`Outcome`]: a run admitted or found, claimed, and executed. For workers, which
//! settle what came of it; `foreground` drives what its own process waits for.
//!
//! The run and its workflow are recorded in the caller's log span, as `run` and `workflow`.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::sync::broadcast;
use tracing::Span;

use super::{
    Outcome, Request, Runs, Slots, Source, UnsettledRun, WorkResult,
    admit::{AdmitError, Admitted, ExecutedBy},
    metrics,
};
use crate::{
    base::{Fault, Result},
    graph::{
        ClaimHow, Control, Envelope, EventEnvelope, Events, Failure, Head, LeasedRun, OpenedRun,
        ReopenFrom, RunId, RunStatus, Stop,
        store::{Claimed, Lease},
    },
    workflows::{AnyEndedExecution, AnyWorkflow, Event, Options, Start},
};

/// How a process drives runs.
#[derive(Debug, Clone)]
pub struct Drive {
    /// What stops them.
    pub control: Control,
    /// Where their events go.
    pub events: broadcast::Sender<EventEnvelope>,
    /// How often in a row a run's process may die over it before it works alone, and once more
    /// before it is given up. `None` does not count.
    pub max_lost_claims: Option<u32>,
    /// Whether this process works on nothing else.
    pub alone: bool,
    /// How many at a time.
    pub slots: Slots,
    /// How long to wait for more events after one of a burst.
    pub quiet: Duration,
}

impl Drive {
    /// Any number of runs at a time, each at once.
    pub fn new(control: Control, events: broadcast::Sender<EventEnvelope>) -> Self {
        let slots = Slots::default();
        Self { control, events, max_lost_claims: None, alone: false, slots, quiet: Duration::ZERO }
    }
}

/// Why a run that has ended goes on, and from where.
pub(super) type Reopen = (String, ReopenFrom);

impl Runs {
    /// Does what a worker is asked for, as the replay of a dead letter if one is named: a letter's run
    /// goes before the request. Whatever came of it is for the worker to settle.
    pub async fn work(&self, request: Request, replay: Option<&str>, drive: &Drive) -> WorkResult {
        // On the way to a run only the store can fail.
        let result = self.try_work(request, replay, drive).await;
        result.unwrap_or_else(|fault| WorkResult::because(Outcome::Unreachable, fault))
    }

    async fn try_work(
        &self,
        request: Request,
        replay: Option<&str>,
        drive: &Drive,
    ) -> Result<WorkResult> {
        if let Some(letter) = replay
            && let Some(result) = self.work_on_replay(letter, drive).await?
        {
            return Ok(result);
        }
        match request {
            Request::Run(head) => self.take_up(*head, None, drive).await,
            Request::Wake(run) => self.wake_up(&run, drive).await,
            Request::Event(event) => {
                self.give_event(event).await?;
                Ok(Outcome::Done.into())
            }
            Request::Start(Some(name), event, source) => match self.workflow(&name) {
                Ok(workflow) => self.work_on(workflow, &event, &source, drive).await,
                Err(unknown) => {
                    Ok(WorkResult::because(Outcome::UnknownWorkflow, unknown).of(&name))
                }
            },
            Request::Start(None, event, source) => {
                // One after the other, up to the first whose run is not done.
                for workflow in self.workflows.interested(&event) {
                    let result = self.work_on(workflow, &event, &source, drive).await?;
                    if result.outcome != Outcome::Done {
                        return Ok(result);
                    }
                }
                Ok(Outcome::Done.into())
            }
        }
    }

    async fn wake_up(&self, run: &str, drive: &Drive) -> Result<WorkResult> {
        let run: RunId = match run.parse() {
            Ok(run) => run,
            Err(invalid) => return Ok(WorkResult::because(Outcome::Undecodable, invalid)),
        };
        let Some(head) = self.store().head(&run).await? else {
            tracing::info!(%run, "nothing to wake: there is no such run");
            return Ok(Outcome::Done.into());
        };
        self.take_up(head, None, drive).await
    }

    /// `None` if the letter has no run: then its message is worked on like any other.
    async fn work_on_replay(&self, letter: &str, drive: &Drive) -> Result<Option<WorkResult>> {
        let Some(letter) = self.store().letter(letter).await? else { return Ok(None) };
        let Some(run) = letter.run else { return Ok(None) };
        let Some(head) = self.store().head(&run).await? else { return Ok(None) };
        if head.status != RunStatus::Failed {
            return self.take_up(head, None, drive).await.map(Some);
        }
        // Only its last letter opens it again, so that one replay opens it once.
        let Some(workflow) = self.workflows.get(&head.workflow) else {
            return Ok(Some(Outcome::Done.into()));
        };
        let seen = workflow.inspect(&self.runtime, &run).await?;
        if seen.letters.last().is_none_or(|(id, _)| *id != letter.id) {
            return Ok(Some(Outcome::Done.into()));
        }
        let reopen = (format!("replay of letter {}", letter.id), ReopenFrom::Failed);
        self.take_up(head, Some(reopen), drive).await.map(Some)
    }

    async fn work_on(
        &self,
        workflow: &Arc<dyn AnyWorkflow>,
        event: &Event,
        source: &Source,
        drive: &Drive,
    ) -> Result<WorkResult> {
        // Made only now: a body may be large.
        let envelope = Envelope::of(source.headers.clone(), &source.body);
        let (mut slot, mut quiet) = (None, None);
        let by = |start: &Start<Arc<RawValue>>| {
            quiet = Some(drive.quiet).filter(|quiet| start.settles && !quiet.is_zero());
            if quiet.is_none() {
                slot = drive.slots.take(start.subject.as_deref());
            }
            match &slot {
                Some(_) => ExecutedBy::Worker,
                None => ExecutedBy::Workers(quiet.unwrap_or_default()),
            }
        };
        let begun =
            match self.admit(workflow, (event, source.key.as_deref()), Some(envelope), by).await {
                Ok(Admitted::Opened(begun)) => begun,
                Ok(Admitted::Ignored(reason)) => {
                    tracing::info!(workflow = workflow.name(), %reason, "event ignored");
                    return Ok(Outcome::Done.into());
                }
                Ok(Admitted::Cancel(subject)) => {
                    return self.cancel_subject(workflow.name(), subject).await;
                }
                Err(AdmitError::Store(fault)) if fault.is_transient() => return Err(fault),
                Err(AdmitError::Refused(fault) | AdmitError::Store(fault)) => {
                    let error = fault.to_string();
                    let outcome = Outcome::NotAdmitted { fault, deliveries: source.deliveries };
                    return Ok(WorkResult::because(outcome, error).of(workflow.name()));
                }
            };
        let OpenedRun { head, created, held, .. } = *begun;
        match (held, quiet) {
            (Some(held), _) => {
                record_in_span(&head);
                self.drive_claimed(workflow, held, head, None, drive).await
            }
            (None, Some(quiet)) if created && !head.status.is_final() => {
                record_in_span(&head);
                self.wake(&head.id, quiet, source.trace().as_ref()).await;
                Ok(Outcome::Queued.into())
            }
            (None, _) if created && head.status.is_final() => Ok(Outcome::Done.into()),
            _ => {
                drop(slot);
                // A key of the asker's own says nothing of the head that is current.
                let reopen = match source.key {
                    None => self.current_again(workflow, &head).await?,
                    Some(_) => None,
                };
                self.take_up(head, reopen, drive).await
            }
        }
    }

    /// Claims a run that is there and executes it.
    async fn take_up(
        &self,
        head: Head,
        reopen: Option<Reopen>,
        drive: &Drive,
    ) -> Result<WorkResult> {
        record_in_span(&head);
        let now = self.now();
        let due = head.not_before.is_some_and(|at| at <= now);
        let revisit = head.status == RunStatus::Completed && due;
        if head.status.is_final() && reopen.is_none() && !revisit {
            return self.finished(&head).await;
        }
        if let Some(pause) = self.paused_run(&head).await? {
            let put_off = UnsettledRun::Unclaimed(Box::new(head));
            return Ok(WorkResult::because(Outcome::Paused, pause).with(put_off));
        }
        let workflow = self.workflows.get(&head.workflow);
        let Some(workflow) = workflow.filter(|w| w.versions().contains(&head.workflow_version))
        else {
            return Ok(self.foreign(head));
        };
        let most = drive.max_lost_claims.unwrap_or(u32::MAX);
        if !drive.alone
            && head.lost_claims_after_claim() == most
            && (head.lease.is_none() || self.runtime.takes_over(&head))
        {
            return Ok(Outcome::NeedsToBeAlone.into());
        }
        // What is replayed or visited again has waited before.
        let slot = drive.slots.take(head.subject.as_deref());
        if slot.is_none() && reopen.is_none() && !revisit {
            drive.slots.line_up(&head);
            return Ok(Outcome::Queued.into());
        }
        let how = ClaimHow { early: reopen.is_some(), reopen: reopen.is_some() || revisit };
        Ok(match self.runtime.claim(&head.id, how).await? {
            Claimed::Yours(lease, head) if head.lost_claims > most => {
                let claims = head.lost_claims;
                let error = format!(
                    "{claims} processes in a row died while they worked on run {}, the last of them \
                     on nothing else; find out why (their logs, the memory they may use) before it \
                     is replayed",
                    head.id
                );
                WorkResult::because(Outcome::WorkersDied { claims }, error)
                    .with(UnsettledRun::Claimed(lease, head))
            }
            Claimed::Yours(lease, head) => {
                return self.drive_claimed(workflow, lease.into(), *head, reopen, drive).await;
            }
            Claimed::LeaseHeld(holder) => {
                Outcome::LeaseHeld { left: holder.expires.since(now) }.into()
            }
            Claimed::NotBefore(at) => Outcome::Early { left: at.since(now) }.into(),
            Claimed::Final(_) | Claimed::Missing => Outcome::Done.into(),
        })
    }

    /// A run that is at its end: its dead letter is published before its message goes.
    async fn finished(&self, head: &Head) -> Result<WorkResult> {
        if head.status != RunStatus::Failed || self.publish_dead_letters_of(&head.id).await? {
            return Ok(Outcome::Done.into());
        }
        let left = head.lease.as_ref().map(|holder| holder.expires.since(self.now()));
        Ok(Outcome::LeaseHeld { left: left.unwrap_or_default() }.into())
    }

    /// A run of another build: of a version, or a whole workflow, that is not here.
    fn foreign(&self, head: Head) -> WorkResult {
        let since = self.now().since(head.unknown_since());
        let error = format!(
            "run {} is of version {} of workflow `{}`, which no worker here continues",
            head.id, head.workflow_version, head.workflow
        );
        WorkResult::because(Outcome::UnknownVersion { since }, error)
            .with(UnsettledRun::Unclaimed(Box::new(head)))
    }

    async fn drive_claimed(
        &self,
        workflow: &Arc<dyn AnyWorkflow>,
        held: LeasedRun,
        head: Head,
        reopen: Option<Reopen>,
        drive: &Drive,
    ) -> Result<WorkResult> {
        let lease = held.lease.clone();
        let execution = match self.execute(workflow, held, reopen, drive).await {
            Ok(execution) => execution,
            Err(fault) => return unloadable(fault, lease, head),
        };
        Ok(match execution.stop().clone() {
            Stop::Completed => {
                metrics::ended(&head, RunStatus::Completed, self.now());
                Outcome::Done.into()
            }
            // Somebody claimed it to reopen it and died before saying so in its log. Its head says
            // again how it ended; what the message asks for is found out from there.
            Stop::Ended => Outcome::Early { left: Duration::ZERO }.into(),
            Stop::Waiting(_) => {
                metrics::came_to(&head.workflow, RunStatus::Parked);
                self.show_logged(&head.id, (RunStatus::Parked, "an answer or a time")).await;
                Outcome::Parked.into()
            }
            Stop::Drained | Stop::Crashed => Outcome::Stopping.into(),
            Stop::Fenced => match self.store().head(&head.id).await? {
                // Another worker has it; otherwise it was stopped, or deleted.
                Some(head) if !head.status.is_final() => {
                    WorkResult::because(Outcome::LeaseLost, "the lease was lost")
                }
                _ => {
                    // What it was about to show as it was stopped is there by now.
                    self.show_stopped(&head.id).await;
                    Outcome::Done.into()
                }
            },
            Stop::StoreLost(fault) => return unloadable(fault, lease, head),
            Stop::Failed(failure) => {
                let error = failure.fault.to_string();
                let outcome = Outcome::Failed { failure, executions: execution.executions() };
                WorkResult::because(outcome, error)
                    .with(UnsettledRun::Executed(Box::new(head), execution))
            }
        })
    }

    /// Executes a run this process has claimed, until it ends, waits, fails or is stopped: the one
    /// place that does.
    pub(super) async fn execute(
        &self,
        workflow: &Arc<dyn AnyWorkflow>,
        held: LeasedRun,
        reopen: Option<Reopen>,
        drive: &Drive,
    ) -> Result<Box<dyn AnyEndedExecution>> {
        let clock = self.runtime.clock.clone();
        let events = Events::new(held.lease.run.clone(), clock, drive.events.clone());
        let control = drive.control.clone();
        let options = Options { events, control, reopen, ..Options::default() };
        workflow.execute(&self.runtime, held, options).await
    }
}

/// The run was claimed and then could not be loaded or written.
fn unloadable(fault: Fault, lease: Lease, head: Head) -> Result<WorkResult> {
    if fault.is_transient() {
        return Err(fault);
    }
    let (error, executions) = (fault.to_string(), head.executions);
    let failure = Failure { step: 0, node: None, fault };
    Ok(WorkResult::because(Outcome::Failed { failure, executions }, error)
        .with(UnsettledRun::Claimed(lease, Box::new(head))))
}

/// Says in the log span of the message, or of the sweep, which run it came to.
fn record_in_span(head: &Head) {
    Span::current().record("run", head.id.as_str()).record("workflow", &head.workflow);
}

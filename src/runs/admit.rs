//! From an event to a run in the store: the one admission.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::time::timeout;

use super::{Error, Runs, metrics};
use crate::{
    base::{Fault, TraceContext},
    graph::{Envelope, Head, OpenedRun, RunId, RunStatus},
    workflows::{Admission, AnyWorkflow, Event, Start},
};

/// How long a queue may take over a wake-up before a sweep is left to find the run.
const WAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Who executes a new run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExecutedBy {
    /// The caller, who claims it in the same step.
    Caller,
    /// The same, unless it is paused: then it is queued.
    Worker,
    /// Any worker: it is queued and due after this time.
    Workers(Duration),
}

/// What an event came to: a run, new or known; none, for a reason; or the end of a subject's runs.
pub(super) enum Admitted {
    Opened(Box<OpenedRun>),
    Ignored(String),
    Cancel(String),
}

/// Why an event was not admitted: the workflow did not take it, or the store did not open the run.
pub(super) enum AdmitError {
    Refused(Fault),
    Store(Fault),
}

impl Runs {
    /// Whether a worker like this one would take the job: its workflow is known, and what its input
    /// names is there. What cannot be seen now is left to the worker. Opens nothing.
    ///
    /// # Errors
    /// With what is wrong.
    pub async fn check_job(
        &self,
        workflow: &str,
        input: Arc<RawValue>,
        key: &str,
    ) -> Result<(), Error> {
        let event = Event::Job { input, key: key.to_owned(), attended: false };
        match self.workflow(workflow)?.admit(&event).await {
            Err(fault) if !fault.is_transient() => Err(Error::Invalid(fault.to_string())),
            _ => Ok(()),
        }
    }

    /// Asks the workflow what the event comes to, and opens the run, or finds it. The key that the
    /// asker `named` counts more than what the workflow calls it; `by` says who is to execute a new
    /// one.
    pub(super) async fn admit(
        &self,
        workflow: &Arc<dyn AnyWorkflow>,
        (event, named): (&Event, Option<&str>),
        envelope: Option<Envelope>,
        by: impl FnOnce(&Start<Arc<RawValue>>) -> ExecutedBy + Send,
    ) -> Result<Admitted, AdmitError> {
        let named = named.map(|named| (named, format!("job:{named}")));
        // What is there may be about a head of before: it is not for this event to supersede another.
        if let Some((_, key)) = &named {
            let known = self.store().head(&RunId::of(workflow.name(), key)).await;
            if let Some(head) = known.map_err(|error| AdmitError::Store(error.into()))? {
                let found = OpenedRun { head, created: false, held: None, superseded: Vec::new() };
                return Ok(Admitted::Opened(Box::new(found)));
            }
        }
        let mut start = match workflow.admit(event).await.map_err(AdmitError::Refused)? {
            Admission::Ignore { reason } => return Ok(Admitted::Ignored(reason)),
            Admission::Cancel { subject } => return Ok(Admitted::Cancel(subject)),
            Admission::Start(start) => start,
        };
        if let Some((_, key)) = named.filter(|(named, _)| *named != start.key) {
            // Apart from the workflow's own names: nobody takes the run of another's event.
            start.key = key;
        }
        // Due from then on: without a time a sweep would never take it up.
        let leave_until = match by(&start) {
            ExecutedBy::Caller => None,
            ExecutedBy::Workers(after) => Some(self.now().plus(after)),
            ExecutedBy::Worker => {
                let about = start.subject.as_deref().unwrap_or(&start.key);
                let paused = self.paused(workflow.name(), about).await;
                paused.map_err(AdmitError::Store)?.map(|_| self.now())
            }
        };
        let opened = workflow.open(&self.runtime, start, envelope, leave_until).await;
        let begun = opened.map_err(AdmitError::Store)?;
        for run in &begun.superseded {
            metrics::came_to(workflow.name(), RunStatus::Superseded);
            tracing::info!(%run, superseded_by = %begun.head.id, "run superseded");
        }
        Ok(Admitted::Opened(Box::new(begun)))
    }

    /// The same for a job whose asker waits for the answer. Without a key it is a run of its own,
    /// unless the workflow has a name for it.
    pub(super) async fn admit_job(
        &self,
        workflow: &Arc<dyn AnyWorkflow>,
        (input, named): (Arc<RawValue>, Option<String>),
        envelope: Option<Envelope>,
        by: ExecutedBy,
    ) -> Result<OpenedRun, Error> {
        let key = named.clone().unwrap_or_else(|| RunId::random().to_string());
        let event = Event::Job { input, key, attended: matches!(by, ExecutedBy::Caller) };
        match self.admit(workflow, (&event, named.as_deref()), envelope, |_| by).await {
            Ok(Admitted::Opened(begun)) => Ok(*begun),
            Ok(Admitted::Ignored(reason)) => Err(Error::NoRun(reason)),
            Ok(Admitted::Cancel(_)) => {
                Err(Error::NoRun("the input asks for an end, not for a run".to_owned()))
            }
            Err(AdmitError::Refused(fault)) if !fault.is_transient() => {
                Err(Error::Invalid(fault.message))
            }
            Err(AdmitError::Refused(fault) | AdmitError::Store(fault)) => Err(fault.into()),
        }
    }

    /// Stores a run for the workers, then wakes one. A key that is known answers with the run there is.
    /// `envelope` is the message that a queue would have brought: its dead letter sends that again.
    ///
    /// # Errors
    /// When there is no run afterwards, with the reason. After [`Error::Unavailable`] there may be
    /// one nonetheless; the same key finds it.
    pub async fn submit(
        &self,
        workflow: &str,
        job: (Arc<RawValue>, Option<String>),
        envelope: Envelope,
    ) -> Result<Head, Error> {
        let trace = envelope.trace.clone();
        let stored = match self.workflow(workflow) {
            Ok(found) => {
                self.admit_job(found, job, Some(envelope), ExecutedBy::Workers(Duration::ZERO))
                    .await
            }
            Err(unknown) => Err(unknown),
        };
        metrics::submitted(stored.as_ref().map(|begun| begun.created));
        let OpenedRun { head, created, .. } = stored?;
        let (run, status) = (&head.id, head.status);
        let trace_id = trace.as_ref().map(TraceContext::trace_id);
        tracing::info!(%run, workflow, trace_id, %status, created, "run asked for");
        // One that waits for its time is woken by the message or the sweep that knows of it.
        let due = head.not_before.is_none_or(|at| at <= self.now());
        if status == RunStatus::Queued && due {
            self.wake(run, Duration::ZERO, trace.as_ref()).await;
        }
        Ok(head)
    }

    /// Tells the workers that a run is due after this time.
    pub(super) async fn wake(&self, run: &RunId, after: Duration, trace: Option<&TraceContext>) {
        let why = match timeout(WAKE_TIMEOUT, self.notifier.wake(run, after, trace)).await {
            Ok(Ok(())) => return,
            Ok(Err(fault)) => fault.message,
            Err(_) => format!("no answer within {} s", WAKE_TIMEOUT.as_secs()),
        };
        metrics::wakeup_lost();
        tracing::warn!(%run, error = why, "the queue did not take a wake-up; a sweep will find the run");
    }
}

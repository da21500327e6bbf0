//! Runs asked for directly: stored first, announced on the queue second.
//!
//! What it promises: once it has answered, the run is in the store, due at once, and carries the
//! message that a queue would have brought. Whether the queue took the wake-up decides only how
//! soon a worker sees it: a sweep takes up what nobody was told of. What it never does: execute
//! anything, or take anything off the queue.

use std::{sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};

use super::{
    metrics,
    reach::{self, AGAIN, jittered},
    work::{envelope_of, find, tell_superseded},
};
use crate::{
    base::{Fault, TraceContext},
    graph::{Begun, RunId, RunStatus, Runtime},
    queue::{Decoded, Job, Queue},
    workflows::{Admission, AnyWorkflow, Event, Registry, Start},
};

/// How long a queue may take over a wake-up before the sweep is left to find the run.
const WAKE: Duration = Duration::from_secs(5);

/// How often store and queue are asked whether they answer, while they do.
const LOOK: Duration = Duration::from_secs(3);

/// Accepts runs for others to execute. Cheap to clone.
#[derive(Clone)]
pub struct Submit {
    runtime: Runtime,
    queue: Arc<dyn Queue>,
    workflows: Registry,
}

/// A run that is in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// Its id.
    pub run: RunId,
    /// Where it stands: `queued`, unless its key was known before.
    pub status: RunStatus,
}

/// Why there is no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No such workflow here; names those there are.
    #[error("{0}")]
    UnknownWorkflow(String),
    /// The workflow does not take this input, or makes no run of it.
    #[error("{0}")]
    InvalidInput(String),
    /// Something it needs is out of reach: asking again may help.
    #[error("{0}")]
    Unavailable(Fault),
    /// The store refuses, or holds something that cannot be read.
    #[error("{0}")]
    Broken(Fault),
}

impl Submit {
    /// Into this store, for the workers of this queue.
    pub fn new(runtime: Runtime, queue: Arc<dyn Queue>, workflows: Registry) -> Self {
        Self { runtime, queue, workflows }
    }

    /// Stores the run, then puts its wake-up on the queue. A job without a key is a run of its own;
    /// one whose key is known answers with the run there is.
    ///
    /// # Errors
    /// When there is no run afterwards, with the reason. After [`Refused::Unavailable`] there may
    /// be one nonetheless; the same key finds it.
    pub async fn submit(&self, job: Job, trace: &TraceContext) -> Result<Submitted, Refused> {
        let submitted = self.store(job, trace).await;
        metrics::submitted(submitted.as_ref().map(|begun| begun.created));
        let Begun { head, created, superseded, .. } = submitted?;
        let (run, status) = (head.id, head.status);
        tell_superseded(&superseded, &run);
        let (workflow, trace_id) = (&head.workflow, trace.trace_id());
        tracing::info!(%run, workflow, trace_id, %status, created, "run asked for");
        // One that waits for its time is woken by the message or the sweep that knows of it.
        let due = head.not_before.is_none_or(|at| at <= self.runtime.clock.now());
        if status == RunStatus::Queued && due {
            self.wake(&run, trace).await;
        }
        Ok(Submitted { run, status })
    }

    async fn store(&self, mut job: Job, trace: &TraceContext) -> Result<Begun, Refused> {
        let workflow =
            find(&self.workflows, &job.workflow).map_err(Refused::UnknownWorkflow)?.clone();
        let key = job.key.get_or_insert_with(|| RunId::random().to_string()).clone();
        // What its dead letter would send again, should the run be deleted by then.
        let message = job.to_message().with(TraceContext::HEADER, trace.to_string());
        let start = admitted(&workflow, Event::Job { input: job.input.into(), key }).await?;
        // Due from now on: without a time a sweep would never look at it.
        let due = self.runtime.clock.now();
        let opened = workflow.open(&self.runtime, start, Some(envelope_of(&message)), Some(due));
        opened.await.map_err(|fault| match fault.is_transient() {
            true => Refused::Unavailable(fault),
            false => Refused::Broken(fault),
        })
    }

    async fn wake(&self, run: &RunId, trace: &TraceContext) {
        let message =
            Decoded::wake_message(run.as_str()).with(TraceContext::HEADER, trace.to_string());
        let published = timeout(WAKE, self.queue.publish(message, Duration::ZERO)).await;
        let why = match published {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", WAKE.as_secs()),
        };
        metrics::not_woken();
        tracing::warn!(%run, why, "the queue did not take a wake-up; a sweep will find the run");
    }

    /// Tells, for as long as it is polled, whether `store` and `queue` answer: again every few
    /// seconds while both do, sooner and then ever later while one does not.
    pub async fn watch(&self, report: impl Fn(&'static str, Result<(), String>)) {
        let (first, longest) = AGAIN;
        let (mut wait, mut before) = (first, None);
        loop {
            let (store, queue) =
                tokio::join!(reach::store(&self.runtime), reach::queue(&*self.queue));
            let failed = store.as_ref().err().or(queue.as_ref().err()).cloned();
            if before.as_ref() != Some(&failed) {
                match &failed {
                    Some(why) => tracing::warn!(%why, "not ready to accept runs"),
                    None => tracing::info!("ready to accept runs"),
                }
            }
            report("store", store);
            report("queue", queue);
            let next = if failed.is_none() { LOOK } else { wait };
            wait = if failed.is_none() { first } else { (wait * 2).min(longest) };
            before = Some(failed);
            sleep(jittered(next)).await;
        }
    }
}

type Input = Arc<serde_json::value::RawValue>;

async fn admitted(workflow: &Arc<dyn AnyWorkflow>, event: Event) -> Result<Start<Input>, Refused> {
    match workflow.admit(&event).await {
        Ok(Admission::Start(start)) => Ok(start),
        Ok(Admission::Ignore { reason }) => Err(Refused::InvalidInput(format!("no run: {reason}"))),
        Ok(Admission::Cancel { .. }) => Err(Refused::InvalidInput(
            "no run: the input asks for an end, not for a run".to_owned(),
        )),
        Err(fault) if fault.is_transient() => Err(Refused::Unavailable(fault)),
        Err(fault) => Err(Refused::InvalidInput(fault.message)),
    }
}

//! From a message to what happened: admit, claim, execute.

use std::{sync::Arc, time::Duration};

use tracing::Span;

use crate::{
    base::{Fault, FaultKind, TraceContext},
    graph::{
        self, Begun, ClaimHow, Envelope, Events, Failure, Head, ReopenFrom, RunId, RunStatus, Stop,
        store::{Claimed, Lease, RunFilter},
    },
    queue::{Decoded, Delivery, Job, Message, Webhook, decode, header},
    workflows::{Admission, AnyRan, AnyWorkflow, Event, Options, Registry, Start},
};

use super::{
    Worker,
    disposition::{Happened, VERSION},
};

/// What happened, and what is needed to settle it.
pub(super) struct Worked {
    pub(super) happened: Happened,
    /// What went wrong, for a letter and the log.
    pub(super) error: String,
    pub(super) workflow: Option<String>,
    pub(super) run: Option<Held>,
}

/// A run that this worker holds, or has just held.
pub(super) enum Held {
    /// An execution that ended; the lease is its.
    Ran(RunId, Box<dyn AnyRan>),
    /// The run could not even be loaded as its workflow's.
    Raw(Lease, Box<Head>),
    /// A run that was not claimed.
    Free(Box<Head>),
}

impl Worked {
    pub(super) fn plain(happened: Happened) -> Self {
        Self { happened, error: String::new(), workflow: None, run: None }
    }

    pub(super) fn because(happened: Happened, error: impl ToString) -> Self {
        Self { error: error.to_string(), ..Self::plain(happened) }
    }

    fn of(mut self, workflow: &str) -> Self {
        self.workflow = Some(workflow.to_owned());
        self
    }

    fn not_admitted(fault: Fault, delivery: &Delivery) -> Self {
        let error = fault.to_string();
        Self::because(Happened::NotAdmitted { fault, deliveries: delivery.deliveries }, error)
    }

    /// The store failed, on the way to the run.
    fn store(error: &Fault) -> Self {
        Self::because(Happened::Unreachable, error)
    }
}

impl Worker {
    /// Works on one message up to what happened.
    pub(super) async fn work(&self, delivery: &Delivery) -> Worked {
        let message = &delivery.message;
        let decoded = match decode(&message.headers, &message.body) {
            Ok(decoded) => decoded,
            Err(undecodable) => return Worked::because(Happened::Undecodable, undecodable),
        };
        if let Some(letter) = message.header(header::REPLAY)
            && let Some(worked) = self.replay(letter).await
        {
            return worked;
        }
        match decoded {
            Decoded::Wake { run } => self.wake(&run).await,
            Decoded::Job(job) => self.job(job, delivery).await,
            Decoded::Webhook(webhook) => self.webhook(webhook, delivery).await,
        }
    }

    async fn wake(&self, run: &str) -> Worked {
        let run: RunId = match run.parse() {
            Ok(run) => run,
            Err(invalid) => return Worked::because(Happened::Undecodable, invalid),
        };
        match self.shared.runtime.store.head(&run).await {
            Ok(Some(head)) => self.take_up(head, None).await,
            Ok(None) => {
                tracing::info!(%run, "nothing to wake: there is no such run");
                Worked::plain(Happened::Done)
            }
            Err(error) => Worked::store(&error.into()),
        }
    }

    async fn job(&self, job: Job, delivery: &Delivery) -> Worked {
        let workflow = match find(&self.shared.workflows, &job.workflow) {
            Ok(workflow) => workflow,
            Err(error) => {
                return Worked::because(Happened::UnknownWorkflow, error).of(&job.workflow);
            }
        };
        // Without a key the message itself is the name: delivered again, it finds its run again.
        let key = job.key.unwrap_or_else(|| delivery.message.digest());
        let event = Event::Job { input: job.input.into(), key };
        self.admit(workflow, &event, delivery).await
    }

    async fn webhook(&self, webhook: Webhook, delivery: &Delivery) -> Worked {
        let Webhook { event, delivery: id, body } = webhook;
        let event = Event::Webhook { event, delivery: id, body };
        let Event::Webhook { event: name, .. } = &event else {
            return Worked::plain(Happened::Done);
        };
        let mut worked = Worked::plain(Happened::Done);
        for workflow in self.shared.workflows.interested(name) {
            worked = self.admit(workflow, &event, delivery).await;
            if worked.happened != Happened::Done {
                break;
            }
        }
        worked
    }

    async fn admit(
        &self,
        workflow: &Arc<dyn AnyWorkflow>,
        event: &Event,
        delivery: &Delivery,
    ) -> Worked {
        let name = workflow.name();
        let worked = match workflow.admit(event).await {
            Err(fault) => Worked::not_admitted(fault, delivery),
            Ok(Admission::Ignore { reason }) => {
                tracing::info!(workflow = name, %reason, "event ignored");
                Worked::plain(Happened::Done)
            }
            Ok(Admission::Cancel { subject }) => self.cancel_subject(name, &subject).await,
            Ok(Admission::Start(start)) => self.start_run(workflow, start, delivery).await,
        };
        worked.of(name)
    }

    async fn cancel_subject(&self, workflow: &str, subject: &str) -> Worked {
        let runtime = &self.shared.runtime;
        let filter = RunFilter {
            statuses: vec![RunStatus::Queued, RunStatus::Running, RunStatus::Parked],
            workflow: Some(workflow.to_owned()),
            subject: Some(subject.to_owned()),
            ..RunFilter::default()
        };
        let heads = match runtime.store.list(&filter).await {
            Ok(heads) => heads,
            Err(error) => return Worked::store(&error.into()),
        };
        for head in heads {
            if let Err(fault) = runtime.cancel(&head.id, "an event on its subject").await {
                return Worked::store(&fault);
            }
        }
        Worked::plain(Happened::Done)
    }

    async fn start_run(
        &self,
        workflow: &Arc<dyn AnyWorkflow>,
        start: Start<Arc<serde_json::value::RawValue>>,
        delivery: &Delivery,
    ) -> Worked {
        let envelope = envelope_of(&delivery.message);
        let opened = workflow.open(&self.shared.runtime, start, Some(envelope), None).await;
        let Begun { head, created, held, superseded } = match opened {
            Ok(begun) => begun,
            Err(fault) if fault.kind == FaultKind::Permanent => {
                return Worked::not_admitted(fault, delivery);
            }
            Err(fault) => return Worked::store(&fault),
        };
        tell_superseded(&superseded, &head.id);
        match held {
            Some(held) => {
                name_in_span(&head);
                self.execute(workflow, held, head, None).await
            }
            None if created => Worked::plain(Happened::Done),
            None if head.status == RunStatus::Superseded => self.current_again(head).await,
            None => self.take_up(head, None).await,
        }
    }

    /// A superseded run is asked for again: it goes on, unless a newer one is there.
    async fn current_again(&self, head: Head) -> Worked {
        let filter = RunFilter { subject: head.subject.clone(), ..RunFilter::default() };
        let others = match self.shared.runtime.store.list(&filter).await {
            Ok(others) => others,
            Err(error) => return Worked::store(&error.into()),
        };
        let newer = |other: &Head| {
            other.id != head.id && other.order > head.order && other.status != RunStatus::Superseded
        };
        if head.subject.is_none() || others.iter().any(newer) {
            return Worked::plain(Happened::Done);
        }
        let reopen = ("it is current again".to_owned(), ReopenFrom::Failed);
        self.take_up(head, Some(reopen)).await
    }

    /// A message that replays a dead letter. `None` if the letter has no run: then the message is
    /// worked on like any other.
    async fn replay(&self, letter: &str) -> Option<Worked> {
        let store = &self.shared.runtime.store;
        let letter = match store.letter(letter).await {
            Ok(letter) => letter?,
            Err(error) => return Some(Worked::store(&error.into())),
        };
        let run = letter.run?;
        let head = match store.head(&run).await {
            Ok(Some(head)) => head,
            Ok(None) => return None,
            Err(error) => return Some(Worked::store(&error.into())),
        };
        if head.status != RunStatus::Failed {
            return Some(self.take_up(head, None).await);
        }
        // Only its last letter opens it again, so that one replay opens it once.
        let last = match self.shared.workflows.get(&head.workflow) {
            Some(workflow) => workflow.inspect(&self.shared.runtime, &run).await,
            None => return Some(Worked::plain(Happened::Done)),
        };
        match last {
            Ok(seen) if seen.letters.last().is_some_and(|(id, _)| *id == letter.id) => {
                let reopen = (format!("replay of letter {}", letter.id), ReopenFrom::Failed);
                Some(self.take_up(head, Some(reopen)).await)
            }
            Ok(_) => Some(Worked::plain(Happened::Done)),
            Err(fault) => Some(Worked::store(&fault)),
        }
    }

    /// Claims a run that is there and executes it.
    pub(super) async fn take_up(&self, head: Head, reopen: Option<(String, ReopenFrom)>) -> Worked {
        name_in_span(&head);
        let runtime = &self.shared.runtime;
        let name = head.workflow.clone();
        let now = runtime.clock.now();
        let due = head.not_before.is_some_and(|at| at <= now);
        let revisit = head.status == RunStatus::Completed && due;
        if head.status.is_final() && reopen.is_none() && !revisit {
            return self.finished(&head).await.of(&name);
        }
        let Some(workflow) = self.shared.workflows.get(&name) else {
            return self.foreign(head).await;
        };
        if !workflow.versions().contains(&head.workflow_version) {
            return self.foreign(head).await;
        }
        let how = ClaimHow { early: reopen.is_some(), reopen: reopen.is_some() || revisit };
        let worked = match runtime.claim(&head.id, how).await {
            Err(error) => Worked::store(&error.into()),
            Ok(Claimed::Yours(lease, head)) => {
                self.execute(workflow, lease.into(), *head, reopen).await
            }
            Ok(Claimed::Held(holder)) => {
                Worked::plain(Happened::Held { left: holder.expires.since(now) })
            }
            Ok(Claimed::NotBefore(at)) => Worked::plain(Happened::Early { left: at.since(now) }),
            Ok(Claimed::Final(_) | Claimed::Missing) => Worked::plain(Happened::Done),
        };
        worked.of(&name)
    }

    /// A run that is at its end: what it has to tell people is told before its message goes.
    async fn finished(&self, head: &Head) -> Worked {
        if head.status != RunStatus::Failed {
            return Worked::plain(Happened::Done);
        }
        match self.shared.letters.deliver_of(&head.id).await {
            Ok(true) => Worked::plain(Happened::Done),
            Ok(false) => {
                let now = self.shared.runtime.clock.now();
                let left = head.lease.as_ref().map(|holder| holder.expires.since(now));
                Worked::plain(Happened::Held { left: left.unwrap_or_default() })
            }
            Err(fault) => Worked::because(Happened::Unreachable, fault),
        }
    }

    /// A run of another build: of a version, or a whole workflow, that is not here.
    async fn foreign(&self, head: Head) -> Worked {
        let now = self.shared.runtime.clock.now();
        let since = now.since(head.unknown_since());
        let longest = self.shared.options.version_wait;
        if since < longest {
            let until = now.plus(VERSION.min(longest));
            if let Err(fault) = self.shared.runtime.await_version(&head, until).await {
                return Worked::store(&fault);
            }
        }
        let error = format!(
            "run {} is of version {} of workflow `{}`, which no worker here continues",
            head.id, head.workflow_version, head.workflow
        );
        let name = head.workflow.clone();
        let worked = Worked::because(Happened::UnknownVersion { since }, error);
        Worked { run: Some(Held::Free(Box::new(head))), ..worked }.of(&name)
    }

    async fn execute(
        &self,
        workflow: &Arc<dyn AnyWorkflow>,
        held: graph::Held,
        head: Head,
        reopen: Option<(String, ReopenFrom)>,
    ) -> Worked {
        let lease = held.lease.clone();
        let runtime = &self.shared.runtime;
        let events =
            Events::new(head.id.clone(), runtime.clock.clone(), self.shared.events.clone());
        let control = self.shared.control.clone();
        let options = Options { events, control, reopen, ..Options::default() };
        let ran = match workflow.execute(runtime, held, options).await {
            Ok(ran) => ran,
            Err(fault) => return broken(fault, lease, head),
        };
        let executions = ran.executions();
        match ran.stop().clone() {
            Stop::Completed => Worked::plain(Happened::Done),
            // Somebody claimed it to reopen it and died before saying so in its log. Its head says
            // again how it ended; what the message asks for is found out from there.
            Stop::Ended => Worked::plain(Happened::Early { left: Duration::ZERO }),
            Stop::Waiting(_) => Worked::plain(Happened::Parked),
            Stop::Drained | Stop::Crashed => Worked::plain(Happened::Stopping),
            Stop::Fenced => self.fenced(&head.id).await,
            Stop::StoreLost(fault) => broken(fault, lease, head),
            Stop::Failed(failure) => {
                let error = failure.fault.to_string();
                let happened = Happened::Failed { failure, executions };
                Worked { run: Some(Held::Ran(head.id, ran)), ..Worked::because(happened, error) }
            }
        }
    }

    /// The lease is gone: because the run was stopped, or because another worker has it.
    async fn fenced(&self, run: &RunId) -> Worked {
        match self.shared.runtime.store.head(run).await {
            Ok(Some(head)) if !head.status.is_final() => {
                Worked::because(Happened::LeaseLost, "the lease was lost")
            }
            Ok(_) => Worked::plain(Happened::Done),
            Err(error) => Worked::store(&error.into()),
        }
    }
}

/// The run was claimed and then could not be loaded or written.
fn broken(fault: Fault, lease: Lease, head: Head) -> Worked {
    if fault.is_transient() {
        return Worked::store(&fault);
    }
    let error = fault.to_string();
    let executions = head.executions;
    let failure = Failure { step: 0, node: None, fault };
    let happened = Happened::Failed { failure, executions };
    Worked { run: Some(Held::Raw(lease, Box::new(head))), ..Worked::because(happened, error) }
}

/// The workflow of this name, or a sentence that names those there are.
pub(super) fn find<'a>(
    workflows: &'a Registry,
    name: &str,
) -> Result<&'a Arc<dyn AnyWorkflow>, String> {
    workflows.get(name).ok_or_else(|| {
        let known = workflows.names().collect::<Vec<_>>().join(", ");
        format!("there is no workflow `{name}` here (known: {known})")
    })
}

/// Logs which runs a new one took the place of.
pub(super) fn tell_superseded(superseded: &[RunId], by: &RunId) {
    for run in superseded {
        tracing::info!(%run, %by, "run superseded");
    }
}

/// Says in the log span of the message, or of the sweep, which run it came to.
fn name_in_span(head: &Head) {
    Span::current().record("run", head.id.as_str()).record("workflow", &head.workflow);
}

/// The trace a message belongs to, if it names one.
pub(super) fn trace_of(message: &Message) -> Option<TraceContext> {
    message.header(TraceContext::HEADER)?.parse().ok()
}

/// The message as its run keeps it.
pub(super) fn envelope_of(message: &Message) -> Envelope {
    let mut headers = message.headers.clone();
    headers.remove(header::REPLAY);
    let trace = trace_of(message);
    // What was decoded is UTF-8.
    let body = String::from_utf8_lossy(&message.body).into_owned();
    Envelope { headers, body, trace }
}

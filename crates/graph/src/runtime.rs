//! Runs in a store: opened, executed, looked at, forked and answered.

use std::{sync::Arc, time::Duration};

use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::{
    codec::encode_meta,
    control::Stop,
    ended::EndedExecution,
    event::Events,
    executor::Execution,
    graph::Graph,
    journal::{Flushed, Journal},
    machine::{Ended, RunMachine},
    path::Path,
    record::{Body, Meta, Outcome, Record, Redo, Start},
    spec::{ClaimHow, Execute, LeasedRun, NewSpec, OpenedRun, ReopenFrom},
    state::State,
    store::{
        Claim, ClaimAs, Claimed, FORMAT, Head, NewRun, RunId, RunStatus, Store, StoreError,
        StoredRecord,
    },
};
use crate::base::{Clock, Fault};

type Result<T, E = Fault> = std::result::Result<T, E>;

/// Encoded but uncommitted records are held by at most so many runs at a time: it bounds memory.
const ENCODING: usize = 64;

/// A store, and the name and habits of this process. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    /// Where the runs are.
    pub store: Arc<dyn Store>,
    /// The clock that records are stamped with.
    pub clock: Clock,
    /// This process's name, for people.
    pub owner: Arc<str>,
    /// How long a lease lives unless renewed.
    pub ttl: Duration,
    known_dead: fn(&str) -> bool,
    permits: Arc<Semaphore>,
}

impl Runtime {
    /// With leases of 30 s.
    pub fn new(store: Arc<dyn Store>, clock: Clock, owner: &str) -> Self {
        Self {
            store,
            clock,
            owner: owner.into(),
            ttl: Duration::from_secs(30),
            known_dead: |_| false,
            permits: Arc::new(Semaphore::new(ENCODING)),
        }
    }

    /// The same, with leases that live this long.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// The same, told how to find out that the owner of a lease has died. A run of such an owner is
    /// taken over at once; of any other, when its lease has expired.
    #[must_use]
    pub fn with_known_dead(mut self, known_dead: fn(&str) -> bool) -> Self {
        self.known_dead = known_dead;
        self
    }

    /// Claims a run in this process's name.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn claim(&self, run: &RunId, how: ClaimHow) -> Result<Claimed, StoreError> {
        let mut claim = Claim {
            run: run.clone(),
            by: self.claim_as(),
            early: how.early,
            reopen: how.reopen,
            dead: None,
        };
        match self.store.claim(claim.clone()).await? {
            Claimed::LeaseHeld(holder) if (self.known_dead)(&holder.owner) => {
                claim.dead = Some(holder.owner);
                self.store.claim(claim).await
            }
            claimed => Ok(claimed),
        }
    }

    /// Whether a claim would take the run over from a holder that died, as far as can be told here.
    pub fn takes_over(&self, head: &Head) -> bool {
        let died = |owner: &str| (self.known_dead)(owner);
        let now = self.clock.now();
        head.lease.as_ref().is_some_and(|holder| holder.expires <= now || died(&holder.owner))
    }

    /// Whether the owner of the run's lease is known to have died.
    pub fn holder_died(&self, head: &Head) -> bool {
        head.lease.as_ref().is_some_and(|holder| (self.known_dead)(&holder.owner))
    }

    /// In this process's name.
    pub fn claim_as(&self) -> ClaimAs {
        ClaimAs { owner: self.owner.to_string(), ttl: self.ttl }
    }

    /// Opens a run, or finds the one with its key, and supersedes older ones of its subject.
    ///
    /// # Errors
    /// If the input has no JSON form, or the store fails.
    pub async fn open<S: State, D>(
        &self,
        graph: &Graph<S, D>,
        spec: NewSpec<S::Input>,
    ) -> Result<OpenedRun> {
        let input = serde_json::value::to_raw_value(&spec.input)
            .map_err(|e| Fault::permanent(format!("the input has no JSON form: {e}")))?;
        let start = Start { input: input.into(), envelope: spec.envelope };
        let meta = Meta::Started {
            workflow: spec.workflow.clone(),
            version: spec.version,
            entry: graph.entry.clone(),
        };
        let record = Record::<()>::new(self.clock.now(), meta, Body::Start(start));
        let record = record.encode(self.store.compresses())?;
        let id = spec.id.unwrap_or_else(RunId::random);
        let superseded = Meta::Superseded { by: id.clone() };
        let new = NewRun {
            superseded: self.bare(&superseded)?,
            key: if spec.key.is_empty() { id.to_string() } else { spec.key },
            id,
            workflow: spec.workflow.to_string(),
            workflow_version: spec.version,
            subject: spec.subject,
            order: spec.order,
            not_before: spec.not_before,
            records: vec![record.clone()],
            asks: Vec::new(),
            claim: spec.claim.then(|| self.claim_as()),
        };
        let opened = self.store.open(new).await?;
        let loaded = Some((opened.head.clone(), vec![record]));
        Ok(OpenedRun {
            held: opened.lease.map(|lease| LeasedRun { lease, loaded }),
            head: opened.head,
            created: opened.created,
            superseded: opened.superseded,
        })
    }

    pub(super) fn bare(&self, meta: &Meta) -> Result<StoredRecord> {
        Ok(StoredRecord {
            meta: encode_meta(self.clock.now(), &Path::default(), meta)?,
            payload: None,
        })
    }

    /// Executes a run this process has claimed, until it ends, waits, fails or is stopped. Once it
    /// answers, the lease is given up, unless the answer is [`Stop::Failed`].
    ///
    /// # Errors
    /// If the run cannot be loaded or its log cannot be read.
    pub async fn execute<S: State, D: Send + Sync + 'static>(
        &self,
        execute: Execute<S, D>,
        held: impl Into<LeasedRun>,
    ) -> Result<EndedExecution<S>> {
        // What preparing needs, the log above all, is gone before the run is under way.
        match Box::pin(self.prepare(execute, held.into())).await? {
            Prepared::Stopped(ran) => Ok(*ran),
            Prepared::Ready(execution) => Ok(Box::pin(execution.run()).await),
        }
    }

    async fn prepare<S: State, D: Send + Sync + 'static>(
        &self,
        execute: Execute<S, D>,
        held: LeasedRun,
    ) -> Result<Prepared<S, D>> {
        let LeasedRun { lease, loaded } = held;
        let (head, stored) = match loaded {
            Some(loaded) => loaded,
            None => self.loaded(&lease.run).await?,
        };
        if !execute.versions.is_empty() && !execute.versions.contains(&head.workflow_version) {
            return Err(Fault::permanent(format!(
                "run {} is of version {} of workflow `{}`, which this worker does not continue",
                head.id, head.workflow_version, head.workflow
            )));
        }
        let crash = execute.faults.crash_after;
        let permits = self.permits.clone();
        let mut journal =
            Journal::new(self.store.clone(), permits, (lease, self.ttl), &head, crash);
        let mut machine = replay::<S>(&stored)?;
        if let Some(meta) = reopening(&machine, execute.reopen.as_ref()) {
            match self.reopen(&mut journal, stored, meta).await {
                Ok(reopened) => machine = reopened,
                Err(stop) => return Ok(self.stopped(stop, machine, journal, execute.events)),
            }
        }
        machine.wake(self.clock.now());
        if let Some(ended) = machine.ended() {
            let status = status_of(ended);
            // A claim made it `running`; nothing is to be done, so it goes back to what it was.
            let restored = journal.settle(|head| head.status = status, false, None).await;
            let stop = restored.map_or_else(Stop::from, |_| Stop::Ended);
            return Ok(self.stopped(stop, machine, journal, execute.events));
        }
        let kept = Some((journal, self.owner.clone()));
        let execution = Execution::new(execute, machine, (head.id, self.clock.clone()), kept);
        Ok(Prepared::Ready(Box::new(execution)))
    }

    fn stopped<S: State, D>(
        &self,
        stop: Stop,
        machine: RunMachine<S>,
        journal: Journal,
        events: Events,
    ) -> Prepared<S, D> {
        let (active, clock, run) = (journal.active(), self.clock.clone(), journal.run().clone());
        let journal = Some(journal);
        Prepared::Stopped(Box::new(EndedExecution {
            run,
            stop,
            machine,
            active,
            journal,
            clock,
            events,
        }))
    }

    async fn reopen<S: State>(
        &self,
        journal: &mut Journal,
        mut stored: Vec<StoredRecord>,
        meta: Meta,
    ) -> std::result::Result<RunMachine<S>, Stop> {
        let record = Record::<()>::new(self.clock.now(), meta, Body::None);
        journal.record(&record).await.map_err(Stop::StoreLost)?;
        let encoded = record.encode(false).map_err(|e| Stop::StoreLost(e.into()))?;
        while let Flushed::Moved(records) = journal.flush().await? {
            stored.extend(records);
        }
        if journal.crashed() {
            return Err(Stop::Crashed);
        }
        stored.push(encoded);
        replay(&stored).map_err(Stop::StoreLost)
    }

    pub(super) async fn loaded(&self, run: &RunId) -> Result<(Head, Vec<StoredRecord>)> {
        let loaded = self.store.load(run, 0).await?;
        let (head, stored) =
            loaded.ok_or_else(|| Fault::permanent(format!("there is no run {run}")))?;
        if head.format > FORMAT {
            let format = head.format;
            return Err(Fault::permanent(format!(
                "run {run} is written in format {format}, this version reads up to {FORMAT}"
            )));
        }
        Ok((head, stored))
    }
}

/// What came of preparing an execution.
enum Prepared<S: State, D> {
    /// It may run.
    Ready(Box<Execution<S, D>>),
    /// It is over before it began.
    Stopped(Box<EndedExecution<S>>),
}

impl<S: State, D: Send + Sync + 'static> Graph<S, D> {
    /// Runs without a store: nothing is kept, nothing can be resumed.
    pub async fn run(&self, input: S::Input, execute: Execute<S, D>) -> EndedExecution<S> {
        let mut machine = RunMachine::default();
        let clock = Clock::system();
        machine.start(clock.now(), ("".into(), 0), &self.entry, S::new(input));
        Execution::new(execute, machine, (RunId::random(), clock), None).run().await
    }
}

pub(super) fn decode<U: DeserializeOwned>(stored: &[StoredRecord]) -> Result<Vec<Record<U>>> {
    let records = (1u64..).zip(stored).map(|(seq, record)| Ok(Record::decode(seq, record)?));
    records.collect()
}

pub(super) fn replay<S: State>(stored: &[StoredRecord]) -> Result<RunMachine<S>> {
    Ok(RunMachine::replay(decode(stored)?)?)
}

/// The record that opens the run again, if it should be.
fn reopening<S: State>(
    machine: &RunMachine<S>,
    wish: Option<&(String, ReopenFrom)>,
) -> Option<Meta> {
    let (step, _) = machine.tasks();
    let failed = machine.failures().first().map(|failure| failure.step);
    let meta = |why: &str, from, redo| Some(Meta::Reopened { why: why.to_owned(), from, redo });
    match wish {
        Some((why, ReopenFrom::Failed)) => meta(why, failed.unwrap_or(step), Redo::Failed),
        Some((why, ReopenFrom::Node(name))) => {
            let mut own = machine.history().iter().rev().filter(|task| task.path.is_empty());
            let ran = own.find(|task| *task.node == **name);
            meta(why, ran.map_or(step, |task| task.step), Redo::All)
        }
        None => match machine.ended() {
            Some(Ended::Finished(Outcome::Completed { revisit: Some((_, from)) })) => {
                meta("fills what is missing", *from, Redo::Failed)
            }
            Some(_) => None,
            // The last execution failed, and what failed may be tried again.
            None => machine
                .failure()
                .filter(|failure| failure.fault.is_transient())
                .and_then(|_| meta("tried again", step, Redo::Failed)),
        },
    }
}

fn status_of(ended: &Ended) -> RunStatus {
    match ended {
        Ended::Finished(Outcome::Completed { .. }) => RunStatus::Completed,
        Ended::Finished(Outcome::Failed(_)) => RunStatus::Failed,
        Ended::Superseded(_) => RunStatus::Superseded,
        Ended::Cancelled(_) => RunStatus::Cancelled,
    }
}

//! Runs in a store: opened, executed, looked at, forked and answered.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use tokio::{sync::Semaphore, time::Instant};

use super::{
    builder::Graph,
    context::RunInfo,
    event::Events,
    executor::{Control, Execution, Ran, Stop},
    journal::{Flushed, Journal},
    machine::{Ended, RunMachine},
    record::{Body, Envelope, Meta, Outcome, Record, Redo, Start, encode_meta},
    rewind,
    state::State,
    store::{
        Append, Cancelled, Claim, ClaimAs, Claimed, FORMAT, Head, HeadChange, Hold, Lease, Letter,
        NewRun, Opened, Resumed, RunId, RunStatus, Store, StoreError, StoredRecord,
    },
    testing::Faults,
};
use crate::base::{Clock, Fault, Timestamp};

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

/// What to start. See [`Runtime::open`].
pub struct NewSpec<I> {
    workflow: Arc<str>,
    version: u32,
    id: Option<RunId>,
    key: String,
    subject: Option<String>,
    order: i64,
    input: I,
    envelope: Option<Envelope>,
    not_before: Option<Timestamp>,
    claim: bool,
}

impl<I> NewSpec<I> {
    /// A run of this workflow and version, with this input. Without a key it gets a random one.
    pub fn new(workflow: &str, version: u32, input: I) -> Self {
        Self {
            workflow: workflow.into(),
            version,
            id: None,
            key: String::new(),
            subject: None,
            order: 0,
            input,
            envelope: None,
            not_before: None,
            claim: false,
        }
    }

    /// Its key: a second opening with it finds the first one's run.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self.id = Some(RunId::of(&self.workflow, &self.key));
        self
    }

    /// An id of the caller's choosing.
    #[must_use]
    pub fn id(mut self, id: RunId) -> Self {
        self.id = Some(id);
        self
    }

    /// What it is about, and its place among the runs about it.
    #[must_use]
    pub fn subject(mut self, subject: Option<String>, order: i64) -> Self {
        self.subject = subject;
        self.order = order;
        self
    }

    /// The message it comes from.
    #[must_use]
    pub fn envelope(mut self, envelope: Option<Envelope>) -> Self {
        self.envelope = envelope;
        self
    }

    /// When a sweep should look after it if nobody else has.
    #[must_use]
    pub fn not_before(mut self, at: Timestamp) -> Self {
        self.not_before = Some(at);
        self
    }

    /// Claims it in the same step if it is new.
    #[must_use]
    pub fn claim(mut self) -> Self {
        self.claim = true;
        self
    }
}

/// Which runs a claim takes. The default takes runs that are unfinished and due.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaimHow {
    /// Also those whose time has not come.
    pub early: bool,
    /// Also those that have ended.
    pub reopen: bool,
}

/// A run this process has claimed.
#[derive(Debug, Clone)]
pub struct Held {
    /// The right to write to it.
    pub lease: Lease,
    /// What it holds, when that is known without asking the store.
    loaded: Option<(Head, Vec<StoredRecord>)>,
}

impl From<Lease> for Held {
    fn from(lease: Lease) -> Self {
        Self { lease, loaded: None }
    }
}

/// What [`Runtime::open`] found or made.
#[derive(Debug, Clone)]
pub struct Begun {
    /// What the store says of it.
    pub opened: Opened,
    /// The run in hand, if it is new and was to be claimed.
    pub held: Option<Held>,
}

impl std::ops::Deref for Begun {
    type Target = Opened;

    fn deref(&self) -> &Opened {
        &self.opened
    }
}

/// Where to go on from. See [`Execute::reopen`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReopenFrom {
    /// The first step with a failed task, passed over or not; without one, where the run stands.
    Failed,
    /// The step in which this node ran last; all of its tasks run again.
    Node(String),
}

/// One execution. See [`Runtime::execute`].
pub struct Execute<S: State, D> {
    /// The graph.
    pub graph: Graph<S, D>,
    /// What its nodes need.
    pub deps: Arc<D>,
    /// Versions of the workflow whose runs may be continued; empty for any.
    pub versions: Vec<u32>,
    /// Where events go.
    pub events: Events,
    /// How to stop it.
    pub control: Control,
    /// Active time the run may take in all.
    pub timeout: Option<Duration>,
    /// Faults to inject.
    pub faults: Faults,
    /// Reopen it first: why, and from where. A run due for another visit to failed tasks, and one
    /// whose last execution failed, are reopened without being asked.
    pub reopen: Option<(String, ReopenFrom)>,
}

impl<S: State, D> Execute<S, D> {
    /// Of this graph, with these dependencies and no further wishes.
    pub fn new(graph: Graph<S, D>, deps: Arc<D>) -> Self {
        Self {
            graph,
            deps,
            versions: Vec::new(),
            events: Events::default(),
            control: Control::default(),
            timeout: None,
            faults: Faults::default(),
            reopen: None,
        }
    }
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
            Claimed::Held(holder) if (self.known_dead)(&holder.owner) => {
                claim.dead = Some(holder.owner);
                self.store.claim(claim).await
            }
            claimed => Ok(claimed),
        }
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
    ) -> Result<Begun> {
        let input = serde_json::value::to_raw_value(&spec.input)
            .map_err(|e| Fault::permanent(format!("the input has no JSON form: {e}")))?;
        let start = Start { input: input.into(), envelope: spec.envelope };
        let meta = Meta::Started {
            workflow: spec.workflow.clone(),
            version: spec.version,
            entry: graph.entry.clone(),
        };
        let record = Record::<()> { at: self.clock.now(), meta, body: Body::Start(start) };
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
        let held = opened
            .lease
            .clone()
            .map(|lease| Held { lease, loaded: Some((opened.head.clone(), vec![record])) });
        Ok(Begun { opened, held })
    }

    fn bare(&self, meta: &Meta) -> Result<StoredRecord> {
        Ok(StoredRecord { meta: encode_meta(self.clock.now(), meta)?, payload: None })
    }

    /// Executes a run this process has claimed, until it ends, waits, fails or is stopped. Once it
    /// answers, the lease is given up, unless the answer is [`Stop::Failed`].
    ///
    /// # Errors
    /// If the run cannot be loaded or its log cannot be read.
    pub async fn execute<S: State, D: Send + Sync + 'static>(
        &self,
        execute: Execute<S, D>,
        held: impl Into<Held>,
    ) -> Result<Ran<S>> {
        let Held { lease, loaded } = held.into();
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
        Ok(Box::pin(self.execution(execute, machine, Some(journal), head.id).run()).await)
    }

    fn execution<S: State, D: Send + Sync + 'static>(
        &self,
        execute: Execute<S, D>,
        machine: RunMachine<S>,
        journal: Option<Journal>,
        id: RunId,
    ) -> Execution<S, D> {
        let info = RunInfo {
            id,
            workflow: machine.workflow().0.clone(),
            forked: machine.forked().cloned(),
            reopened: machine.reopened(),
        };
        Execution {
            graph: execute.graph,
            deps: execute.deps,
            machine,
            journal,
            info: Arc::new(info),
            events: execute.events,
            control: execute.control.child(),
            clock: self.clock.clone(),
            signature: Some(self.owner.clone()),
            timeout: execute.timeout,
            faults: execute.faults,
            began: Instant::now(),
        }
    }

    fn stopped<S: State>(
        &self,
        stop: Stop,
        machine: RunMachine<S>,
        journal: Journal,
        events: Events,
    ) -> Ran<S> {
        let active = journal.active();
        Ran { stop, machine, active, journal: Some(journal), clock: self.clock.clone(), events }
    }

    async fn reopen<S: State>(
        &self,
        journal: &mut Journal,
        mut stored: Vec<StoredRecord>,
        meta: Meta,
    ) -> std::result::Result<RunMachine<S>, Stop> {
        let record = Record::<()> { at: self.clock.now(), meta, body: Body::None };
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

    /// The run as its records tell it.
    ///
    /// # Errors
    /// If there is no such run, or its log cannot be read as this workflow's.
    pub async fn inspect<S: State>(&self, run: &RunId) -> Result<(Head, RunMachine<S>)> {
        let (head, stored) = self.loaded(run).await?;
        Ok((head, replay(&stored)?))
    }

    /// The state as it was after `step` (0 for the start).
    ///
    /// # Errors
    /// If there is no such run or step.
    pub async fn checkpoint<S: State>(&self, run: &RunId, step: u32) -> Result<Arc<S>> {
        let (_, stored) = self.loaded(run).await?;
        let records = prefix::<S::Update>(run, &stored, step)?;
        RunMachine::<S>::replay(records)?
            .into_state()
            .ok_or_else(|| Fault::permanent(format!("run {run} has not started")))
    }

    /// Copies the run up to the end of `step` into a new one, with an id of its own and no
    /// subject, and leaves it queued. It publishes nothing unless `publish`.
    ///
    /// # Errors
    /// If there is no such run or step.
    pub async fn fork<U>(&self, run: &RunId, step: u32, publish: bool) -> Result<RunId>
    where
        U: Serialize + DeserializeOwned,
    {
        let (head, stored) = self.loaded(run).await?;
        let mut records = prefix::<U>(run, &stored, step)?;
        let asks = interrupts_of(&records);
        let meta = Meta::Forked { parent: run.clone(), step, publish };
        records.push(Record { at: self.clock.now(), meta, body: Body::None });
        let compress = self.store.compresses();
        let encoded: std::result::Result<Vec<_>, _> =
            records.iter().map(|record| record.encode(compress)).collect();
        let id = RunId::random();
        let new = NewRun {
            superseded: self.bare(&Meta::Superseded { by: id.clone() })?,
            id: id.clone(),
            workflow: head.workflow,
            workflow_version: head.workflow_version,
            key: format!("fork of {run} after step {step}: {id}"),
            subject: None,
            order: 0,
            not_before: Some(Timestamp::default()),
            records: encoded?,
            asks,
            claim: None,
        };
        self.store.open(new).await?;
        Ok(id)
    }

    /// Answers an interrupt of a run, whoever runs it. The second answer gets the first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn resume(&self, run: &RunId, interrupt: &str, value: &RawValue) -> Result<Resumed> {
        let meta = Meta::Resumed { id: interrupt.to_owned() };
        let body = Body::Value(value.to_owned().into());
        let record = Record::<()> { at: self.clock.now(), meta, body };
        let record = record.encode(self.store.compresses())?;
        let value = Bytes::copy_from_slice(value.get().as_bytes());
        Ok(self.store.resume(run, interrupt, value, record).await?)
    }

    /// Stops a run from outside.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn cancel(&self, run: &RunId, by: &str) -> Result<Cancelled> {
        let record = self.bare(&Meta::Cancelled { by: by.to_owned() })?;
        Ok(self.store.cancel(run, record).await?)
    }

    /// The run's records, without what may be large: (number, when, what).
    ///
    /// # Errors
    /// If there is no such run, or a record cannot be read.
    pub async fn history(&self, run: &RunId) -> Result<Vec<(u64, Timestamp, Meta)>> {
        let (_, stored) = self.loaded(run).await?;
        let rows = (1u64..).zip(&stored).map(|(seq, record)| {
            let (at, meta) = Meta::decode(seq, record)?;
            Ok((seq, at, meta))
        });
        rows.collect()
    }

    /// Appends records that need no knowledge of the workflow to a run this process has claimed:
    /// its failure, a letter, a letter's confirmation. The lease stays if `hold`.
    ///
    /// # Errors
    /// If the store refuses.
    pub async fn note(
        &self,
        (lease, head): (&Lease, &Head),
        metas: &[Meta],
        change: HeadChange,
        letter: Option<Letter>,
        hold: bool,
    ) -> Result<u64> {
        let records: Result<Vec<_>> = metas.iter().map(|meta| self.bare(meta)).collect();
        let append = Append {
            lease: lease.clone(),
            expected: head.version,
            batch: fastrand::u128(..),
            records: records?,
            head: change,
            asks: Vec::new(),
            letter: letter.map(Box::new),
            hold: if hold { Hold::Keep(self.ttl) } else { Hold::Release },
        };
        Ok(self.store.append(append).await?)
    }

    async fn loaded(&self, run: &RunId) -> Result<(Head, Vec<StoredRecord>)> {
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

impl<S: State, D: Send + Sync + 'static> Graph<S, D> {
    /// Runs without a store: nothing is kept, nothing can be resumed.
    pub async fn run(&self, input: S::Input, execute: Execute<S, D>) -> Ran<S> {
        let mut machine = RunMachine::default();
        let clock = Clock::system();
        machine.start(clock.now(), ("".into(), 0), &self.entry, S::new(input));
        let info = RunInfo { id: RunId::random(), workflow: "".into(), forked: None, reopened: 0 };
        let execution = Execution {
            graph: execute.graph,
            deps: execute.deps,
            machine,
            journal: None,
            info: Arc::new(info),
            events: execute.events,
            control: execute.control.child(),
            clock,
            signature: None,
            timeout: execute.timeout,
            faults: execute.faults,
            began: Instant::now(),
        };
        execution.run().await
    }
}

fn decode<U: DeserializeOwned>(stored: &[StoredRecord]) -> Result<Vec<Record<U>>> {
    let records = (1u64..).zip(stored).map(|(seq, record)| Ok(Record::decode(seq, record)?));
    records.collect()
}

fn replay<S: State>(stored: &[StoredRecord]) -> Result<RunMachine<S>> {
    Ok(RunMachine::replay(decode(stored)?)?)
}

fn prefix<U: DeserializeOwned>(
    run: &RunId,
    stored: &[StoredRecord],
    step: u32,
) -> Result<Vec<Record<U>>> {
    rewind::prefix(decode(stored)?, step)
        .ok_or_else(|| Fault::permanent(format!("run {run} never finished step {step}")))
}

/// The interrupts in these records, with their answers.
fn interrupts_of<U>(records: &[Record<U>]) -> Vec<(String, Option<Bytes>)> {
    let answer = |wanted: &str| {
        records.iter().find_map(|record| match (&record.meta, &record.body) {
            (Meta::Resumed { id }, Body::Value(value)) if id == wanted => {
                Some(Bytes::copy_from_slice(value.get().as_bytes()))
            }
            _ => None,
        })
    };
    let asked = records.iter().filter_map(|record| match &record.meta {
        Meta::Interrupted { id, .. } => Some((id.clone(), answer(id))),
        _ => None,
    });
    asked.collect()
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
            let ran = machine.history().iter().rev().find(|task| *task.node == **name);
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

//! The one driver of runs. Whoever wants something of a run asks here: the worker, the HTTP API and
//! the command line turn their arguments into a call of [`Runs`], and its answer into a settlement,
//! a response or a page.
//!
//! Goals:
//! - **One admission, one driver.** An event becomes a run in `admit`, a run is executed in `drive`,
//!   whichever process asks and why.
//! - **Durable first, announced second.** A run that was asked for is in the store before workers
//!   are told of it. A lost wake-up delays a run until the next sweep and never loses it.
//! - **A dead letter is recorded, published, confirmed**, in this order; each step may happen twice.
//! - **A run can be watched from any process of its store**: each record once, in order, through
//!   outages of the store.
//!
//! It never settles a message, and knows neither queues nor HTTP: what it needs of a queue is the
//! port [`Notifier`].
//!
//! Calls fail as [`Error`] says, or with a [`Fault`] where a worker decides.
//!
//! Layout: `admit` (event → run; `submit`) · `drive` (from a request to an [`Outcome`], for workers) ·
//! `slots` (how many at a time) · `foreground` (a run driven where it was asked for) · `settle` (runs whose execution failed) ·
//! `dead_letters` · `list` · `watch` · `act` (answer, cancel, fork, delete) · `bulk` (many at once) ·
//! `pauses` · `events` (from outside) · `views` (the JSON that is shown).

mod act;
mod admit;
mod bulk;
mod dead_letters;
mod drive;
mod error;
mod events;
mod foreground;
mod list;
mod metrics;
mod notifier;
mod outcome;
mod pauses;
mod settle;
mod slots;
mod subjects;
pub mod views;
mod watch;

use std::{sync::Arc, time::Duration};

pub use self::{
    bulk::RunAction,
    dead_letters::{LetterQuery, Replayed},
    drive::Drive,
    error::Error,
    foreground::{Driven, Opened},
    list::{Pages, RunQuery},
    metrics::{describe as describe_metrics, describe_accepting},
    notifier::{Notifier, Settled},
    outcome::{Outcome, Request, Source, UnsettledRun, WorkResult},
    pauses::{Pause, Paused},
    slots::{SlotLimits, Slots},
    watch::{Position, Watch, Watched},
};
use self::{pauses::Pauses, views::HistoryRow};
use crate::{
    base::{Fault, Timestamp, key_value::KeyValueStore},
    graph::{
        Drawing, Head, HistoryEntry, RunId, RunStatus, Runtime, Store, StoreError,
        store::{RunFilter, StoredRecord},
    },
    workflows::{AnyWorkflow, Inspected, Registry},
};

/// The runs of one store, as this process may act on them. Cheap to clone.
#[derive(Clone)]
pub struct Runs {
    runtime: Runtime,
    workflows: Registry,
    notifier: Arc<dyn Notifier>,
    pauses: Option<Pauses>,
    event_retention: Duration,
}

/// The fewest digits that a run is found by.
const MIN_ID_DIGITS: usize = 4;

impl Runs {
    /// Of this store, for these workflows.
    pub fn new(runtime: Runtime, workflows: Registry, notifier: Arc<dyn Notifier>) -> Self {
        let event_retention = Self::EVENT_RETENTION;
        Self { runtime, workflows, notifier, pauses: None, event_retention }
    }

    /// The same, with pauses kept in the key-value store beside the runs.
    #[must_use]
    pub fn with_key_values(mut self, store: Arc<dyn KeyValueStore>) -> Self {
        self.pauses = Some(Pauses::new(store));
        self
    }

    /// The same, with leases that live this long unless renewed.
    #[must_use]
    pub fn with_lease(mut self, ttl: Duration) -> Self {
        self.runtime = self.runtime.with_ttl(ttl);
        self
    }

    /// This process's name, as leases carry it.
    pub fn owner(&self) -> &str {
        &self.runtime.owner
    }

    /// Now, by the clock that records are stamped with.
    pub fn now(&self) -> Timestamp {
        self.runtime.clock.now()
    }

    /// Where the runs are.
    pub fn store(&self) -> &dyn Store {
        &*self.runtime.store
    }

    /// The names of the workflows of this process.
    pub fn workflow_names(&self) -> impl Iterator<Item = &'static str> {
        self.workflows.names()
    }

    /// Whether the store can be read and written. Writes nothing.
    pub async fn check(&self) -> Result<(), StoreError> {
        let nobody = RunId::of("", "");
        self.store().head(&nobody).await?;
        // There is no such letter; but only a store that can write can tell that.
        self.store().confirm_letter(nobody.as_str()).await.map(drop)
    }

    /// The workflow of this name.
    pub fn workflow(&self, name: &str) -> Result<&Arc<dyn AnyWorkflow>, Error> {
        self.workflows.get(name).ok_or_else(|| Error::UnknownWorkflow {
            name: name.to_owned(),
            known: self.workflows.names().collect::<Vec<_>>().join(", "),
        })
    }

    /// The run whose id begins so.
    pub async fn find(&self, id: &str) -> Result<Head, Error> {
        if id.len() < MIN_ID_DIGITS || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
            let why = format!("`{id}` is no run id, nor the first four or more digits of one");
            return Err(Error::Invalid(why));
        }
        let id = id.to_ascii_lowercase();
        let mut heads = match id.parse::<RunId>() {
            Ok(whole) => Vec::from_iter(self.store().head(&whole).await?),
            Err(_) => {
                let id_prefix = Some(id.clone());
                self.store().list(&RunFilter { id_prefix, limit: 2, ..Default::default() }).await?
            }
        };
        match (heads.pop(), heads.pop()) {
            (None, _) => Err(Error::NotFound(format!("there is no run `{id}`"))),
            (Some(head), None) => Ok(head),
            _ => {
                let why = format!("several runs begin with `{id}`: give more of the id");
                Err(Error::Invalid(why))
            }
        }
    }

    /// The run whose id begins so, and the workflow it is of.
    async fn found(&self, id: &str) -> Result<(Head, &Arc<dyn AnyWorkflow>), Error> {
        let head = self.find(id).await?;
        let workflow = self.workflow(&head.workflow)?;
        Ok((head, workflow))
    }

    /// The run whose id begins so: where it stands, its state, what it waits for.
    pub async fn show(&self, id: &str) -> Result<Inspected, Error> {
        let (head, workflow) = self.found(id).await?;
        Ok(workflow.inspect(&self.runtime, &head.id).await?)
    }

    /// The run's state as it was after a step (0: at the start), sensitive fields redacted.
    pub async fn state_after(&self, id: &str, step: u32) -> Result<serde_json::Value, Error> {
        let (head, workflow) = self.found(id).await?;
        let state = workflow.checkpoint(&self.runtime, &head.id, step).await;
        state.map_err(|fault| Error::NotFound(fault.message))
    }

    /// The run's records behind number `after` (0 for all), without what may be large.
    pub async fn history(&self, id: &str, after: u64) -> Result<Vec<HistoryRow>, Error> {
        let run = self.find(id).await?.id;
        let found = self.store().load(&run, after).await?;
        let (_, records) =
            found.ok_or_else(|| Error::NotFound(format!("there is no run {run}")))?;
        rows(after, &records)
    }

    /// The workflow's graph, with the way of a run through it if one is named.
    pub async fn drawing(&self, workflow: &str, run: Option<&str>) -> Result<Drawing, Error> {
        let drawn = self.workflow(workflow)?;
        let Some(run) = run else { return Ok(drawn.drawing()) };
        let head = self.find(run).await?;
        if head.workflow != workflow {
            let why = format!("run {} is one of workflow `{}`", head.id, head.workflow);
            return Err(Error::Invalid(why));
        }
        Ok(drawn.inspect(&self.runtime, &head.id).await?.drawing)
    }

    /// Whether the process that holds the run is known to have died.
    pub fn holder_died(&self, head: &Head) -> bool {
        self.runtime.holder_died(head)
    }

    /// Shows, to whoever watches from outside, where a run stands, for this reason.
    ///
    /// # Errors
    /// As the workflow says; transient when showing it again may help.
    async fn show_standing(&self, run: &RunId, stands: (RunStatus, &str)) -> Result<(), Fault> {
        let Some(head) = self.store().head(run).await? else { return Ok(()) };
        match self.workflows.get(&head.workflow) {
            Some(workflow) => workflow.show(&self.runtime, run, stands).await,
            None => Ok(()),
        }
    }

    /// The same where nothing depends on it.
    async fn show_logged(&self, run: &RunId, stands: (RunStatus, &str)) {
        if let Err(fault) = self.show_standing(run, stands).await {
            tracing::warn!(%run, status = %stands.0, error = %fault, "where the run stands is not shown");
        }
    }

    /// Shows that a run was superseded or cancelled, if it was.
    async fn show_stopped(&self, run: &RunId) {
        match self.store().head(run).await {
            Ok(Some(head))
                if matches!(head.status, RunStatus::Superseded | RunStatus::Cancelled) =>
            {
                self.show_logged(run, (head.status, "")).await;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%run, %error, "whether the run was stopped is not known"),
        }
    }

    /// The run's head now.
    async fn head(&self, run: &RunId) -> Result<Head, Error> {
        let head = self.store().head(run).await?;
        let gone = || Fault::permanent(format!("run {run} was deleted"));
        head.ok_or_else(|| gone().into())
    }
}

/// Records as they are shown, the first of them behind number `after`.
fn rows(after: u64, records: &[StoredRecord]) -> Result<Vec<HistoryRow>, Error> {
    let rows = (after + 1..).zip(records).map(|(seq, record)| {
        let entry = HistoryEntry::decode(seq, record).map_err(Fault::from)?;
        Ok(HistoryRow::of(entry))
    });
    rows.collect()
}

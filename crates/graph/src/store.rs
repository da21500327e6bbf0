//! The store port: where runs are kept, and what every store promises.
//!
//! A run is an append-only list of [`StoredRecord`]s under one small [`Head`]. The store never looks
//! inside a record; whatever it must know to decide stands in the head or beside the records in
//! the call. Every method is one atomic step: it happened whole or not at all.
//!
//! What every store promises, and `tests/it/store` checks on each:
//! - **One writer.** [`Store::claim`] raises the run's epoch; [`Store::append`] and
//!   [`Store::renew`] of an older epoch, or after the lease was taken away, answer
//!   [`StoreError::Fenced`]. An expired lease that nobody took over still appends.
//! - **No lost answers.** An append repeated with the same batch id answers as it did the first
//!   time and writes nothing, even if it released the lease.
//! - **One clock.** Leases and due times are judged by the store's clock, never the caller's.
//! - **Bit for bit.** What was appended is loaded in order, byte for byte, whatever its size.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

pub use super::{
    external::{EventStore, EventWait, ExternalEvent, MAX_EVENT_BYTES, MAX_EVENT_NAME_BYTES},
    head::{Head, HeadChange, Holder, RunStatus},
    letter::{Letter, LetterFilter, LetterReason, LetterState},
    run_id::{InvalidRunId, RunId},
    waiting::{MAX_QUESTIONS, MAX_TITLE_CHARS, Question, Waiting, WaitingFor},
};
use crate::base::{Fault, Timestamp};

/// The version of the record format this build writes. Stored in every head.
pub const FORMAT: u16 = 1;

/// One record as a store keeps it: two opaque byte strings. `meta` is small (bounded by a few
/// hundred bytes plus an error message) and `payload` may be tens of megabytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// What kind of record, which step and node, when.
    pub meta: Bytes,
    /// Input, update, tasks or value; already compressed where that pays.
    pub payload: Option<Bytes>,
}

/// The right to write to one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// The epoch the claim raised it to.
    pub epoch: u64,
}

/// What to open. See [`Store::open`].
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The run's id.
    pub id: RunId,
    /// Its workflow's name.
    pub workflow: String,
    /// Its workflow's version.
    pub workflow_version: u32,
    /// Its key.
    pub key: String,
    /// What it is about.
    pub subject: Option<String>,
    /// Its place among the runs of its subject.
    pub order: i64,
    /// No claim before this moment.
    pub not_before: Option<Timestamp>,
    /// Its first records: `started`, or a fork's copy.
    pub records: Vec<StoredRecord>,
    /// Interrupts open in those records, with their answers if given (a fork's copy).
    pub asks: Vec<(String, Option<Bytes>)>,
    /// The `superseded` record to append to older runs of the subject.
    pub superseded: StoredRecord,
    /// Claim it in the same step if it is created.
    pub claim: Option<ClaimAs>,
}

/// In whose name, and for how long.
#[derive(Debug, Clone)]
pub struct ClaimAs {
    /// A name for the process, for people.
    pub owner: String,
    /// How long the lease lives unless renewed.
    pub ttl: Duration,
}

/// What [`Store::open`] found or made.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The run's head, after all that was done.
    pub head: Head,
    /// Whether it was made just now.
    pub created: bool,
    /// Given if it was created with [`NewRun::claim`], and not born superseded.
    pub lease: Option<Lease>,
    /// Runs this opening superseded.
    pub superseded: Vec<RunId>,
}

/// What to claim. See [`Store::claim`].
#[derive(Debug, Clone)]
pub struct Claim {
    /// The run.
    pub run: RunId,
    /// In whose name.
    pub by: ClaimAs,
    /// Claim even before `not_before`.
    pub early: bool,
    /// Claim even if its status is final (to reopen it).
    pub reopen: bool,
    /// Claim even under a living lease, if this is its owner: the caller knows that it has died.
    pub dead: Option<String>,
}

/// The answer to a claim.
#[must_use = "the run may be somebody else's"]
#[derive(Debug, Clone)]
pub enum Claimed {
    /// It is yours; the head is as it stands after the claim.
    Yours(Lease, Box<Head>),
    /// There is no such run.
    Missing,
    /// A living lease is on it.
    LeaseHeld(Holder),
    /// Its time has not come.
    NotBefore(Timestamp),
    /// It has ended, and a reopening was not asked for.
    Final(RunStatus),
}

/// What becomes of the lease with an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Keep it, renewed for this long from now.
    Keep(Duration),
    /// Give it up.
    Release,
}

/// One atomic write to one run. See [`Store::append`].
#[derive(Debug, Clone)]
pub struct Append {
    /// The right to write.
    pub lease: Lease,
    /// The version the writer knows; must be the run's.
    pub expected: u64,
    /// A fresh random number per batch; the same again when the answer was lost.
    pub batch: u128,
    /// What to append; may be empty (to release, or to set the head).
    pub records: Vec<StoredRecord>,
    /// The head after it.
    pub head: HeadChange,
    /// Ids of interrupts these records open. One asked before is open again, unanswered.
    pub asks: Vec<String>,
    /// A dead letter recorded in the same step.
    pub letter: Option<Box<Letter>>,
    /// What becomes of the lease.
    pub hold: Hold,
}

/// An answer to an interrupt, or a cancellation: written without a lease.
#[must_use = "the answer may have been refused"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    /// Taken, as the run's record of this number.
    Accepted(u64),
    /// Somebody was first; this is the value they gave.
    Already(Bytes),
    /// The run has no such interrupt.
    Unknown,
    /// The run has ended.
    Final(RunStatus),
}

/// The answer to a cancellation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancelled {
    /// It is cancelled now.
    Done,
    /// It had ended before.
    Final(RunStatus),
    /// There is no such run.
    Missing,
}

/// The answer to a deletion that spares what is still of use.
#[must_use = "the run may have been spared"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
    /// It is gone, and all that belonged to it.
    Done,
    /// There is no such run.
    Missing,
    /// A living lease is on it.
    LeaseHeld(Holder),
    /// It has not ended.
    Unfinished(RunStatus),
}

/// Which runs. Every field narrows; the newest `(created_at, id)` come first.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// With one of these statuses; empty is any.
    pub statuses: Vec<RunStatus>,
    /// That wait for one of these, by the store's clock; empty is any, and none.
    pub waiting: Vec<WaitingFor>,
    /// Of this workflow.
    pub workflow: Option<String>,
    /// About this subject.
    pub subject: Option<String>,
    /// Whose id begins so.
    pub id_prefix: Option<String>,
    /// Only runs strictly behind this place in the order: the last row of the page before.
    pub after: Option<(Timestamp, RunId)>,
    /// At most so many; 0 is all.
    pub limit: usize,
}

/// What a store can refuse or fail with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The lease is no longer yours.
    #[error("the run's lease was lost: another worker took it over, or it was stopped")]
    Fenced,
    /// The run has moved on to this version (an answer came in); load what is new, then append.
    #[error("the run has moved on to version {version}")]
    Conflict {
        /// The run's version now.
        version: u64,
    },
    /// There is no such run.
    #[error("there is no run {0}")]
    Missing(RunId),
    /// The store is out of reach, busy or full. Trying again may help; nothing was written, or
    /// the answer was lost.
    #[error("{0}")]
    Unavailable(String),
    /// The store refuses, or what it holds cannot be read.
    #[error("{0}")]
    Broken(String),
    /// What it holds is encrypted with a key that this process has not got; another may have it.
    /// Nobody's failure but this process's.
    #[error("{0}")]
    Sealed(String),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) | StoreError::Sealed(why) => Fault::outage(why),
            StoreError::Conflict { .. } => Fault::transient(error.to_string()),
            other => Fault::permanent(other.to_string()),
        }
    }
}

/// Where runs and dead letters are kept. See the module's promises.
#[async_trait]
pub trait Store: EventStore {
    /// Whether payloads should come compressed (a store on disk or afar) or plain (in memory).
    fn compresses(&self) -> bool;

    /// Creates the run, or finds the one with its id, and either way supersedes the subject's
    /// other unfinished runs whose order is not higher: their record is appended, their epoch
    /// raised, their lease and `not_before` gone. If the subject has another run (unfinished or not, superseded
    /// ones aside) of a strictly higher order, a new run is born superseded: created with that
    /// status and without a lease. A found run takes the higher of both orders and is otherwise
    /// unchanged, whatever its status. [`NewRun::claim`] takes a new run even before its
    /// `not_before`.
    async fn open(&self, new: NewRun) -> Result<Opened, StoreError>;

    /// Takes the run for a time, if it is free: raises its epoch, sets status `running`, and
    /// clears `not_before` and what it waits for. A run whose lease has expired is free.
    async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError>;

    /// Keeps the lease for `ttl` from now.
    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError>;

    /// Appends, sets the head, keeps or releases the lease. Answers the version after it.
    async fn append(&self, append: Append) -> Result<u64, StoreError>;

    /// Answers an interrupt, once. The record gets the run's next number; an unleased parked run
    /// becomes `queued`, due now, and waits for nothing. A lease, if any, stays. An answer given before is told even
    /// when the run has ended since.
    async fn resume(
        &self,
        run: &RunId,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
    ) -> Result<Resumed, StoreError>;

    /// Stops an unfinished run: appends the record, raises the epoch, drops the lease,
    /// `not_before` and what it waits for.
    async fn cancel(&self, run: &RunId, record: StoredRecord) -> Result<Cancelled, StoreError>;

    /// The head alone.
    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError>;

    /// The head and the records after number `after` (0 for all), of one moment.
    async fn load(
        &self,
        run: &RunId,
        after: u64,
    ) -> Result<Option<(Head, Vec<StoredRecord>)>, StoreError>;

    /// Heads, the newest first.
    async fn list(&self, filter: &RunFilter) -> Result<Vec<Head>, StoreError>;

    /// Runs that somebody should look after: without a living lease, and either `running` (their
    /// worker died: the lease ended, or without one the head changed, at least `margin` ago) or
    /// with a `not_before` that passed at least `margin` ago, whatever their status. The longest
    /// overdue first, at most `limit` (0 is none).
    async fn due(&self, margin: Duration, limit: usize) -> Result<Vec<Head>, StoreError>;

    /// Removes the run and all that belongs to it, letters aside. Answers whether it was there.
    async fn delete(&self, run: &RunId) -> Result<bool, StoreError>;

    /// The same for a run that has ended and that nobody holds; any other stays as it is.
    async fn delete_ended(&self, run: &RunId) -> Result<Deleted, StoreError>;

    /// Removes final runs that are not due again and whose head has not changed for `age`, and
    /// settled letters as old; never a parked, queued or running run, nor one whose letter is
    /// open. At most `limit` at a time; answers how many runs went.
    async fn expire(&self, age: Duration, limit: usize) -> Result<u64, StoreError>;

    /// Records a letter without a run. One with the same id keeps its `first_at`, state and
    /// confirmation, and takes the new `last_at`, error and executions; a replayed one opens
    /// again, unconfirmed.
    async fn put_letter(&self, letter: Letter) -> Result<(), StoreError>;

    /// One letter, whole.
    async fn letter(&self, id: &str) -> Result<Option<Letter>, StoreError>;

    /// Letters, the newest first. Payloads are left out (empty).
    async fn letters(&self, filter: &LetterFilter) -> Result<Vec<Letter>, StoreError>;

    /// Marks the letter as confirmed by the queue. Answers whether it was there.
    async fn confirm_letter(&self, id: &str) -> Result<bool, StoreError>;

    /// Settles an open letter; with `last_at` only if it was last given up then. Answers the state it
    /// has now and whether this call changed it.
    async fn settle_letter(
        &self,
        id: &str,
        state: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Option<(LetterState, bool)>, StoreError>;
}

//! A run followed from any process, by reading the store.
//!
//! One read is of the run's small head; records are read when the head says that there are new ones.
//! While nothing happens the reads become rarer.
//!
//! That a task starts is reported once a worker has the run, or once a record shows it. It is recorded
//! nowhere, and follows from the records: so whoever comes back, to any process, is shown no start
//! twice and misses none.

use std::{collections::VecDeque, fmt, str::FromStr, time::Duration};

use tokio::time::sleep;

use super::{
    Error, Runs,
    views::{HistoryRow, StartedTask},
};
use crate::{
    base::Fault,
    graph::{Head, HistoryEntry, Outline, RunId, RunStatus, store::StoredRecord},
};

/// The wait between two reads: at first, and at most while nothing happens.
const POLL_INTERVAL: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));

/// What a watcher sees.
#[derive(Debug, Clone)]
pub enum Watched {
    /// The run's next record.
    Record(HistoryRow),
    /// A task has started.
    Started(StartedTask),
    /// The store does not answer, for this reason; the watch goes on. Told once for each outage.
    StoreAway(String),
    /// The run has ended: its head. Should it be reopened, later records follow.
    Ended(Box<Head>),
    /// The run was deleted.
    Deleted,
}

/// How far a watcher has seen a run: up to a record, and so many of the tasks that it lets start.
/// Written `7`, or `7.2`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// The record's number; 0 before the first.
    pub record: u64,
    /// How many starts.
    pub starts: usize,
}

impl From<u64> for Position {
    fn from(record: u64) -> Self {
        Self { record, starts: 0 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, starts } = self;
        if *starts == 0 { write!(f, "{record}") } else { write!(f, "{record}.{starts}") }
    }
}

impl FromStr for Position {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (record, starts) = text.split_once('.').unwrap_or((text, "0"));
        Ok(Self { record: record.parse()?, starts: starts.parse()? })
    }
}

/// Follows one run: each record once, in order.
pub struct Watch {
    runs: Runs,
    /// The run.
    pub run: RunId,
    /// What was read so far.
    seen: Position,
    /// `None` before the first read.
    outline: Option<Outline>,
    unseen: VecDeque<(Position, Watched)>,
    position: Position,
    wait: Duration,
    away: bool,
}

impl Runs {
    /// Follows the run whose id begins so, from behind this position on (0 for all).
    pub async fn watch(&self, id: &str, after: impl Into<Position>) -> Result<Watch, Error> {
        let run = self.find(id).await?.id;
        let seen = after.into();
        Ok(Watch {
            runs: self.clone(),
            run,
            seen,
            outline: None,
            unseen: VecDeque::new(),
            position: seen,
            wait: Duration::ZERO,
            away: false,
        })
    }
}

impl Watch {
    /// Waits for what comes next. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Result<Watched, Error> {
        loop {
            if let Some((position, watched)) = self.unseen.pop_front() {
                self.position = position;
                return Ok(watched);
            }
            sleep(self.wait).await;
            let before = self.seen;
            let (first, longest) = POLL_INTERVAL;
            self.wait = (self.wait * 3 / 2).clamp(first, longest);
            match self.read().await {
                Ok(()) => self.away = false,
                Err(Error::Unavailable(why)) => {
                    let known = std::mem::replace(&mut self.away, true);
                    if !known {
                        self.push(Watched::StoreAway(why.message));
                    }
                }
                Err(error) => return Err(error),
            }
            if self.seen != before {
                self.wait = first;
            }
        }
    }

    /// How far what [`Watch::next`] answered last reaches: whoever watches from behind it sees what
    /// comes next.
    pub fn position(&self) -> Position {
        self.position
    }

    fn push(&mut self, watched: Watched) {
        self.unseen.push_back((self.seen, watched));
    }

    /// Takes in what is new.
    async fn read(&mut self) -> Result<(), Error> {
        let Some((head, records)) = self.load().await? else {
            self.push(Watched::Deleted);
            return Ok(());
        };
        // All of the log, or only what is new of it.
        let whole = self.outline.is_none();
        let known = if whole { self.seen.record.min(records.len() as u64) as usize } else { 0 };
        let mut outline = self.outline.take().unwrap_or_else(|| {
            let mut outline = Outline::replay(&records[..known]);
            outline.skip(self.seen.starts);
            outline
        });
        for (at, record) in records.iter().enumerate().skip(known) {
            let seq = self.seen.record + 1;
            let entry = HistoryEntry::decode(seq, record).map_err(Fault::from)?;
            if Outline::shows_started(&entry) {
                self.push_starts(&mut outline);
            }
            if Outline::rewinds(&entry) {
                outline = Outline::replay(&records[..=at]);
            } else {
                outline.take(seq, record);
            }
            self.seen = Position { record: seq, starts: outline.reported() };
            self.push(Watched::Record(HistoryRow::of(entry)));
        }
        if head.status == RunStatus::Running {
            self.push_starts(&mut outline);
        }
        self.outline = Some(outline);
        if head.status.is_final() {
            self.push(Watched::Ended(Box::new(head)));
        }
        Ok(())
    }

    fn push_starts(&mut self, outline: &mut Outline) {
        while let Some((starts, task)) = outline.next_start() {
            self.seen.starts = starts;
            self.push(Watched::Started(StartedTask::of(task)));
        }
    }

    /// The run's head, and the records behind those seen: all there are where the outline has to be
    /// made anew, and is forgotten.
    async fn load(&mut self) -> Result<Option<(Head, Vec<StoredRecord>)>, Error> {
        let store = self.runs.store();
        if self.outline.is_some() {
            let Some(head) = store.head(&self.run).await? else { return Ok(None) };
            if head.version <= self.seen.record {
                return Ok(Some((head, Vec::new())));
            }
            let Some((head, new)) = store.load(&self.run, self.seen.record).await? else {
                return Ok(None);
            };
            let entries = (self.seen.record + 1..).zip(&new);
            let mut entries = entries.map(|(seq, record)| HistoryEntry::decode(seq, record));
            if !entries.any(|entry| entry.is_ok_and(|entry| Outline::rewinds(&entry))) {
                return Ok(Some((head, new)));
            }
        }
        let all = store.load(&self.run, 0).await?;
        self.outline = None;
        Ok(all)
    }
}

//! A run followed from any process, by reading the store.
//!
//! One read is of the run's small head; records are read when the head says that there are new ones.
//! While nothing happens the reads become rarer.

use std::{collections::VecDeque, time::Duration};

use tokio::time::sleep;

use super::{Error, Runs, views::HistoryRow};
use crate::graph::{Head, RunId};

/// The wait between two reads: at first, and at most while nothing happens.
const POLL_INTERVAL: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));

/// What a watcher sees.
#[derive(Debug, Clone)]
pub enum Watched {
    /// The run's next record.
    Record(HistoryRow),
    /// The store does not answer, for this reason; the watch goes on. Told once for each outage.
    StoreAway(String),
    /// The run has ended: its head. Should it be reopened, later records follow.
    Ended(Box<Head>),
    /// The run was deleted.
    Deleted,
}

/// Follows one run: each record once, in order.
pub struct Watch {
    runs: Runs,
    /// The run.
    pub run: RunId,
    /// Records read so far.
    seen: u64,
    unseen: VecDeque<Watched>,
    wait: Duration,
    away: bool,
}

impl Runs {
    /// Follows the run whose id begins so, from the record behind number `after` on (0 for all).
    pub async fn watch(&self, id: &str, after: u64) -> Result<Watch, Error> {
        let run = self.find(id).await?.id;
        let (runs, unseen) = (self.clone(), VecDeque::new());
        Ok(Watch { runs, run, seen: after, unseen, wait: Duration::ZERO, away: false })
    }
}

impl Watch {
    /// Waits for what comes next. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Result<Watched, Error> {
        loop {
            if let Some(watched) = self.unseen.pop_front() {
                return Ok(watched);
            }
            sleep(self.wait).await;
            let before = self.seen;
            let (first, longest) = POLL_INTERVAL;
            self.wait = (self.wait * 3 / 2).clamp(first, longest);
            match self.read().await {
                Ok(()) => self.away = false,
                Err(Error::Unavailable(why)) => {
                    let told = std::mem::replace(&mut self.away, true);
                    self.unseen.extend((!told).then_some(Watched::StoreAway(why.message)));
                }
                Err(error) => return Err(error),
            }
            if self.seen > before {
                self.wait = first;
            }
        }
    }

    /// Takes in what is new.
    async fn read(&mut self) -> Result<(), Error> {
        let store = self.runs.store();
        let mut found = store.head(&self.run).await?.map(|head| (head, Vec::new()));
        if found.as_ref().is_some_and(|(head, _)| head.version > self.seen) {
            found = store.load(&self.run, self.seen).await?;
        }
        let Some((head, records)) = found else {
            self.unseen.push_back(Watched::Deleted);
            return Ok(());
        };
        let rows = super::rows(self.seen, &records)?;
        self.seen += rows.len() as u64;
        self.unseen.extend(rows.into_iter().map(Watched::Record));
        if head.status.is_final() {
            self.unseen.push_back(Watched::Ended(Box::new(head)));
        }
        Ok(())
    }
}

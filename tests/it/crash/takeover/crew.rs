//! The workers: real processes, and what they said.

use std::collections::BTreeMap;

use serde_json::Value;
use verdict::{
    base::Timestamp,
    graph::{RunId, RunStatus, store::RunFilter},
};

use super::{
    Hit,
    site::{Seat, Site},
};
use crate::support::{Process, eventually};

/// A worker, and what it runs on.
pub struct Worker {
    pub seat: Seat,
    pub process: Process,
}

/// A run in a worker's hands.
#[derive(Debug, Clone)]
pub struct InHand {
    pub run: RunId,
    pub epoch: u64,
    pub records: u64,
}

impl Worker {
    /// Not yet waited for.
    pub fn start(site: &Site, hit: Hit) -> Self {
        Self::at(site.seat(hit))
    }

    pub fn at(seat: Seat) -> Self {
        let process = seat.machine.start(&["serve"]);
        Self { seat, process }
    }

    /// Waits until it takes work.
    pub async fn serves(&mut self) {
        self.process.says("serving").await;
    }

    /// What it holds under a lease.
    pub async fn in_hand(&self, site: &Site) -> Vec<InHand> {
        held_by(site, self.process.pid()).await
    }

    /// SIGTERM; waits for its end and adds what it said to the journal.
    pub async fn ends(mut self, journal: &mut Journal) {
        self.process.terminate();
        let status = self.process.ends().await;
        let said = self.process.said().await;
        assert_eq!(status.code(), Some(0), "{said}");
        journal.add(self.process.pid(), &said);
    }
}

/// The unfinished runs that this process holds.
pub async fn held_by(site: &Site, pid: u32) -> Vec<InHand> {
    let owner = format!(":{pid}@");
    let heads = site.runtime.store.list(&unfinished()).await.unwrap();
    let held = heads
        .into_iter()
        .filter(|head| head.lease.as_ref().is_some_and(|holder| holder.owner.contains(&owner)));
    held.map(|head| InHand { run: head.id, epoch: head.epoch, records: head.version }).collect()
}

pub fn unfinished() -> RunFilter {
    let statuses = vec![RunStatus::Queued, RunStatus::Running, RunStatus::Parked];
    RunFilter { statuses, ..RunFilter::default() }
}

/// Waits until every one of these has ended or is somebody else's. Answers how many are.
pub async fn taken_over(site: &Site, runs: &[InHand]) -> usize {
    let mut taken = 0;
    for hit in runs {
        taken += eventually("the run is taken over", async || {
            let head = site.runtime.store.head(&hit.run).await.unwrap().unwrap();
            let taken = head.epoch > hit.epoch;
            (taken || head.status.is_final()).then_some(usize::from(taken))
        })
        .await;
    }
    taken
}

/// A task that some process finished, durable or not.
#[derive(Debug)]
pub struct Done {
    pub pid: u32,
    pub at: Timestamp,
}

/// A task of a run: its step, its node, its place.
pub type Task = (RunId, u64, String, u64);

/// What all workers said.
#[derive(Default)]
pub struct Journal {
    /// Every end of a task, by task.
    pub done: BTreeMap<Task, Vec<Done>>,
    /// Executions that the store told that their run is another's: process and run.
    pub fenced: Vec<(u32, RunId)>,
    /// Executions that gave up before the store told them: it had not answered for longer than their
    /// lease.
    pub lost: Vec<(u32, RunId)>,
    /// Lines that say that something is wrong.
    pub alarms: Vec<String>,
}

impl Journal {
    pub fn add(&mut self, pid: u32, said: &str) {
        for line in said.lines() {
            // A killed process may have said half a line.
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let run = || line["run"].as_str().unwrap().parse().unwrap();
            if line["target"] == "verdict::transitions" {
                let number = |name: &str| line[name].as_u64().unwrap();
                let node = line["node"].as_str().unwrap().to_owned();
                let task = (run(), number("step"), node, number("index"));
                let at = humantime::parse_rfc3339(line["timestamp"].as_str().unwrap()).unwrap();
                let at = at.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
                let at = Timestamp(i64::try_from(at).unwrap());
                self.done.entry(task).or_default().push(Done { pid, at });
            } else if line["message"] == "execution ended" {
                match line["stop"].as_str().unwrap() {
                    "fenced" => self.fenced.push((pid, run())),
                    "store_lost" => self.lost.push((pid, run())),
                    _ => {}
                }
            // What the client of the broker says of a connection that was lost while its worker stood still is no
            // alarm of the worker's.
            } else if line["level"] == "ERROR"
                && !line["target"].as_str().is_some_and(|it| it.starts_with("lapin"))
            {
                self.alarms.push(line.to_string());
            }
        }
    }
}

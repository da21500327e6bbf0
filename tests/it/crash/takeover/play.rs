//! Two workers at work, one of them hit again and again.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;
use verdict::graph::store::RunFilter;

use super::{
    Hit, check,
    crew::{InHand, Journal, Worker, held_by, taken_over, unfinished},
    site::Site,
};
use crate::{
    chaos::seeded,
    support::{PATIENCE, eventually, pass},
};

/// Where a run stands while a node of it is at work: after `started`, after ingest, after the
/// agents, after judge. (What becomes known together is written together: two agents are, if they
/// end together, and so are a step's last task and the step.)
const RECORDS: [u64; 4] = [1, 3, 8, 10];
/// Reviews asked for at a time.
const PILE: u64 = 24;
/// Runs a worker has in hand, at least, when it is hit.
const HAND: usize = 4;
/// A round of hits: one at each of the chosen numbers of records, one at a random instant, one before
/// acknowledgements where there is a broker. There is one round at least.
const HITS: u64 = 6;

pub struct Play {
    site: Site,
    hit: Hit,
    random: fastrand::Rng,
    began: Instant,
    workers: Vec<Worker>,
    journal: Journal,
    /// Reviews asked for.
    asked: u64,
    /// Runs to hit a worker over.
    wanted: u64,
    pub figures: Figures,
}

/// What was done to the workers.
#[derive(Debug, Default)]
pub struct Figures {
    pub hits: u64,
    /// Runs in hand at the hits.
    pub in_hand: u64,
    /// The same, by how many records they had.
    pub by_records: BTreeMap<u64, u64>,
    /// Of the chosen numbers of records, how often a hit came exactly there.
    pub exact: BTreeMap<u64, u64>,
    /// Hits after which what the worker had sent arrived when the run was another's.
    pub late: u64,
    /// Runs whose completion was durable when their worker was killed before it could say so.
    pub unacknowledged: u64,
    /// Runs that another worker took over from one that stood still.
    pub taken: usize,
}

impl Play {
    pub async fn new(site: Site, hit: Hit, wanted: u64) -> Self {
        let (random, began) = (seeded(), Instant::now());
        let mut play = Self {
            site,
            hit,
            random,
            began,
            workers: Vec::new(),
            journal: Journal::default(),
            asked: 0,
            wanted,
            figures: Figures::default(),
        };
        play.ask_for_more().await;
        for _ in 0..2 {
            play.workers.push(Worker::start(&play.site, hit));
        }
        for worker in &mut play.workers {
            worker.serves().await;
        }
        play
    }

    async fn ask_for_more(&mut self) {
        let next = self.asked + PILE;
        self.site.publish(self.asked..next).await;
        self.asked = next;
    }

    /// Hits workers until so many runs were in hand.
    pub async fn hit_them(&mut self) {
        while self.figures.in_hand < self.wanted || self.figures.hits < HITS {
            let turn = self.figures.hits;
            let place = usize::try_from(turn % HITS).unwrap();
            let mut worker = match (RECORDS.get(place), self.hit) {
                (Some(records), _) => self.frozen_at(*records).await,
                (None, Hit::Kill) if place == 5 => self.before_acknowledgement().await,
                _ => self.at_random().await,
            };
            match self.hit {
                Hit::Kill => self.kill(worker).await,
                Hit::Stop => {
                    self.stop(&mut worker).await;
                    self.workers.push(worker);
                }
            }
        }
    }

    /// A worker whose way to the store is frozen, and who has a run of exactly so many records: it is
    /// frozen at one instant after the other until that is so.
    async fn frozen_at(&mut self, records: u64) -> Worker {
        let (began, mut asked) = (Instant::now(), Instant::now());
        loop {
            let at = self.random.usize(0..self.workers.len());
            let mut worker = self.workers.swap_remove(at);
            worker.seat.freeze().await;
            // What was under way arrives, and every run comes to its next record.
            pass(Duration::from_millis(self.random.u64(5..40))).await;
            let held = worker.in_hand(&self.site).await;
            if held.len() >= HAND && held.iter().any(|held| held.records == records) {
                *self.figures.exact.entry(records).or_default() += 1;
                return worker;
            }
            worker.seat.thaw().await;
            self.workers.push(worker);
            assert!(began.elapsed() < PATIENCE, "nothing with {records} records, but: {held:?}");
            pass(Duration::from_millis(self.random.u64(0..60))).await;
            self.keep_busy(held.len(), &mut asked).await;
        }
    }

    /// A worker with runs in hand, some time later.
    async fn at_random(&mut self) -> Worker {
        let (began, mut asked) = (Instant::now(), Instant::now());
        pass(Duration::from_millis(self.random.u64(0..120))).await;
        loop {
            let at = self.random.usize(0..self.workers.len());
            let held = self.workers[at].in_hand(&self.site).await.len();
            if held >= HAND {
                let mut worker = self.workers.swap_remove(at);
                // Stopped in the middle of a write, it would keep the others from the file.
                if worker.seat.shared() && self.hit == Hit::Stop {
                    worker.seat.freeze().await;
                }
                return worker;
            }
            self.keep_busy(held, &mut asked).await;
            assert!(began.elapsed() < PATIENCE, "no worker has a run in hand");
        }
    }

    /// The same on a broker, when some of its runs are complete, which the broker has not been told.
    async fn before_acknowledgement(&mut self) -> Worker {
        let worker = self.at_random().await;
        if worker.seat.hold_messages() {
            let held = worker.in_hand(&self.site).await;
            self.figures.unacknowledged += eventually("one of its runs is complete", async || {
                let left = worker.in_hand(&self.site).await;
                let left: Vec<_> = left.iter().map(|held| &held.run).collect();
                let done = held.iter().filter(|held| !left.contains(&&held.run)).count();
                (done > 0).then_some(done as u64)
            })
            .await;
        }
        worker
    }

    /// Asks for more reviews when the workers run out of them.
    async fn keep_busy(&mut self, held: usize, asked: &mut Instant) {
        // As long as the broker may take to tell that the last ones arrived.
        let due = held < HAND && asked.elapsed() > Duration::from_millis(500);
        if due && self.site.messages().await < PILE {
            self.ask_for_more().await;
            *asked = Instant::now();
        }
        pass(Duration::from_millis(2)).await;
    }

    async fn kill(&mut self, mut worker: Worker) {
        assert!(worker.process.kill().await, "it had ended:\n{}", worker.process.said().await);
        worker.seat.lose_messages().await;
        let pid = worker.process.pid();
        self.journal.add(pid, &worker.process.said().await);
        let hit = held_by(&self.site, pid).await;
        self.count(&hit);
        let late = !worker.seat.shared() && self.random.bool();
        if !late {
            worker.seat.thaw().await;
        }
        let mut next = Worker::start(&self.site, self.hit);
        next.serves().await;
        self.workers.push(next);
        if late {
            taken_over(&self.site, &hit).await;
            self.figures.late += 1;
            worker.seat.thaw().await;
            // It has come through when the service has closed the connections.
            eventually("what was sent has arrived", async || worker.seat.quiet().then_some(()))
                .await;
        }
    }

    async fn stop(&mut self, worker: &mut Worker) {
        worker.process.freeze();
        let hit = held_by(&self.site, worker.process.pid()).await;
        self.count(&hit);
        if worker.seat.shared() {
            worker.seat.thaw().await;
        }
        let taken = taken_over(&self.site, &hit).await;
        self.figures.taken += taken;
        self.figures.late += u64::from(taken > 0);
        worker.process.thaw();
        worker.seat.thaw().await;
    }

    fn count(&mut self, hit: &[InHand]) {
        self.figures.hits += 1;
        self.figures.in_hand += hit.len() as u64;
        for held in hit {
            *self.figures.by_records.entry(held.records).or_default() += 1;
        }
    }

    /// Waits for the rest, ends the workers, and looks at everything there is.
    pub async fn finish(mut self) {
        self.all_done().await;
        let took = self.began.elapsed();
        self.site.empty().await;
        for worker in self.workers.drain(..) {
            worker.ends(&mut self.journal).await;
        }
        self.site.empty().await;
        self.tell(took);
        self.floors();
        check::all(&self.site, self.asked, self.hit, &self.journal).await;
        self.site.finish().await;
    }

    async fn all_done(&self) {
        let (mut left, mut since) = (usize::MAX, Instant::now());
        loop {
            let open = self.site.runtime.store.list(&unfinished()).await.unwrap();
            if open.is_empty() {
                let all = self.site.runtime.store.list(&RunFilter::default()).await.unwrap();
                if all.len() as u64 == self.asked {
                    return;
                }
            }
            if open.len() != left {
                (left, since) = (open.len(), Instant::now());
            }
            assert!(since.elapsed() < PATIENCE, "{} asked for, left are {open:#?}", self.asked);
            pass(Duration::from_millis(100)).await;
        }
    }

    /// A play in which nothing happened proves nothing.
    fn floors(&self) {
        let figures = &self.figures;
        assert!(figures.in_hand >= self.wanted && figures.hits >= HITS, "{figures:?}");
        let each = RECORDS.iter().all(|records| figures.exact.contains_key(records));
        assert!(each, "{figures:?}");
        let wanted = self.hit == Hit::Kill && self.site.has_broker();
        assert_eq!(figures.unacknowledged > 0, wanted, "{figures:?}");
        if self.hit == Hit::Stop {
            assert!(figures.taken as u64 >= figures.in_hand / 2, "{figures:?}");
            // Nearly all: one that was about to load its run says nothing of it, and one whose store
            // did not answer for longer than its lease has given up before.
            let fenced = self.journal.fenced.len();
            assert!(fenced >= figures.taken * 9 / 10, "{fenced} refused: {figures:?}");
        }
    }

    fn tell(&self, took: Duration) {
        let again: usize = self.journal.done.values().map(|ends| ends.len() - 1).sum();
        let Figures { hits, in_hand, by_records, late, unacknowledged, taken, .. } = &self.figures;
        println!(
            "{}, {:?}: {hits} hits, {in_hand} runs in hand, by their records {by_records:?}; \
             {late} times what was sent came late; {unacknowledged} complete and not acknowledged; \
             {taken} taken over from a living worker, {} executions refused, {} gave up; \
             {again} tasks ended again that were not recorded; {} reviews, {took:.1?}",
            self.site.name(),
            self.hit,
            self.journal.fenced.len(),
            self.journal.lost.len(),
            self.asked,
        );
    }
}

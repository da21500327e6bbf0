//! One worker dies or stands still, and another goes on: on every store that outlives a process.
//!
//! Two `verdict serve`, the real binary, compete for reviews on a real queue: RabbitMQ in front of
//! PostgreSQL and of Firestore, the embedded queue in front of the file they share. One of them is
//! hit while it has runs in hand: killed, or stopped for longer than its lease and then continued.
//! Two hits in three come at chosen records: nothing the worker sends to the store gets there any
//! more from the moment one of its runs has exactly so many, and often gets there late, when the run
//! is another's. The others come at random instants.
//!
//! In the end every review is complete, the same as an undisturbed one, recorded once, and none of
//! its nodes was begun again once it had finished. Where workers are killed nobody sweeps: a message
//! acknowledged before its outcome was durable would leave its run unfinished for ever. Where they
//! are stopped, each is told by the store that its runs are another's.
//!
//! `site` is where runs and messages are; `crew` the workers; `play` what happens to them; `check`
//! what must be true of every run in the end. `versions` is about runs that no worker knows.

mod check;
mod crew;
mod play;
mod site;
mod versions;

use self::{play::Play, site::Site};
use super::wanted;

/// How a worker is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// SIGKILL.
    Kill,
    /// SIGSTOP, and SIGCONT when all its runs are another's.
    Stop,
}

/// Runs to hit a worker over, of each kind: `VERDICT_TEST_TAKEOVERS` is both kinds together.
fn share() -> u64 {
    wanted("VERDICT_TEST_TAKEOVERS", 50).div_ceil(2)
}

async fn play(site: Site, hit: Hit) {
    let mut play = Play::new(site, hit, share()).await;
    play.hit_them().await;
    play.finish().await;
}

/// R5, W4, E6–E8: reviews of workers killed over the file they share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_on_one_file_are_killed() {
    play(Site::sqlite().await, Hit::Kill).await;
}

/// R5, W4, E6–E8: the same, stopped for longer than their lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_on_one_file_are_stopped() {
    play(Site::sqlite().await, Hit::Stop).await;
}

/// R5, W4, E6–E8: the same on a server, with RabbitMQ.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_on_postgres_are_killed() {
    play(Site::postgres().await, Hit::Kill).await;
}

/// R5, W4, E6–E8: stopped there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_on_postgres_are_stopped() {
    play(Site::postgres().await, Hit::Stop).await;
}

/// R5, W4, E6–E8: the same on Firestore, with RabbitMQ.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_on_firestore_are_killed() {
    play(Site::firestore().await, Hit::Kill).await;
}

/// R5, W4, E6–E8: stopped there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_on_firestore_are_stopped() {
    play(Site::firestore().await, Hit::Stop).await;
}

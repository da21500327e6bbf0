//! Nothing is lost and nothing happens twice while the queue's service is disturbed.
//!
//! Every scenario is the same play: a worker works through a steady stream of events, its queue is
//! broken in one way, and in the end every event that was taken has exactly one completed run, whose
//! result was published under one key; nothing is left on the queue, nothing was given up, the worker
//! is the one that began, and while the service was away it said so.
//!
//! `counting` is the workflow and what must be true of its runs; `place` is where events wait;
//! `site` is a worker and its store, and the stream; `serving` is the real binary beside it.

pub mod counting;
pub mod place;
mod pubsub;
mod rabbit;
mod serving;
mod site;

use crate::crash::wanted;

/// How often to disturb it: `VERDICT_TEST_CHAOS_ROUNDS` times, or as often as a short run can.
fn rounds(few: u64) -> u64 {
    wanted("VERDICT_TEST_CHAOS_ROUNDS", few)
}

/// The same instants each time, unless `VERDICT_TEST_SEED` says otherwise. A test that fails shows it.
pub fn seeded() -> fastrand::Rng {
    let seed = wanted("VERDICT_TEST_SEED", 17);
    println!("VERDICT_TEST_SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

//! What the worker counts, one function for each event. `docs/operations.md` explains them.
//!
//! Recording costs next to nothing where nobody installed a recorder, and never fails.

use std::time::Duration;

use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

use crate::{
    graph::store::LetterReason,
    queue::{Depth, Settlement},
};

const RECEIVED: &str = "verdict_queue_received_total";
const SETTLED: &str = "verdict_queue_settled_total";
const IN_HAND: &str = "verdict_queue_in_hand";
const AGE: &str = "verdict_queue_age_seconds";
const REDELIVERIES: &str = "verdict_queue_redeliveries_total";
const DEPTH: &str = "verdict_queue_depth";
const RECONNECTS: &str = "verdict_queue_reconnects_total";
const PAUSED: &str = "verdict_worker_paused";
const EXPIRED: &str = "verdict_runs_expired_total";
const LETTERS: &str = "verdict_dead_letters_total";

/// Describes what a worker records, and shows what has not happened yet as zero. Call it once the
/// recorder is installed.
pub fn describe() {
    describe_counter!(RECEIVED, "Messages received");
    describe_counter!(SETTLED, "Messages settled, by what had happened and how");
    describe_gauge!(IN_HAND, "Messages being worked on");
    describe_histogram!(AGE, Unit::Seconds, "From publishing to receipt");
    describe_counter!(REDELIVERIES, "Messages received that somebody had received before");
    describe_gauge!(DEPTH, "Messages of the queue, by state, as the queue last told");
    describe_counter!(RECONNECTS, "Connections to the queue that had to be made again");
    describe_gauge!(PAUSED, "1 while the worker takes nothing because something is out of reach");
    describe_counter!(LETTERS, "Dead letters written, by reason");
    describe_counter!(EXPIRED, "Runs that outlived their retention and were removed");
    for counted in [RECEIVED, REDELIVERIES, EXPIRED] {
        counter!(counted).increment(0);
    }
    for reason in LetterReason::ALL {
        counter!(LETTERS, "reason" => reason.as_str()).increment(0);
    }
    gauge!(IN_HAND).set(0);
    paused(false);
}

/// A message came, so old, for this time.
pub(super) fn received(age: Duration, deliveries: u32) {
    counter!(RECEIVED).increment(1);
    histogram!(AGE).record(age);
    if deliveries > 1 {
        counter!(REDELIVERIES).increment(1);
    }
}

/// A message is being worked on for as long as this lives.
pub(super) struct InFlight(());

/// A message was taken in hand.
pub(super) fn in_hand() -> InFlight {
    gauge!(IN_HAND).increment(1);
    InFlight(())
}

impl Drop for InFlight {
    fn drop(&mut self) {
        gauge!(IN_HAND).decrement(1);
    }
}

/// The queue has taken note of what becomes of a message.
pub(super) fn settled(outcome: &'static str, how: Settlement) {
    counter!(SETTLED, "outcome" => outcome, "message" => how.as_str()).increment(1);
}

/// The queue told how much is where.
pub(super) fn depth(depth: &Depth) {
    let states = [
        ("ready", depth.ready),
        ("in_hand", depth.in_hand),
        ("delayed", depth.delayed),
        ("dead", depth.dead),
    ];
    for (state, number) in states {
        if let Some(number) = number {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            gauge!(DEPTH, "state" => state).set(number);
        }
    }
}

/// The worker stopped taking messages, or takes them again.
pub(super) fn paused(paused: bool) {
    gauge!(PAUSED).set(u8::from(paused));
}

/// A dead letter was written.
pub(super) fn dead_letter(reason: LetterReason) {
    counter!(LETTERS, "reason" => reason.as_str()).increment(1);
}

/// Old runs were removed.
pub(super) fn expired(runs: u64) {
    counter!(EXPIRED).increment(runs);
}

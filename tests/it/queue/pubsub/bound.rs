//! How much one process holds, for how long, and what others get.

use std::time::Duration;

use verdict::queue::{Message, Queue, Settled, Settlement};

use super::bench::{open, options};
use crate::{
    queue::bench::within,
    support::{Emulator, PATIENCE, pass},
};

/// Fifty messages, eight at a time: what is beyond goes to somebody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_is_held_than_the_bound_and_others_get_the_rest() {
    let emulator = Emulator::shared();
    let one = open(&emulator, options(&emulator), 8);
    for n in 0..50 {
        one.publish(Message::new(n.to_string()), Duration::ZERO).await.unwrap();
    }
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(within(one.consumer().next()).await.unwrap());
    }
    let ninth = tokio::time::timeout(Duration::from_secs(3), one.consumer().next()).await;
    assert!(ninth.is_err(), "a ninth came");

    let other = open(&emulator, options(&emulator), 64);
    for _ in 0..42 {
        let delivery = within(other.consumer().next()).await.unwrap();
        let settled = delivery.settle(Settlement::Ack).await.unwrap();
        assert_eq!(settled, Settled::Done);
        held.push(delivery);
    }
    let mut all: Vec<u32> = held
        .iter()
        .map(|delivery| std::str::from_utf8(&delivery.message.body).unwrap().parse().unwrap())
        .collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..50));
    for delivery in &held[..8] {
        let settled = delivery.settle(Settlement::Ack).await.unwrap();
        assert_eq!(settled, Settled::Done);
    }
}

/// A delivery that is extended stays beyond the service's own deadline of ten seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extended_beyond_the_deadline_nobody_else_gets_it() {
    let emulator = Emulator::shared();
    let queue = open(&emulator, options(&emulator), 8);
    let other = open(&emulator, options(&emulator), 8);
    queue.publish(Message::new("long"), Duration::ZERO).await.unwrap();
    let delivery = within(queue.consumer().next()).await.unwrap();
    let extended = delivery.extend(Duration::from_secs(60)).await.unwrap();
    assert_eq!(extended, Settled::Done);
    let taken = tokio::time::timeout(Duration::from_secs(15), other.consumer().next()).await;
    assert!(taken.is_err(), "somebody else has it");
    let settled = delivery.settle(Settlement::Ack).await.unwrap();
    assert_eq!(settled, Settled::Done);
}

/// What lies ready for a worker that does not ask goes to others, without its being closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_ask_keeps_nothing() {
    let emulator = Emulator::shared();
    let paused = open(&emulator, options(&emulator), 8);
    for body in ["one", "two", "three"] {
        paused.publish(Message::new(body), Duration::ZERO).await.unwrap();
    }
    let held = within(paused.consumer().next()).await.unwrap();
    held.extend(PATIENCE).await.unwrap();
    let other = open(&emulator, options(&emulator), 8);
    for _ in 0..2 {
        let delivery = within(other.consumer().next()).await.unwrap();
        assert_ne!(delivery.message, held.message);
        delivery.settle(Settlement::Ack).await.unwrap();
    }
    // What it holds is still its own, though its stream has ended.
    pass(Duration::from_secs(1)).await;
    let settled = held.settle(Settlement::Ack).await.unwrap();
    assert_eq!(settled, Settled::Done);
    paused.publish(Message::new("four"), Duration::ZERO).await.unwrap();
    assert_eq!(within(paused.consumer().next()).await.unwrap().message.body, "four");
}

/// The retry policy decides when a message that was put off comes again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_off_it_comes_after_the_retry_policy() {
    let emulator = Emulator::shared();
    let mut options = options(&emulator);
    (options.min_backoff, options.max_backoff) = (Duration::from_secs(3), Duration::from_secs(3));
    let queue = open(&emulator, options, 8);
    queue.publish(Message::new("patient"), Duration::ZERO).await.unwrap();
    // Google's emulator begins with the second refusal.
    let first = within(queue.consumer().next()).await.unwrap();
    first.settle(Settlement::Later(Duration::ZERO)).await.unwrap();
    let delivery = within(queue.consumer().next()).await.unwrap();
    let asked = tokio::time::Instant::now();
    delivery.settle(Settlement::Later(Duration::ZERO)).await.unwrap();
    let again = within(queue.consumer().next()).await.unwrap();
    assert_eq!(again.message, delivery.message);
    assert!(asked.elapsed() >= Duration::from_secs(3), "too early: {:?}", asked.elapsed());
}

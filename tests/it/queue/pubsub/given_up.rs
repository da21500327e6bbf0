//! Pub/Sub's own limit on deliveries: kept away from the patient, seen when it strikes.

use std::time::Duration;

use verdict::queue::{Message, Queue, Settlement, peek_dead, pubsub::Options};

use super::bench::{open, options};
use crate::{queue::bench::within, support::Emulator};

/// W3: a healthy message that is handed back thirty times is never given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patience_never_brings_a_message_near_the_limit() {
    let emulator = Emulator::shared();
    let queue = open(&emulator, Options { delivery_attempts: 6, ..options(&emulator) }, 8);
    let message = Message::new("patient").with("kind", "healthy");
    queue.publish(message.clone(), Duration::ZERO).await.unwrap();
    let first = within(queue.consumer().next()).await.unwrap();
    let mut delivery = first.clone();
    for round in 1..=30 {
        let how = [Settlement::HandBack, Settlement::Later(Duration::ZERO)][round % 2];
        delivery.settle(how).await.unwrap();
        let next = within(queue.consumer().next()).await.unwrap();
        assert_eq!((&next.message, next.enqueued_at), (&message, first.enqueued_at));
        assert!(next.deliveries > delivery.deliveries, "the count is carried over");
        delivery = next;
    }
    delivery.settle(Settlement::Ack).await.unwrap();
    assert_eq!(peek_dead(&queue, 10).await.unwrap(), []);
}

/// W3: a message that kills whoever takes it ends among the dead letters, and can be removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_pubsub_gave_up_is_seen_and_removed() {
    let emulator = Emulator::shared();
    let options = Options { delivery_attempts: 5, ..options(&emulator) };
    let queue = open(&emulator, options.clone(), 8);
    let message = Message::new("poison").with("x-github-event", "push");
    queue.publish(message.clone(), Duration::ZERO).await.unwrap();
    // Each takes it and vanishes.
    let mut shown = Vec::new();
    while shown.is_empty() {
        let victim = open(&emulator, options.clone(), 8);
        let _ = tokio::time::timeout(Duration::from_secs(2), victim.consumer().next()).await;
        drop(victim);
        shown = peek_dead(&queue, 10).await.unwrap();
    }
    let [letter] = &shown[..] else { panic!("{shown:?}") };
    assert!(letter.by_broker);
    assert_eq!(letter.message, message);
    assert_eq!(letter.id, message.digest());
    assert!(letter.reason.contains("given up"), "{}", letter.reason);
    assert_eq!(queue.remove_dead(std::slice::from_ref(&letter.id)).await.unwrap(), 1);
    assert_eq!(peek_dead(&queue, 10).await.unwrap(), []);
}

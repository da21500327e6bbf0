//! Patience is free: the brokers' limits are ten and five here, and a healthy message may come and
//! go as often as it likes.

use std::time::Duration;

use verdict::{graph::RunStatus, queue::Settlement};

use super::site::{Site, everywhere};
use crate::{
    support::PATIENCE,
    worker::hall::{message, part},
};

/// W2, W3: put off and handed back, four times as often each as the broker's limit is high, a message
/// is where it was.
async fn redeliveries_never_push_a_message_into_the_dead_letters(site: Site) {
    site.send(&part("a")).await;
    let queue = site.place.open().await;
    for round in 0..4 * site.place.limit() {
        for how in [Settlement::HandBack, Settlement::Later(Duration::ZERO)] {
            let next = tokio::time::timeout(PATIENCE, queue.consumer().next()).await;
            let delivery = next.unwrap_or_else(|_| panic!("gone in round {round}")).unwrap();
            assert_eq!(delivery.message, message(&part("a")), "round {round}");
            delivery.settle(how).await.unwrap();
        }
    }
    queue.close().await.unwrap();
    drop(queue);
    let hand = site.worker().await;
    site.becomes("a", RunStatus::Completed).await;
    hand.counts("done", 1).await;
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

everywhere![redeliveries_never_push_a_message_into_the_dead_letters];

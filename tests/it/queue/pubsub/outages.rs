//! The service freezes, goes, and comes back.

use std::time::Duration;

use verdict::{
    base::FaultKind,
    queue::{
        Message, Queue, QueueError, Settlement,
        pubsub::{Options, PubSub},
    },
};

use super::bench::{open, options};
use crate::{
    queue::bench::within,
    support::{Emulator, eventually},
};

async fn quick(emulator: &Emulator) -> PubSub {
    let timeout = Duration::from_secs(3);
    let queue = open(emulator, Options { timeout, ..options(emulator) }, 8);
    eventually("the queue is ready", async || queue.check().await.ok()).await;
    queue
}

fn is_outage(error: &QueueError) -> bool {
    error.fault().kind == FaultKind::Outage
}

/// Publishes until it works, then takes the message.
async fn goes_on(queue: &PubSub, body: &str) {
    eventually("publishing works again", async || {
        queue.publish(Message::new(body.to_owned()), Duration::ZERO).await.ok()
    })
    .await;
    let delivery = eventually("it is delivered", async || {
        let delivery = within(queue.consumer().next()).await.ok()?;
        delivery.settle(Settlement::Ack).await.ok()?;
        (delivery.message.body == body).then_some(delivery)
    })
    .await;
    assert_eq!(delivery.message.body, body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_service_is_an_outage_and_it_goes_on_by_itself() {
    let emulator = Emulator::private().await;
    let queue = quick(&emulator).await;
    goes_on(&queue, "before").await;
    emulator.freeze();
    let error = within(queue.consumer().next()).await.unwrap_err();
    assert!(is_outage(&error), "{error}");
    for error in [
        within(queue.publish(Message::new("x"), Duration::ZERO)).await.unwrap_err(),
        within(queue.check()).await.unwrap_err(),
        within(queue.consumer().next()).await.unwrap_err(),
    ] {
        assert!(is_outage(&error), "{error}");
    }
    let rows = within(queue.diagnose()).await;
    assert!(rows[0].what == "reach" && rows[0].found.is_err(), "{rows:?}");
    emulator.thaw();
    goes_on(&queue, "after").await;
}

/// Its data is lost with the emulator: topics and subscriptions are made anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_comes_back_empty_is_made_anew() {
    let mut emulator = Emulator::private().await;
    let queue = quick(&emulator).await;
    goes_on(&queue, "before").await;
    queue.publish(Message::new("held"), Duration::ZERO).await.unwrap();
    let held = within(queue.consumer().next()).await.unwrap();
    emulator.stop().await;
    let error = within(queue.consumer().next()).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!(queue.check().await.unwrap_err().is_transient());
    emulator.start().await;
    goes_on(&queue, "after").await;
    let _ = held.settle(Settlement::Ack).await.unwrap();
}

/// Nobody needs the service to be there when the queue is opened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opened_before_the_service_is_there() {
    let mut emulator = Emulator::private().await;
    emulator.stop().await;
    let timeout = Duration::from_secs(3);
    let queue = open(&emulator, Options { timeout, ..options(&emulator) }, 8);
    assert!(within(queue.consumer().next()).await.unwrap_err().is_transient());
    assert!(is_outage(&within(queue.check()).await.unwrap_err()));
    emulator.start().await;
    goes_on(&queue, "first").await;
}

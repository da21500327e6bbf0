//! Time at the broker: tiers, hand-over, and what is given back when nobody asks.

use std::time::Duration;

use verdict::queue::{Message, Settled, Settlement, amqp::Options};

use super::{open, options, publish, take};
use crate::support::{Broker, eventually};

/// A long wait does not keep back a short one behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiers_do_not_wait_for_each_other() {
    let broker = Broker::shared().await;
    let long = Duration::from_secs(3600);
    let options = Options { delays: vec![Duration::from_millis(100), long], ..options() };
    let queue = open(&broker, options);
    queue.publish(Message::new("in an hour"), long).await.unwrap();
    queue.publish(Message::new("soon"), Duration::from_millis(100)).await.unwrap();
    assert_eq!(&take(&*queue).await.message.body[..], b"soon");
    eventually("only the long wait goes on", async || {
        (queue.depth().await.unwrap().delayed == Some(1)).then_some(())
    })
    .await;
    drop(queue);
    broker.finish().await;
}

/// A message held nearly as long as the broker allows is handed over: one copy comes back, its
/// count unchanged, and the old delivery is worth nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handed_over_before_the_broker_takes_it_back() {
    let broker = Broker::shared().await;
    let options = Options { ack_timeout: Duration::from_secs(2), ..options() };
    let queue = open(&broker, options);
    publish(&*queue, "long").await;
    let held = take(&*queue).await;
    assert_eq!(held.extend(held.held_for).await.unwrap(), Settled::Done);
    let handed_over = eventually("it is handed over", async || {
        let extended = held.extend(held.held_for).await.unwrap();
        (extended == Settled::Stale).then_some(())
    });
    handed_over.await;
    assert_eq!(held.settle(Settlement::Ack).await.unwrap(), Settled::Stale);
    let copy = take(&*queue).await;
    assert!(copy.message == held.message);
    assert_eq!((copy.deliveries, copy.enqueued_at), (held.deliveries, held.enqueued_at));
    assert_eq!(copy.settle(Settlement::Ack).await.unwrap(), Settled::Done);
    eventually("nothing is left", async || {
        let depth = queue.depth().await.unwrap();
        (depth.ready == Some(0) && depth.delayed == Some(0)).then_some(())
    })
    .await;
    drop(queue);
    broker.finish().await;
}

/// What was fetched ahead goes to others when nobody asks here any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn given_back_when_nobody_asks() {
    let broker = Broker::shared().await;
    let (idle, busy) = (open(&broker, options()), open(&broker, options()));
    for n in 0..10 {
        publish(&*idle, &n.to_string()).await;
    }
    let held = take(&*idle).await;
    for _ in 0..9 {
        let delivery = take(&*busy).await;
        assert_eq!(delivery.settle(Settlement::Ack).await.unwrap(), Settled::Done);
    }
    assert_eq!(held.settle(Settlement::Ack).await.unwrap(), Settled::Done);
    publish(&*idle, "again").await;
    drop(busy);
    assert_eq!(&take(&*idle).await.message.body[..], b"again");
    drop(idle);
    broker.finish().await;
}

/// Patience is free: handed back far more often than the limit allows, a message is still there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handing_back_never_reaches_the_limit() {
    let broker = Broker::shared().await;
    let queue = open(&broker, Options { delivery_limit: 10, ..options() });
    publish(&*queue, "patient").await;
    for _ in 0..40 {
        let delivery = take(&*queue).await;
        let settled = delivery.settle(Settlement::HandBack).await.unwrap();
        assert_eq!(settled, Settled::Done);
    }
    let delivery = take(&*queue).await;
    assert_eq!(delivery.settle(Settlement::Ack).await.unwrap(), Settled::Done);
    assert_eq!(queue.depth().await.unwrap().dead, Some(0));
    drop(queue);
    broker.finish().await;
}

/// What a consumer neither settles nor extends goes to others while its connection lives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn given_back_when_nobody_extends() {
    let broker = Broker::shared().await;
    let options = Options { ack_timeout: Duration::from_secs(3), ..options() };
    let queue = open(&broker, options);
    publish(&*queue, "forgotten").await;
    let held = take(&*queue).await;
    let again = take(&*queue).await;
    assert_eq!(again.message, held.message);
    assert_eq!(held.settle(Settlement::Ack).await.unwrap(), Settled::Stale);
    assert_eq!(again.settle(Settlement::Ack).await.unwrap(), Settled::Done);
    drop(queue);
    broker.finish().await;
}

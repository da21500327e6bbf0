//! Connections that break, and brokers that stand still.

use std::{sync::Arc, time::Duration};

use verdict::{
    base::FaultKind,
    queue::{
        Message, Queue, Settled, Settlement,
        amqp::{Amqp, Options},
    },
};

use super::{open, options, publish, take, within};
use crate::support::{Broker, Proxy, eventually};

/// The broker closes every connection: what was in hand comes again, to whoever asks, and old
/// deliveries change nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_connections_are_made_again() {
    let broker = Broker::shared().await;
    let queue = open(&broker, options());
    for n in 0..5 {
        publish(&*queue, &n.to_string()).await;
    }
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(take(&*queue).await);
    }
    broker.close_connections(2).await;
    let mut again = Vec::new();
    for _ in 0..5 {
        again.push(take(&*queue).await);
    }
    for delivery in &held {
        let settled = delivery.settle(Settlement::Ack).await.unwrap();
        assert_eq!(settled, Settled::Stale);
    }
    for delivery in &again {
        assert_eq!(delivery.deliveries, 2);
        let settled = delivery.settle(Settlement::Ack).await.unwrap();
        assert_eq!(settled, Settled::Done);
    }
    publish(&*queue, "after").await;
    assert_eq!(&take(&*queue).await.message.body[..], b"after");
    drop(queue);
    broker.finish().await;
}

/// Cut off, a waiting receive says so in time; joined again, everything works by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_and_joined_again() {
    let broker = Broker::shared().await;
    let mut proxy = Proxy::new(broker.address());
    // Long enough for a busy machine to connect and declare in.
    let options = Options { timeout: Duration::from_secs(4), ..options() };
    let url = broker.url_through(proxy.address());
    let queue: Arc<dyn Queue> = Arc::new(Amqp::open(&url, options, 4).unwrap());
    publish(&*queue, "before").await;
    let held = take(&*queue).await;
    proxy.cut().await;
    let error = within(queue.consumer().next()).await.unwrap_err();
    assert_eq!(error.fault().kind, FaultKind::Outage, "{error}");
    assert!(queue.check().await.unwrap_err().is_transient());
    assert!(queue.publish(Message::new("x"), Duration::ZERO).await.unwrap_err().is_transient());
    assert_eq!(held.settle(Settlement::Ack).await.unwrap(), Settled::Stale);
    proxy.mend();
    eventually("the queue is back", async || queue.check().await.ok()).await;
    let again = take(&*queue).await;
    assert_eq!(again.message, held.message);
    assert_eq!(again.settle(Settlement::Ack).await.unwrap(), Settled::Done);
    drop(queue);
    broker.finish().await;
}

/// A broker that answers nothing: calls end within their limit, and work again when it does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frozen_broker_is_noticed() {
    let broker = Broker::shared().await;
    let proxy = Proxy::new(broker.address());
    // Long enough for a busy machine to connect and declare in.
    let (timeout, heartbeat) = (Duration::from_secs(4), Duration::from_secs(2));
    let options = Options { timeout, heartbeat, ..options() };
    let url = broker.url_through(proxy.address());
    let queue: Arc<dyn Queue> = Arc::new(Amqp::open(&url, options, 4).unwrap());
    publish(&*queue, "before").await;
    proxy.freeze();
    let publishing = within(queue.publish(Message::new("lost?"), Duration::ZERO));
    assert!(publishing.await.unwrap_err().is_transient());
    assert!(within(queue.check()).await.unwrap_err().is_transient());
    assert!(within(queue.depth()).await.unwrap_err().is_transient());
    proxy.thaw();
    eventually("the queue is back", async || queue.check().await.ok()).await;
    let delivery = take(&*queue).await;
    assert_eq!(&delivery.message.body[..], b"before");
    assert_eq!(delivery.settle(Settlement::Ack).await.unwrap(), Settled::Done);
    drop(queue);
    broker.finish().await;
}

/// A message that could not be put off is still held: the same call may be made again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_settlement_may_be_tried_again() {
    let broker = Broker::shared().await;
    let proxy = Proxy::new(broker.address());
    let options = Options { timeout: Duration::from_secs(4), ..options() };
    let url = broker.url_through(proxy.address());
    let queue: Arc<dyn Queue> = Arc::new(Amqp::open(&url, options, 4).unwrap());
    publish(&*queue, "patient").await;
    let held = take(&*queue).await;
    proxy.freeze();
    let later = Settlement::Later(Duration::from_millis(100));
    assert!(within(held.settle(later)).await.unwrap_err().is_transient());
    proxy.thaw();
    let settled = eventually("it can be settled", async || held.settle(later).await.ok()).await;
    assert_eq!(settled, Settled::Done);
    assert_eq!(held.settle(later).await.unwrap(), Settled::Stale);
    assert_eq!(take(&*queue).await.message, held.message);
    drop(queue);
    broker.finish().await;
}

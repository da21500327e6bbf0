//! The harness itself: brokers, emulators and the proxy do what other tests rely on.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties,
    options::{BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions},
    types::FieldTable,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{Instant, timeout},
};

use crate::support::{Broker, Emulator, PATIENCE, Proxy, Queue, eventually};

/// Long enough for what comes at once to have come, where nothing should.
const QUIET: Duration = Duration::from_millis(300);

/// A server that dispatches back what it gets.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                tokio::io::copy(&mut read, &mut write).await
            });
        }
    });
    address
}

async fn through(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.address()).await.unwrap()
}

async fn get(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    timeout(PATIENCE, stream.read_exact(&mut bytes)).await.unwrap().unwrap();
    bytes
}

#[tokio::test]
async fn a_proxy_carries_everything_in_order() {
    let proxy = Proxy::new(echo().await.to_string());
    let sent: Arc<Vec<u8>> = Arc::new((0..3_000_000_u32).map(|n| (n % 251) as u8).collect());
    let (mut read, mut write) = through(&proxy).await.into_split();
    let text = sent.clone();
    let writing = tokio::spawn(async move {
        write.write_all(&text).await.unwrap();
        write.shutdown().await.unwrap();
    });
    let mut got = Vec::new();
    timeout(PATIENCE, read.read_to_end(&mut got)).await.unwrap().unwrap();
    writing.await.unwrap();
    assert!(got == *sent, "{} bytes of {} came, or others", got.len(), sent.len());
    eventually("the connection is gone", async || (proxy.open() == 0).then_some(())).await;
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn a_frozen_proxy_holds_both_ways_and_loses_nothing() {
    let proxy = Proxy::new(echo().await.to_string());
    let mut old = through(&proxy).await;
    old.write_all(b"one").await.unwrap();
    assert_eq!(get(&mut old, 3).await, b"one");

    proxy.freeze();
    let mut new = through(&proxy).await;
    new.write_all(b"new").await.unwrap();
    for word in [b"two", b"six"] {
        old.write_all(word).await.unwrap();
    }
    assert!(timeout(QUIET, old.peek(&mut [0])).await.is_err(), "something came through");
    assert!(timeout(QUIET, new.peek(&mut [0])).await.is_err(), "something came through");
    assert_eq!((proxy.open(), proxy.accepted()), (2, 2));

    proxy.thaw();
    assert_eq!(get(&mut old, 6).await, b"twosix");
    assert_eq!(get(&mut new, 3).await, b"new");
}

#[tokio::test]
async fn a_cut_resets_and_refuses_until_it_is_mended() {
    let mut proxy = Proxy::new(echo().await.to_string());
    let mut stream = through(&proxy).await;
    stream.write_all(b"one").await.unwrap();
    assert_eq!(get(&mut stream, 3).await, b"one");

    proxy.cut().await;
    assert_eq!(proxy.open(), 0);
    let broken = timeout(PATIENCE, stream.read(&mut [0; 1])).await.unwrap().unwrap_err();
    assert_eq!(broken.kind(), io::ErrorKind::ConnectionReset);
    let refused = TcpStream::connect(proxy.address()).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);

    proxy.mend();
    let mut stream = through(&proxy).await;
    stream.write_all(b"two").await.unwrap();
    assert_eq!(get(&mut stream, 3).await, b"two");
}

#[tokio::test]
async fn a_frozen_proxy_can_be_cut() {
    let mut proxy = Proxy::new(echo().await.to_string());
    let mut stream = through(&proxy).await;
    stream.write_all(b"one").await.unwrap();
    assert_eq!(get(&mut stream, 3).await, b"one");
    proxy.freeze();
    proxy.cut().await;
    let broken = timeout(PATIENCE, stream.read(&mut [0; 1])).await.unwrap().unwrap_err();
    assert_eq!(broken.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_slow_proxy_delays_each_way_and_keeps_the_order() {
    let proxy = Proxy::new(echo().await.to_string());
    let mut stream = through(&proxy).await;
    stream.write_all(b"warm").await.unwrap();
    get(&mut stream, 4).await;
    let delay = Duration::from_millis(200);
    proxy.delay(delay);
    let began = Instant::now();
    for word in [b"one", b"two", b"six"] {
        stream.write_all(word).await.unwrap();
    }
    assert_eq!(get(&mut stream, 9).await, b"onetwosix");
    let took = began.elapsed();
    assert!(took >= 2 * delay, "there and back in {took:?}");
}

async fn channel(broker: &Broker) -> (Connection, Channel) {
    let url = broker.url();
    let connection = Connection::connect(&url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    (connection, channel)
}

async fn declare(channel: &Channel, name: &str, kind: &'static str) {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), lapin::types::AMQPValue::LongString(kind.into()));
    let options = QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare(name.into(), options, arguments).await.unwrap();
}

async fn publish(channel: &Channel, queue: &str, body: &[u8]) {
    let (options, lasting) = (BasicPublishOptions::default(), BasicProperties::default());
    let lasting = lasting.with_delivery_mode(2);
    let sent = channel.basic_publish("".into(), queue.into(), options, body, lasting).await;
    sent.unwrap().await.unwrap();
}

async fn depth(broker: &Broker, queue: &str, wanted: u64) {
    eventually("the queue has as many messages", async || {
        (broker.queue(queue).await?.messages == wanted).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_shared_broker_keeps_tests_apart_and_forgets_them() {
    let (broker, other) = (Broker::shared().await, Broker::shared().await);
    let (connection, channel) = channel(&broker).await;
    declare(&channel, "work", "quorum").await;
    publish(&channel, "work", b"x").await;
    depth(&broker, "work", 1).await;
    let Queue { ready, unacknowledged, consumers, durable, arguments, .. } =
        broker.queue("work").await.unwrap();
    assert_eq!((ready, unacknowledged, consumers, durable), (1, 0, 0, true));
    assert_eq!(arguments["x-queue-type"], "quorum");
    assert!(other.queues().await.is_empty());

    broker.delete_queue("work").await;
    assert!(broker.queue("work").await.is_none());
    connection.close(200, "".into()).await.unwrap();
    let vhost = broker.vhost().to_owned();
    assert!(other.has_vhost(&vhost).await);
    broker.finish().await;
    assert!(!other.has_vhost(&vhost).await);
    other.finish().await;
}

#[tokio::test]
async fn a_test_that_fails_leaves_no_virtual_host() {
    let other = Broker::shared().await;
    let (sender, name) = tokio::sync::oneshot::channel();
    let failing = tokio::spawn(async move {
        let broker = Broker::shared().await;
        sender.send(broker.vhost().to_owned()).unwrap();
        panic!("as wanted");
    });
    assert!(failing.await.unwrap_err().is_panic());
    assert!(!other.has_vhost(&name.await.unwrap()).await);
    other.finish().await;
}

#[tokio::test]
async fn the_broker_closes_connections_when_told() {
    let broker = Broker::shared().await;
    let (connection, _channel) = channel(&broker).await;
    broker.close_connections(1).await;
    eventually("the client knows", async || (!connection.status().connected()).then_some(())).await;
    broker.finish().await;
}

#[tokio::test]
async fn services_are_reached_through_a_proxy() {
    let (broker, emulator) = (Broker::shared().await, Emulator::shared());
    let mut proxy = Proxy::new(broker.address());
    let url = broker.url_through(proxy.address());
    let connection = Connection::connect(&url, ConnectionProperties::default()).await.unwrap();
    assert_eq!(proxy.open(), 1);
    proxy.cut().await;
    eventually("the client knows", async || (!connection.status().connected()).then_some(())).await;
    broker.finish().await;

    let proxy = Proxy::new(emulator.address());
    let mut stream = through(&proxy).await;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    assert_eq!(get(&mut stream, 12).await, b"HTTP/1.0 200");
}

#[tokio::test]
async fn private_broker_keeps_durable_queues_over_stop_and_kill() {
    let mut broker = Broker::private().await;
    let (_connection, channel_of_old) = channel(&broker).await;
    declare(&channel_of_old, "classic", "classic").await;
    declare(&channel_of_old, "quorum", "quorum").await;
    publish(&channel_of_old, "classic", b"one").await;
    publish(&channel_of_old, "quorum", b"two").await;

    broker.restart().await;
    broker.kill().await;
    assert!(TcpStream::connect(broker.address()).await.is_err());
    broker.start().await;
    let (connection, channel) = channel(&broker).await;
    for (queue, body) in [("classic", b"one"), ("quorum", b"two")] {
        let message = eventually("the queue has its leader and its message", async || {
            channel.basic_get(queue.into(), BasicGetOptions { no_ack: true }).await.unwrap()
        });
        assert_eq!(message.await.delivery.data, body);
    }
    connection.close(200, "".into()).await.unwrap();
    broker.finish().await;
}

#[tokio::test]
async fn private_broker_freezes_and_raises_the_disk_alarm() {
    let broker = Broker::private().await;
    let (connection, channel) = channel(&broker).await;
    declare(&channel, "work", "classic").await;
    broker.disk_alarm(true).await;
    let held = tokio::spawn(async move {
        publish(&channel, "work", b"held").await;
        connection.close(200, "".into()).await.unwrap();
    });
    let mut held = std::pin::pin!(held);
    assert!(timeout(QUIET, &mut held).await.is_err(), "taken in spite of the alarm");
    broker.disk_alarm(false).await;
    timeout(PATIENCE, held).await.unwrap().unwrap();

    broker.freeze();
    assert!(timeout(QUIET, broker.connections()).await.is_err(), "it answers though frozen");
    broker.thaw();
    depth(&broker, "work", 1).await;
    broker.finish().await;
}

async fn create_topic(emulator: &Emulator, name: &str) -> u16 {
    let (endpoint, project) = (emulator.endpoint(), emulator.project());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{endpoint}/v1/projects/{project}/topics/{name}");
    client.put(url).body("{}").send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn the_shared_emulator_keeps_tests_apart() {
    let (one, other) = (Emulator::shared(), Emulator::shared());
    assert_eq!(create_topic(&one, "events").await, 200);
    assert_eq!(create_topic(&one, "events").await, 409);
    assert_eq!(create_topic(&other, "events").await, 200);
}

#[tokio::test]
async fn private_emulator_freezes_and_loses_all_at_a_restart() {
    let mut emulator = Emulator::private().await;
    assert_eq!(create_topic(&emulator, "events").await, 200);
    emulator.freeze();
    {
        let mut asked = std::pin::pin!(create_topic(&emulator, "events"));
        assert!(timeout(QUIET, &mut asked).await.is_err(), "it answers though frozen");
        emulator.thaw();
        assert_eq!(timeout(PATIENCE, asked).await.unwrap(), 409);
    }
    emulator.restart().await;
    assert_eq!(create_topic(&emulator, "events").await, 200, "it had forgotten the topic");
}

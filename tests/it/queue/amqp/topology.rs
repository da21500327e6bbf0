//! What is declared, what is refused, and what is mended.

use std::time::Duration;

use lapin::{
    BasicProperties, ExchangeKind,
    options::{BasicPublishOptions, ExchangeDeclareOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};
use verdict::queue::{
    Message, Queue, QueueError, Settled, Settlement,
    amqp::{Amqp, Options, QueueType},
};

use super::{foreign, open, options, publish, take, within};
use crate::support::{Broker, eventually};

/// Opening needs no broker; what can never work is an error at once, and names its setting.
#[tokio::test]
async fn settings_that_cannot_work_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.pem");
    std::fs::write(&file, "nothing").unwrap();
    let refused = |url: &str, options: Options| match Amqp::open(url, options, 1) {
        Ok(_) => panic!("{url} was taken"),
        Err(error) => {
            assert!(!error.is_transient(), "{error}");
            error.to_string()
        }
    };
    let ca = |path: &std::path::Path| Options { ca_path: Some(path.to_owned()), ..options() };
    let said = refused("amqp://localhost/?colour=red", options());
    assert!(said.contains("queue.url") && said.contains("colour"), "{said}");
    let said = refused("amqp://me:secret@localhost:99999/", options());
    assert!(said.contains("queue.url") && !said.contains("secret"), "{said}");
    let said = refused("amqps://localhost/", ca(&folder.path().join("missing.pem")));
    assert!(said.contains("queue.amqp.ca_path") && said.contains("missing.pem"), "{said}");
    assert!(refused("amqps://localhost/", ca(&file)).contains("CERTIFICATE"));
    let key = Options { client_key_path: Some(file), ..options() };
    assert!(refused("amqps://localhost/", key).contains("client_key_path"));
    Amqp::open("amqp://127.0.0.1:1/%2f", options(), 1).unwrap();
}

/// A broker that is not there: every call answers within its limit, and says it may be tried again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn absent_broker_is_an_outage() {
    let options = Options { timeout: Duration::from_millis(300), ..options() };
    let queue = Amqp::open("amqp://127.0.0.1:1/%2f", options, 1).unwrap();
    let errors = [
        queue.publish(Message::new("x"), Duration::ZERO).await.unwrap_err(),
        within(queue.consumer().next()).await.unwrap_err(),
        queue.depth().await.unwrap_err(),
        queue.check().await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.fault().kind, verdict::base::FaultKind::Outage, "{error}");
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    }
    let rows = queue.diagnose().await;
    assert_eq!(rows[0].what, "reach");
    assert!(rows[0].found.as_ref().unwrap_err().contains("queue.url"), "{rows:?}");
    queue.close().await.unwrap();
}

/// A queue that exists otherwise is left as it is; the error names the argument and both values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mismatch_names_the_argument() {
    let broker = Broker::shared().await;
    let theirs = open(&broker, Options { delivery_limit: 77, ..options() });
    theirs.check().await.unwrap();
    let ours = open(&broker, options());
    let error = ours.check().await.unwrap_err();
    let said = error.to_string();
    assert!(!error.is_transient(), "{said}");
    for word in ["queue `verdict`", "x-delivery-limit = 77", "1000", "queue.amqp.delivery_limit"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let classic = open(&broker, Options { queue_type: QueueType::Classic, ..options() });
    let said = classic.check().await.unwrap_err().to_string();
    assert!(said.contains("queue.amqp.queue_type") && said.contains("expects none"), "{said}");
    let rows = ours.diagnose().await;
    let wrong: Vec<_> = rows.iter().filter(|row| row.found.is_err()).collect();
    assert_eq!(wrong.len(), 1, "{rows:?}");
    assert_eq!(wrong[0].what, "topology");
    theirs.check().await.unwrap();
    drop((theirs, ours, classic));
    broker.finish().await;
}

/// Where all is well, every row says so, and nothing is left behind or taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn diagnosis_of_a_sound_queue() {
    let broker = Broker::shared().await;
    let queue = open(&broker, options());
    publish(&*queue, "untouched").await;
    let rows = queue.diagnose().await;
    assert!(rows.iter().all(|row| row.found.is_ok()), "{rows:?}");
    let what: Vec<_> = rows.iter().map(|row| row.what).collect();
    let topology = ["topology"; 4];
    let expected =
        [&["reach", "login"][..], &topology, &["publish", "consume", "blocked"]].concat();
    assert_eq!(what, expected);
    assert_eq!(take(&*queue).await.deliveries, 1);
    drop(queue);
    broker.finish().await;
}

/// A user who may declare nothing uses the queues that somebody else made, and is told which one is
/// missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_not_declare_uses_what_is_there() {
    let broker = Broker::shared().await;
    open(&broker, options()).check().await.unwrap();
    broker.allow_declaring(false).await;
    let queue = open(&broker, options());
    publish(&*queue, "mine").await;
    let delivery = take(&*queue).await;
    assert_eq!(delivery.settle(Settlement::Ack).await.unwrap(), Settled::Done);
    let rows = queue.diagnose().await;
    let told = rows.iter().filter(|row| row.what == "topology").map(|row| row.found.clone());
    assert!(told.clone().all(|found| found.unwrap().contains("not compared")), "{rows:?}");
    drop(queue);

    broker.delete_queue("verdict.dead").await;
    let queue = open(&broker, options());
    let error = queue.check().await.unwrap_err().to_string();
    assert!(error.contains("verdict.dead") && error.contains("permission"), "{error}");
    drop(queue);
    broker.finish().await;
}

/// A wrong password is refused as such; the one in the options goes over the one in the URL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_override_the_urls_user() {
    let broker = Broker::shared().await;
    let url = broker.url().replace("guest:guest", "guest:wrong");
    let wrong = Amqp::open(&url, options(), 1).unwrap();
    let error = wrong.check().await.unwrap_err();
    assert!(!error.is_transient() && error.to_string().contains("queue.amqp.password"), "{error}");
    let rows = wrong.diagnose().await;
    assert!(rows[0].found.is_ok() && rows[1].what == "login" && rows[1].found.is_err(), "{rows:?}");
    let (user, password) = (Some("guest".to_owned()), Some("guest".into()));
    let right = Amqp::open(&url, Options { user, password, ..options() }, 1).unwrap();
    right.check().await.unwrap();
    drop((wrong, right));
    broker.finish().await;
}

/// Events that others publish to an exchange arrive; an exchange that is missing is named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bound_to_an_exchange() {
    let broker = Broker::shared().await;
    let exchange = Some("events".to_owned());
    let bound = Options { exchange, routing_key: "pull.#".to_owned(), ..options() };
    let queue = open(&broker, bound);
    let error = queue.check().await.unwrap_err();
    assert!(!error.is_transient() && error.to_string().contains("`events`"), "{error}");

    let (connection, channel) = foreign(&broker).await;
    let durable = ExchangeDeclareOptions { durable: true, ..Default::default() };
    let declared = channel.exchange_declare(
        "events".into(),
        ExchangeKind::Topic,
        durable,
        FieldTable::default(),
    );
    declared.await.unwrap();
    eventually("the exchange is found", async || queue.check().await.ok()).await;
    for (key, body) in [("push.x", "not this"), ("pull.opened", "this")] {
        let options = BasicPublishOptions::default();
        let properties = BasicProperties::default();
        channel
            .basic_publish("events".into(), key.into(), options, body.as_bytes(), properties)
            .await
            .unwrap();
    }
    let delivery = take(&*queue).await;
    assert_eq!(&delivery.message.body[..], b"this");
    connection.close(200, "".into()).await.unwrap();
    drop(queue);
    broker.finish().await;
}

/// Somebody deletes the queue while it is consumed from: what is published afterwards arrives, and
/// what was in hand can still be put off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_queue_is_made_again() {
    let broker = Broker::shared().await;
    let queue = open(&broker, options());
    publish(&*queue, "held").await;
    let held = take(&*queue).await;
    broker.delete_queue("verdict").await;
    // Made again at the same instant, RabbitMQ 3.10 may go on with the consumer it had and send it nothing.
    eventually("it is gone", async || broker.queue("verdict").await.is_none().then_some(())).await;
    queue.publish(Message::new("after"), Duration::ZERO).await.unwrap();
    let after = take(&*queue).await;
    assert_eq!(&after.message.body[..], b"after");
    let later = Settlement::Later(Duration::from_millis(100));
    assert_eq!(held.settle(later).await.unwrap(), Settled::Done);
    assert_eq!(&take(&*queue).await.message.body[..], b"held");
    broker.delete_queue("verdict").await;
    queue.check().await.unwrap();
    drop(queue);
    broker.finish().await;
}

/// Headers that no frame holds are refused before they break the connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_headers_are_refused_for_good() {
    let broker = Broker::shared().await;
    let queue = open(&broker, options());
    let message = Message::new("x").with("large", "y".repeat(200_000));
    let error = queue.publish(message, Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, QueueError::Fault(_)) && !error.is_transient(), "{error}");
    let error = queue.publish(Message::new("x").with(&"n".repeat(300), ""), Duration::ZERO).await;
    assert!(!error.unwrap_err().is_transient());
    publish(&*queue, "still works").await;
    drop(queue);
    broker.finish().await;
}

/// Arguments that look alike to the broker are no difference: another handle declares the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declared_as_documented() {
    let broker = Broker::shared().await;
    let queue = open(&broker, options());
    queue.check().await.unwrap();
    open(&broker, options()).check().await.unwrap();
    let (connection, channel) = foreign(&broker).await;
    let argument = |value: &str| AMQPValue::LongString(value.into());
    let mut arguments = FieldTable::default();
    for (name, value) in [
        ("x-queue-type", "quorum"),
        ("x-dead-letter-exchange", ""),
        ("x-dead-letter-routing-key", "verdict.dead"),
        ("x-dead-letter-strategy", "at-least-once"),
        ("x-overflow", "reject-publish"),
    ] {
        arguments.insert(name.into(), argument(value));
    }
    arguments.insert("x-delivery-limit".into(), AMQPValue::LongInt(1000));
    let durable = QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare("verdict".into(), durable, arguments).await.unwrap();
    connection.close(200, "".into()).await.unwrap();
    drop(queue);
    broker.finish().await;
}

//! Dead letters that verdict did not put there, and those that do not fit.

use lapin::{
    BasicProperties,
    options::{BasicGetOptions, BasicNackOptions, BasicPublishOptions},
};
use verdict::queue::{DeadLetter, Message, amqp::Options, note, peek_dead};

use super::{foreign, open, options, publish, take};
use crate::support::{Broker, eventually};

/// A consumer that dies each time brings a message to the broker's limit; it is seen, by the
/// message's own name, and can be removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_brokers_own_are_seen_and_removed() {
    let broker = Broker::shared().await;
    let limit = 10;
    let options = Options { delivery_limit: limit, ..options() };
    let queue = open(&broker, options.clone());
    let message = Message::new("deadly").with("x-github-event", "pull_request");
    queue.publish(message.clone(), std::time::Duration::ZERO).await.unwrap();
    for nth in 1..=limit + 1 {
        let mortal = open(&broker, options.clone());
        let delivery = take(&*mortal).await;
        assert_eq!(delivery.deliveries, nth);
        drop(mortal);
    }
    let letters = eventually("the broker gives it up", async || {
        let letters = peek_dead(&*queue, 9).await.unwrap();
        (!letters.is_empty()).then_some(letters)
    })
    .await;
    let (id, reason) = (message.digest(), "delivery_limit".to_owned());
    let expected =
        DeadLetter { id: id.clone(), reason, by_broker: true, notes: Vec::new(), message };
    assert_eq!(letters, std::slice::from_ref(&expected));
    assert_eq!(peek_dead(&*queue, 9).await.unwrap(), [expected]);
    assert_eq!(queue.remove_dead(&[id]).await.unwrap(), 1);
    assert_eq!(queue.depth().await.unwrap().dead, Some(0));
    drop(queue);
    broker.finish().await;
}

/// What somebody else put there is shown under its message's name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_seen() {
    let broker = Broker::shared().await;
    let queue = open(&broker, options());
    queue.check().await.unwrap();
    let (connection, channel) = foreign(&broker).await;
    let options = BasicPublishOptions::default();
    let properties = BasicProperties::default();
    channel
        .basic_publish("".into(), "verdict.dead".into(), options, b"odd", properties)
        .await
        .unwrap();
    let letters = eventually("it is seen", async || {
        let letters = peek_dead(&*queue, 9).await.unwrap();
        (!letters.is_empty()).then_some(letters)
    });
    let letter = letters.await.remove(0);
    assert!(letter.by_broker);
    assert_eq!(letter.id, Message::new("odd").digest());
    connection.close(200, "".into()).await.unwrap();
    drop(queue);
    broker.finish().await;
}

/// A letter whose headers do not fit beside our own comes without its message, and is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letter_that_does_not_fit_is_there_without_its_message() {
    let broker = Broker::shared().await;
    let queue = open(&broker, options());
    let message = Message::new("body").with("large", "y".repeat(130_000));
    let (id, reason) = ("letter".to_owned(), "permanent".to_owned());
    let letter = DeadLetter { id, reason, by_broker: false, notes: Vec::new(), message };
    queue.publish_dead(letter.clone()).await.unwrap();
    let kept = peek_dead(&*queue, 9).await.unwrap();
    assert_eq!(kept, [DeadLetter { message: Message::default(), ..letter }]);
    publish(&*queue, "goes on").await;
    drop(queue);
    broker.finish().await;
}

/// Who looks at the broker's queue sees why a letter is there; its message is what it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_headers_for_people() {
    let broker = Broker::shared().await;
    let queue = open(&broker, options());
    let letter = DeadLetter {
        id: "letter".to_owned(),
        reason: "permanent".to_owned(),
        by_broker: false,
        notes: vec![(note::ERROR, "no such commit".to_owned()), (note::ATTEMPTS, "3".to_owned())],
        message: Message::new("body").with("x-github-event", "push"),
    };
    queue.publish_dead(letter.clone()).await.unwrap();
    let (connection, channel) = foreign(&broker).await;
    let got = channel.basic_get("verdict.dead".into(), BasicGetOptions::default()).await.unwrap();
    let got = got.unwrap().delivery;
    let headers = got.properties.headers().clone().unwrap();
    let said =
        |name: &str| headers.inner().get(name).unwrap().as_long_string().unwrap().to_string();
    let names = ["x-verdict-letter", "x-verdict-reason", note::ERROR, note::ATTEMPTS];
    assert_eq!(names.map(said), ["letter", "permanent", "no such commit", "3"]);
    assert_eq!(said("x-github-event"), "push");
    let back = BasicNackOptions { requeue: true, ..BasicNackOptions::default() };
    assert!(got.acker.nack(back).await.unwrap());
    connection.close(200, "".into()).await.unwrap();
    let expected = [DeadLetter { notes: Vec::new(), ..letter }];
    eventually("it is back as it was", async || {
        (peek_dead(&*queue, 9).await.unwrap() == expected).then_some(())
    })
    .await;
    drop(queue);
    broker.finish().await;
}

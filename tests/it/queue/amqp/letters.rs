//! Dead letters that verdict did not put there, and those that do not fit.

use lapin::{BasicProperties, options::BasicPublishOptions};
use verdict::queue::{DeadLetter, Message, amqp::Options, peek_dead};

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
    let expected = DeadLetter { id: id.clone(), reason, by_broker: true, message };
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
    let letter = DeadLetter { id, reason, by_broker: false, message };
    queue.publish_dead(letter.clone()).await.unwrap();
    let kept = peek_dead(&*queue, 9).await.unwrap();
    assert_eq!(kept, [DeadLetter { message: Message::default(), ..letter }]);
    publish(&*queue, "goes on").await;
    drop(queue);
    broker.finish().await;
}

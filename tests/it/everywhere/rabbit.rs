//! RabbitMQ as a place: a virtual host of its own, with quorum queues that give a message up at the
//! tenth delivery that nobody settled.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties,
    options::{
        BasicAckOptions, BasicGetOptions, BasicNackOptions, BasicPublishOptions,
        ConfirmSelectOptions, QueueDeclareOptions,
    },
    types::{AMQPValue, FieldTable},
};
use tokio::time::Instant;
use verdict::queue::{
    BODY_LIMIT, Message, Queue,
    amqp::{Amqp, Options},
};

use super::site::{FILLING, Place, distinct, millis};
use crate::support::{Broker, eventually};

const QUEUE: &str = "verdict";
const DEAD: &str = "verdict.dead";
const LIMIT: u32 = 10;
const DELAYS: [Duration; 2] = [millis(200), millis(500)];
/// How long what must be there may take to be seen.
const LONG: Duration = Duration::from_secs(30);

pub struct Vhost {
    broker: Broker,
}

pub async fn place() -> Vhost {
    Vhost { broker: Broker::shared().await }
}

/// Another client than verdict's.
pub struct Foreign {
    connection: Connection,
    pub channel: Channel,
}

impl Foreign {
    pub async fn new(url: &str) -> Self {
        let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        Self { connection, channel }
    }

    /// Publishes to verdict's queue, and waits until the broker has it.
    pub async fn publish(&self, properties: BasicProperties, body: &[u8]) {
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let sent = self.channel.basic_publish("".into(), QUEUE.into(), options, body, properties);
        let confirmation = sent.await.unwrap().await.unwrap();
        assert!(confirmation.is_ack(), "{confirmation:?}");
    }

    /// Publishes to a queue; answers whether it is full.
    async fn fills(&self, queue: &str) -> bool {
        let mut headers = FieldTable::default();
        headers.insert(FILLING.into(), AMQPValue::LongString("1".into()));
        let properties = BasicProperties::default().with_headers(headers);
        let (options, body) = (BasicPublishOptions::default(), FILLING.as_bytes());
        let sent = self.channel.basic_publish("".into(), queue.into(), options, body, properties);
        sent.await.unwrap().await.unwrap().is_nack()
    }

    pub async fn close(self) {
        self.connection.close(200, "done".into()).await.unwrap();
    }

    /// Ready messages in a queue.
    async fn ready(&self, queue: &str) -> u32 {
        let passive = QueueDeclareOptions { passive: true, ..Default::default() };
        let declared =
            self.channel.queue_declare(queue.into(), passive, FieldTable::default()).await;
        declared.unwrap().message_count()
    }
}

impl Vhost {
    pub fn url(&self) -> String {
        self.broker.url()
    }

    async fn foreign(&self) -> Foreign {
        Foreign::new(&self.url()).await
    }

    async fn dead_now(&self) -> Vec<Message> {
        let foreign = self.foreign().await;
        let mut dead = Vec::new();
        let get = BasicGetOptions::default();
        while let Some(found) = foreign.channel.basic_get(DEAD.into(), get).await.unwrap() {
            dead.push(message(&found.delivery.properties, &found.delivery.data));
        }
        // Closing gives them back.
        foreign.close().await;
        dead
    }
}

#[async_trait(?Send)]
impl Place for Vhost {
    fn limit(&self) -> usize {
        LIMIT as usize
    }

    async fn open(&self) -> Arc<dyn Queue> {
        let options =
            Options { delivery_limit: LIMIT, delays: DELAYS.to_vec(), ..Options::default() };
        let url = format!("{}?queue={QUEUE}", self.url());
        Arc::new(Amqp::open(&url, options, 4).unwrap())
    }

    fn ways(&self) -> Vec<Duration> {
        [Duration::ZERO].into_iter().chain(DELAYS).collect()
    }

    async fn left(&self, _: usize) -> usize {
        eventually("every connection is closed", async || {
            self.broker.connections().await.is_empty().then_some(())
        })
        .await;
        let foreign = self.foreign().await;
        let mut left = 0;
        for queue in self.broker.queues().await.iter().filter(|queue| queue.name != DEAD) {
            left += foreign.ready(&queue.name).await as usize;
        }
        foreign.close().await;
        left
    }

    /// What a worker is looking at, nobody else sees.
    async fn dead(&self, least: usize) -> Vec<Message> {
        let began = Instant::now();
        eventually("the dead letters are seen", async || {
            let dead = distinct(self.dead_now().await, "x-verdict-letter");
            (dead.len() >= least || began.elapsed() > LONG).then_some(dead)
        })
        .await
    }

    /// A quorum queue takes messages until it holds more than its limit.
    async fn refuse_dead(&self) {
        self.broker.refuse(DEAD, true).await;
        let foreign = self.foreign().await;
        eventually("the queue is full", async || foreign.fills(DEAD).await.then_some(())).await;
        foreign.close().await;
    }

    async fn take_dead(&self) {
        // First makes room: the broker tells publishers of that, and not of a policy that went. A worker
        // may be looking at what fills the queue, and gives it back.
        let room = async || {
            let foreign = self.foreign().await;
            let (get, mut room) = (BasicGetOptions::default(), None);
            while let Some(got) = foreign.channel.basic_get(DEAD.into(), get).await.unwrap() {
                if got.delivery.data != FILLING.as_bytes() {
                    break;
                }
                got.delivery.acker.ack(BasicAckOptions::default()).await.unwrap();
                room = Some(());
            }
            // Closing gives back what did not fill it.
            foreign.close().await;
            room
        };
        eventually("there is room", room).await;
        self.broker.refuse(DEAD, false).await;
    }

    async fn leave(&self, message: Message) {
        let foreign = self.foreign().await;
        foreign.publish(properties(&message), &message.body).await;
        foreign.close().await;
    }

    /// verdict publishes no more than the first, reads no more than the third, and the broker takes
    /// still more.
    fn sizes(&self) -> Vec<usize> {
        let most = Options::default().max_message;
        vec![most, most + 1, BODY_LIMIT, BODY_LIMIT + 1]
    }

    async fn give_up(&self, message: Message) {
        let foreign = self.foreign().await;
        foreign.publish(properties(&message), &message.body).await;
        let back = BasicNackOptions { requeue: true, ..Default::default() };
        let mut deliveries = 0;
        eventually("the broker gives it up", async || {
            let get = BasicGetOptions::default();
            match foreign.channel.basic_get(QUEUE.into(), get).await.unwrap() {
                Some(found) => {
                    deliveries += 1;
                    found.delivery.acker.nack(back).await.unwrap();
                    None
                }
                None => (foreign.ready(DEAD).await > 0).then_some(()),
            }
        })
        .await;
        assert!(deliveries >= LIMIT, "given up after {deliveries} deliveries");
        foreign.close().await;
    }

    async fn finish(self: Box<Self>) {
        self.broker.finish().await;
    }
}

/// The message as AMQP has it.
pub fn properties(message: &Message) -> BasicProperties {
    let mut headers = FieldTable::default();
    let mut properties = BasicProperties::default().with_delivery_mode(2);
    for (name, value) in &message.headers {
        if name == "content-type" {
            properties = properties.with_content_type(value.as_str().into());
        } else {
            headers.insert(name.as_str().into(), AMQPValue::LongString(value.as_str().into()));
        }
    }
    properties.with_headers(headers)
}

/// The texts among the headers, and the body.
fn message(properties: &BasicProperties, body: &[u8]) -> Message {
    let mut headers = BTreeMap::new();
    for (name, value) in properties.headers().iter().flat_map(|table| table.inner()) {
        if let AMQPValue::LongString(text) = value {
            headers.insert(name.to_string(), text.to_string());
        }
    }
    if let Some(id) = properties.message_id() {
        headers.insert("message-id".to_owned(), id.to_string());
    }
    Message { headers, body: body.to_vec().into() }
}

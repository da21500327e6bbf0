//! Options of the queue.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::QueueUrl;
use crate::queue::{
    amqp::Options as AmqpOptions, embedded::Options as EmbeddedOptions,
    pubsub::Options as PubSubOptions,
};

/// Where messages wait.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueOptions {
    /// The queue's place. Unset: embedded, in the store's own file when that is SQLite.
    pub url: QueueUrl,
    /// How long the embedded queue leaves a message with a worker that does not say it is still
    /// at it. A message whose worker died comes back after this.
    #[serde(with = "humantime_serde")]
    pub visibility: Duration,
    /// RabbitMQ.
    pub amqp: AmqpOptions,
    /// Google Pub/Sub.
    pub pubsub: PubSubOptions,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            url: QueueUrl::default(),
            visibility: EmbeddedOptions::default().visibility,
            amqp: AmqpOptions::default(),
            pubsub: PubSubOptions::default(),
        }
    }
}

impl QueueOptions {
    /// The first option that cannot work, with the reason.
    pub(super) fn fault(&self) -> Option<(String, &'static str)> {
        if self.visibility < Duration::from_millis(100) {
            return Some(("visibility".to_owned(), "expected a duration of at least 100ms"));
        }
        let amqp = self.amqp.fault().map(|(name, why)| (format!("amqp.{name}"), why));
        amqp.or_else(|| self.pubsub.fault().map(|(name, why)| (format!("pubsub.{name}"), why)))
    }
}

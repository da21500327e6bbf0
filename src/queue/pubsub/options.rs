//! The settings of a Pub/Sub queue: section `queue.pubsub`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a Pub/Sub queue is reached and declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Whether to create topics and subscriptions that are missing.
    pub create: bool,
    /// The topic dead letters go to. Unset: the subscription's name and `-dead`.
    pub dead_topic: Option<String>,
    /// The subscription they wait in. Unset: the dead topic's name.
    pub dead_subscription: Option<String>,
    /// Deliveries after which Pub/Sub gives a message up by itself, from 5 to 100. A backstop:
    /// keep it high.
    pub delivery_attempts: u32,
    /// The shortest wait before a message that was given back comes again.
    #[serde(with = "humantime_serde")]
    pub min_backoff: Duration,
    /// The longest, at most ten minutes.
    #[serde(with = "humantime_serde")]
    pub max_backoff: Duration,
    /// How long a message stays with a consumer that says nothing, from 10 s to 10 min.
    #[serde(with = "humantime_serde")]
    pub ack_deadline: Duration,
    /// How long any one call may take.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// The emulator's address, HOST:PORT, instead of the service. The variable
    /// PUBSUB_EMULATOR_HOST says the same.
    pub emulator: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            create: true,
            dead_topic: None,
            dead_subscription: None,
            delivery_attempts: 100,
            min_backoff: Duration::from_secs(10),
            max_backoff: Duration::from_secs(600),
            ack_deadline: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
            emulator: None,
        }
    }
}

impl Options {
    /// The first option that cannot work, with the reason.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        let most = Duration::from_secs(600);
        if !(5..=100).contains(&self.delivery_attempts) {
            return Some(("delivery_attempts", "expected a whole number from 5 to 100"));
        }
        if self.min_backoff > self.max_backoff || self.max_backoff > most {
            return Some(("max_backoff", "expected `min_backoff` or more, and at most 10m"));
        }
        if !(Duration::from_secs(10)..=most).contains(&self.ack_deadline) {
            return Some(("ack_deadline", "expected a duration from 10s to 10m"));
        }
        self.timeout.is_zero().then_some(("timeout", "expected a duration longer than zero"))
    }
}

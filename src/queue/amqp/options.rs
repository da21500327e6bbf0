//! The settings of an AMQP queue: section `queue.amqp`.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::base::Secret;

/// How the queue is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueType {
    /// Replicated, and counts deliveries.
    #[default]
    Quorum,
    /// On one node; counts nothing.
    Classic,
}

/// How an AMQP queue is reached and declared.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Quorum or classic. What exists with another type is refused, never changed.
    pub queue_type: QueueType,
    /// Deliveries after which a quorum queue gives a message up by itself. A backstop against
    /// messages that kill every worker: keep it high.
    pub delivery_limit: u32,
    /// An exchange that events are published to. It must exist; the queue is bound to it.
    pub exchange: Option<String>,
    /// The routing key of that binding.
    pub routing_key: String,
    /// The waits that "back later" can choose from: one queue each.
    #[serde(with = "crate::base::durations")]
    pub delays: Vec<Duration>,
    /// The broker's own acknowledgement timeout (`consumer_timeout`). A message held nearly as
    /// long is put on the queue again while its run goes on.
    #[serde(with = "humantime_serde")]
    pub ack_timeout: Duration,
    /// How long the broker may be silent before the connection counts as lost.
    #[serde(with = "humantime_serde")]
    pub heartbeat: Duration,
    /// How long any one call may take.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// The largest message, headers included, in bytes; no more than the broker's own limit.
    pub max_message: usize,
    /// The user, instead of the one in `queue.url`.
    pub user: Option<String>,
    /// The password, instead of the one in `queue.url`.
    #[serde(skip_serializing)]
    pub password: Option<Secret>,
    /// A PEM file of the authorities whose certificate an `amqps:` broker may show, beside the
    /// system's.
    pub ca_path: Option<PathBuf>,
    /// A PEM file with this client's certificate, and its chain.
    pub client_cert_path: Option<PathBuf>,
    /// A PEM file with the key of that certificate. One needs the other.
    pub client_key_path: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue_type: QueueType::Quorum,
            delivery_limit: 1000,
            exchange: None,
            routing_key: "#".to_owned(),
            delays: [10, 60, 600].map(Duration::from_secs).to_vec(),
            ack_timeout: Duration::from_secs(30 * 60),
            heartbeat: Duration::from_secs(15),
            timeout: Duration::from_secs(10),
            max_message: 16 * 1024 * 1024,
            user: None,
            password: None,
            ca_path: None,
            client_cert_path: None,
            client_key_path: None,
        }
    }
}

impl Options {
    /// The first option that cannot work, with the reason.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        if self.delays.is_empty() || self.delays.iter().any(|delay| delay.as_millis() == 0) {
            return Some(("delays", "expected at least one duration, none of them zero"));
        }
        if self.delivery_limit < 10 {
            return Some(("delivery_limit", "expected a whole number of at least 10"));
        }
        self.timeout.is_zero().then_some(("timeout", "expected a duration longer than zero"))
    }
}

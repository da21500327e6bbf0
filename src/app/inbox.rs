//! Events as they are put on the queue: each delivery once, with no more of its body than is used.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    base::{Result, key_value::KeyValueStore},
    forge::github,
    queue::{Queue, Webhook},
    server::{Accepted, WebhookInbox},
};

/// How long a delivery is remembered: as long as GitHub can deliver it again from its log, and the
/// seven days of Enterprise Server.
const DELIVERY_TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Where deliveries are remembered.
const SPACE: &str = "github-delivery";

/// The queue, and what was put on it.
pub(super) struct QueueInbox {
    pub(super) queue: Arc<dyn Queue>,
    pub(super) seen: Arc<dyn KeyValueStore>,
}

impl QueueInbox {
    /// Whether this delivery was put on the queue.
    pub(super) async fn has(&self, delivery: &str, source: &str) -> Result<bool> {
        Ok(self.seen.get(SPACE, &key_of(delivery, source)).await?.is_some())
    }
}

/// Two Apps that receive one event are told the same id.
fn key_of(delivery: &str, source: &str) -> String {
    format!("{source}/{delivery}")
}

#[async_trait]
impl WebhookInbox for QueueInbox {
    async fn accept(&self, webhook: Webhook, source: &str) -> Result<Accepted> {
        if let Some(delivery) = &webhook.delivery
            && self.has(delivery, source).await?
        {
            return Ok(Accepted::Known);
        }
        let key = webhook.delivery.as_deref().map(|delivery| key_of(delivery, source));
        let trimmed = github::trimmed(&webhook.body).map_or(webhook.body, Bytes::from);
        let webhook = Webhook { body: trimmed, ..webhook };
        self.queue.publish(webhook.to_message(), Duration::ZERO).await?;
        // After it is on the queue: a crash in between costs a second message, which finds the run.
        if let Some(key) = key
            && let Err(fault) = self.seen.put(SPACE, &key, Bytes::new(), DELIVERY_TTL).await
        {
            tracing::warn!(error = %fault, "a delivery could not be remembered");
        }
        Ok(Accepted::Queued)
    }
}

//! From a message to its outcome.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use serde_json::value::RawValue;

use super::Worker;
use crate::{
    graph::ExternalEvent,
    queue::{Decoded, Delivery, EventMessage, Message, Webhook, header},
    runs::{Drive, Outcome, Request, Source, WorkResult},
    workflows::Event,
};

impl Worker {
    /// Has the work done that one message asks for.
    pub(super) async fn work(&self, delivery: &Delivery, drive: &Drive) -> WorkResult {
        let runs = &self.shared.runs;
        let message = &delivery.message;
        let decoded = match Decoded::of(message) {
            Ok(decoded) => decoded,
            Err(undecodable) => return WorkResult::because(Outcome::Undecodable, undecodable),
        };
        let (headers, body) = (without_replay(message), message.body.clone());
        let mut source = Source { headers, body, deliveries: delivery.deliveries, key: None };
        let request = match decoded {
            Decoded::Wake { run } => Request::Wake(run),
            Decoded::Job(job) => {
                // Without a key the message itself is the name: delivered again, it finds its run again.
                source.key = job.key;
                let key = source.key.clone().unwrap_or_else(|| message.digest());
                let event = Event::Job { input: job.input.into(), key, attended: false };
                Request::Start(Some(job.workflow), event, source)
            }
            Decoded::Event(EventMessage { key, payload, id }) => {
                let id = id.unwrap_or_else(|| message.digest());
                let payload = payload.as_deref().unwrap_or(RawValue::NULL);
                match ExternalEvent::new(&key, &id, payload) {
                    Ok(event) => Request::Event(event),
                    Err(invalid) => return WorkResult::because(Outcome::Undecodable, invalid),
                }
            }
            Decoded::Webhook(Webhook { event, delivery, body }) => {
                Request::Start(None, Event::Webhook { event, delivery, body }, source)
            }
        };
        let replay = message.header(header::REPLAY);
        self.shared.replayed.fetch_or(replay.is_some(), Ordering::Relaxed);
        runs.work(request, replay, drive).await
    }
}

/// The message's headers, as its run and its dead letter keep them.
pub(super) fn without_replay(message: &Message) -> BTreeMap<String, String> {
    let mut headers = message.headers.clone();
    headers.remove(header::REPLAY);
    headers
}

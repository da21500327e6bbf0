//! From a message to its outcome.

use std::collections::BTreeMap;

use super::Worker;
use crate::{
    queue::{Decoded, Delivery, Message, Webhook, header},
    runs::{Outcome, Request, Source, WorkResult},
    workflows::Event,
};

impl Worker {
    /// Has the work done that one message asks for.
    pub(super) async fn work(&self, delivery: &Delivery) -> WorkResult {
        let (runs, drive) = (&self.shared.runs, &self.shared.drive);
        let message = &delivery.message;
        let decoded = match Decoded::of(message) {
            Ok(decoded) => decoded,
            Err(undecodable) => return WorkResult::because(Outcome::Undecodable, undecodable),
        };
        let (headers, body) = (without_replay(message), message.body.clone());
        let source = Source { headers, body, deliveries: delivery.deliveries };
        let request = match decoded {
            Decoded::Wake { run } => Request::Wake(run),
            Decoded::Job(job) => {
                // Without a key the message itself is the name: delivered again, it finds its run again.
                let key = job.key.unwrap_or_else(|| message.digest());
                let event = Event::Job { input: job.input.into(), key };
                Request::Start(Some(job.workflow), event, source)
            }
            Decoded::Webhook(Webhook { event, delivery, body }) => {
                Request::Start(None, Event::Webhook { event, delivery, body }, source)
            }
        };
        runs.work(request, message.header(header::REPLAY), drive).await
    }
}

/// The message's headers, as its run and its dead letter keep them.
pub(super) fn without_replay(message: &Message) -> BTreeMap<String, String> {
    let mut headers = message.headers.clone();
    headers.remove(header::REPLAY);
    headers
}

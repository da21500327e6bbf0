//! From a message to its outcome.

use super::Worker;
use crate::{
    graph::Envelope,
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
        let source = Source { envelope: envelope_of(message), deliveries: delivery.deliveries };
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

/// The message as its run keeps it.
pub(super) fn envelope_of(message: &Message) -> Envelope {
    let mut headers = message.headers.clone();
    headers.remove(header::REPLAY);
    Envelope::of(headers, &message.body)
}

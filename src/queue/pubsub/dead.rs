//! Dead letters: published to a topic of their own, and gone through on its subscription.

use std::{collections::HashSet, time::Duration};

use google_cloud_pubsub::{
    model,
    subscriber::{MessageStream, handler::Handler},
};
use tokio::time::{sleep, timeout};

use super::{
    DeadLetter, DeadVisitor, Fate, QueueError,
    attributes::{LETTER, REASON, incoming, outgoing_letter},
    error::{bounded, classify, permanent, unacknowledged},
    link::{Link, To},
    note,
    source::STREAM_END_DELAY,
};
use crate::base::{Clock, Fault};

/// How long a visit waits for the first letter.
const FIRST_LETTER_TIMEOUT: Duration = Duration::from_secs(3);
/// How long it waits for the next one.
const NEXT_LETTER_TIMEOUT: Duration = Duration::from_millis(1500);
/// The most letters one visit holds. They are held until its end, so that none is shown twice.
const MAX_LETTERS_PER_VISIT: usize = 1000;
/// How long the client may keep them.
const MAX_VISIT: Duration = Duration::from_secs(3600);

impl Link {
    pub(super) async fn publish_dead(&self, letter: &DeadLetter) -> Result<(), QueueError> {
        self.publish(outgoing_letter(letter, Clock::system().now()), To::Dead).await
    }

    pub(super) async fn visit_dead(&self, visitor: &mut dyn DeadVisitor) -> Result<(), QueueError> {
        let ready = bounded(self.options.timeout, "connecting", self.ready()).await?;
        let stream = ready
            .clients
            .subscriber
            .subscribe(self.names.dead())
            .set_max_outstanding_messages(i64::try_from(MAX_LETTERS_PER_VISIT).unwrap_or(i64::MAX))
            // What is held is held without its payload.
            .set_max_outstanding_bytes(0_i64)
            .set_max_lease(MAX_VISIT)
            .set_max_lease_extension(self.options.ack_deadline)
            .build();
        let token = stream.shutdown_token();
        let mut visit = Visit { link: self, stream, seen: HashSet::new(), kept: Vec::new() };
        let visited = visit.run(visitor).await;
        let Visit { stream, kept, .. } = visit;
        drop(stream);
        sleep(STREAM_END_DELAY).await;
        // Gives the others back, and tells the service which are gone.
        drop(kept);
        let flushed = timeout(self.options.timeout, token.shutdown()).await;
        let visited = visited?;
        if flushed.is_err() {
            let why = "Pub/Sub: dead letters: the service was not told in time which are gone";
            return Err(QueueError::Fault(Fault::outage(why)));
        }
        if visited == Ended::Silent {
            // A service that is away is as silent as a subscription that is empty.
            return match ready.clients.subscription(&self.names.dead()).await? {
                Some(_) => Ok(()),
                None => {
                    self.forget(&ready).await;
                    Err(permanent(&self.names.dead(), "the subscription is gone"))
                }
            };
        }
        Ok(())
    }
}

struct Visit<'a> {
    link: &'a Link,
    stream: MessageStream,
    seen: HashSet<String>,
    kept: Vec<Handler>,
}

#[derive(PartialEq, Eq)]
enum Ended {
    /// Nothing more came.
    Silent,
    /// The visitor has seen enough, or as many as can be kept were shown.
    Enough,
}

impl Visit<'_> {
    async fn run(&mut self, visitor: &mut dyn DeadVisitor) -> Result<Ended, QueueError> {
        loop {
            let limit =
                if self.seen.is_empty() { FIRST_LETTER_TIMEOUT } else { NEXT_LETTER_TIMEOUT };
            let (message, handler) = match timeout(limit, self.stream.next()).await {
                Err(_) | Ok(None) => return Ok(Ended::Silent),
                Ok(Some(Ok(next))) => next,
                Ok(Some(Err(error))) => return Err(classify("going through dead letters", &error)),
            };
            if !self.seen.insert(message.message_id.clone()) {
                self.kept.push(handler);
                continue;
            }
            match visitor.visit(letter(message)).await? {
                Fate::Remove => self.remove(handler).await?,
                Fate::Keep => self.kept.push(handler),
                Fate::Stop => return Ok(Ended::Enough),
            }
            if self.kept.len() >= MAX_LETTERS_PER_VISIT {
                tracing::warn!(
                    dead_letters = MAX_LETTERS_PER_VISIT,
                    "there may be more dead letters than one visit shows"
                );
                return Ok(Ended::Enough);
            }
        }
    }

    async fn remove(&self, handler: Handler) -> Result<(), QueueError> {
        let Handler::ExactlyOnce(handler) = handler else {
            handler.ack();
            return Ok(());
        };
        let acknowledged = async {
            match handler.confirmed_ack().await {
                Ok(()) => Ok(()),
                Err(error) => unacknowledged(&error).map_or(Ok(()), Err),
            }
        };
        bounded(self.link.options.timeout, "removing a dead letter", acknowledged).await
    }
}

/// What waits among the dead letters: one of ours, or a message that Pub/Sub gave up.
fn letter(mut received: model::Message) -> DeadLetter {
    let id = received.attributes.remove(LETTER);
    let reason = received.attributes.remove(REASON);
    received.attributes.retain(|name, _| !note::ALL.contains(&name.as_str()));
    let given_up = given_up(&received);
    let known = id.map(|id| (id, reason.unwrap_or_default()));
    DeadLetter::kept(known, || given_up, incoming(received).0)
}

fn given_up(received: &model::Message) -> String {
    let attribute =
        |name: &str| received.attributes.get(&format!("CloudPubSubDeadLetterSource{name}"));
    match (attribute("DeliveryCount"), attribute("Subscription")) {
        (Some(count), Some(subscription)) => {
            format!("given up after {count} deliveries from {subscription}")
        }
        (Some(count), None) => format!("given up after {count} deliveries"),
        _ => "given up by Pub/Sub".to_owned(),
    }
}

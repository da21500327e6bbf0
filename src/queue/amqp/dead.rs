//! Dead letters: ours, and those that the broker or others put into the same queue.

use lapin::{
    message::BasicGetMessage,
    options::{BasicAckOptions, BasicGetOptions, BasicNackOptions},
};

use super::{
    super::{DeadLetter, DeadVisitor, Fate, Message, QueueError},
    fault::fault,
    headers::{Received, own, properties, received},
    link::Link,
    session::Live,
    topology::{open, short},
};
use crate::base::{Clock, Fault};

/// What a letter that came without its whole message says about the rest.
const IN_THE_STORE: &str = "in the store";
/// Letters beyond twice the broker's count that a visit goes on for.
const MAX_UNCOUNTED_LETTERS: u64 = 1000;
const READING: &str = "reading dead letters";

impl Link {
    pub(super) async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        let whole = self.put_letter(&letter, &letter.message, None).await;
        let bare = match whole {
            Err(QueueError::TooLarge { .. }) => {
                Message { headers: letter.message.headers.clone(), ..Message::default() }
            }
            Err(QueueError::Fault(ref fault)) if !fault.is_transient() => Message::default(),
            answer => return answer,
        };
        self.put_letter(&letter, &bare, Some(IN_THE_STORE)).await
    }

    async fn put_letter(
        &self,
        letter: &DeadLetter,
        message: &Message,
        body: Option<&str>,
    ) -> Result<(), QueueError> {
        let mut more = vec![(own::LETTER, letter.id.as_str()), (own::REASON, &*letter.reason)];
        more.extend(letter.notes.iter().map(|(name, value)| (*name, value.as_str())));
        more.extend(body.map(|body| (own::BODY, body)));
        let properties = properties(message, Clock::system().now(), &more)?;
        self.put(&self.topology.dead, properties, &message.body).await
    }

    /// Holds what it has shown until the end, so that it sees each once; then what stays goes back.
    pub(super) async fn visit_dead(&self, visitor: &mut dyn DeadVisitor) -> Result<(), QueueError> {
        let live = self.consumer.get(self.deadline()).await?;
        let there = self.ready(&live, &self.topology.dead).await?;
        let channel = self.in_time(&live, READING, open(&live.connection)).await?;
        let mut visited = Ok(());
        // What an earlier visit gave back may not be counted yet; what keeps coming must not keep us.
        for _ in 0..there.saturating_mul(2).saturating_add(MAX_UNCOUNTED_LETTERS) {
            let Some(message) = self.get(&live, &channel).await? else { break };
            match self.show(&live, message, visitor).await {
                Ok(Fate::Stop) => break,
                Ok(Fate::Keep | Fate::Remove) => {}
                Err(error) => {
                    visited = Err(error);
                    break;
                }
            }
        }
        // Everything that was not acknowledged goes back, before the broker answers.
        let closing = async {
            let all = BasicNackOptions { multiple: true, requeue: true };
            let failed = |error| fault("putting dead letters back", &error);
            channel.basic_nack(0, all).await.map_err(failed)?;
            channel.close(200, "seen".into()).await.map_err(failed)
        };
        self.in_time(&live, "putting dead letters back", closing).await?;
        visited
    }

    async fn get(
        &self,
        live: &Live,
        channel: &lapin::Channel,
    ) -> Result<Option<BasicGetMessage>, QueueError> {
        let name = short(&self.topology.dead)?;
        let getting = async {
            let got = channel.basic_get(name, BasicGetOptions::default()).await;
            let doing = format_args!("reading queue `{}`", self.topology.dead);
            got.map_err(|error| fault(doing, &error))
        };
        Ok(self.in_time(live, READING, getting).await?)
    }

    async fn show(
        &self,
        live: &Live,
        message: BasicGetMessage,
        visitor: &mut dyn DeadVisitor,
    ) -> Result<Fate, QueueError> {
        let arrived = message.delivery;
        let fate = visitor.visit(letter(&arrived.properties, arrived.data)).await?;
        if fate == Fate::Remove {
            let acking = async {
                let acked = arrived.acker.ack(BasicAckOptions::default()).await;
                acked.map_err(|error| fault("removing a dead letter", &error))
            };
            if !self.in_time(live, "removing a dead letter", acking).await? {
                return Err(Fault::outage("amqp: the broker took its dead letters back").into());
            }
        }
        Ok(fate)
    }
}

fn letter(properties: &lapin::BasicProperties, body: Vec<u8>) -> DeadLetter {
    let Received { letter, death, message, .. } = received(properties, body, false);
    let given_up = || death.unwrap_or_else(|| "published by somebody else".to_owned());
    DeadLetter::kept(letter, given_up, message)
}

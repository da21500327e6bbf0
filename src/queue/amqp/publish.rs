//! Publishing: persistent, confirmed, and never into nowhere.

use lapin::{BasicProperties, Confirmation, Error, options::BasicPublishOptions};
use tokio::time::{Instant, timeout_at};

use super::{
    super::QueueError,
    fault::{code, fault, refusal},
    link::Link,
    session::{Live, recovered},
    topology::short,
};
use crate::base::Fault;

/// What became of a message.
enum PublishOutcome {
    Stored,
    /// There is no queue of that name.
    Returned,
}

impl Link {
    /// Puts a message on one of our queues; durable when it answers.
    pub(super) async fn put(
        &self,
        queue: &str,
        properties: BasicProperties,
        body: &[u8],
    ) -> Result<(), QueueError> {
        let deadline = self.deadline();
        let live = self.publisher.get(deadline).await?;
        if let PublishOutcome::Stored =
            self.put_once(&live, deadline, queue, &properties, body).await?
        {
            return Ok(());
        }
        // Somebody deleted the queue: it is made again.
        let declared = timeout_at(deadline, self.topology.declare(&live.connection)).await;
        declared.map_err(|_| late(&live, queue))??;
        recovered("topology");
        match self.put_once(&live, deadline, queue, &properties, body).await? {
            PublishOutcome::Stored => Ok(()),
            PublishOutcome::Returned => Err(Fault::outage(format!(
                "amqp: the broker has no queue `{queue}`, although it was declared"
            ))
            .into()),
        }
    }

    async fn put_once(
        &self,
        live: &Live,
        deadline: Instant,
        queue: &str,
        properties: &BasicProperties,
        body: &[u8],
    ) -> Result<PublishOutcome, QueueError> {
        if let Some(fault) = live.blocked() {
            return Err(fault.into());
        }
        let key = short(queue)?;
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let sending = async {
            let sent =
                live.channel.basic_publish("".into(), key, options, body, properties.clone());
            sent.await?.await
        };
        let answer = tokio::select! {
            answer = timeout_at(deadline, sending) => answer,
            fault = live.until_blocked() => return Err(fault.into()),
        };
        match answer {
            Ok(Ok(Confirmation::Ack(None))) => Ok(PublishOutcome::Stored),
            Ok(Ok(Confirmation::Ack(Some(_)))) => Ok(PublishOutcome::Returned),
            Ok(Ok(Confirmation::Nack(_))) => Err(Fault::transient(format!(
                "amqp: the broker refused a message for queue `{queue}`: it is full, or its node is \
                 going down"
            ))
            .into()),
            Ok(Ok(Confirmation::NotRequested)) => {
                live.give_up();
                Err(Fault::outage("amqp: the broker gives no confirms on this channel").into())
            }
            Ok(Err(error)) => {
                live.give_up();
                Err(refused(queue, &error, body.len()))
            }
            Err(_) => Err(late(live, queue)),
        }
    }
}

fn late(live: &Live, queue: &str) -> QueueError {
    live.give_up();
    Fault::timeout(format!(
        "amqp: the broker did not confirm a message for queue `{queue}` in time"
    ))
    .into()
}

/// A refusal closes the channel for every message on it, and only one of them is at fault.
fn refused(queue: &str, error: &Error, size: usize) -> QueueError {
    let fault = fault(format_args!("publishing to queue `{queue}`"), error);
    let Some((code::PRECONDITION_FAILED, text)) = refusal(error) else { return fault.into() };
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(too_large), Some(limit)) if too_large == size => QueueError::TooLarge { size, limit },
        _ => Fault::outage(fault.message).into(),
    }
}

//! Checks everything the queue needs, one thing after the other.

use lapin::{
    Confirmation,
    options::{BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions},
    types::{AMQPValue, FieldTable},
};
use tokio::time::timeout;

use super::{
    super::Diagnosis,
    fault::{code, fault, refusal},
    link::Link,
    topology::{Declared, open, short},
};
use crate::base::Fault;

/// The name of a queue that nobody has.
const MISSING_QUEUE: &str = "verdict.nowhere";

type Found = Result<String, String>;

impl Link {
    pub(super) async fn diagnose(&self) -> Vec<Diagnosis> {
        let mut rows = Vec::new();
        let connected = self.limited(self.place.connect("doctor")).await;
        let connection = match connected {
            Ok(connection) => connection,
            Err(fault) => {
                // Who says no can be reached.
                let reached = !fault.is_transient() && fault.message.contains("the broker said");
                let found = |what, found| Diagnosis { what, found };
                if reached {
                    rows.push(found("reach", Ok(self.place.shown())));
                    rows.push(found("login", Err(fault.message)));
                } else {
                    let hint = "check the host and port in queue.url, and that the broker runs";
                    rows.push(found("reach", Err(format!("{}; {hint}", fault.message))));
                }
                return rows;
            }
        };
        let mut row = |what, found| rows.push(Diagnosis { what, found });
        row("reach", Ok(self.place.shown()));
        row("login", Ok(format!("as {}", connection.status().username())));
        for name in self.topology.queues() {
            let declared = self.limited(self.topology.declare_one(&connection, name)).await;
            let seen = |declared| match declared {
                Declared::Compared => format!("queue {name}"),
                Declared::Unchecked => {
                    format!("queue {name} is there; {}", Declared::UNCHECKED_REASON)
                }
            };
            row("topology", checked(declared.map(seen)));
        }
        let bound = self.limited(self.topology.bind(&connection)).await;
        if self.options.exchange.is_some() || bound.is_err() {
            row("topology", checked(bound.map(|()| "the exchange is there and bound".to_owned())));
        }
        row("publish", checked(self.limited(may_publish(&connection)).await));
        row("consume", checked(self.limited(may_consume(&connection, &self.topology.main)).await));
        row("blocked", self.not_blocked(&connection).await);
        let _ = self.limited(async { Ok(connection.close(200, "seen".into()).await) }).await;
        rows
    }

    async fn limited<T>(&self, asked: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let late = || Fault::outage(format!("amqp: {} does not answer", self.place.shown()));
        timeout(self.options.timeout, asked).await.unwrap_or_else(|_| Err(late()))
    }

    async fn not_blocked(&self, connection: &lapin::Connection) -> Found {
        let here = self.publisher.existing().await.and_then(|live| live.blocked());
        match here {
            Some(fault) => Err(fault.message),
            None if connection.status().blocked() => {
                Err("the broker takes nothing from publishers: give it memory or disk space"
                    .to_owned())
            }
            None => Ok("the broker takes messages".to_owned()),
        }
    }
}

fn checked(found: Result<String, Fault>) -> Found {
    found.map_err(|fault| fault.message)
}

/// Publishes to a queue that is not there: a broker that lets us sends the message back.
async fn may_publish(connection: &lapin::Connection) -> Result<String, Fault> {
    let doing = "publishing to the default exchange";
    let failed = |error| fault(doing, &error);
    let channel = open(connection).await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await.map_err(failed)?;
    let options = BasicPublishOptions { mandatory: true, ..Default::default() };
    let sent =
        channel.basic_publish("".into(), short(MISSING_QUEUE)?, options, b"", Default::default());
    match sent.await.map_err(failed)?.await.map_err(failed)? {
        Confirmation::Ack(_) => Ok("allowed".to_owned()),
        other => Err(Fault::transient(format!("amqp: {doing}: the broker said {other:?}"))),
    }
}

/// Asks to consume with an argument that no broker takes: it checks the permission first, and
/// no message is taken.
async fn may_consume(connection: &lapin::Connection, queue: &str) -> Result<String, Fault> {
    let channel = open(connection).await?;
    let mut wrong = FieldTable::default();
    wrong.insert("x-priority".into(), AMQPValue::LongString("none".into()));
    let options = BasicConsumeOptions::default();
    match channel.basic_consume(short(queue)?, "".into(), options, wrong).await {
        Err(error) if refusal(&error).is_some_and(|(id, _)| id == code::PRECONDITION_FAILED) => {
            Ok("allowed".to_owned())
        }
        Err(error) => Err(fault(format_args!("consuming from queue `{queue}`"), &error)),
        Ok(_) => Ok("allowed".to_owned()),
    }
}

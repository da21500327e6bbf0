//! What is declared at the broker: the one list of it.
//!
//! | queue | for | arguments |
//! |---|---|---|
//! | NAME | messages | dead letters to NAME.dead; quorum: the delivery limit, at-least-once |
//! | NAME.dead | dead letters | quorum: a delivery limit out of reach |
//! | NAME.later.10s | waits of 10 s | expires after 10 s, dead letters to NAME; quorum: at-least-once |

use std::time::Duration;

use lapin::{
    Channel, Connection, Error, ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable, ShortString},
};

use super::{
    Options, QueueType,
    fault::{code, fault, is_missing, is_refused, refusal},
};
use crate::base::Fault;

/// Newer brokers give a quorum queue a limit unless it has one, and older ones know no word for
/// "none": every visit to a dead letter would bring it nearer to that limit.
const UNREACHABLE_DELIVERY_LIMIT: i32 = 1_000_000_000;

/// The queues, by name.
pub(super) struct Topology {
    pub main: String,
    pub dead: String,
    /// Each wait and its queue, shortest first.
    pub tiers: Vec<(Duration, String)>,
    quorum: bool,
    delivery_limit: u32,
    exchange: Option<(String, String)>,
}

impl Topology {
    pub(super) fn new(main: &str, options: &Options) -> Self {
        let mut delays = options.delays.clone();
        delays.sort_unstable();
        delays.dedup();
        let tier = |delay: Duration| {
            let name = humantime::format_duration(delay).to_string().replace(' ', "");
            (delay, format!("{main}.later.{name}"))
        };
        Self {
            main: main.to_owned(),
            dead: format!("{main}.dead"),
            tiers: delays.into_iter().map(tier).collect(),
            quorum: options.queue_type == QueueType::Quorum,
            delivery_limit: options.delivery_limit,
            exchange: options.exchange.clone().map(|name| (name, options.routing_key.clone())),
        }
    }

    /// The queue whose wait is the longest that is no longer than `delay`, or the shortest there is.
    pub(super) fn tier(&self, delay: Duration) -> &str {
        let fitting = self.tiers.iter().rev().find(|(wait, _)| *wait <= delay);
        fitting.or(self.tiers.first()).map_or(&self.main, |(_, name)| name)
    }

    /// The queue with the longest wait.
    pub(super) fn longest(&self) -> &str {
        self.tier(Duration::MAX)
    }

    /// Every queue.
    pub(super) fn queues(&self) -> impl Iterator<Item = &str> {
        let tiers = self.tiers.iter().map(|(_, name)| name.as_str());
        [self.main.as_str(), self.dead.as_str()].into_iter().chain(tiers)
    }

    /// Declares everything.
    pub(super) async fn declare(&self, connection: &Connection) -> Result<(), Fault> {
        let mut unchecked = Vec::new();
        for name in self.queues() {
            if self.declare_one(connection, name).await? == Declared::Unchecked {
                unchecked.push(name);
            }
        }
        if !unchecked.is_empty() {
            tracing::info!(
                queues = unchecked.join(", "),
                "used as they are: {}",
                Declared::UNCHECKED_REASON
            );
        }
        self.bind(connection).await
    }

    /// Declares one queue. What exists is compared, never changed. A user who may declare nothing
    /// uses what is there.
    pub(super) async fn declare_one(
        &self,
        connection: &Connection,
        name: &str,
    ) -> Result<Declared, Fault> {
        let channel = open(connection).await?;
        let options = QueueDeclareOptions { durable: true, ..Default::default() };
        match channel.queue_declare(short(name)?, options, self.arguments(name)).await {
            Ok(_) => Ok(Declared::Compared),
            Err(error) if is_refused(&error) && inspect(connection, name).await?.is_some() => {
                Ok(Declared::Unchecked)
            }
            Err(error) => Err(mismatch(name, &error)),
        }
    }

    /// Binds the queue to the exchange that events are published to.
    pub(super) async fn bind(&self, connection: &Connection) -> Result<(), Fault> {
        let Some((exchange, key)) = &self.exchange else { return Ok(()) };
        let channel = open(connection).await?;
        let passive = ExchangeDeclareOptions { passive: true, ..Default::default() };
        // The broker does not compare the kind.
        let there = channel.exchange_declare(
            short(exchange)?,
            ExchangeKind::Topic,
            passive,
            FieldTable::default(),
        );
        there.await.map_err(|error| no_exchange(exchange, &error))?;
        let (queue, exchange_name, key) = (short(&self.main)?, short(exchange)?, short(key)?);
        let bound = channel.queue_bind(
            queue,
            exchange_name,
            key,
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        bound.await.map_err(|error| {
            fault(format_args!("binding queue `{}` to exchange `{exchange}`", self.main), &error)
        })
    }

    fn arguments(&self, name: &str) -> FieldTable {
        let mut table = FieldTable::default();
        let mut set = |name: &str, value| {
            table.insert(name.into(), value);
        };
        set("x-queue-type", text(if self.quorum { "quorum" } else { "classic" }));
        let dead_letters_to = if name == self.main {
            if self.quorum {
                let limit =
                    i32::try_from(self.delivery_limit).unwrap_or(UNREACHABLE_DELIVERY_LIMIT);
                set("x-delivery-limit", AMQPValue::LongInt(limit));
            }
            Some(&self.dead)
        } else if let Some((wait, _)) = self.tiers.iter().find(|(_, tier)| tier == name) {
            let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            set("x-message-ttl", AMQPValue::LongLongInt(wait));
            Some(&self.main)
        } else {
            if self.quorum {
                set("x-delivery-limit", AMQPValue::LongInt(UNREACHABLE_DELIVERY_LIMIT));
            }
            None
        };
        if let Some(to) = dead_letters_to {
            set("x-dead-letter-exchange", text(""));
            set("x-dead-letter-routing-key", text(to));
            if self.quorum {
                set("x-dead-letter-strategy", text("at-least-once"));
                set("x-overflow", text("reject-publish"));
            }
        }
        table
    }
}

/// What is known of a queue that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    /// It is as it should be.
    Compared,
    /// It is there.
    Unchecked,
}

impl Declared {
    /// Why a queue is not compared.
    pub(super) const UNCHECKED_REASON: &str =
        "the user may not declare queues, so their arguments are not compared";
}

/// What a queue tells of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueState {
    /// Messages that nobody has.
    pub ready: u64,
    pub consumers: u32,
}

/// What a queue tells of itself; `None` when it is not there.
pub(super) async fn inspect(
    connection: &Connection,
    name: &str,
) -> Result<Option<QueueState>, Fault> {
    let channel = open(connection).await?;
    let passive = QueueDeclareOptions { passive: true, ..Default::default() };
    match channel.queue_declare(short(name)?, passive, FieldTable::default()).await {
        Ok(queue) => Ok(Some(QueueState {
            ready: queue.message_count().into(),
            consumers: queue.consumer_count(),
        })),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(fault(format_args!("inspecting queue `{name}`"), &error)),
    }
}

/// A channel of its own: what is refused closes the channel it was asked on.
pub(super) async fn open(connection: &Connection) -> Result<Channel, Fault> {
    connection.create_channel().await.map_err(|error| fault("opening a channel", &error))
}

/// A name as the protocol has it.
pub(super) fn short(name: &str) -> Result<ShortString, Fault> {
    ShortString::try_new(name).map_err(|error| Fault::permanent(format!("amqp: `{name}`: {error}")))
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

fn no_exchange(exchange: &str, error: &Error) -> Fault {
    if is_missing(error) {
        return Fault::permanent(format!(
            "amqp: there is no exchange `{exchange}`: declare it, or correct queue.amqp.exchange"
        ));
    }
    fault(format_args!("inspecting exchange `{exchange}`"), error)
}

fn mismatch(queue: &str, error: &Error) -> Fault {
    let refusal = refusal(error).filter(|(id, _)| *id == code::PRECONDITION_FAILED);
    match refusal.and_then(|(_, text)| Difference::read(text)) {
        Some(difference) => Fault::permanent(difference.sentence(queue)),
        None => fault(format_args!("declaring queue `{queue}`"), error),
    }
}

/// One argument of a queue that exists otherwise.
struct Difference<'a> {
    argument: &'a str,
    expected: &'a str,
    found: &'a str,
}

impl<'a> Difference<'a> {
    /// Reads `… inequivalent arg 'A' for queue 'Q' in vhost 'V': received E but current is F`.
    fn read(text: &'a str) -> Option<Self> {
        let (argument, rest) = text.split_once("inequivalent arg '")?.1.split_once('\'')?;
        let (expected, found) = rest.split_once(": received ")?.1.split_once(" but current is ")?;
        Some(Self { argument, expected: value(expected), found: value(found) })
    }

    fn sentence(&self, queue: &str) -> String {
        let Self { argument, expected, found } = self;
        // The broker names the first argument that differs; some of them only quorum queues have.
        let other_type = *argument == "x-queue-type" || [*expected, *found].contains(&"none");
        let setting = match *argument {
            _ if other_type => "set queue.amqp.queue_type to the type it has",
            "x-delivery-limit" => "set queue.amqp.delivery_limit to what it has",
            _ => "choose another name with `?queue=NAME` in queue.url",
        };
        format!(
            "amqp: queue `{queue}` exists with {argument} = {found}, and verdict expects {expected}. Delete \
             the queue once it is empty, or {setting}; verdict changes nothing that exists"
        )
    }
}

/// `the value '5' of type 'signedint'`, `'quorum'` or `none`, without what surrounds it.
fn value(text: &str) -> &str {
    let text = text.strip_prefix("the value ").unwrap_or(text);
    let quoted = text.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
    quoted.map_or(text, |(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_read_in_every_wording() {
        let read = |said: &str| {
            let said = format!(
                "PRECONDITION_FAILED - inequivalent arg 'x' for queue 'q' in vhost 'v': {said}"
            );
            let found =
                Difference::read(&said).map(|d| (d.expected.to_owned(), d.found.to_owned()));
            found.unwrap_or_default()
        };
        let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(read("received 'quorum' but current is 'classic'"), pair("quorum", "classic"));
        let typed = "received none but current is the value '5' of type 'signedint'";
        assert_eq!(read(typed), pair("none", "5"));
        assert_eq!(read("something else"), pair("", ""));
    }

    #[test]
    fn waits_are_chosen_from_those_there_are() {
        let topology = Topology::new("q", &Options::default());
        let tier = |seconds| topology.tier(Duration::from_secs(seconds)).to_owned();
        assert_eq!([tier(1), tier(10), tier(59)], ["q.later.10s"; 3]);
        assert_eq!([tier(60), tier(599)], ["q.later.1m"; 2]);
        assert_eq!(tier(100_000), "q.later.10m");
    }
}

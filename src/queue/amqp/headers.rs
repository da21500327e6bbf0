//! Messages as AMQP carries them, and back.

use std::collections::BTreeMap;

use bytes::Bytes;
use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldTable, ShortString},
};
use serde_json::Value;

use super::super::{Message, QueueError, header, note};
use crate::base::{Fault, Timestamp};

/// Headers of our own beside those of the message. None of them is part of it.
pub(super) mod own {
    /// Deliveries that a copy's originals had and nobody settled.
    pub(in super::super) const DELIVERIES: &str = "x-verdict-deliveries";
    /// When it was first published, in milliseconds: the property has seconds.
    pub(in super::super) const ENQUEUED_AT: &str = "x-verdict-enqueued-at";
    /// A dead letter's id.
    pub(in super::super) const LETTER: &str = "x-verdict-letter";
    /// Why it is one.
    pub(in super::super) const REASON: &str = "x-verdict-reason";
    /// Where a dead letter's body is when it did not fit.
    pub(in super::super) const BODY: &str = "x-verdict-body";

    pub(super) const ALL: [&str; 5] = [DELIVERIES, ENQUEUED_AT, LETTER, REASON, BODY];
}

const CONTENT_ENCODING: &str = "content-encoding";
const DELIVERY_COUNT: &str = "x-delivery-count";
const DEATHS: &str = "x-death";
const PERSISTENT: u8 = 2;
/// What all headers may take together: they travel in one frame, which is 128 KiB unless the broker
/// is told otherwise, and some of it is not ours.
pub(super) const MAX_HEADER_BYTES: usize = 120 * 1024;

/// What came, taken apart.
#[derive(Debug)]
pub(super) struct Received {
    /// The message, without anything that the broker or this adapter added.
    pub message: Message,
    /// Deliveries a copy carries.
    pub carried: u32,
    /// Deliveries the broker counted for this very message.
    pub counted: u32,
    pub enqueued_at: Option<Timestamp>,
    /// Letter id and reason, on a dead letter of ours.
    pub letter: Option<(String, String)>,
    /// Why the broker dead-lettered it, when it did.
    pub death: Option<String>,
}

/// The properties to publish a message with. `more` are headers of our own.
pub(super) fn properties(
    message: &Message,
    enqueued_at: Timestamp,
    more: &[(&str, &str)],
) -> Result<BasicProperties, QueueError> {
    let seconds = u64::try_from(enqueued_at.0 / 1000).unwrap_or_default();
    let id = message.header(header::GITHUB_DELIVERY).map(str::to_owned);
    let id = id.unwrap_or_else(|| format!("{:032x}", fastrand::u128(..)));
    let mut properties =
        BasicProperties::default().with_delivery_mode(PERSISTENT).with_timestamp(seconds);
    if let Ok(id) = ShortString::try_new(id) {
        properties = properties.with_message_id(id);
    }
    let mut table = FieldTable::default();
    table.insert(own::ENQUEUED_AT.into(), AMQPValue::LongLongInt(enqueued_at.0));
    let mut room = MAX_HEADER_BYTES;
    let headers = message.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in headers.chain(more.iter().copied()) {
        // Beside name and value: their lengths and the type.
        room = room.checked_sub(name.len() + value.len() + 6).ok_or_else(too_many)?;
        match (name, ShortString::try_new(value)) {
            (header::CONTENT_TYPE, Ok(value)) => properties = properties.with_content_type(value),
            (CONTENT_ENCODING, Ok(value)) => properties = properties.with_content_encoding(value),
            _ => {
                let name = ShortString::try_new(name).map_err(|_| long_name(name))?;
                table.insert(name, AMQPValue::LongString(value.into()));
            }
        }
    }
    Ok(properties.with_headers(table))
}

fn too_many() -> Fault {
    Fault::permanent(format!(
        "amqp: the message's headers take more than {MAX_HEADER_BYTES} bytes, which no frame holds"
    ))
}

fn long_name(name: &str) -> Fault {
    let size = name.len();
    Fault::permanent(format!("amqp: the name of a header has {size} bytes, and AMQP takes 255"))
}

/// Takes apart what came.
pub(super) fn received(properties: &BasicProperties, body: Vec<u8>, redelivered: bool) -> Received {
    let mut all = BTreeMap::new();
    let table = properties.headers().as_ref();
    for (name, value) in table.into_iter().flatten() {
        all.insert(name.as_str().to_ascii_lowercase(), value);
    }
    let number = |name: &str| all.get(name).and_then(|value| text(value).parse::<i64>().ok());
    let count = |name: &str| number(name).map(|n| u32::try_from(n.max(0)).unwrap_or(u32::MAX));
    let word = |name: &str| all.get(name).map(|value| text(value));
    let seconds = properties.timestamp().and_then(|at| i64::try_from(at).ok());
    let received = Received {
        carried: count(own::DELIVERIES).unwrap_or(0),
        // Only a quorum queue counts; a classic one just says "again".
        counted: count(DELIVERY_COUNT).unwrap_or(u32::from(redelivered)),
        enqueued_at: number(own::ENQUEUED_AT)
            .or(seconds.and_then(|at| at.checked_mul(1000)))
            .map(Timestamp),
        letter: word(own::LETTER).map(|id| (id, word(own::REASON).unwrap_or_default())),
        death: all.get(DEATHS).and_then(|deaths| death(deaths)),
        message: Message::default(),
    };
    let kept = all.iter().filter(|(name, _)| !is_added(name));
    let mut headers: BTreeMap<_, _> =
        kept.map(|(name, value)| (name.clone(), text(value))).collect();
    let named = [
        (header::CONTENT_TYPE, properties.content_type()),
        (CONTENT_ENCODING, properties.content_encoding()),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            headers.insert(name.to_owned(), value.to_string());
        }
    }
    Received { message: Message { headers, body: Bytes::from(body) }, ..received }
}

/// Whether the broker or this adapter put that header there.
fn is_added(name: &str) -> bool {
    matches!(name, DEATHS | DELIVERY_COUNT | "x-acquired-count")
        || name.starts_with("x-first-death-")
        || name.starts_with("x-last-death-")
        || own::ALL.contains(&name)
        || note::ALL.contains(&name)
}

/// The reason of the latest death.
fn death(deaths: &AMQPValue) -> Option<String> {
    let AMQPValue::FieldArray(deaths) = deaths else { return None };
    let AMQPValue::FieldTable(latest) = deaths.as_slice().first()? else { return None };
    latest.inner().get("reason").map(text)
}

/// A header's value as text: short texts as they are, what is nested as JSON.
fn text(value: &AMQPValue) -> String {
    match json(value) {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn json(value: &AMQPValue) -> Value {
    match value {
        AMQPValue::Boolean(value) => (*value).into(),
        AMQPValue::ShortShortInt(value) => (*value).into(),
        AMQPValue::ShortShortUInt(value) => (*value).into(),
        AMQPValue::ShortInt(value) => (*value).into(),
        AMQPValue::ShortUInt(value) => (*value).into(),
        AMQPValue::LongInt(value) => (*value).into(),
        AMQPValue::LongUInt(value) => (*value).into(),
        AMQPValue::LongLongInt(value) => (*value).into(),
        AMQPValue::Timestamp(value) => (*value).into(),
        // As it is written: 0.1, not the nearest double of the nearest float. No number: as text.
        AMQPValue::Float(value) => number(value.to_string()),
        AMQPValue::Double(value) => number(value.to_string()),
        AMQPValue::DecimalValue(value) => number(decimal(value.value, value.scale)),
        AMQPValue::ShortString(value) => value.as_str().into(),
        AMQPValue::LongString(value) => String::from_utf8_lossy(value.as_bytes()).into(),
        AMQPValue::ByteArray(value) => String::from_utf8_lossy(value.as_slice()).into(),
        AMQPValue::FieldArray(values) => values.as_slice().iter().map(json).collect(),
        AMQPValue::FieldTable(table) => {
            let pairs = table.into_iter();
            pairs.map(|(name, value)| (name.to_string(), json(value))).collect()
        }
        AMQPValue::Void => Value::Null,
    }
}

fn number(text: String) -> Value {
    match serde_json::from_str(&text) {
        Ok(Value::Number(number)) if number.to_string().as_str() == text.as_str() => number.into(),
        _ => text.into(),
    }
}

/// `value` with the point `scale` digits from the right.
fn decimal(value: u32, scale: u8) -> String {
    let scale = usize::from(scale);
    let digits = format!("{value:0>width$}", width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_out() {
        assert_eq!(decimal(314, 2), "3.14");
        assert_eq!(decimal(5, 3), "0.005");
        assert_eq!(decimal(7, 0), "7");
    }
}

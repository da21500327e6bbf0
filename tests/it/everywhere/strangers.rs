//! What only one broker's messages can carry: headers of every AMQP type, properties that the broker
//! itself acts on, as many attributes as Pub/Sub takes.

use std::collections::BTreeMap;

use lapin::{
    BasicProperties,
    types::{AMQPValue, ByteArray, DecimalValue, FieldArray, FieldTable},
};
use verdict::{
    base::Fault,
    graph::{RunStatus, store::LetterReason},
    queue::{JOB_TYPE, Message},
};

use super::{
    pubsub,
    rabbit::{self, Foreign},
    site::Site,
};
use crate::{
    support::eventually,
    worker::hall::{Act, message, part},
};

fn text(bytes: &[u8]) -> AMQPValue {
    AMQPValue::LongString(bytes.to_vec().into())
}

fn table(values: impl IntoIterator<Item = (&'static str, AMQPValue)>) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in values {
        table.insert(name.into(), value);
    }
    table
}

/// A table in a table in a table…
fn nested(levels: usize) -> AMQPValue {
    let inner = AMQPValue::FieldArray(FieldArray::from(vec![AMQPValue::Void]));
    (0..levels).fold(inner, |inner, _| AMQPValue::FieldTable(table([("in", inner)])))
}

/// Every type there is, each at its ends; RabbitMQ takes no float that is no number.
fn values() -> Vec<AMQPValue> {
    vec![
        AMQPValue::Boolean(true),
        AMQPValue::ShortShortInt(i8::MIN),
        AMQPValue::ShortShortUInt(u8::MAX),
        AMQPValue::ShortInt(i16::MIN),
        AMQPValue::LongInt(i32::MIN),
        AMQPValue::LongUInt(u32::MAX),
        AMQPValue::LongLongInt(i64::MIN),
        AMQPValue::LongLongInt(i64::MAX),
        AMQPValue::Float(f32::MIN),
        AMQPValue::Float(f32::MIN_POSITIVE),
        AMQPValue::Double(f64::MIN),
        AMQPValue::Double(f64::MAX),
        AMQPValue::DecimalValue(DecimalValue { scale: u8::MAX, value: u32::MAX }),
        AMQPValue::DecimalValue(DecimalValue { scale: 0, value: 0 }),
        text("Grüße \u{0}\u{202e}".as_bytes()),
        text(b"\xff\xfe\x00"),
        text(&[b'x'; 8000]),
        AMQPValue::Timestamp(0),
        AMQPValue::Timestamp(u64::MAX),
        AMQPValue::ByteArray(ByteArray::from(&b"\x80\x81"[..])),
        AMQPValue::FieldTable(FieldTable::default()),
        nested(20),
        AMQPValue::FieldArray(FieldArray::default()),
        AMQPValue::FieldArray(FieldArray::from(vec![nested(3), AMQPValue::Timestamp(1)])),
        AMQPValue::Void,
    ]
}

/// Headers that verdict or the broker reads, and those of anybody.
const NAMES: &[&str] = &[
    "x-anything",
    "X-Anything",
    "",
    "traceparent",
    "x-verdict-replay",
    "x-verdict-deliveries",
    "x-verdict-enqueued-at",
    "x-verdict-letter",
    "x-verdict-body",
    "x-delivery-count",
    "x-death",
    "x-first-death-reason",
    "x-github-delivery",
];

/// W1, W3: a healthy message passes with any header of any type, also when it comes back later; with
/// a fault in it, it is explained.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn amqp_headers_of_every_type_harm_nobody() {
    let place = rabbit::place().await;
    let foreign = Foreign::new(&place.url()).await;
    let site = Site::new(place).await;
    let typed = BasicProperties::default().with_content_type(JOB_TYPE.into());
    let mut sent = 0;
    for value in values() {
        let all = table(NAMES.iter().map(|name| (*name, value.clone())));
        let all = typed.clone().with_headers(all);
        let job = part(&format!("part {sent}"));
        site.stage.put_up(&job.name, [Act::Fail(Fault::transient("busy"))]);
        foreign.publish(all.clone(), &message(&job).body).await;
        foreign.publish(all, format!("{{ not json {sent}").as_bytes()).await;
        sent += 1;
    }
    let hand = site.worker().await;
    for nth in 0..sent {
        let name = format!("part {nth}");
        assert_eq!(site.becomes(&name, RunStatus::Completed).await.executions, 1, "{name}");
    }
    explained(&site, sent, LetterReason::Undecodable).await;
    foreign.close().await;
    hand.counts("done", sent as u64).await;
    site.ends(hand, sent).await;
}

/// Waits for so many letters, each confirmed and with this reason.
async fn explained(site: &Site, count: usize, reason: LetterReason) {
    eventually(&format!("{count} letters"), async || {
        let letters = site.letters().await;
        assert!(letters.len() <= count && letters.iter().all(|letter| letter.reason == reason));
        (letters.iter().filter(|letter| letter.confirmed).count() == count).then_some(())
    })
    .await;
}

/// W1, W3: an event's name in any AMQP type is its text, and is a name or is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn amqp_event_names_of_every_type_are_counted_or_explained() {
    let place = rabbit::place().await;
    let foreign = Foreign::new(&place.url()).await;
    let site = Site::new(place).await;
    let (mut good, mut bad) = (0_u64, 0);
    for (nth, value) in values().into_iter().enumerate() {
        // A number is a name that nobody is interested in.
        let named = matches!(
            value,
            AMQPValue::Boolean(_)
                | AMQPValue::ShortShortUInt(_)
                | AMQPValue::LongUInt(_)
                | AMQPValue::LongLongInt(i64::MAX)
                | AMQPValue::DecimalValue(DecimalValue { scale: 0, .. })
                | AMQPValue::Timestamp(_)
        );
        match named {
            true => good += 1,
            false => bad += 1,
        }
        let headers = table([("X-GitHub-Event", value)]);
        let properties = BasicProperties::default().with_headers(headers);
        foreign.publish(properties, format!("{{\"nth\": {nth}}}").as_bytes()).await;
    }
    let hand = site.worker().await;
    explained(&site, bad, LetterReason::Undecodable).await;
    hand.counts("done", good).await;
    assert_eq!(hand.count("done"), good);
    foreign.close().await;
    site.ends(hand, bad).await;
}

/// W3: a message whose publisher let it expire is the broker's dead letter, and so is seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn amqp_messages_that_expire_are_seen() {
    let place = rabbit::place().await;
    let foreign = Foreign::new(&place.url()).await;
    let site = Site::new(place).await;
    let expiring = BasicProperties::default().with_expiration("1".into());
    let expiring = expiring.with_priority(255).with_type("odd".into()).with_app_id("x".into());
    foreign.publish(expiring, b"{ not json").await;
    eventually("it expires", async || (site.place.dead(1).await.len() == 1).then_some(())).await;
    let hand = site.worker().await;
    let letter = site.only_letter().await;
    assert_eq!(letter.reason, LetterReason::BrokerLimit);
    assert!(letter.error.contains("expired"), "{}", letter.error);
    assert_eq!(&letter.payload[..], b"{ not json");
    foreign.close().await;
    site.all_quiet().await;
    site.ends(hand, 1).await;
}

/// W1, W3: as many attributes as Pub/Sub takes, and as long: more than verdict itself would publish.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pubsub_attributes_up_to_the_limits_harm_nobody() {
    let place = pubsub::place().await;
    let site = Site::new(place).await;
    let name = |nth: usize| format!("{nth:03}{}", "Ü".repeat(126));
    let full: BTreeMap<_, _> = (0..100).map(|nth| (name(nth), "ü".repeat(512))).collect();
    site.stage.put_up("a", [Act::Fail(Fault::transient("busy"))]);
    let healthy = message(&part("a")).body;
    site.place.leave(Message { headers: full.clone(), body: healthy }).await;
    let sick = Message { headers: full, body: "{ not json".into() };
    site.place.leave(sick.clone()).await;
    let hand = site.worker().await;
    assert_eq!(site.becomes("a", RunStatus::Completed).await.executions, 1);
    let letter = site.only_letter().await;
    assert_eq!(letter.reason, LetterReason::Undecodable);
    assert_eq!(letter.headers.len(), 100);
    hand.counts("done", 1).await;
    site.ends(hand, 1).await;
}

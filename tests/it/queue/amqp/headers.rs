//! What others publish: headers of every type.

use lapin::{
    BasicProperties,
    options::BasicPublishOptions,
    types::{AMQPValue, ByteArray, DecimalValue, FieldArray, FieldTable},
};

use super::{foreign, open, options, take};
use crate::support::Broker;

/// Each comes as text, names in lower case; what the broker or this adapter adds does not come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_type_comes_as_text() {
    let broker = Broker::shared().await;
    let queue = open(&broker, options());
    queue.check().await.unwrap();
    let mut nested = FieldTable::default();
    nested.insert("a".into(), AMQPValue::LongInt(1));
    let array = FieldArray::from(vec![AMQPValue::Boolean(true), AMQPValue::Void]);
    let values = [
        ("X-Bool", AMQPValue::Boolean(true), "true"),
        ("x-i8", AMQPValue::ShortShortInt(-8), "-8"),
        ("x-u8", AMQPValue::ShortShortUInt(8), "8"),
        ("x-i16", AMQPValue::ShortInt(-16), "-16"),
        ("x-i32", AMQPValue::LongInt(-32), "-32"),
        ("x-u32", AMQPValue::LongUInt(32), "32"),
        ("x-i64", AMQPValue::LongLongInt(i64::MIN), "-9223372036854775808"),
        ("x-f32", AMQPValue::Float(0.1), "0.1"),
        ("x-f64", AMQPValue::Double(-2.5), "-2.5"),
        ("x-decimal", AMQPValue::DecimalValue(DecimalValue { scale: 2, value: 314 }), "3.14"),
        ("x-string", AMQPValue::LongString("Grüße".into()), "Grüße"),
        ("x-time", AMQPValue::Timestamp(1_700_000_000), "1700000000"),
        ("x-bytes", AMQPValue::ByteArray(ByteArray::from(&b"a\xff"[..])), "a\u{fffd}"),
        ("x-table", AMQPValue::FieldTable(nested), r#"{"a":1}"#),
        ("x-array", AMQPValue::FieldArray(array), "[true,null]"),
        ("x-void", AMQPValue::Void, ""),
    ];
    let mut table = FieldTable::default();
    for (name, value, _) in &values {
        table.insert((*name).into(), value.clone());
    }
    table.insert("x-verdict-deliveries".into(), AMQPValue::LongLongInt(3));
    let properties = BasicProperties::default()
        .with_headers(table)
        .with_content_type("application/json".into())
        .with_timestamp(1_600_000_000);
    let (connection, channel) = foreign(&broker).await;
    let options = BasicPublishOptions::default();
    channel.basic_publish("".into(), "verdict".into(), options, b"{}", properties).await.unwrap();
    let delivery = take(&*queue).await;
    for (name, _, text) in values {
        assert_eq!(delivery.message.header(&name.to_lowercase()), Some(text), "{name}");
    }
    assert_eq!(delivery.message.header("content-type"), Some("application/json"));
    assert_eq!(delivery.message.headers.len(), 17);
    assert_eq!(delivery.deliveries, 4);
    assert_eq!(delivery.enqueued_at.0, 1_600_000_000_000);
    connection.close(200, "".into()).await.unwrap();
    drop(queue);
    broker.finish().await;
}

//! Reading messages: every shape, every way to get it wrong, and bytes nobody meant.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::value::RawValue;
use verdict::queue::{
    BODY_LIMIT, Decoded, EVENT_TYPE, JOB_TYPE, Job, Message, NESTING_LIMIT, Webhook, decode, header,
};

fn read(message: &Message) -> Result<Decoded, String> {
    decode(&message.headers, &message.body).map_err(|refused| refused.why)
}

fn typed(content_type: &str, body: &str) -> Message {
    Message::new(body.to_owned()).with(header::CONTENT_TYPE, content_type)
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// The reason given must contain `part`.
#[track_caller]
fn refused(message: &Message, part: &str) {
    let why = read(message).unwrap_err();
    assert!(why.contains(part), "`{why}` does not contain `{part}`");
    assert!(why.len() < 1000 && !why.contains(char::is_control), "{why:?}");
}

#[test]
fn jobs_are_lenient_about_what_they_do_not_know() {
    let body = r#" {"new_field":[1,{"x":2}],"workflow":"review","input":{"b": 12345678901234567890,"a":1e400},"run":"r"}"#;
    for content_type in [JOB_TYPE, "application/json; charset=utf-8", "text/plain"] {
        let Ok(Decoded::Job(job)) = read(&typed(content_type, body)) else { panic!() };
        assert_eq!(job.workflow, "review");
        assert_eq!(job.input.get(), r#"{"b": 12345678901234567890,"a":1e400}"#);
        assert_eq!(job.key, None);
    }
    let null = r#"{"workflow":"hello","input":null,"key":null}"#;
    let Ok(Decoded::Job(job)) = read(&Message::new(null)) else { panic!() };
    assert_eq!(job.input.get(), "null");
}

#[test]
fn a_run_alone_is_a_wake_up() {
    let message = Decoded::wake_message("0123");
    let Ok(Decoded::Wake { run }) = read(&message) else { panic!() };
    assert_eq!(run, "0123");
}

#[test]
fn webhooks_keep_their_body_as_it_came() {
    let body = Bytes::from_static(b"{ \"number\": 7, \"id\": 9007199254740993 }\n");
    let webhook = Webhook { event: "pull_request".into(), delivery: Some("72d3162e".into()), body };
    let Ok(Decoded::Webhook(read_back)) = read(&webhook.to_message()) else { panic!() };
    assert_eq!(read_back, webhook);

    let bare = Message::new("{}").with("X-GitHub-Event", "ping");
    let Ok(Decoded::Webhook(ping)) = read(&bare) else { panic!() };
    assert_eq!((ping.event.as_str(), ping.delivery), ("ping", None));
}

#[test]
fn what_is_wrong_is_said() {
    let job = |body: &str| typed(JOB_TYPE, body);
    for (body, part) in [
        ("", "empty"),
        (" \n\t", "blank"),
        ("null", "no JSON object"),
        ("[]", "no JSON object"),
        (r#"["review",{}]"#, "no JSON object"),
        ("not json", "no JSON object"),
        ("{}", "no `workflow` and no `run`"),
        (r#"{"workflow":"review"}"#, "no `input`"),
        (r#"{"workflow":"","input":1}"#, "`workflow` is empty"),
        (r#"{"workflow":"a\nb","input":1}"#, "control characters"),
        (r#"{"workflow":7,"input":1}"#, "expected a string"),
        (r#"{"workflow":"w","input":1,"key":7}"#, "expected a string"),
        (r#"{"workflow":"w","input":1,"key":" "}"#, "`key` is empty"),
        (r#"{"workflow":"w","workflow":"v","input":1}"#, "duplicate field"),
        (r#"{"workflow":"w","input":{"a":}}"#, "expected value"),
        (r#"{"workflow":"w","input":{"#, "EOF"),
        (r#"{"workflow":"w","input":1} x"#, "trailing characters"),
        (r#"{"run":7}"#, "expected a string"),
        (r#"{"run":""}"#, "`run` is empty"),
    ] {
        refused(&job(body), part);
    }
    let long = format!(r#"{{"workflow":"{}","input":1}}"#, "w".repeat(1_000_000));
    refused(&job(&long), "1000000 bytes long");
}

#[test]
fn wrong_encodings_are_named() {
    let utf16: Vec<u8> = "{\"run\":\"x\"}".encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (body, part) in [
        (&b"\xef\xbb\xbf{}"[..], "byte order mark"),
        (b"\xff\xfe{\0}\0", "UTF-16"),
        (&utf16, "UTF-16"),
        (b"{\0}\0", "UTF-16"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"{\"run\":\"\xe9\"}", "offset 8"),
    ] {
        refused(&Message::new(body.to_vec()), part);
    }
    refused(&Message::new("{}").with("content-encoding", "gzip"), "`gzip`");
    refused(&typed("application/x-www-form-urlencoded", "payload=%7B%7D"), "application/json");
    refused(&typed("text/html", "<html>"), "`text/html`");
    refused(&typed("application/vnd.verdict.job.v2+json", "{}"), "no known format");
    let newer = r#"{"workflow":"w","input":1}"#;
    refused(&typed(&format!("{JOB_TYPE}; version=2"), newer), "version `2`");
    assert!(read(&typed(&format!("{JOB_TYPE}; charset=utf-8; version=\"1\""), newer)).is_ok());
}

/// E25: the content type makes it an event.
#[test]
fn events_are_read() {
    for (kind, body, payload, id) in [
        (EVENT_TYPE, r#"{"key":"k","payload":{"a":1},"id":"i"}"#, Some(r#"{"a":1}"#), Some("i")),
        ("Application/vnd.Verdict.event+json; version=1", r#"{"key":"k","other":1}"#, None, None),
    ] {
        let Ok(Decoded::Event(event)) = read(&typed(kind, body)) else { panic!("{kind}") };
        assert_eq!((&*event.key, event.id.as_deref()), ("k", id));
        assert_eq!(event.payload.as_ref().map(|payload| payload.get()), payload);
    }
    refused(&typed(&format!("{EVENT_TYPE}; version=2"), r#"{"key":"k"}"#), "version `2`");
    refused(&typed(EVENT_TYPE, r#"{"payload":1}"#), "missing field `key`");
    refused(&typed(EVENT_TYPE, r#"["k"]"#), "no JSON object");
    refused(&typed("application/json", r#"{"key":"k"}"#), "no `workflow`");
}

#[test]
fn bad_webhooks_are_refused() {
    let event =
        |event: &str, body: &str| Message::new(body.to_owned()).with("x-github-event", event);
    refused(&event("", "{}"), "no event name");
    refused(&event("Pull Request\u{7}", "{}"), "no event name");
    refused(&event("ping", "[]"), "no JSON object");
    refused(&event("ping", "{\"a\":tru}"), "not as expected");
    refused(&event("ping", "{}").with("x-github-delivery", "d".repeat(5000)), "5000 bytes");
}

#[test]
fn depth_and_size_are_limited() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let job =
        |levels| typed(JOB_TYPE, &format!(r#"{{"workflow":"w","input":{}}}"#, nested(levels)));
    assert!(read(&job(NESTING_LIMIT - 1)).is_ok());
    refused(&job(NESTING_LIMIT), "nested more than");
    refused(&typed(JOB_TYPE, &"[".repeat(1_000_000)), "nested more than");
    let brackets_in_text = format!(r#"{{"workflow":"w","input":"\"{}"}}"#, "[".repeat(500));
    assert!(read(&typed(JOB_TYPE, &brackets_in_text)).is_ok());

    let huge = Message::new(vec![b' '; BODY_LIMIT + 1]);
    refused(&huge, "more than 26214400");
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Something near a valid message, so that the parser is reached.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let whole = (json(), "[a-z]{0,6}").prop_map(|(input, workflow)| {
        serde_json::json!({ "workflow": workflow, "input": input }).to_string().into_bytes()
    });
    (whole, any::<prop::sample::Index>(), any::<u8>(), any::<bool>()).prop_map(
        |(mut bytes, at, byte, cut)| {
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at)
            } else {
                bytes[at] = byte
            }
            bytes
        },
    )
}

proptest! {
    #[test]
    fn never_panics(
        body in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), nearly_json()],
        headers in prop::collection::btree_map(
            prop_oneof![
                Just("content-type".to_owned()),
                Just("x-github-event".to_owned()),
                Just("x-github-delivery".to_owned()),
                Just("content-encoding".to_owned()),
            ],
            prop_oneof![Just(JOB_TYPE.to_owned()), Just("ping".to_owned()), any::<String>()],
            0..3,
        ),
    ) {
        let headers: BTreeMap<String, String> = headers;
        if let Err(refused) = decode(&headers, &body.into()) {
            prop_assert!(!refused.why.is_empty() && refused.why.chars().count() < 1000);
        }
    }

    #[test]
    fn a_job_survives_the_trip(
        workflow in "[a-z]{1,40}",
        input in json(),
        key in prop::option::of("[^\\p{C} ][^\\p{C}]{0,99}"),
    ) {
        let job = Job { workflow, input: raw(&input.to_string()), key };
        let Ok(Decoded::Job(read_back)) = read(&job.to_message()) else {
            return Err(TestCaseError::fail("refused"));
        };
        prop_assert_eq!(read_back.workflow, job.workflow);
        prop_assert_eq!(read_back.input.get(), job.input.get());
        prop_assert_eq!(read_back.key, job.key);
    }
}

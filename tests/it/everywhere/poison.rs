//! Messages that nothing can be made of: each is explained, none is lost, and none is in the way of
//! those that come after it.

use bytes::Bytes;
use serde_json::json;
use verdict::{
    base::Fault,
    graph::{
        RunStatus,
        store::{Letter, LetterReason},
    },
    queue::{BODY_LIMIT, JOB_TYPE, Message, NESTING_LIMIT, header},
};

use super::site::{Site, everywhere};
use crate::{
    support::eventually,
    worker::hall::{Act, part},
};

/// What becomes of a message.
enum End {
    /// A letter with this reason, whose explanation has this in it.
    Letter(LetterReason, &'static str),
    /// It is acknowledged and counted.
    Done,
}

use End::{Done, Letter as Explained};
use LetterReason::{Permanent, Undecodable, UnknownWorkflow};

/// The header that tells a test's messages apart.
const CASE: &str = "x-case";

fn typed(kind: &str, body: &'static str) -> Message {
    Message::new(body).with(header::CONTENT_TYPE, kind)
}

fn event(name: &str, body: &'static str) -> Message {
    Message::new(body).with(header::GITHUB_EVENT, name)
}

/// Bodies that are no text in the right encoding, or no JSON object.
fn bodies() -> Vec<(&'static str, Message, End)> {
    let nested = "[".repeat(NESTING_LIMIT + 1) + &"]".repeat(NESTING_LIMIT + 1);
    let utf16: Vec<u8> = "{\"run\":1}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let unread = |why| Explained(Undecodable, why);
    vec![
        ("not json", Message::new("{ not json"), unread("its body is not as expected")),
        ("cut off", Message::new("{\"workflow\":\"play\",\"inp"), unread("EOF")),
        ("not an object", Message::new("[1]"), unread("no JSON object")),
        ("null", Message::new("null"), unread("no JSON object")),
        ("empty", Message::new(""), unread("its body is empty")),
        ("blank", Message::new(" \r\n\t"), unread("its body is blank")),
        ("bad utf-8", Message::new(&b"{\"a\":\"\xc3\x28\"}"[..]), unread("no UTF-8")),
        ("latin-1", Message::new(&b"{\"name\":\"M\xfcller\"}"[..]), unread("no UTF-8")),
        ("utf-16", Message::new(utf16), unread("UTF-16")),
        ("byte order mark", Message::new("\u{feff}{}"), unread("byte order mark")),
        ("gzip", Message::new(&b"\x1f\x8b\x08\0"[..]), unread("gzip")),
        ("zeroes", Message::new(vec![0; 1000]), unread("UTF-16 or UTF-32")),
        ("deep", Message::new(nested), unread("nested")),
        ("deeper", Message::new("{\"a\":".repeat(100_000)), unread("nested")),
        (
            "surrogate",
            Message::new(r#"{"workflow":"\ud800","input":1}"#),
            unread("not as expected"),
        ),
        ("twice", Message::new(r#"{"run":"a","run":"b"}"#), unread("duplicate field")),
    ]
}

/// Bodies that can be read, and ask for what cannot be done.
fn requests() -> Vec<(&'static str, Message, End)> {
    let unread = |why| Explained(Undecodable, why);
    let job = |body: &'static str| typed(JOB_TYPE, body);
    let future = format!("{JOB_TYPE}; version=2");
    let good = r#"{"workflow":"play","input":{}}"#;
    vec![
        ("nothing known", job("{}"), unread("no `workflow` and no `run`")),
        ("future job", typed(&future, good), unread("format version `2`")),
        ("future format", typed("application/vnd.verdict.x+json", good), unread("no known format")),
        ("form", typed("application/x-www-form-urlencoded", "a=b"), unread("form-encoded")),
        ("picture", typed("image/png", good), unread("expected JSON")),
        ("encoded", job(good).with("content-encoding", "br"), unread("content-encoding")),
        ("no input", job(r#"{"workflow":"play"}"#), unread("no `input`")),
        ("unfit input", job(r#"{"workflow":"play","input":[7]}"#), Explained(Permanent, "not fit")),
        ("no name", job(r#"{"workflow":" ","input":1}"#), unread("`workflow` is empty")),
        ("no such", job(r#"{"workflow":"opera","input":1}"#), Explained(UnknownWorkflow, "opera")),
        ("no id", job(r#"{"run":"../../etc/passwd"}"#), unread("run")),
        ("no event name", event("Not An Event!", "{}"), unread("no event name")),
        ("event, no object", event("push", "[]"), unread("no JSON object")),
        ("event, form", event("push", "payload=%7B%7D"), unread("no JSON object")),
        ("unknown event", event("no_such_event", "{}"), Done),
        ("nobody's event", event("push", r#"{"ref":"refs/heads/main"}"#), Done),
    ]
}

/// Waits for as many letters as that, confirmed.
async fn letters(site: &Site, count: usize) -> Vec<Letter> {
    eventually(&format!("{count} letters"), async || {
        let letters = site.letters().await;
        assert!(letters.len() <= count, "{} letters", letters.len());
        let confirmed = letters.iter().filter(|letter| letter.confirmed).count();
        (confirmed == count).then_some(letters)
    })
    .await
}

/// Something healthy, sent after the others, comes to its end.
async fn a_healthy_one_passes(site: &Site) {
    site.all_quiet().await;
}

/// W3: wherever the fault is: letter or count, with the reason.
async fn poison_is_explained_and_in_nobodys_way(mut site: Site) {
    // Whoever holds the only place up holds everybody up.
    site.options.concurrency = 1;
    let cases: Vec<_> = bodies().into_iter().chain(requests()).collect();
    for (case, message, _) in &cases {
        site.place.leave(message.clone().with(CASE, *case)).await;
    }
    let hand = site.worker().await;
    a_healthy_one_passes(&site).await;
    let (done, explained): (Vec<_>, Vec<_>) =
        cases.iter().partition(|(_, _, end)| matches!(end, Done));
    let letters = letters(&site, explained.len()).await;
    for (case, message, end) in explained {
        let Explained(reason, why) = end else { unreachable!() };
        let letter = letters.iter().find(|letter| letter.headers[CASE] == *case);
        let letter = letter.unwrap_or_else(|| panic!("`{case}` has no letter"));
        assert_eq!(letter.reason, *reason, "{case}");
        assert!(letter.error.contains(why), "{case}: {}", letter.error);
        let whole = site.store.letter(&letter.id).await.unwrap().unwrap();
        assert_eq!(whole.payload, message.body, "{case}");
    }
    // And the healthy one.
    hand.counts("done", done.len() as u64 + 1).await;
    site.ends(hand, letters.len()).await;
}

/// A job with so many bytes.
fn job_of(size: usize, name: &str) -> Message {
    let small = json!({"workflow": "play", "input": {"name": name, "padding": ""}}).to_string();
    let at = small.find(r#""}"#).unwrap();
    let mut body = small.into_bytes();
    let padding = vec![b'x'; size - body.len()];
    body.splice(at..at, padding);
    Message::new(body).with(header::CONTENT_TYPE, JOB_TYPE)
}

/// W3: as large as the broker takes, and on either side of every limit of ours: what can be read is
/// worked on, also when it has to come back later, and the rest is explained, with all of it kept.
async fn the_largest_messages_are_worked_on_or_explained(site: Site) {
    let (mut healthy, mut sick) = (Vec::new(), Vec::new());
    for size in site.place.sizes() {
        let name = format!("{size} bytes");
        let noise = Bytes::from(vec![b'{'; size]);
        site.place.leave(Message::new(noise.clone()).with(CASE, "noise")).await;
        sick.push(noise);
        let job = job_of(size, &name);
        site.place.leave(job.clone().with(CASE, "job")).await;
        match size <= BODY_LIMIT {
            true => {
                site.stage.put_up(&name, [Act::Fail(Fault::transient("busy"))]);
                healthy.push(name);
            }
            false => sick.push(job.body),
        }
    }
    let hand = site.worker().await;
    a_healthy_one_passes(&site).await;
    for name in &healthy {
        assert_eq!(site.becomes(name, RunStatus::Completed).await.executions, 1, "{name}");
    }
    let mut kept = Vec::new();
    for letter in letters(&site, sick.len()).await {
        assert_eq!(letter.reason, Undecodable);
        kept.push(site.store.letter(&letter.id).await.unwrap().unwrap().payload);
    }
    kept.sort();
    sick.sort();
    assert!(kept == sick, "a letter has not all of its message");
    hand.counts("done", healthy.len() as u64 + 1).await;
    site.ends(hand, kept.len()).await;
}

/// Headers with which verdict itself would steer: from a stranger they do no harm.
async fn forged_headers_do_no_harm(site: Site) {
    let names: Vec<_> =
        forged().into_iter().map(|(case, message)| (case, message.with(CASE, case))).collect();
    for (_, message) in &names {
        site.place.leave(message.clone()).await;
    }
    let hand = site.worker().await;
    for (case, _) in &names {
        site.becomes(case, RunStatus::Completed).await;
    }
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

fn forged() -> Vec<(&'static str, Message)> {
    let with = |case: &'static str, name: &str, value: &str| {
        (case, crate::worker::hall::message(&part(case)).with(name, value))
    };
    vec![
        with("a letter that is not", header::REPLAY, "no letter"),
        with("a letter without a name", header::REPLAY, ""),
        with("no trace", "traceparent", "00-zz-zz-zz"),
        with("a long trace", "traceparent", &"0".repeat(1000)),
        with("deliveries", "verdict_deliveries", "-1"),
        with("many deliveries", "verdict_deliveries", "99999999999999999999"),
        with("sent in the future", "verdict_sent", "9223372036854775807"),
        with("sent in the past", "verdict_sent", "-9223372036854775808"),
        with("sent never", "verdict_sent", "yesterday"),
        with("copies", "x-verdict-deliveries", "4294967295"),
        with("copies, less than none", "x-verdict-deliveries", "-7"),
        with("published in the future", "x-verdict-enqueued-at", "9223372036854775807"),
        with("published never", "x-verdict-enqueued-at", "yesterday"),
        with("a letter of somebody's", "x-verdict-letter", "mine"),
        with("counted", "x-delivery-count", "1000000"),
        with("dead before", "x-death", "yes"),
    ]
}

everywhere![
    poison_is_explained_and_in_nobodys_way,
    the_largest_messages_are_worked_on_or_explained,
    forged_headers_do_no_harm,
];

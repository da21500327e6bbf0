//! What is fuzzed: one function per parser of outside input. Each takes any bytes at all, and
//! panics if a promise is broken. The fuzz binaries call them, and so does a short seeded slice in
//! the ordinary tests.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use verdict::{
    config::{QueueUrl, Settings, StoreUrl, known_keys},
    graph::{HistoryEntry, Record, RunMachine, State, store::StoredRecord},
    queue::{Decoded, Message, decode},
};

/// A queue's message: `name: value` lines, an empty line, the body. What is accepted survives being
/// sent again, and what is refused is refused in a sentence.
pub fn message(bytes: &[u8]) {
    let cut = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = cut.map_or((&b""[..], bytes), |at| (&bytes[..at], &bytes[at + 2..]));
    let head = String::from_utf8_lossy(head);
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<String, String> =
        lines.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    let again = |message: Message| decode(&message.headers, &message.body);
    match decode(&headers, &Bytes::copy_from_slice(body)) {
        Err(refused) => assert!((1..2000).contains(&refused.why.len()), "{}", refused.why),
        Ok(Decoded::Job(job)) => {
            let Ok(Decoded::Job(back)) = again(job.to_message()) else {
                panic!("a job that was read cannot be sent: {job:?}")
            };
            assert_eq!((back.workflow, back.key), (job.workflow, job.key));
            assert_eq!(back.input.get(), job.input.get());
        }
        Ok(Decoded::Webhook(webhook)) => {
            let Ok(Decoded::Webhook(back)) = again(webhook.to_message()) else {
                panic!("a webhook that was read cannot be sent: {webhook:?}")
            };
            assert_eq!(back, webhook);
        }
        Ok(Decoded::Event(_)) => {}
        Ok(Decoded::Wake { run }) => {
            let Ok(Decoded::Wake { run: back }) = again(Decoded::wake_message(&run)) else {
                panic!("a wake-up that was read cannot be sent: {run:?}")
            };
            assert_eq!(back, run);
        }
    }
}

/// A settings file: an answer, what was accepted can be shown, and so can every place read from a
/// line of it.
pub fn settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Settings::parse(text) {
        Ok(settings) => assert_eq!(settings.describe().len(), known_keys().len()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    for place in text.lines() {
        if let Ok(url) = place.parse::<StoreUrl>() {
            assert!(!url.to_string().is_empty());
        }
        if let Ok(url) = place.parse::<QueueUrl>() {
            assert!(!url.to_string().is_empty());
        }
    }
}

/// A state that takes any JSON and remembers how much.
#[derive(Debug, Clone, Serialize)]
struct Any(usize);

/// Any JSON at all.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct Json(serde_json::Value);

impl State for Any {
    type Input = Json;
    type Update = Json;

    fn new(_: Json) -> Self {
        Self(0)
    }

    fn merge(&mut self, _: Json) {
        self.0 += 1;
    }
}

/// A run's log: one record a line, its meta, then perhaps a tab and its payload in hex. Records
/// that are read come back when written again; logs are replayed, whole and as far as they are
/// legal, without a panic, and a refused record changes nothing.
pub fn records(bytes: &[u8]) {
    let mut log = Vec::new();
    for (seq, line) in (1u64..).zip(bytes.split(|byte| *byte == b'\n').take(200)) {
        let Ok(record) = Record::<Json>::decode(seq, &stored(line)) else { continue };
        for compress in [false, true] {
            let again = record.encode(compress).expect("what was read can be written");
            let back = Record::<Json>::decode(seq, &again).expect("what was written can be read");
            assert_eq!(back.meta, record.meta);
            let entry = HistoryEntry::decode(seq, &again).expect("so can its meta");
            assert_eq!((entry.at, entry.path, entry.meta), (back.at, back.path, back.meta));
        }
        log.push(record);
    }
    let mut machine = RunMachine::<Any>::default();
    for record in log.clone() {
        let before = (machine.version(), machine.todo(), machine.interrupts().len());
        if machine.apply(record).is_err() {
            let after = (machine.version(), machine.todo(), machine.interrupts().len());
            assert_eq!(after, before, "a refused record left a trace");
        }
    }
    drop(RunMachine::<Any>::replay(log));
}

fn stored(line: &[u8]) -> StoredRecord {
    let tab = line.iter().position(|byte| *byte == b'\t');
    let (meta, payload) = match tab {
        Some(at) => (&line[..at], Some(unhex(&line[at + 1..]))),
        None => (line, None),
    };
    StoredRecord { meta: Bytes::copy_from_slice(meta), payload: payload.map(Bytes::from) }
}

/// Pairs of hex digits; anything else is a zero.
fn unhex(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    text.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

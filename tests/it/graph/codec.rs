//! How records are written down: every kind there and back, older formats, and broken bytes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use verdict::{
    base::{Fault, Timestamp, TraceContext},
    graph::{
        AwaitedEvent, Body, Command, Dispatch, Envelope, Failure, HistoryEntry, Meta, Outcome,
        Record, Redo, RunId, RunMachine, Start, State, store::StoredRecord,
    },
};

use super::{
    bench::{START, raw},
    support::{Add, Words},
};

const ODD: &str = "q\"uote \\ \u{0} \u{7f} \u{feff} 🦀 \u{202e}rtl\n\t é";

fn record(meta: Meta, body: Body<Add>) -> Record<Add> {
    Record::new(START, meta, body)
}

/// One of each kind, with odd words wherever words may be.
fn every_kind(odd: &str) -> Vec<Record<Add>> {
    let (node, text) = (std::sync::Arc::<str>::from(odd), || odd.to_owned());
    let fault = Fault::transient(odd).after(std::time::Duration::from_millis(1500));
    let envelope = Envelope {
        headers: BTreeMap::from([(text(), text())]),
        body: text(),
        trace: None::<TraceContext>,
    };
    let start = Start { input: raw([odd]).into(), envelope: Some(envelope) };
    let started = Meta::Started { workflow: node.clone(), version: u32::MAX, entry: node.clone() };
    let finished = |fault| Meta::TaskFinished {
        step: 1,
        node: node.clone(),
        index: 0,
        attempts: 3,
        us: u64::MAX,
        by: Some(node.clone()),
        fault,
    };
    let command = Command { update: Some(Add::Word(text())), goto: Some(vec![Dispatch::to(odd)]) };
    let asked = |index, event| {
        let (id, node, name) = (text(), node.clone(), text());
        Meta::Interrupted { id, step: 2, node, index, name, event }
    };
    let event = AwaitedEvent { key: odd.into(), until: START };
    let failure = Failure { step: 2, node: Some(node.clone()), fault: fault.clone() };
    let bare = |meta| record(meta, Body::None);
    vec![
        record(started, Body::Start(start)),
        record(finished(None), Body::Command(command)),
        record(finished(Some(fault)), Body::Command(Command::nothing())),
        bare(finished(Some(Fault::permanent(odd)))),
        record(Meta::StepFinished { step: 1, held: Vec::new() }, Body::Tasks(Vec::new())),
        record(
            Meta::StepFinished { step: 2, held: vec![odd.into()] },
            Body::Tasks(vec![Dispatch::to(odd), Dispatch::with(odd, &json!({"k": odd}))]),
        ),
        record(asked(Some(0), Some(event)), Body::Value(raw(odd).into())),
        record(asked(Some(0), None), Body::Value(raw(odd).into())),
        record(asked(None, None), Body::Value(raw(()).into())),
        record(
            Meta::Resumed { id: text(), event: None },
            Body::Value(raw(json!([odd, 1.5, null])).into()),
        ),
        record(Meta::Resumed { id: text(), event: Some(text()) }, Body::Value(raw(()).into())),
        bare(Meta::Parked { step: 1, node, index: 0, until: Timestamp(-1), reason: text() }),
        bare(Meta::Reopened { why: text(), from: 2, redo: Redo::Failed }),
        bare(Meta::Reopened { why: text(), from: 1, redo: Redo::All }),
        bare(Meta::Superseded { by: RunId::of(odd, odd) }),
        bare(Meta::Cancelled { by: text() }),
        bare(Meta::Forked { parent: RunId::of("w", "k"), step: 4, publish: true }),
        bare(Meta::Letter { id: text() }),
        bare(Meta::LetterConfirmed { id: text() }),
        bare(Meta::Finished { outcome: Outcome::Completed { revisit: Some((START, 3)) } }),
        bare(Meta::Finished { outcome: Outcome::Completed { revisit: None } }),
        bare(Meta::Finished { outcome: Outcome::Failed(failure) }),
    ]
}

fn there_and_back(record: &Record<Add>) {
    for compress in [false, true] {
        let stored = record.encode(compress).unwrap();
        let back = Record::<Add>::decode(1, &stored).unwrap();
        assert_eq!(format!("{back:?}"), format!("{record:?}"), "compressed: {compress}");
        let entry = HistoryEntry::decode(1, &stored).unwrap();
        assert_eq!((entry.at, entry.meta), (record.at, record.meta.clone()));
    }
}

/// E7
#[test]
fn every_kind_comes_back_as_it_was() {
    for odd in ["plain", "", ODD, &ODD.repeat(1000)] {
        for record in every_kind(odd) {
            there_and_back(&record);
        }
    }
}

/// E8: five mebibytes, of text that compresses well and of text that does not.
#[test]
fn large_payloads_come_back() {
    let mut random = fastrand::Rng::with_seed(5);
    let noise: String = std::iter::repeat_with(|| random.alphanumeric()).take(5 << 20).collect();
    for text in ["x".repeat(5 << 20), noise] {
        let start = Start { input: raw([&text]).into(), envelope: None };
        let meta = Meta::Started { workflow: "w".into(), version: 1, entry: "a".into() };
        let record = record(meta, Body::Start(start));
        let stored = record.encode(true).unwrap();
        assert!(stored.payload.as_ref().unwrap().len() <= text.len() + 100);
        let Body::Start(back) = Record::<Add>::decode(1, &stored).unwrap().body else { panic!() };
        assert_eq!(serde_json::from_str::<[String; 1]>(back.input.get()).unwrap(), [text]);
    }
}

/// What compresses well is stored small.
#[test]
fn long_payloads_are_compressed() {
    let start = Start { input: raw(["abc ".repeat(20_000)]).into(), envelope: None };
    let meta = Meta::Started { workflow: "w".into(), version: 1, entry: "a".into() };
    let stored = record(meta, Body::Start(start)).encode(true).unwrap();
    assert!(stored.payload.unwrap().len() < 1000);
}

/// A state whose update may be nothing at all in JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Ticks(u32);

impl State for Ticks {
    type Input = ();
    type Update = Option<()>;

    fn new((): ()) -> Self {
        Self(0)
    }

    fn merge(&mut self, _: Option<()>) {
        self.0 += 1;
    }
}

/// E7: an update whose form is `null` is an update still.
#[test]
fn a_null_update_is_kept() {
    let none: Option<()> = None;
    for update in [Some(none), None] {
        let command = Command { update, goto: None };
        let text = serde_json::to_string(&command).unwrap();
        let back: Command<Option<()>> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, command, "{text}");
    }
    assert_eq!(Ticks::new(()), Ticks(0));
}

/// Bytes of this version's format, kept from when it was first written: they load for ever.
#[test]
fn format_1_still_loads() {
    let fixture = include_str!("../../fixtures/run-format-1.json");
    let rows: Vec<(String, Option<String>)> = serde_json::from_str(fixture).unwrap();
    let stored: Vec<StoredRecord> = rows
        .iter()
        .map(|(meta, payload)| StoredRecord {
            meta: meta.clone().into(),
            payload: payload.as_ref().map(|hex| unhex(hex).into()),
        })
        .collect();
    let records: Vec<Record<Add>> =
        (1u64..).zip(&stored).map(|(seq, stored)| Record::decode(seq, stored).unwrap()).collect();
    let kinds: std::collections::BTreeSet<_> = records.iter().map(|r| r.meta.kind()).collect();
    assert_eq!(kinds.len(), 13, "every kind is in it: {kinds:?}");
    let machine = RunMachine::<Words>::replay(records.clone()).unwrap();
    let state = machine.state().unwrap();
    assert_eq!(state.words[..2], ["in", "ingest"]);
    assert_eq!(state.words[2].len(), 600, "one update was compressed");
    assert_eq!(state.words[3..], ["b", "judge"]);
    assert_eq!(state.secret, "s3cret");
    assert_eq!(machine.failures()[0].fault.retry_after.unwrap().as_secs(), 2);
    assert_eq!(machine.letters(), [("L1".to_owned(), true)]);
    assert_eq!(machine.envelope().unwrap().headers["x-github-event"], "pull_request");
    assert_eq!((machine.reopened(), machine.version()), (4, records.len() as u64));
    // Written again, they are the same bytes: the format has not moved.
    for (record, stored) in records.iter().zip(&stored) {
        let again = record.encode(true).unwrap();
        assert_eq!(again.meta, stored.meta);
        let both = [&again, stored].map(|s| s.payload.as_ref().map(|p| (p[0], p.len() > 512)));
        assert_eq!(both[0], both[1]);
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A record of a kind this version has not got is refused by number and kind.
#[test]
fn an_unknown_kind_is_refused() {
    let stored = StoredRecord { meta: r#"{"t":0,"k":"teleported"}"#.into(), payload: None };
    let error = Record::<Add>::decode(7, &stored).unwrap_err().to_string();
    assert!(error.starts_with("record 7 cannot be read: unknown variant `teleported`"), "{error}");
}

/// Packages that lie about themselves are refused, and nothing is set aside for what they claim.
#[test]
fn a_lying_package_is_refused() {
    let whole = record(
        Meta::StepFinished { step: 1, held: Vec::new() },
        Body::Tasks(vec![Dispatch::to("a")]),
    );
    let whole = whole.encode(true).unwrap();
    for (payload, why) in [
        (vec![], "it is empty"),
        (vec![9, 1], "its packing 9 is unknown to this version"),
        (vec![1, 0, 0], "its length is cut off"),
        (vec![1, 255, 255, 255, 255], "it claims to hold 4294967295 bytes"),
        (vec![1, 0, 0, 0, 32, 0, 0], "it claims to hold 536870912 bytes"),
    ] {
        let stored = StoredRecord { payload: Some(payload.into()), ..whole.clone() };
        let error = Record::<Add>::decode(1, &stored).unwrap_err().to_string();
        assert_eq!(error, format!("record 1 cannot be read: {why}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any text anywhere comes back.
    #[test]
    fn any_text_comes_back(text in any::<String>()) {
        for record in every_kind(&text) {
            there_and_back(&record);
        }
    }

    /// Cut short or with a bit flipped, a record is refused or read as another one: never a panic.
    #[test]
    fn broken_bytes_never_panic(
        which in 0usize..20,
        long in any::<bool>(),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
        cut in any::<bool>(),
    ) {
        let odd = if long { ODD.repeat(100) } else { ODD.to_owned() };
        let good = every_kind(&odd)[which].encode(true).unwrap();
        for part in [0, 1] {
            let mut stored = good.clone();
            let bytes = if part == 0 { Some(&mut stored.meta) } else { stored.payload.as_mut() };
            let Some(bytes) = bytes else { continue };
            let mut broken = bytes.to_vec();
            let place = at.index(broken.len());
            if cut { broken.truncate(place) } else { broken[place] ^= 1 << bit }
            *bytes = broken.into();
            let read = Record::<Add>::decode(1, &stored);
            prop_assert!(!(cut && part == 0) || read.is_err(), "a cut meta was read");
        }
    }
}

//! A seeded slice of the fuzz targets: known inputs, mangled. The same bytes every time, unless
//! `VERDICT_FUZZ_SECONDS` asks for a long run with new ones. See docs/testing.md.

use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

#[path = "../../fuzz/src/targets.rs"]
mod targets;

/// Inputs per target in an ordinary test run.
const SLICE: u64 = 3000;

/// Pieces that parsers take an interest in.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\n",
    "\n\n",
    "\t",
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    "4294967295",
    "18446744073709551616",
    "\\u0000",
    "\\ud800",
    "=",
    "[[",
    "workflow",
    "input",
    "key",
    "run",
    "step",
    "index",
    "x-github-event: push\n\n",
    "content-encoding: gzip\n",
    "é",
    "🦀",
    "from",
    "kind",
    "started",
    "reopened",
    "resumed",
    "finished",
    "goto",
    "01ffffffff",
];

/// One mangled input.
fn mangled(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[rng.usize(..seeds.len())].clone();
    for _ in 0..rng.u8(0..8) {
        let at = rng.usize(..=bytes.len());
        let to = rng.usize(at..=bytes.len()).min(at + 64);
        match rng.u8(..8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(..8),
            1 if at < bytes.len() => bytes[at] = rng.u8(..),
            2 => drop(bytes.drain(at..to)),
            3 => drop(bytes.splice(at..at, bytes[at..to].to_vec()).collect::<Vec<_>>()),
            4 => bytes.truncate(at),
            5 => {
                let other = &seeds[rng.usize(..seeds.len())];
                let from = rng.usize(..=other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            6 => swap_lines(rng, &mut bytes),
            _ => {
                let word = WORDS[rng.usize(..WORDS.len())].bytes();
                drop(bytes.splice(at..to, word).collect::<Vec<_>>());
            }
        }
    }
    bytes
}

fn swap_lines(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let (a, b) = (rng.usize(..lines.len()), rng.usize(..lines.len()));
    lines.swap(a, b);
    if rng.bool() {
        lines.insert(a, lines[b]);
    }
    *bytes = lines.join(&b'\n');
}

fn fuzz(name: &str, target: fn(&[u8]), seeds: &[Vec<u8>]) {
    let asked = std::env::var("VERDICT_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let began = Instant::now();
    let more = |done: u64| match asked {
        Some(seconds) => began.elapsed() < Duration::from_secs(seconds),
        None => done < SLICE,
    };
    let mut rng = if asked.is_some() { Rng::new() } else { Rng::with_seed(7) };
    seeds.iter().for_each(|seed| target(seed));
    let mut done = 0;
    while more(done) {
        let input = mangled(&mut rng, seeds);
        let outcome = std::panic::catch_unwind(|| target(&input));
        assert!(outcome.is_ok(), "{name} broke on {:?}", String::from_utf8_lossy(&input));
        done += 1;
    }
    println!("{name}: {done} inputs in {:?}", began.elapsed());
}

fn all(seeds: &[&str]) -> Vec<Vec<u8>> {
    seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect()
}

#[test]
fn message() {
    let seeds = all(&[
        r#"{"workflow":"review","input":{"repo":"/r","base":"a","head":"b"},"key":"k"}"#,
        r#"{"run":"0123456789abcdef0123456789abcdef"}"#,
        "x-github-event: pull_request\nx-github-delivery: 72d3162e\n\n{\"action\":\"opened\",\
         \"pull_request\":{\"number\":7,\"head\":{\"sha\":\"abc\"}}}",
        "content-type: application/vnd.verdict.job+json; version=1\n\n{\"workflow\":\"w\",\"input\":[]}",
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n\n{\"run\":\"x\"}",
    ]);
    fuzz("message", targets::message, &seeds);
}

#[test]
fn settings() {
    let seeds = all(&[
        "[queue]\nurl = \"embedded:q.db\"\n[store]\nurl = \"sqlite:runs.db\"\n",
        "[worker]\nconcurrency = 8\nlease = \"30s\"\ngrace = \"25s\"\n[server]\nlisten = \"127.0.0.1:8080\"\n",
        "[forge.local]\nallow = [\"/srv\", \"~/code\"]\n[log]\nformat = \"json\"\n",
        "[model]\nchain = [\"anthropic::claude\"]\n[github]\nurl = \"https://api.github.com\"\napp_id = 7\n",
        "queue.url = \"amqp://u:p@h/v?queue=verdict\"\nstore.url = \"memory:\"\n",
    ]);
    fuzz("settings", targets::settings, &seeds);
}

#[test]
fn records() {
    let fixture = include_str!("../fixtures/run-format-1.json");
    let rows: Vec<(String, Option<String>)> = serde_json::from_str(fixture).unwrap();
    let lines = rows.iter().map(|(meta, payload)| match payload {
        Some(hex) => format!("{meta}\t{hex}"),
        None => meta.clone(),
    });
    let lines: Vec<String> = lines.collect();
    let seeds = all(&[&lines.join("\n"), &lines[..5].join("\n"), &lines[..12].join("\n")]);
    fuzz("records", targets::records, &seeds);
}

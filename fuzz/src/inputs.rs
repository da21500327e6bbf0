//! Every target with the inputs that it starts from, and how they are mangled.

use std::{fs, path::Path};

use fastrand::Rng;
use verdict::analysis::{Lang, flow::model, rules::BUILT_IN};

use super::{review, targets};

/// What is fuzzed.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// How many inputs an ordinary test run has time for.
    pub slice: u64,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "message", run: targets::message, seeds: messages, slice: 1500 },
    Target { name: "settings", run: targets::settings, seeds: settings, slice: 1500 },
    Target { name: "records", run: targets::records, seeds: records, slice: 1500 },
    Target { name: "patch", run: review::patch, seeds: patches, slice: 1500 },
    Target { name: "edits", run: review::edits, seeds: patches, slice: 30 },
    Target { name: "own_rule", run: review::own_rule, seeds: own_rules, slice: 300 },
    Target {
        name: "review_settings",
        run: review::review_settings,
        seeds: review_settings,
        slice: 1500,
    },
    Target { name: "suppressions", run: review::suppressions, seeds: told, slice: 300 },
    Target { name: "masking", run: review::masking, seeds: secrets, slice: 150 },
    Target { name: "source", run: review::source, seeds: sources, slice: 200 },
    Target { name: "flow", run: review::source, seeds: flows, slice: 200 },
];

/// Pieces that parsers take an interest in.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "\"",
    "'",
    "`",
    "\\",
    ":",
    ",",
    "\n",
    "\n\n",
    "\t",
    "    ",
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
    "\u{202e}",
    "\r\n",
    "from",
    "kind",
    "started",
    "reopened",
    "resumed",
    "finished",
    "goto",
    "01ffffffff",
    "@@ -1,2 +3,4 @@\n",
    "@@ -0,0 +1 @@\n",
    "diff --git a b\n",
    "\\ No newline at end of file\n",
    "- ",
    "|\n",
    "&a ",
    "*a",
    "<<: *a",
    "!!binary ",
    "--- ",
    "any: ",
    "has: ",
    "inside: ",
    "not: ",
    "stopBy: end",
    "regex: ",
    "$A",
    "$$$B",
    "# verdict:ignore ",
    "// verdict:ignore py-debugger because so\n",
    "password = \"",
    "-----BEGIN PRIVATE KEY-----\n",
    "<<EOF\n",
    "EOF\n",
    "#{",
    "${",
    "%q(",
    "\"\"\"",
    "/*",
    "*/",
    "<?php ",
    "async ",
    "match ",
];

/// One mangled input.
pub fn mangled(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
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
                let word = WORDS[rng.usize(..WORDS.len())].repeat(1 + rng.usize(..3));
                drop(bytes.splice(at..to, word.bytes()).collect::<Vec<_>>());
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

fn all(seeds: &[&str]) -> Vec<Vec<u8>> {
    seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect()
}

fn messages() -> Vec<Vec<u8>> {
    all(&[
        r#"{"workflow":"review","input":{"repo":"/r","base":"a","head":"b"},"key":"k"}"#,
        r#"{"run":"0123456789abcdef0123456789abcdef"}"#,
        "x-github-event: pull_request\nx-github-delivery: 72d3162e\n\n{\"action\":\"opened\",\
         \"pull_request\":{\"number\":7,\"head\":{\"sha\":\"abc\"}}}",
        "content-type: application/vnd.verdict.job+json; version=1\n\n{\"workflow\":\"w\",\"input\":[]}",
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n\n{\"run\":\"x\"}",
    ])
}

fn settings() -> Vec<Vec<u8>> {
    all(&[
        "[queue]\nurl = \"embedded:q.db\"\n[store]\nurl = \"sqlite:runs.db\"\n",
        "[worker]\nconcurrency = 8\nlease = \"30s\"\ngrace = \"25s\"\n[server]\nlisten = \"127.0.0.1:8080\"\n",
        "[forge.local]\nallow = [\"/srv\", \"~/code\"]\n[log]\nformat = \"json\"\n",
        "[model]\nchain = [\"anthropic::claude\"]\n[github]\nurl = \"https://api.github.com\"\napp_id = 7\n",
        "embedded:\nembedded:q.db\nmemory:\nsqlite:runs.db\npubsub://p/s?topic=t\npostgres://h/d",
        "queue.url = \"amqp://u:p@h/v?queue=verdict\"\nstore.url = \"memory:\"\n",
    ])
}

fn records() -> Vec<Vec<u8>> {
    let fixture = include_str!("../../tests/fixtures/run-format-1.json");
    let rows: Vec<(String, Option<String>)> =
        serde_json::from_str(fixture).expect("the fixture is JSON");
    let lines = rows.iter().map(|(meta, payload)| match payload {
        Some(hex) => format!("{meta}\t{hex}"),
        None => meta.clone(),
    });
    let lines: Vec<String> = lines.collect();
    all(&[&lines.join("\n"), &lines[..5].join("\n"), &lines[..12].join("\n")])
}

fn patches() -> Vec<Vec<u8>> {
    all(&[
        "diff --git a/a b/a\nindex 1111111..2222222 100644\n--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@ fn a\n \
         kept\n-old\n+new\n+newer\n kept\n\\ No newline at end of file\n",
        "diff --git a/b b/c\nsimilarity index 90%\nrename from b\nrename to c\nindex 1..2\n--- a/b\n+++ \
         b/c\n@@ -0,0 +1,2 @@\n+a\n+b\n@@ -7,2 +9,0 @@\n-a\n-b\n",
        "diff --git a/x b/x\nnew file mode 100755\nindex 0..1\nBinary files /dev/null and b/x differ\n",
        "@@ -1,4 +1,5 @@ fn a() {\n kept\n-old\n+new\n+newer\n kept\n kept",
        "diff --git a/m b/m\nindex 1..2 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-Subproject commit 1\n\
         +Subproject commit 2\n",
    ])
}

fn own_rules() -> Vec<Vec<u8>> {
    // Their own names are taken only among the built-in rules, which are not there.
    // The tests of the project read this file, too, from a folder above.
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut rules = folders.map(|folder| folder.join("crates/analysis/src/rules"));
    let folder = rules.find(|folder| folder.is_dir()).unwrap_or_default();
    BUILT_IN.iter().step_by(9).filter_map(|rule| fs::read(folder.join(rule.file)).ok()).collect()
}

fn review_settings() -> Vec<Vec<u8>> {
    all(&[
        "[review]\nagents = [\"security\", \"logic\"]\ninclude = [\"src/**\"]\nignore = [\"src/legacy/\"]\n\
         min_severity = \"low\"\nmin_confidence = 0.5\nmax_findings = 30\n",
        "[review.rules]\njs-empty-catch = \"off\"\ntf-public-bucket = \"critical\"\n",
        "review = { rules = { a = \"off\" }, ignore = [\"{a,b}/**\", \"[!x]*\", \"?\"] }\n",
    ])
}

/// The examples of the built-in rules, each with a file name of its language before it.
fn sources() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for rule in BUILT_IN {
        let Ok(rule) = rule.read() else { continue };
        let languages = rule.languages.iter().filter_map(|l| Lang::named(l).ok().flatten());
        for language in languages {
            let examples = rule.invalid.iter().chain(&rule.valid);
            found.extend(examples.map(|e| format!("{}\n{e}", language.file_name()).into_bytes()));
        }
    }
    found
}

/// The examples of the models that values are followed by, likewise.
fn flows() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for (language, examples) in model::examples().unwrap_or_default() {
        let Ok(Some(language)) = Lang::named(language) else { continue };
        for example in examples {
            let texts = example.bad.iter().chain(&example.good);
            found.extend(texts.map(|e| format!("{}\n{e}", language.file_name()).into_bytes()));
        }
    }
    found
}

fn told() -> Vec<Vec<u8>> {
    let told = all(&[
        "a.py\nbreakpoint()  # verdict:ignore py-debugger it is a demo\n",
        "a.py\ns = '# verdict:ignore py-debugger not a comment'\nbreakpoint()\n",
        "a.js\n/* verdict:ignore js-debugger why not */\ndebugger;\n",
        "a.html\n<!-- verdict:ignore x because -->\n",
        "a.rb\n=begin\n# verdict:ignore rb-debugger because\n=end\nbinding.pry\n",
    ]);
    told.into_iter().chain(sources().into_iter().step_by(23)).collect()
}

fn secrets() -> Vec<Vec<u8>> {
    let token = |start: &str, n: usize| {
        format!("{start}{}", "a1B2c3D4e5F6g7H8".repeat(8).get(..n).unwrap_or(""))
    };
    let text = [
        format!("password = \"{}\"\n", token("", 20)),
        format!("url = postgres://user:{}@host/db\n", token("", 12)),
        format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n{}\n-----END PRIVATE KEY-----\n",
            token("", 64),
            token("", 64)
        ),
        format!("key: {}\n", token("ghp_", 36)),
        format!("slack {} {}\n", token("xoxb-1-", 30), token("AKIA", 16).to_uppercase()),
        format!("jwt {}.{}.{}\n", token("eyJ", 20), token("eyJ", 20), token("", 30)),
    ];
    let sources = sources().into_iter().step_by(31);
    text.iter()
        .map(|t| t.clone().into_bytes())
        .chain([text.concat().into_bytes()])
        .chain(sources)
        .collect()
}

//! Every kind finds what it is for. Samples are made from the kinds' own expressions while a test runs:
//! none is written down anywhere.

use std::collections::BTreeSet;

use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    string::string_regex_parsed,
    test_runner::TestRunner,
};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};

use super::{Secret, kinds, listed, mask, matches};
use crate::{LineSet, secret_kinds::Kind};

const PACK: &str = include_str!("../secret_pack.tsv");

/// What an expression without an upper limit may repeat beyond its lower one.
const MORE: u32 = 80;

/// How many samples are made of a kind.
const SAMPLES: usize = 20;

/// An expression of printable characters only, without what asks about neighbours.
fn printable(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Look(_) => Hir::empty(),
        HirKind::Class(Class::Unicode(class)) => {
            let mut fit = class.clone();
            fit.intersect(&ClassUnicode::new([ClassUnicodeRange::new(' ', '~')]));
            Hir::class(Class::Unicode(if fit.ranges().is_empty() { class.clone() } else { fit }))
        }
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            max: Some(repetition.max.unwrap_or(repetition.min + MORE)),
            sub: Box::new(printable(&repetition.sub)),
            ..*repetition
        }),
        HirKind::Capture(capture) => printable(&capture.sub),
        HirKind::Concat(all) => Hir::concat(all.iter().map(printable).collect()),
        HirKind::Alternation(all) => Hir::alternation(all.iter().map(printable).collect()),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(Class::Bytes(_)) => hir.clone(),
    }
}

/// Texts with what fits the kind's expression on lines of its own, the same ones each time.
fn samples(index: usize, kind: &Kind) -> Vec<String> {
    let hir = printable(&regex_syntax::parse(&kind.expression).unwrap());
    let strategy = string_regex_parsed(&hir).unwrap();
    let mut runner = TestRunner::deterministic();
    let mut sample = || strategy.new_tree(&mut runner).unwrap().current();
    (0..SAMPLES).map(|_| with_word(index, kind, format!("before\n{}\nafter\n", sample()))).collect()
}

/// Some kinds are looked for only in a text with a word that need not be beside the value.
fn with_word(index: usize, kind: &Kind, text: String) -> String {
    if kinds().possible(&text).iter().any(|(possible, _)| *possible == index) {
        return text;
    }
    let row = PACK.lines().find(|line| line.split('\t').next() == Some(kind.id)).unwrap();
    let word = row.split('\t').nth(3).unwrap().split('|').next().unwrap();
    format!("# {word}\n{text}")
}

/// Kinds some or all of whose values are told as another kind, which comes first, and why that will do.
const TOLD_AS: &[(&str, &[&str], &str)] = &[
    ("anthropic-admin-api-key", &["anthropic-key"], SAME),
    ("anthropic-api-key", &["anthropic-key"], SAME),
    ("azure-shared-access-key", &["azure-storage-account-key"], "as long, in the same strings"),
    ("clerk-secret-key", &["stripe-live-key", "stripe-test-key"], BEGINS),
    ("endorlabs-api-secret", &["endorlabs-api-key"], "only the name before tells them apart"),
    ("github-fine-grained-pat", &["github-fine-grained-token"], SAME),
    ("github-oauth", &["github-token"], SAME),
    ("github-refresh-token", &["github-token"], SAME),
    ("gitlab-pat", &["gitlab-token"], SAME),
    ("gitlab-pat-routable", &["gitlab-token"], BEGINS),
    ("gitlab-pat-routable-versioned", &["gitlab-token"], BEGINS),
    (
        "gitlab-runner-authentication-token-routable",
        &["gitlab-runner-authentication-token"],
        BEGINS,
    ),
    ("highnote-secret-live-key", &["stripe-live-key"], BEGINS),
    ("monday-api-token", &["json-web-token"], WEB),
    ("npm-access-token", &["npm-token"], SAME),
    ("openai-api-key", &["openai-key"], SAME),
    ("pypi-upload-token", &["pypi-token"], SAME),
    ("scalr-api-access-token", &["json-web-token"], WEB),
    ("slack-bot-token", &["slack-token"], SAME),
    ("slack-config-access-token", &["slack-token"], BEGINS),
    ("slack-config-refresh-token", &["slack-token"], BEGINS),
    ("slack-legacy-bot-token", &["slack-token"], SAME),
    ("slack-legacy-token", &["slack-token"], SAME),
    ("slack-legacy-workspace-token", &["slack-token"], SAME),
    ("slack-user-token", &["slack-token"], SAME),
];

const SAME: &str = "the same credential, under the name it has had here";
const BEGINS: &str = "begins like one; the whole of it is masked";
const WEB: &str = "is one, with a name before it";

/// What becomes of a kind's samples: how many fit, and as what they are told.
fn told(index: usize, kind: &Kind) -> (usize, BTreeSet<&'static str>) {
    let (mut fit, mut told) = (0, BTreeSet::new());
    for text in samples(index, kind) {
        let Some(own) = matches(kind, &text).find(|range| !range.is_empty()) else { continue };
        fit += 1;
        let masked = mask(text.clone());
        let hidden = |byte| matches!(byte, b'*' | b'\n' | b'\r');
        assert!(masked.text[own.clone()].bytes().all(hidden), "{}: {}", kind.id, masked.text);
        let over = |one: &&Secret| one.range.start < own.end && own.start < one.range.end;
        told.extend(masked.secrets.iter().filter(over).map(|one| kinds().all[one.kind].id));
        let findings = serde_json::to_string(&masked.findings("a.cfg", &LineSet::all())).unwrap();
        assert!(findings.contains("\"secret-"), "{}: {findings}", kind.id);
        assert!(!findings.contains(&text[own]), "{}: {findings}", kind.id);
    }
    (fit, told)
}

/// R6: whatever fits a kind is found, masked whole, and told as that kind, or as one that is as good.
#[test]
fn every_kind_finds_what_it_is_for() {
    let mut wrong = Vec::new();
    for (index, kind) in kinds().all.iter().enumerate() {
        let (fit, told) = told(index, kind);
        if fit * 4 <= SAMPLES {
            wrong.push(format!("{}: {fit} of {SAMPLES} are found", kind.id));
        }
        let others = TOLD_AS.iter().find(|(id, ..)| *id == kind.id).map_or(&[][..], |row| row.1);
        let known = |id: &&&str| **id == kind.id || others.contains(id);
        let unknown: Vec<_> = told.iter().filter(|id| !known(id)).collect();
        if !unknown.is_empty() {
            wrong.push(format!("{} is told as {unknown:?}", kind.id));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Of several groups nobody could say which is the secret.
#[test]
fn every_kind_says_which_part_is_the_secret() {
    for kind in &kinds().all {
        let regex = kind.regex().unwrap();
        let named: Vec<_> = regex.capture_names().flatten().collect();
        let groups = regex.captures_len() - 1;
        let plain = groups <= 1 && named.iter().all(|name| *name == "secret");
        assert!(plain || named == ["secret", "single"] && groups == 2, "{}: {named:?}", kind.id);
    }
}

/// A kind that goes, comes or changes its place is seen here.
#[test]
fn the_kinds_are_these() {
    let ids: Vec<_> = kinds().all.iter().map(|kind| kind.id).collect();
    let different: BTreeSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), different.len()), (listed(), listed()));
    for (id, others, _) in TOLD_AS {
        assert!(different.contains(id) && others.iter().all(|id| different.contains(id)), "{id}");
    }
    insta::assert_snapshot!(ids.join("\n"));
}

/// A constant may have a type, its value be made into bytes, and its name go on; what is longer is data.
#[test]
fn constants_are_told_in_many_languages() {
    let value = "kX9mQ2vL7pR4tW8zB3nC";
    let told = |text: &str, value: &str| mask(text.replace("VALUE", value)).any();
    for text in [
        "const SESSION_KEY: &str = \"VALUE\";",
        "val apiKey: String = \"VALUE\"",
        "var jwtKey = []byte(\"VALUE\")",
        "SMTP_PASS = 'VALUE'",
        "config.secret_key_base = \"VALUE\"",
    ] {
        assert!(told(text, value), "{text}");
        assert!(!told(text, &value.repeat(11)), "{text}");
    }
}

/// A secret is told where it first stands in a file, and not again where it is repeated.
#[test]
fn a_secret_is_told_once() {
    let key = "kX9mQ2vL7pR4tW8zB3nC";
    let lines = |text: &str, touched: &LineSet| {
        let found = mask(text.replace("KEY", key)).findings("a.py", touched);
        found.iter().map(|finding| finding.start_line).collect::<Vec<_>>()
    };
    let twice = "api_key = \"KEY\"\nsend()\nother_api_key = \"KEY\"\n";
    assert_eq!(lines(twice, &LineSet::all()), [1]);
    assert_eq!(lines(twice, &[3..=3].into_iter().collect()), [0; 0], "it was there");
    let explained = "# example: api_key = \"KEY\"\napi_key = \"KEY\"\n";
    assert_eq!(lines(explained, &LineSet::all()), [2], "what explains is no first time");
}

/// An option without a value, a token that is nobody's credential, and what names a secret are none.
#[test]
fn options_and_names_are_no_passwords() {
    let told = |text: &str| mask(format!("{text}\n")).any();
    for text in [
        "pg_dump --no-password db1-host2.internal",
        "ansible-playbook --ask-vault-pass deploy2prod3.yml",
        "tool --pwd /srv/App1/data2",
        "<NextToken>AAbb2233445566</NextToken>",
        "<property name=\"password\" value=\"ENC(kX9mQ2vL7p)\"/>",
        "{\"name\": \"csrf_token\", \"value\": \"a8f5f167f44f4964e6c998dee827110c\"}",
        "- name: DB_SECRET\n  value: projects/12/secrets/db2/versions/3",
        "find(\"password\", \"//input[@id='Pw12']\")",
    ] {
        assert!(!told(text), "{text}");
    }
    for text in [
        "tool --db-password kX9mQ2vL7p",
        "tool --db-pwd=kX9mQ2vL7p",
        "<accessToken>kX9mQ2vL7pR4</accessToken>",
        "<property name=\"password\" value=\"kX9mQ2vL7p\"/>",
        "- name: DB_SECRET\n  value: kX9mQ2vL7p",
        "{\"name\": \"VAULT_TOKEN\", \"value\": \"kX9mQ2vL7pR4\"}",
    ] {
        assert!(told(text), "{text}");
    }
}

/// Expressions count bytes: where one ends within a character, all of it is the secret's.
#[test]
fn secrets_end_on_characters() {
    let text = format!("curl -u deploy:x7{} https://api.example.com", "\u{20ac}".repeat(60));
    let masked = mask(text.clone()).text;
    assert_eq!(masked.len(), text.len());
    assert!(!masked.contains('\u{fffd}'), "{masked}");
}

/// Words joined by dashes name an operation, whatever the attribute that holds them is called.
#[test]
fn names_of_words_are_no_tokens() {
    assert!(!mask("<op operation_key=\"httpd-bundle1-docker-0_monitor_60000\"/>".to_owned()).any());
    assert!(mask("<op operation_key=\"kX9mQ2vL7pR4tW8zB3nCyT6\"/>".to_owned()).any());
}

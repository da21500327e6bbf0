//! The judge, as a table.

use std::collections::HashMap;

use verdict::{
    analysis::{Confidence, Finding, Severity, Side, Source, assign_fingerprints},
    workflows::review::{
        judge::{self, LeftOut, Placed},
        past::Past,
        settings::Settings,
    },
};

const TEXT: &str = "one\n  two\nthree\ntwo\nfour\nfive\n";

fn finding(rule: &str, line: u32, quote: &str) -> Finding {
    let mut finding = [Finding {
        fingerprint: String::new(),
        agent: "logic".into(),
        rule: rule.into(),
        path: "a.py".into(),
        side: Side::Right,
        start_line: line,
        end_line: line,
        severity: Severity::Medium,
        confidence: Confidence::hundredths(80),
        title: format!("{rule} happened"),
        body: String::new(),
        suggestion: Some("x".into()),
        quote: quote.into(),
        source: Source::Model,
        flow: Vec::new(),
        unless: Default::default(),
    }];
    assign_fingerprints(&mut finding);
    let [finding] = finding;
    finding
}

fn select(
    found: Vec<Finding>,
    texts: &HashMap<String, String>,
    settings: &Settings,
) -> (Vec<Finding>, LeftOut) {
    judge::select(Placed::of(found, texts), settings, &Past::default())
}

fn texts() -> HashMap<String, String> {
    HashMap::from([("a.py".into(), TEXT.into())])
}

/// P5: a finding stands on the line it quotes, or is moved to the only one near, or is dropped.
#[test]
fn findings_are_anchored_by_their_quote() {
    for (line, quote, expected) in [
        (1, "one", Some(1)),
        (2, "two", Some(2)),
        (3, "  one ", Some(1)),
        (9, "five", Some(6)),
        (3, "two", None),
        (1, "absent", None),
        (5, "", None),
        (900, "five", None),
    ] {
        let (shown, left_out) =
            select(vec![finding("r", line, quote)], &texts(), &Settings::default());
        assert_eq!(shown.first().map(|f| f.start_line), expected, "{line} {quote}");
        assert_eq!(left_out.unanchored, usize::from(expected.is_none()));
        let moved = expected.is_some_and(|e| e != line);
        assert!(!moved || shown[0].suggestion.is_none(), "a moved suggestion is not safe");
    }
    let mut other = finding("r", 1, "one");
    other.path = "unknown.py".into();
    assert!(select(vec![other], &texts(), &Settings::default()).0.is_empty());
}

/// P5: what says the same about a line is said once, by whoever says it best.
#[test]
fn findings_of_several_agents_are_merged() {
    let named = |rule: &str, title: &str, severity, line, quote: &str| Finding {
        title: title.into(),
        severity,
        ..finding(rule, line, quote)
    };
    let found = vec![
        named("a", "SQL is put together from values", Severity::Medium, 1, "one"),
        named("b", "The SQL statement is put together from values", Severity::High, 1, "one"),
        named("c", "The certificate is unchecked", Severity::Low, 1, "one"),
        named("a", "SQL is put together from values", Severity::Medium, 3, "three"),
    ];
    let (shown, left_out) = select(found, &texts(), &Settings::default());
    let shown: Vec<_> = shown.iter().map(|f| (f.rule.as_str(), f.start_line)).collect();
    assert_eq!(shown, [("b", 1), ("a", 3), ("c", 1)]);
    assert_eq!(left_out.merged, 1);
}

/// P5: rules that name one weakness of a line, or speak of one secret, are heard once, and what is to be shown
/// speaks for what is not.
#[test]
fn one_weakness_is_told_once() {
    let about = |rule: &str, cwe: u32, severity, confidence| Finding {
        title: rule.into(),
        body: format!("Bad (CWE-{cwe})."),
        severity,
        confidence: Confidence::hundredths(confidence),
        source: Source::Rule,
        ..finding(rule, 1, "one")
    };
    let found = vec![
        about("cipher", 327, Severity::High, 30),
        about("mode", 327, Severity::Medium, 70),
        about("password", 259, Severity::Low, 90),
        about("token", 798, Severity::Medium, 90),
        about("cookie", 614, Severity::Low, 90),
        about("header", 1004, Severity::Low, 80),
    ];
    let (shown, left_out) = select(found, &texts(), &Settings::default());
    let shown: Vec<_> = shown.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!(shown, ["token", "mode", "cookie", "header"]);
    assert_eq!((left_out.merged, left_out.below_threshold), (2, 0));
}

/// P1, P5: thresholds and the cap leave out the least important, and count it.
#[test]
fn thresholds_and_cap_count_what_they_leave_out() {
    let settings = Settings { max_findings: 2, min_severity: Severity::Low, ..Settings::default() };
    let with = |rule: &str, severity, hundredths, line, quote: &str| Finding {
        severity,
        confidence: Confidence::hundredths(hundredths),
        ..finding(rule, line, quote)
    };
    let found = vec![
        with("info", Severity::Info, 99, 1, "one"),
        with("unsure", Severity::High, 40, 1, "one"),
        with("low", Severity::Low, 99, 3, "three"),
        with("medium", Severity::Medium, 90, 5, "four"),
        with("high", Severity::High, 50, 6, "five"),
    ];
    let (shown, left_out) = select(found, &texts(), &settings);
    assert_eq!(shown.iter().map(|f| f.rule.as_str()).collect::<Vec<_>>(), ["high", "medium"]);
    assert_eq!((left_out.below_threshold, left_out.over_cap), (2, 1));
}

/// Fingerprints survive moving lines and tell equal lines apart.
#[test]
fn fingerprints_are_stable_and_distinct() {
    let mut before =
        [finding("r", 1, "  x = 1"), finding("r", 2, "x  =  1"), finding("q", 1, "x = 1")];
    let mut after =
        [finding("r", 41, "x = 1"), finding("r", 77, "x = 1"), finding("q", 50, "x = 1")];
    assign_fingerprints(&mut before);
    assign_fingerprints(&mut after);
    for (b, a) in before.iter().zip(&after) {
        assert_eq!(b.fingerprint, a.fingerprint);
    }
    assert_ne!(before[0].fingerprint, before[1].fingerprint);
    assert_ne!(before[0].fingerprint, before[2].fingerprint);
}

/// Confidence is written with two decimals and refuses what is no share.
#[test]
fn confidence_round_trips() {
    for hundredths in 0..=100 {
        let confidence = Confidence::hundredths(hundredths);
        let text = serde_json::to_string(&confidence).unwrap();
        assert_eq!(serde_json::from_str::<Confidence>(&text).unwrap(), confidence);
    }
    assert!(serde_json::from_str::<Confidence>("1.5").is_err());
}

/// P5: a rule says the same of many whole files once, and which they are.
#[test]
fn whole_files_are_gathered() {
    let about = |n: usize, rule: &str| {
        let mut finding = finding(rule, 0, "");
        finding.path = format!("{n}.md");
        finding.fingerprint = format!("{rule} {n}");
        finding
    };
    let shown = |count: usize| {
        let mut found: Vec<Finding> = (0..count).map(|n| about(n, "mode")).collect();
        found.push(about(7, "other"));
        select(found, &texts(), &Settings::default())
    };
    assert_eq!(shown(3).0.len(), 4, "as many get a finding each");
    let (found, left_out) = shown(6);
    let places: Vec<(&str, &str)> =
        found.iter().map(|f| (f.rule.as_str(), f.path.as_str())).collect();
    assert_eq!(places, [("mode", "0.md"), ("other", "7.md")]);
    assert_eq!(left_out.merged, 5);
    let told = "The same is true of 5 other files: `1.md`, `2.md`, `3.md` and 2 more.";
    assert!(found[0].body.ends_with(told), "{}", found[0].body);
    let modes = (0..2).map(|n| about(n, "unexpected-executable")).collect();
    let (found, left_out) = select(modes, &texts(), &Settings::default());
    assert_eq!((found.len(), left_out.merged), (1, 1));
    let told = "The same is true of 1 other file: `1.md`.";
    assert!(found[0].body.ends_with(told), "{}", found[0].body);
}

/// P5: tests that are switched off together are told of once, with where; each line that has to be
/// mended keeps its finding.
#[test]
fn lines_of_one_decision_are_gathered() {
    let shown = |rule: &str, count: usize| {
        let about = |n: usize| Finding {
            path: format!("{n}.rs"),
            fingerprint: format!("{n}"),
            ..finding(rule, 1, "one")
        };
        let found: Vec<Finding> = (0..count).map(about).collect();
        let texts = (0..count).map(|n| (format!("{n}.rs"), "one\n".to_owned())).collect();
        select(found, &texts, &Settings::default())
    };
    assert_eq!(shown("test-switched-off", 3).0.len(), 3);
    assert_eq!(shown("sql-injection", 8).0.len(), 8);
    let (found, left_out) = shown("test-switched-off", 8);
    assert_eq!((found.len(), left_out.merged), (1, 7));
    let told = "of 7 other places: `1.rs:1`, `2.rs:1`, `3.rs:1` and 4 more.";
    assert!(found[0].body.ends_with(told), "{}", found[0].body);
}

/// P5: what a rule says of more than five places in one file (of style, in one change) is told of once; what
/// concerns security, each time.
#[test]
fn habits_of_a_file_are_gathered() {
    let shown = |rule: &str, agent: &str, count: u32| {
        let about = |line: u32| Finding {
            agent: agent.to_owned(),
            fingerprint: line.to_string(),
            ..finding(rule, line, "one")
        };
        let found: Vec<Finding> = (1..=count).map(about).collect();
        let texts = HashMap::from([("a.py".to_owned(), "one\n".repeat(20))]);
        select(found, &texts, &Settings::default())
    };
    assert_eq!(shown("py-is-literal", "logic", 5).0.len(), 5);
    assert_eq!(shown("py-weak-hash", "security", 12).0.len(), 12);
    assert_eq!(shown("of-this-repository", "logic", 12).0.len(), 12);
    let (found, left_out) = shown("py-is-literal", "logic", 6);
    assert_eq!((found.len(), left_out.merged), (1, 5));
    let told = "of 5 other places: `a.py:2`, `a.py:3`, `a.py:4` and 2 more.";
    assert!(found[0].body.ends_with(told), "{}", found[0].body);
    let of_six_files = |agent: &str| {
        let about = |n: u32| Finding {
            agent: agent.to_owned(),
            path: format!("{n}.py"),
            fingerprint: n.to_string(),
            ..finding("py-compare-none", 1, "one")
        };
        let texts = (1..=6).map(|n| (format!("{n}.py"), "one\n".to_owned())).collect();
        select((1..=6).map(about).collect(), &texts, &Settings::default()).0.len()
    };
    assert_eq!((of_six_files("style"), of_six_files("logic")), (1, 6));
}

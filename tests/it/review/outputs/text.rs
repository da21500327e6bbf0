//! Text: findings over several lines, fixes as differences, what is missing.

use verdict::{
    analysis::Side,
    workflows::review::{
        Limits, ReviewState,
        judge::LeftOut,
        report::{Code, ReportContext, text},
    },
};

use super::fixture;
use crate::review::support::deps;

/// A review whose first finding is about lines 4 to 13 and replaces one of them.
async fn long() -> (ReviewState, ReportContext) {
    let repo = fixture();
    let mut state = repo.review("HEAD^!").await;
    let finding = &mut state.judgement.as_mut().unwrap().findings[0];
    (finding.start_line, finding.end_line) = (4, 13);
    finding.quote = "def find(cur, name):".into();
    let file = std::fs::read_to_string(repo.path().join("app/db.py")).unwrap();
    let lines: Vec<&str> = file.lines().skip(3).collect();
    finding.suggestion = Some(lines.join("\n").replace("name == None", "name is None"));
    let code = Code::read(&deps(Limits::default()).forges, &state).await;
    (state, ReportContext { code, ..ReportContext::default() })
}

/// Some of many lines are shown, each marked; of the fix only what differs.
#[tokio::test]
async fn findings_over_many_lines() {
    let (state, about) = long().await;
    let shown = text(&state, &about, false);
    for part in [
        "  app/db.py:4-13  security/",
        "\n    4 ┃ def find(cur, name):\n    5 ┃     if name == None:\n",
        "\n    9 ┃     finally:\n      … 4 more lines\n",
        "\n      -     if name == None:\n      +     if name is None:\n\n",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(!shown.contains("      + def find"), "{shown}");
}

/// Without the repository there is still the line that a finding quotes, and its fix.
#[tokio::test]
async fn a_review_outlives_its_repository() {
    let (state, _) = long().await;
    let code = Code::read(&deps(Limits::default()).forges, &state).await;
    assert_eq!(code, Code::default(), "the repository is gone");
    let shown = text(&state, &ReportContext { code, ..ReportContext::default() }, false);
    assert!(shown.contains("    4 │ def find(cur, name):\n      │ ^^^^"), "{shown}");
    assert!(
        shown.contains("      + def find(cur, name):\n      +     if name is None:\n"),
        "{shown}"
    );
}

/// What is not there is said, and how to see it; failures come before what was left on purpose.
#[tokio::test]
async fn what_is_not_shown_is_told() {
    let (mut state, about) = long().await;
    let judgement = state.judgement.as_mut().unwrap();
    judgement.left_out = LeftOut { over_cap: 3, ..LeftOut::default() };
    judgement.findings[0].side = Side::Left;
    let report = state.agents.values_mut().next().unwrap();
    report.unread.insert("app/db.py".into(), "its content is not in the repository".into());
    let shown = text(&state, &about, false);
    for part in [
        "  app/db.py:4-13 of the base  ",
        "\nleft out: 3 over the cap\nand 3 more: raise `max_findings` in the base side's .verdict.toml",
        "coverage: 0 of 3 changed files reviewed, 0 lines\n  \
         failed   its content is not in the repository  app/db.py\n  \
         skipped  binary                                logo.png\n",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

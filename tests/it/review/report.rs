//! Reports of whole reviews: text for people, JSON for programs.

use std::collections::BTreeMap;

use verdict::workflows::review::report::{Format, ReportContext, json, text};

use super::support::{Repo, fixture};

fn about() -> ReportContext {
    let timings = [("total", 41.6), ("ingest", 30.2), ("judge", 4.0)];
    let timings: BTreeMap<String, f64> = timings.map(|(k, v)| (k.to_owned(), v)).into();
    ReportContext {
        run: "0123456789abcdef0123456789abcdef".into(),
        timings,
        ..ReportContext::default()
    }
}

#[tokio::test]
async fn text_for_people() {
    let state = fixture().review("HEAD^!").await;
    insta::assert_snapshot!(text(&state, &about(), false), @r###"
    high SQL injection: a value from outside becomes part of a statement
      app/db.py:8  security/sql-injection · confidence 0.60
        8 │     cur.execute(f"SELECT * FROM t WHERE name = '{name}'")
          │     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      A value that holds a quote, or a word of SQL, changes what the statement does. (CWE-89)
      Leave placeholders in the statement and pass the values beside it.
      The way of the value: line 4, parameter `name` → line 8, reaches `cur.execute`.

    medium Debugger breakpoint left in
      app/db.py:9  pattern/py-debugger · confidence 0.95
        9 │     breakpoint()
          │     ^^^^^^^^^^^^
      The program stops here and waits for somebody at a terminal. (CWE-489)
      Remove it.

    medium Mutable default argument: all calls share it
      app/db.py:4  logic/py-mutable-default · confidence 0.85
        4 │ def find(cur, name, seen=[]):
          │ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      A default is made once, when the function is defined. What one call adds to this list, dict or set, the next call finds there.
      Use `None` as the default and make the value inside the function.

    low None is compared by equality
      app/db.py:6  style/py-compare-none · confidence 0.90
        6 │     if name == None:
          │     ^^^^^^^^^^^^^^^^
      A class may define what `==` means, so this can be true of something that is not None.
      Use `is None`.
          -     if name == None:
          +     if name is None:

    verdict: changes_requested · 4 findings
    coverage: 1 of 3 changed files reviewed, 6 lines
      skipped  binary   logo.png
      skipped  deleted  old.txt
    reviewed: 8faa846930..fd3473d356
    time: 42 ms · ingest 30 · judge 4
    run: 0123456789abcdef0123456789abcdef
"###);
}

#[tokio::test]
async fn json_for_programs() {
    let state = fixture().review("HEAD^!").await;
    insta::assert_snapshot!(json(&state, &about()), @r###"
    {
      "run": "0123456789abcdef0123456789abcdef",
      "base": "8faa846930e2f4b947054f2fa44cc4c3247fe772",
      "head": "fd3473d356e13c42d0aee99d55f4b42cebc37b2b",
      "verdict": "changes_requested",
      "findings": [
        {
          "path": "app/db.py",
          "side": "RIGHT",
          "start_line": 8,
          "end_line": 8,
          "severity": "high",
          "confidence": 0.6,
          "agent": "security",
          "rule": "sql-injection",
          "title": "SQL injection: a value from outside becomes part of a statement",
          "body": "A value that holds a quote, or a word of SQL, changes what the statement does. (CWE-89)\n\nLeave placeholders in the statement and pass the values beside it.\n\nThe way of the value: line 4, parameter `name` → line 8, reaches `cur.execute`.",
          "suggestion": null,
          "fingerprint": "9e573772c1c03aac",
          "source": "flow",
          "quote": "    cur.execute(f\"SELECT * FROM t WHERE name = '{name}'\")",
          "flow": [
            {
              "path": "app/db.py",
              "line": 4,
              "note": "parameter `name`"
            },
            {
              "path": "app/db.py",
              "line": 8,
              "note": "reaches `cur.execute`"
            }
          ]
        },
        {
          "path": "app/db.py",
          "side": "RIGHT",
          "start_line": 9,
          "end_line": 9,
          "severity": "medium",
          "confidence": 0.95,
          "agent": "pattern",
          "rule": "py-debugger",
          "title": "Debugger breakpoint left in",
          "body": "The program stops here and waits for somebody at a terminal. (CWE-489)\n\nRemove it.",
          "suggestion": null,
          "fingerprint": "46462c19021b1238",
          "source": "rule",
          "quote": "    breakpoint()"
        },
        {
          "path": "app/db.py",
          "side": "RIGHT",
          "start_line": 4,
          "end_line": 4,
          "severity": "medium",
          "confidence": 0.85,
          "agent": "logic",
          "rule": "py-mutable-default",
          "title": "Mutable default argument: all calls share it",
          "body": "A default is made once, when the function is defined. What one call adds to this list, dict or set, the next call finds there.\n\nUse `None` as the default and make the value inside the function.",
          "suggestion": null,
          "fingerprint": "f1062f954497c036",
          "source": "rule",
          "quote": "def find(cur, name, seen=[]):"
        },
        {
          "path": "app/db.py",
          "side": "RIGHT",
          "start_line": 6,
          "end_line": 6,
          "severity": "low",
          "confidence": 0.9,
          "agent": "style",
          "rule": "py-compare-none",
          "title": "None is compared by equality",
          "body": "A class may define what `==` means, so this can be true of something that is not None.\n\nUse `is None`.",
          "suggestion": "    if name is None:",
          "fingerprint": "4033af0158202f2b",
          "source": "rule",
          "quote": "    if name == None:"
        }
      ],
      "left_out": {
        "off": 0,
        "suppressed": 0,
        "merged": 0,
        "unanchored": 0,
        "below_threshold": 0,
        "over_cap": 0
      },
      "coverage": [
        {
          "path": "app/db.py",
          "status": "done",
          "lines": 6,
          "agents": {
            "logic": "done",
            "pattern": "done",
            "security": "done",
            "style": "done"
          }
        },
        {
          "path": "logo.png",
          "status": "skipped",
          "reason": "binary",
          "lines": 0,
          "agents": {
            "logic": "skipped",
            "pattern": "skipped",
            "security": "skipped",
            "style": "skipped"
          }
        },
        {
          "path": "old.txt",
          "status": "skipped",
          "reason": "deleted",
          "lines": 0,
          "agents": {
            "logic": "skipped",
            "pattern": "skipped",
            "security": "skipped",
            "style": "skipped"
          }
        }
      ],
      "timings": {
        "ingest": 30.2,
        "judge": 4.0,
        "total": 41.6
      }
    }
"###);
}

/// The same change gives the same review, and the colours change no letter of it.
#[tokio::test]
async fn reviews_are_reproducible() {
    let repo = fixture();
    let (one, two) = (repo.review("HEAD^!").await, repo.review("HEAD^!").await);
    assert_eq!(one, two);
    let coloured = text(&one, &about(), true);
    let plain = anstream::adapter::strip_str(&coloured).to_string();
    assert_eq!(plain, text(&one, &about(), false));
    assert_ne!(plain, coloured);
}
/// Odd names and texts reach a terminal as plain text.
#[tokio::test]
async fn nothing_of_a_change_moves_the_cursor() {
    let repo = Repo::new();
    repo.write("a", "").commit("base");
    repo.write("x\u{1b}[2J.py", "breakpoint() # \u{1b}[31m\u{202e}\n").commit("change");
    let state = repo.review("HEAD^!").await;
    let shown = text(&state, &ReportContext::default(), false);
    assert!(
        shown.contains("\\u{1b}") && !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
        "{shown}"
    );
}

/// A format that is none is told with those there are.
#[test]
fn unknown_formats_are_named() {
    let known = [Format::Text, Format::Json, Format::Markdown, Format::Sarif, Format::Github];
    for (name, format) in Format::NAMES.into_iter().zip(known) {
        assert_eq!(name.parse(), Ok(format));
    }
    let error = "yaml".parse::<Format>().unwrap_err().to_string();
    assert_eq!(error, "`yaml` is not a format; use text, json, markdown, sarif, github, gitlab");
}

//! Whole reviews of fixture repositories.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::Arc,
};

use verdict::{
    base::{Clock, FaultKind},
    checkpoint::Memory,
    forge::{Forge, Locator, Selection, Target, local::LocalGit},
    graph::testing::Checks,
    workflows::{
        Admission, Event, Workflow,
        review::{
            Limits, Review, ReviewDeps, ReviewStart, agents, judge,
            report::{Checked, Format, ReportContext, coverage, json, text},
        },
    },
};

use super::support::{Repo, deps, found, git_in, review};

/// A small change with something for each agent.
fn fixture() -> Repo {
    let repo = Repo::new();
    repo.write("app/db.py", "import sqlite3\n\n\ndef find(cur, name):\n    return cur\n");
    repo.write("old.txt", "x\n").commit("base");
    repo.write(
        "app/db.py",
        "import sqlite3\n\n\ndef find(cur, name, seen=[]):\n    seen.append(name)\n    if name == None:\n        return\n    cur.execute(f\"SELECT * FROM t WHERE name = '{name}'\")\n    breakpoint()\n    return cur\n",
    );
    repo.write("logo.png", b"\x89PNG\0").remove("old.txt").commit("change");
    repo
}

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

/// R6: only lines the range touches are reported.
#[tokio::test]
async fn old_sins_are_not_reported() {
    let repo = Repo::new();
    repo.write("a.py", "breakpoint()\n\n\nx = 1\n").commit("base");
    repo.write("a.py", "breakpoint()\n\n\nx = 2\n").commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), [""; 0]);
    assert_eq!(state.judgement.unwrap().verdict.word(), "clean");
}

/// P4: every changed path is accounted for, with the reason.
#[tokio::test]
async fn coverage_says_why() {
    let repo = Repo::new();
    repo.write("gone.py", "x\n")
        .write("moved.py", "1\n2\n3\n")
        .write("cut.py", "1\n2\n")
        .write("cut.txt", "1\n2\n")
        .commit("base");
    repo.remove("gone.py").remove("moved.py").write("here.py", "1\n2\n3\n").write("cut.py", "1\n");
    repo.write("cut.txt", "1\n");
    repo.write("b.bin", b"\0")
        .write("node_modules/a.js", "debugger;\n")
        .write("deps/lib/a.js", "debugger;\n")
        .write("api/deps/fine.js", "f();\n")
        .write("a.min.js", "debugger;\n")
        .write("a-min.js", "debugger;\n")
        .write("maker-1.2.3.js", "debugger;\n")
        .write("tools/ruby/gems/maker-1.2.3/a.js", "debugger;\n");
    let notice = "/*!\n * Lightbox\n * https://lightbox.example\n * Licence: MIT\n */\n";
    repo.write("public/light.js", format!("{notice}debugger;\n"));
    repo.write("src/light.js", format!("{notice}f();\n"));
    repo.write("packed.js", format!("// a\ndebugger;{}\n", "f();".repeat(200)));
    repo.write("long.js", format!("debugger;{}\n", " ".repeat(30_000)));
    repo.write("gen.go", "// Code generated by x. DO NOT EDIT.\npackage a\n");
    repo.write("big.py", "x = 1\n".repeat(300_000)).write("latin.py", b"# caf\xe9\nbreakpoint()\n");
    repo.write("fine.py", "x = 1\n").commit("change");
    let state = repo.review("HEAD^!").await;
    let rows: Vec<String> = coverage(&state)
        .into_iter()
        .map(|r| format!("{} {:?} {}", r.path, r.status, r.reason.unwrap_or_default()))
        .collect();
    assert_eq!(
        rows,
        [
            "a-min.js Skipped generated",
            "a.min.js Skipped generated",
            "api/deps/fine.js Done ",
            "b.bin Skipped binary",
            "big.py Skipped too large (1800000 bytes, limit 1048576)",
            "cut.py Done ",
            "cut.txt Skipped only removals",
            "deps/lib/a.js Skipped vendored",
            "fine.py Done ",
            "gen.go Skipped generated (it says so)",
            "gone.py Skipped deleted",
            "here.py Skipped moved without a change",
            "latin.py Done not valid UTF-8; the invalid bytes were replaced",
            "long.js Skipped minified (a line is too long to be read)",
            "maker-1.2.3.js Skipped vendored",
            "node_modules/a.js Skipped vendored",
            "packed.js Skipped minified (most of it is on long lines)",
            "public/light.js Skipped vendored (a library's notice is at its top)",
            "src/light.js Done ",
            "tools/ruby/gems/maker-1.2.3/a.js Skipped vendored",
        ]
    );
    assert_eq!(found(&state), ["py-debugger latin.py:2-2"]);
}

/// A new file that is executable like those around it, or that was so elsewhere, is no slip.
#[tokio::test]
async fn modes_that_were_there_before_are_no_news() {
    let repo = Repo::new();
    let executable = |path: &str, text: String| {
        repo.write(path, text);
        fs::set_permissions(repo.path().join(path), Permissions::from_mode(0o755)).unwrap();
    };
    for path in ["icons/a.svg", "old/moved.svg"] {
        executable(path, format!("<svg id=\"{path}\"/>\n"));
    }
    repo.commit("base");
    repo.write("icons/a.svg", "<svg id=\"changed\"/>\n").remove("old/moved.svg");
    for path in ["icons/b.svg", "new/moved.svg", "own/c.svg"] {
        executable(path, format!("<svg>\n<g id=\"{path}\"/>\n</svg>\n"));
    }
    repo.commit("change");
    assert_eq!(found(&repo.review("HEAD^!").await), ["unexpected-executable own/c.svg:0-0"]);
}

/// P1: settings count from the base side; what a change says about its own review does not.
#[tokio::test]
async fn settings_are_those_of_the_base() {
    let repo = Repo::new();
    repo.write(".verdict.toml", "[review]\nagents = [\"style\", \"pattern\"]\nignore = [\"legacy/\"]\nmin_severity = \"info\"\n");
    repo.commit("base");
    repo.write(".verdict.toml", "[review]\nagents = []\n");
    repo.write("legacy/a.py", "breakpoint()\n").write("a.py", "breakpoint()\n# TODO\nx is 'a'\n");
    repo.commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["py-debugger a.py:1-1", "todo-without-reference a.py:2-2"]);
    let rows = coverage(&state);
    let row = rows.iter().find(|r| r.path == "legacy/a.py").unwrap();
    assert_eq!(row.reason.as_deref(), Some("ignored by the settings"));
    let row = rows.iter().find(|r| r.path == "a.py").unwrap();
    assert_eq!((row.agents["style"], row.agents["logic"]), (Checked::Done, Checked::Skipped));
}

/// P1: settings that cannot be used are reported with line and reason, and the defaults hold.
#[tokio::test]
async fn bad_settings_are_reported() {
    for (settings, reason) in [
        ("[review]\nagents = [\"nobody\"]\n", "line 2: unknown agent `nobody`"),
        ("[review]\nagent = []\n", "line 2: unknown field `agent`"),
        ("[review\n", "line 1: "),
        ("[review]\nignore = [\"a{\"]\n", "line 2: ignore: `a{`"),
    ] {
        let repo = Repo::new();
        repo.write(".verdict.toml", settings).commit("base");
        repo.write("a.py", "breakpoint()\n").commit("change");
        let state = repo.review("HEAD^!").await;
        assert!(found(&state).contains(&"py-debugger a.py:1-1".to_owned()), "{settings}");
        let shown = verdict::workflows::review::report::findings(&state);
        let complaint = shown.iter().find(|f| f.rule == "bad-settings").unwrap();
        assert!(complaint.body.contains(reason), "{}", complaint.body);
    }
}

/// Content that cannot be had makes the review incomplete, never clean.
#[tokio::test]
async fn missing_content_makes_it_incomplete() {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").commit("base");
    repo.write("a.py", "x = 2\n").write("b.py", "breakpoint()\n").commit("change");
    let range = repo.resolve("HEAD^!").await.unwrap();
    let deps = deps(Limits::default());
    let blob = repo.git(["rev-parse", "HEAD:a.py"]);
    // Gone between the listing and the reading, as after a collection of garbage.
    let before = review(&deps, range.clone()).await;
    assert_eq!(before.judgement.as_ref().unwrap().verdict.word(), "comments");
    let mut change = before.ingested.unwrap();
    std::fs::remove_file(repo.path().join(format!(".git/objects/{}/{}", &blob[..2], &blob[2..])))
        .unwrap();
    let elsewhere = super::support::deps(Limits::default());
    let agent = agents::AGENTS[3];
    let report = agents::run(&elsewhere, &range, agent, &change, 0).await.unwrap();
    assert_eq!(report.unread["a.py"], "its content is not in the repository");
    assert_eq!(report.findings.len(), 1);
    change.findings.clear();
    let heads = [("b.py".to_owned(), "breakpoint()\n".to_owned())].into();
    let placed = judge::Placed::of(report.findings.clone(), &heads);
    let judged =
        judge::judge(&change, [&report], placed, &verdict::workflows::review::Past::default());
    assert_eq!(judged.verdict.word(), "incomplete");
    assert_eq!(judged.findings.len(), 1);
}

/// A partial clone is reviewed as far as it goes, and nothing is fetched behind one's back.
#[tokio::test]
async fn a_partial_clone_is_reviewed_as_far_as_it_goes() {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").write("odd *[x]", "1\n").commit("base");
    repo.write("a.py", "x = 2\n").write("b.py", "breakpoint()\n").write("odd *[x]", "2\n");
    repo.commit("change");
    for path in ["a.py", "odd *[x]"] {
        let blob = repo.git(["rev-parse", &format!("HEAD~1:{path}")]);
        std::fs::remove_file(repo.path().join(format!(
            ".git/objects/{}/{}",
            &blob[..2],
            &blob[2..]
        )))
        .unwrap();
    }
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["py-debugger b.py:1-1"]);
    assert_eq!(state.judgement.as_ref().unwrap().verdict.word(), "incomplete");
    let rows: Vec<_> = coverage(&state).into_iter().map(|r| (r.path, r.status)).collect();
    let expected =
        [("a.py", Checked::Failed), ("b.py", Checked::Done), ("odd *[x]", Checked::Failed)];
    assert_eq!(rows, expected.map(|(p, l)| (p.to_owned(), l)));
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

fn target() -> ReviewStart {
    FIXED.get().cloned().unwrap().into()
}

static FIXED: std::sync::OnceLock<Target> = std::sync::OnceLock::new();

/// E6, E7, R3: the workflow survives a crash after every record with the same final state, every
/// node may run twice, and every node may fail.
#[tokio::test]
async fn the_workflow_survives_everything() {
    let repo = fixture();
    FIXED.set(repo.resolve("HEAD^!").await.unwrap()).unwrap();
    let checks = Checks {
        graph: Review::graph().unwrap(),
        deps: Arc::new(deps(Limits::default())),
        store: Arc::new(Memory::new(Clock::system())),
        input: target,
    };
    assert!(checks.survives_every_crash().await.unwrap() >= 10);
    assert_eq!(checks.every_node_may_run_twice().await.unwrap(), 10);
    assert_eq!(checks.every_node_may_fail().await.unwrap(), 10);
}

/// What a job's input comes to: ends that no longer move, and a key made of them.
#[tokio::test]
async fn jobs_are_admitted_by_what_they_name() {
    let repo = fixture();
    let admit = async |deps: &ReviewDeps, head: &str, more: &str| {
        let repo = serde_json::to_string(&repo.path()).unwrap();
        let input = format!(r#"{{"repo":{repo},"base":"HEAD~1","head":"{head}"{more}}}"#);
        let input = serde_json::value::RawValue::from_string(input).unwrap().into();
        Review::admit(deps, &Event::Job { input, key: "k".into(), attended: true }).await
    };
    let deps = deps(Limits::default());
    let Admission::Start(start) = admit(&deps, "main", "").await.unwrap() else { panic!() };
    assert_eq!(start.input.target, repo.resolve("HEAD^!").await.unwrap());
    let Admission::Start(same) = admit(&deps, "HEAD", "").await.unwrap() else { panic!() };
    assert_eq!(same.key, start.key);
    let fresh = admit(&deps, "HEAD", r#","fresh":"1""#).await.unwrap();
    let Admission::Start(fresh) = fresh else { panic!() };
    assert_ne!(fresh.key, start.key);

    let fault = admit(&deps, "nope", "").await.unwrap_err();
    assert!(fault.message.contains("unknown revision `nope`"), "{fault}");
    let fault = admit(&deps, "HEAD", r#","bass":1"#).await.unwrap_err();
    assert!(fault.message.contains("bass"), "{fault}");
    let allowing = |folder| {
        let forge = LocalGit::default().allowing(Some(vec![folder]));
        ReviewDeps::new(Arc::new(forge), Limits::default()).unwrap()
    };
    let elsewhere = allowing("/no/such".into());
    let fault = admit(&elsewhere, "HEAD", "").await.unwrap_err();
    assert!(fault.message.contains("forge.local.allow"), "{fault}");
    let here = allowing(repo.path());
    assert!(admit(&here, "HEAD", "").await.is_ok());
}

/// N5: what counts is where git's own folders are, however a repository leads there.
#[tokio::test]
async fn a_repository_in_an_allowed_folder_reads_nothing_outside_of_it() {
    let outside = fixture();
    let (theirs, allowed) = (outside.path().join(".git"), tempfile::tempdir().unwrap());
    let allowed = allowed.path().canonicalize().unwrap();
    let place = |name: &str| allowed.join(name);
    let forge = LocalGit::default().allowing(Some(vec![allowed.clone()]));
    let resolve = async |name: &str| {
        let place = place(name).display().to_string();
        let selection = Selection::Range("HEAD~1..HEAD".into());
        Forge::resolve(&forge, &Locator { forge: "local".into(), place, selection }).await
    };
    let git = |folder: &Path, args: &[&str]| {
        let done = git_in(folder, args.iter().copied());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(
        &allowed,
        &["clone", "-q", "--no-hardlinks", &outside.path().display().to_string(), "whole"],
    );
    let target = resolve("whole").await.unwrap().target;

    fs::create_dir(place("file")).unwrap();
    fs::write(place("file/.git"), format!("gitdir: {}\n", theirs.display())).unwrap();
    fs::create_dir(place("link")).unwrap();
    symlink(&theirs, place("link/.git")).unwrap();
    for name in ["common", "alternate"] {
        git(&allowed, &["clone", "-q", "--no-hardlinks", "whole", name]);
    }
    fs::write(place("common/.git/commondir"), format!("{}\n", theirs.display())).unwrap();
    let objects = format!("{}\n", theirs.join("objects").display());
    fs::write(place("alternate/.git/objects/info/alternates"), &objects).unwrap();
    for name in ["file", "link", "common", "alternate"] {
        let fault = resolve(name).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Permanent, "{name}: {fault}");
        assert!(fault.message.contains("forge.local.allow"), "{name}: {fault}");
    }
    // After it was admitted.
    fs::write(place("whole/.git/objects/info/alternates"), objects).unwrap();
    let fault = Forge::open(&forge, &target).await.err().unwrap();
    assert!(fault.message.contains("forge.local.allow"), "{fault}");
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

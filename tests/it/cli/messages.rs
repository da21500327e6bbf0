//! What people are told: all that is wrong at once, what they meant, and nothing that does not fit the
//! place it appears in.

use serde_json::Value;
use verdict::{config::known_keys, workflows::review::settings::SECTIONS_OF_VERDICT};

use crate::{
    review::support::Repo,
    support::{Done, Machine},
};

fn reviewed(machine: &Machine, repo: &Repo) -> Done {
    let path = repo.path().display().to_string();
    machine.run(&["review", "HEAD^!", "--repo", &path, "--format", "json"])
}

/// Unknown keys, values that do not fit and values that cannot work, in the file and in variables.
#[test]
fn all_bad_settings_are_named_at_once() {
    let machine = Machine::new()
        .with_variable("VERDICT__SERVER__LISTN", "127.0.0.1:1")
        .set("log.format", "xml");
    machine.text(
        "verdict.toml",
        "[worker]\nconcurency = 3\nattempts = 0\nbackoff = 3\n[review]\nmin_severity = \"low\"\n",
    );
    let done = machine.run(&["config", "check"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
    let said = done.stderr.replace(&format!("{}/", machine.folder().display()), "");
    insta::assert_snapshot!(said, @r"
    verdict: 6 settings are wrong
      unknown setting `review` in verdict.toml; what a repository says about its reviews belongs in its `.verdict.toml`
      unknown setting `worker.concurency` in verdict.toml; did you mean `worker.concurrency`?
      bad value for `log.format` in VERDICT__LOG__FORMAT: expected `text` or `json`, found `xml`
      unknown setting `server.listn` in VERDICT__SERVER__LISTN; did you mean `server.listen`?
      bad value for `worker.backoff` in verdict.toml: expected a list, found signed int `3`
      bad value for `worker.attempts` in verdict.toml: expected a whole number of at least 1
    ");
}

/// The sections of either file are known to the other.
#[test]
fn sections_of_the_wrong_file_lead_to_the_right_one() {
    let sections: std::collections::BTreeSet<String> =
        known_keys().iter().map(|key| key.split('.').next().unwrap().to_owned()).collect();
    assert!(sections.iter().eq(SECTIONS_OF_VERDICT), "{sections:?}");

    let machine = Machine::new().with_variable("VERDICT__TRIGGERS__DRAFTS", "true");
    let done = machine.run(&["config", "check"]);
    assert_eq!(done.code, Some(2));
    assert_eq!(
        done.stderr,
        "verdict: unknown setting `triggers` in VERDICT__TRIGGERS__DRAFTS; what a repository says about \
         its reviews belongs in its `.verdict.toml`\n"
    );
}

/// A repository's settings: one finding with each problem and its line; the exit code is that of a
/// review.
#[test]
fn all_problems_of_a_repositorys_settings_are_reported() {
    let (machine, repo) = (Machine::new(), Repo::new());
    let settings = "[review]\nagents = [\"stile\"]\nmax_finding = 3\nmin_severity = \"hihg\"\n\
        [review.rules]\npy-debuger = \"off\"\n[worker]\nlease = \"1s\"\n";
    repo.write(".verdict.toml", settings).commit("base");
    repo.write("a.py", "breakpoint()\n").commit("change");
    let body = || -> String {
        let report = reviewed(&machine, &repo).json();
        let findings = report["findings"].as_array().unwrap().clone();
        let of = |rule: &str| findings.iter().filter(|f| f["rule"] == rule).count();
        assert_eq!(of("py-debugger"), 1, "the defaults hold");
        assert_eq!(of("bad-settings"), 1);
        let bad = findings.iter().find(|finding| finding["rule"] == "bad-settings").unwrap();
        bad["body"].as_str().unwrap().to_owned()
    };
    let all = body();
    let rows: Vec<&str> = all.lines().filter(|line| line.starts_with("- ")).collect();
    for (at, (line, words, near)) in [
        (2, "unknown agent `stile`", "did you mean `style`?"),
        (3, "unknown field `max_finding`", "did you mean `max_findings`?"),
        (4, "unknown variant `hihg`", "did you mean `high`?"),
        (7, "`[worker]` is a section of verdict's own settings", "`verdict.toml`"),
    ]
    .into_iter()
    .enumerate()
    {
        let begin = format!("- line {line}: {words}");
        assert!(rows[at].starts_with(&begin) && rows[at].contains(near), "{begin}: {all}");
    }
    assert_eq!(rows.len(), 4, "{all}");

    // A rule that is not there leaves the rest of the settings as they are.
    repo.write(".verdict.toml", "[review.rules]\npy-debuger = \"off\"\n").commit("base");
    repo.write("b.py", "breakpoint()\n").commit("change");
    assert!(
        body().starts_with(
            "line 2: rules: there is no rule `py-debuger`; did you mean `py-debugger`?"
        )
    );
}

/// Whoever stands at a terminal may name another folder; whoever sends a job has no `--repo`.
#[test]
fn a_hint_for_the_command_line_stays_there() {
    let machine = Machine::new();
    let done = machine.run(&["review"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.ends_with("is not a git repository; name one with --repo\n"), "{done:?}");
    let job = machine.text(
        "job.json",
        r#"{"workflow":"review","input":{"repo":"/nowhere","base":"a","head":"b"}}"#,
    );
    let done = machine.run(&["enqueue", &job]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("is not a git repository; --force sends it anyway"), "{done:?}");
}

/// The words that people search for, in the titles of what they are about; and no advice about an
/// argument that the call does not have.
#[test]
fn titles_use_the_words_of_the_field() {
    let machine = Machine::new();
    let rules = machine.run(&["rules", "list", "--format", "json"]).json();
    let rules = rules.as_array().unwrap();
    for (weakness, words) in [
        (22, "Path traversal"),
        (78, "injection"),
        (79, "Cross-site scripting"),
        (89, "SQL injection"),
        (95, "Code injection"),
        (193, "Off by one"),
        (502, "Unsafe deserialization"),
        (601, "Open redirect"),
        (611, "XML external entities"),
        (772, "Resource leak"),
        (918, "Server-side request forgery"),
    ] {
        let mut of = rules.iter().filter(|rule| rule["cwe"] == weakness).peekable();
        assert!(of.peek().is_some(), "CWE-{weakness}");
        for rule in of {
            let title = rule["title"].as_str().unwrap();
            // A setting of a workflow is no call.
            assert!(title.contains(words) || rule["id"] == "gha-unsafe-expression", "{rule}");
        }
    }
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").commit("base");
    repo.write("a.py", "import os\n\ndef f(request):\n    os.system('ls ' + request.GET['d'])\n");
    repo.commit("change");
    let report = reviewed(&machine, &repo).json();
    let of = |finding: &&Value| finding["rule"] == "shell-injection";
    let finding = report["findings"].as_array().unwrap().iter().find(of).unwrap();
    assert!(finding["title"].as_str().unwrap().starts_with("Command injection: "), "{finding}");
    assert!(!finding["body"].as_str().unwrap().contains("shell=True"), "{finding}");
}

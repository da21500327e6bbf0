//! P14: what other tools found, brought into a review by their SARIF logs.

use std::fs::{self, File};

use serde_json::{Value, json};

use super::{fixture, reviewed, sarif::valid};
use crate::{
    review::support::Repo,
    support::{Done, Machine},
};

/// A change of a function: line 5 is new.
fn changed() -> Repo {
    changed_to("    rows = list(rows)\n")
}

fn changed_to(line: &str) -> Repo {
    let repo = Repo::new();
    repo.write("a.py", "import os\n\n\ndef total(rows):\n    return sum(rows)\n");
    repo.write("other.py", "x = 1\n").commit("base");
    let text = format!("import os\n\n\ndef total(rows):\n{line}    return sum(rows)\n");
    repo.write("a.py", text).commit("change");
    repo
}

fn log(driver: Value, results: Value) -> Value {
    json!({ "version": "2.1.0", "runs": [{ "tool": { "driver": driver }, "results": results }] })
}

/// A log of `Acme Lint 2.1`.
fn acme(results: Value) -> Value {
    log(json!({ "name": "Acme Lint", "version": "2.1" }), results)
}

fn result(rule: &str, text: &str, uri: &str, line: u32) -> Value {
    let place = json!({
        "artifactLocation": { "uri": uri },
        "region": { "startLine": line },
    });
    let locations = json!([{ "physicalLocation": place }]);
    json!({ "ruleId": rule, "message": { "text": text }, "locations": locations })
}

/// The same with more in it.
fn with(mut result: Value, more: Value) -> Value {
    result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    result
}

fn with_log(machine: &Machine, repo: &Repo, log: &Value, args: &[&str]) -> Done {
    let file = machine.text("tool.sarif", log.to_string());
    reviewed(machine, repo, &[args, &["--sarif", &file]].concat())
}

fn json_with(repo: &Repo, log: &Value) -> Value {
    with_log(&Machine::new(), repo, log, &["--format", "json", "--all"]).json()
}

/// The findings of other tools.
fn of_tools(review: &Value) -> Vec<Value> {
    let all = review["findings"].as_array().unwrap();
    all.iter().filter(|finding| finding["source"] == "tool").cloned().collect()
}

/// Only what is about changed lines is shown; the rest is counted.
#[test]
fn findings_on_changed_lines_join() {
    let log = acme(json!([
        result("AC1", "The count ... is never used. Take it out.", "a.py", 5),
        result("AC2", "An import that nobody wants", "a.py", 1),
        result("AC1", "The count is never used.", "other.py", 1),
        result("AC1", "The count is never used.", "../elsewhere.py", 5),
        with(result("AC3", "All is well", "a.py", 5), json!({ "kind": "pass" })),
        json!({ "ruleId": "AC4", "message": { "text": "About nothing in particular" } }),
    ]));
    let review = json_with(&changed(), &log);
    let found = of_tools(&review);
    assert_eq!(found.len(), 1, "{review:#}");
    let finding = &found[0];
    let expected = json!({
        "path": "a.py", "side": "RIGHT", "start_line": 5, "end_line": 5, "severity": "medium",
        "agent": "pattern", "rule": "acme-lint/AC1", "title": "The count ... is never used",
        "quote": "    rows = list(rows)", "source": "tool",
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&finding[key], value, "{key} of {finding:#}");
    }
    let body = finding["body"].as_str().unwrap();
    assert!(body.ends_with("Take it out.\n\nFound by Acme Lint 2.1 as `AC1`."), "{body}");
    let tool = json!({ "name": "Acme Lint", "version": "2.1", "results": 5, "placed": 1 });
    assert_eq!(review["tools"], json!([tool]));
    assert_eq!(review["left_out"]["outside"], 4);
}

#[test]
fn every_format_names_the_tool_and_its_rule() {
    let (machine, repo) = (Machine::new(), changed());
    let log = acme(json!([result("AC1", "The count is never used.", "a.py", 5)]));
    for format in ["text", "json", "markdown", "sarif", "github", "gitlab"] {
        let done = with_log(&machine, &repo, &log, &["--format", format]);
        assert_eq!(done.code, Some(0), "{format}: {done:?}");
        assert!(done.stdout.contains("acme-lint/AC1"), "{format}: {}", done.stdout);
        if format == "sarif" {
            let run = valid(&done.stdout);
            assert_eq!(run["results"][0]["ruleId"], "acme-lint/AC1");
        }
        if ["text", "markdown"].contains(&format) {
            let tool = "tools: Acme Lint 2.1, 1 of 1 result on changed lines";
            assert!(done.stdout.contains(tool), "{format}: {}", done.stdout);
        }
    }
}

/// What both say is said once, by ours, which knows what to do about it; the tool is named.
#[test]
fn the_same_harm_at_the_same_place_is_said_once() {
    let repo = fixture();
    let rule = |tags: Value, precision: &str| {
        let properties = json!({ "tags": tags, "precision": precision });
        json!({ "name": "Bandit", "rules": [{ "id": "B608", "properties": properties }] })
    };
    let query = |text: &str, level: &str| {
        json!([with(result("B608", text, "app/db.py", 12), json!({ "level": level }))])
    };
    for (tags, text, level, precision, confidence) in [
        (json!(["external/cwe/cwe-089"]), "Put together", "warning", "high", 0.6_f64),
        (json!(["CWE-564: SQL Injection: Hibernate"]), "Put together", "warning", "high", 0.6),
        (json!([]), "Possible SQL injection vector", "error", "very-high", 0.95),
    ] {
        let review = json_with(&repo, &log(rule(tags, precision), query(text, level)));
        assert_eq!(of_tools(&review), Vec::<Value>::new(), "{review:#}");
        let all = review["findings"].as_array().unwrap();
        let sql: Vec<_> = all.iter().filter(|f| f["rule"] == "sql-injection").collect();
        assert_eq!(sql.len(), 1, "{review:#}");
        assert_eq!((&sql[0]["start_line"], &sql[0]["severity"]), (&json!(11), &json!("high")));
        assert!(sql[0]["confidence"].as_f64().unwrap() >= confidence, "{review:#}");
        let body = sql[0]["body"].as_str().unwrap();
        assert!(body.ends_with("\n\nAlso found by `bandit/B608`."), "{body}");
        assert!(review["left_out"]["merged"].as_u64().unwrap() >= 1, "{review:#}");
    }
    // Another harm there is another finding.
    let other = rule(json!(["CWE-400"]), "high");
    let review = json_with(&repo, &log(other, query("Takes forever", "warning")));
    assert_eq!(of_tools(&review).len(), 1, "{review:#}");
}

/// By the score of its severity where there is one, else by its level, or its rule's.
#[test]
fn severities_are_ours() {
    let cases = [
        (json!({ "level": "error" }), json!({}), "high"),
        (json!({ "level": "warning" }), json!({}), "medium"),
        (json!({ "level": "note" }), json!({}), "low"),
        (json!({ "level": "none" }), json!({}), "info"),
        (json!({}), json!({}), "medium"),
        (json!({}), json!({ "defaultConfiguration": { "level": "note" } }), "low"),
        (
            json!({ "level": "note" }),
            json!({ "properties": { "security-severity": "9.8" } }),
            "critical",
        ),
        (json!({}), json!({ "properties": { "security-severity": 7.0 } }), "high"),
        (json!({ "properties": { "security-severity": "4.0" } }), json!({}), "medium"),
        (
            json!({ "level": "error" }),
            json!({ "properties": { "security-severity": "2.1" } }),
            "low",
        ),
    ];
    let repo = Repo::new();
    repo.write("x", "").commit("base");
    let lines: Vec<String> = (1..=cases.len()).map(|n| format!("take_{n}(from_{n})\n")).collect();
    repo.write("b.py", lines.concat()).commit("change");
    let (mut rules, mut results) = (Vec::new(), Vec::new());
    for (number, (of_result, of_rule, _)) in (1..).zip(&cases) {
        let id = format!("R{number}");
        results.push(with(result(&id, "Odd", "b.py", number), of_result.clone()));
        rules.push(with(json!({ "id": id }), of_rule.clone()));
    }
    let review = json_with(&repo, &log(json!({ "name": "t", "rules": rules }), json!(results)));
    let found = of_tools(&review);
    for (number, (.., expected)) in (1..).zip(&cases) {
        let rule = format!("t/R{number}");
        let finding = found.iter().find(|finding| finding["rule"] == rule).unwrap();
        assert_eq!(finding["severity"], *expected, "{finding:#}");
        let scored = finding["agent"] == "security";
        assert_eq!(scored, number > 6, "{finding:#}");
    }
}

/// A file is found however its place is written.
#[test]
fn places_are_paths_of_the_repository() {
    let repo = Repo::new();
    repo.write("x", "").commit("base");
    repo.write("src/ä b.py", "one(1)\ntwo(2)\nthree(3)\nfour(4)\n").commit("change");
    let absolute = url::Url::from_file_path(repo.path().join("src/ä b.py")).unwrap();
    let mut log = acme(json!([
        result("A", "One", absolute.as_str(), 1),
        result("B", "Two", "./src/%C3%A4%20b.py", 2),
        result("C", "Three", "src/ä b.py", 3),
        result("D", "Four", "%C3%A4%20b.py", 4),
    ]));
    let run = &mut log["runs"][0];
    run["originalUriBaseIds"] = json!({
        "ROOT": { "uri": "file:///some/other/machine/" },
        "SRC": { "uri": "src/", "uriBaseId": "ROOT" },
    });
    let place = &mut run["results"][3]["locations"][0]["physicalLocation"]["artifactLocation"];
    place["uriBaseId"] = json!("SRC");
    let review = json_with(&repo, &log);
    let mut places: Vec<_> =
        of_tools(&review).iter().map(|f| (f["start_line"].clone(), f["path"].clone())).collect();
    places.sort_by_key(|(line, _)| line.as_u64());
    let expected: Vec<_> = (1..=4).map(|line| (json!(line), json!("src/ä b.py"))).collect();
    assert_eq!(places, expected, "{review:#}");
}

/// A log of an older head, a region that goes beyond the change, a way that leads through it.
#[test]
fn findings_stand_on_the_changed_ones_of_their_lines() {
    let at = |mut result: Value, region: Value| {
        result["locations"][0]["physicalLocation"]["region"] = region;
        result
    };
    let stale = json!({ "startLine": 1, "snippet": { "text": "    rows = list(rows)\n" } });
    let moved = at(result("A", "Moved", "a.py", 1), stale);
    let beyond = json!({ "startLine": 4, "endLine": 7, "endColumn": 1 });
    let wide = at(result("B", "Too long by far", "a.py", 4), beyond);
    let step = |line: u32, text: &str| {
        let place = result("", "", "a.py", line)["locations"][0]["physicalLocation"].clone();
        json!({ "location": { "physicalLocation": place, "message": { "text": text } } })
    };
    let steps = json!([step(5, "counted"), step(6, "[summed](1) up")]);
    let flow = json!({ "codeFlows": [{ "threadFlows": [{ "locations": steps }] }] });
    let crossing = with(result("C", "Reaches [the sum](1)", "a.py", 6), flow);
    let review = json_with(&changed(), &acme(json!([moved, wide, crossing])));
    let found = of_tools(&review);
    let of = |rule: &str| found.iter().find(|f| f["rule"] == format!("acme-lint/{rule}")).unwrap();
    assert_eq!(of("A")["start_line"], 5);
    assert_eq!((&of("B")["start_line"], &of("B")["end_line"]), (&json!(5), &json!(5)));
    let crossing = of("C");
    assert_eq!(
        (&crossing["start_line"], &crossing["title"]),
        (&json!(6), &json!("Reaches the sum"))
    );
    let flow = json!([
        { "path": "a.py", "line": 5, "note": "counted" },
        { "path": "a.py", "line": 6, "note": "summed up" },
    ]);
    assert_eq!(crossing["flow"], flow);
}

/// What a tool quotes of a secret is shown nowhere and kept nowhere.
#[test]
fn secrets_in_logs_are_masked() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let plain = "correct-horse-battery";
    let repo = Repo::new();
    repo.write("x", "").commit("base");
    repo.write("c.py", format!("t = '{token}'\nf(2)\nlogin('ada', '{plain}')\n")).commit("change");
    let mut leak =
        result("github-pat", &format!("github-pat has detected secret {token}"), "c.py", 1);
    leak["locations"][0]["physicalLocation"]["region"]["snippet"] = json!({ "text": token });
    let words = format!("Possible hardcoded password: '{plain}'");
    let log = log(
        json!({ "name": "gitleaks" }),
        json!([
            leak,
            result("odd", &format!("Odd is {token} here"), "c.py", 2),
            result("B106", &words, "c.py", 3),
        ]),
    );
    let machine = Machine::new();
    for format in ["text", "json", "markdown", "sarif", "github", "gitlab"] {
        let done = with_log(&machine, &repo, &log, &["--format", format, "--all"]);
        assert_eq!(done.code, Some(0), "{format}: {done:?}");
        assert!(!done.stdout.contains(&token), "{format}: {}", done.stdout);
        // The line of the change itself may be quoted: nothing tells that this is a password.
        let told = done.stdout.contains(&words);
        assert!(!told, "{format}: {}", done.stdout);
    }
    let review = with_log(&machine, &repo, &log, &["--format", "json", "--all"]).json();
    let all = review["findings"].as_array().unwrap();
    let secret = all.iter().find(|finding| finding["source"] == "secret").unwrap();
    let body = secret["body"].as_str().unwrap();
    assert!(body.ends_with("Also found by `gitleaks/github-pat`."), "{body}");
    for rule in ["gitleaks/odd", "gitleaks/B106"] {
        assert!(review["findings"].to_string().contains(rule), "{rule}: {review:#}");
    }
    let run = review["run"].as_str().unwrap();
    let state = machine.run(&["runs", "show", run, "--format", "json"]);
    assert_eq!(state.code, Some(0), "{state:?}");
    assert!(!state.stdout.contains(&token) && !state.stdout.contains(&words), "{}", state.stdout);
    let files = fs::read_dir(machine.file().parent().unwrap()).unwrap().map(|f| f.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        let bytes = fs::read(file).unwrap();
        assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()));
    }
}

/// The same log is the same review; another one is another.
#[test]
fn a_log_is_part_of_what_names_a_review() {
    let (machine, repo) = (Machine::new(), changed());
    let run = |args: &[&str]| {
        reviewed(&machine, &repo, &[&["--format", "json"], args].concat()).json()["run"].clone()
    };
    let one = acme(json!([result("AC1", "Never used", "a.py", 5)])).to_string();
    let one = machine.text("one.sarif", one);
    let two = acme(json!([result("AC2", "Never read", "a.py", 5)])).to_string();
    let two = machine.text("two.sarif", two);
    let (without, with_one) = (run(&[]), run(&["--sarif", &one]));
    assert_eq!(run(&["--sarif", &one]), with_one);
    let (with_two, with_both) = (run(&["--sarif", &two]), run(&["--sarif", &one, &two]));
    assert_eq!(run(&["--sarif", &one, "--sarif", &two]), with_both);
    let mut all = [without, with_one, with_two, with_both].map(|run| run.to_string());
    all.sort();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
}

/// Suppressions, settings and thresholds hold for other tools' findings, too.
#[test]
fn settings_and_comments_hold() {
    let log = acme(json!([result("AC1", "Never used", "a.py", 5)]));
    let left_out = |repo: &Repo, log: &Value, args: &[&str]| {
        let args = [&["--format", "json"], args].concat();
        let review = with_log(&Machine::new(), repo, log, &args).json();
        assert_eq!(review["findings"], json!([]), "{review:#}");
        review
    };
    let repo = changed_to("    rows = list(rows)  # verdict:ignore acme-lint/AC1 read elsewhere\n");
    assert_eq!(left_out(&repo, &log, &[])["left_out"]["suppressed"], 1);
    let repo = changed();
    let review = left_out(&repo, &log, &["--min-severity", "high"]);
    assert_eq!(review["left_out"]["below_threshold"], 1);
    let told = with(
        result("AC1", "Never used", "a.py", 5),
        json!({ "suppressions": [{ "kind": "inSource" }] }),
    );
    let review = left_out(&repo, &acme(json!([told])), &[]);
    assert_eq!(review["tools"][0]["suppressed"], 1);
    let repo = Repo::new();
    repo.write(".verdict.toml", "[review.rules]\n\"acme-lint/AC1\" = \"off\"\n");
    repo.write("a.py", "x = 1\n").commit("base");
    repo.write("a.py", "x = 1\n\n\n\ny = f(x)\n").commit("change");
    assert_eq!(left_out(&repo, &log, &[])["left_out"]["off"], 1);
}

/// A tool that did not run to its end leaves a review incomplete.
#[test]
fn a_tool_that_failed_is_missing() {
    let mut log = acme(json!([]));
    log["runs"][0]["invocations"] = json!([{ "executionSuccessful": false }]);
    let review = json_with(&changed(), &log);
    assert_eq!(review["verdict"], "incomplete");
    let missing = review["missing"].to_string();
    assert!(missing.contains("Acme Lint: its log says that it did not run"), "{missing}");
}

/// What cannot be read is told by its file's name.
#[test]
fn a_broken_log_is_named() {
    let (machine, repo) = (Machine::new(), changed());
    let none = json!({ "message": {} });
    let huge = machine.folder().join("huge.sarif");
    File::create(&huge).unwrap().set_len(64 * 1024 * 1024 + 1).unwrap();
    for (name, text, said) in [
        ("text.sarif", "no JSON".to_owned(), "text.sarif: it is no SARIF log: expected"),
        ("empty.sarif", "{}".to_owned(), "empty.sarif: it is no SARIF log: it names no version"),
        ("runs.sarif", json!({ "version": "2.1.0" }).to_string(), "missing field `runs`"),
        ("old.sarif", json!({ "version": "2.0.0" }).to_string(), "old.sarif: it is of SARIF 2.0.0"),
        (
            "many.sarif",
            acme(json!(vec![none; 100_001])).to_string(),
            "many.sarif: it has 100001 results; at most 100000 are read",
        ),
    ] {
        let file = machine.text(name, text);
        let done = reviewed(&machine, &repo, &["--sarif", &file]);
        assert_eq!(done.code, Some(2), "{name}: {done:?}");
        assert!(done.stderr.contains(said), "{name}: {}", done.stderr);
        assert_eq!(done.stdout, "", "{name}");
    }
    let huge = huge.display().to_string();
    for (file, said) in [
        (huge.as_str(), "huge.sarif: it is larger than 64 MiB"),
        ("/no/such/file", "cannot read /no/such/file: "),
    ] {
        let done = reviewed(&machine, &repo, &["--sarif", file]);
        assert_eq!(done.code, Some(2), "{file}: {done:?}");
        assert!(done.stderr.contains(said), "{file}: {}", done.stderr);
    }
}

/// Only who asks here may bring findings along: a job is from anywhere.
#[test]
fn a_job_brings_no_findings() {
    let (machine, repo) = (Machine::new(), changed());
    let tools = json!([{ "name": "Acme Lint", "results": 0, "placed": 0 }]);
    let input = json!({ "repo": repo.path(), "base": "HEAD~1", "head": "HEAD", "tools": tools });
    let job = json!({ "workflow": "review", "input": input }).to_string();
    let done = machine.run(&["enqueue", &machine.text("job.json", job)]);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("a job takes no findings of other tools"), "{}", done.stderr);
}

/// A log may come by a pipe.
#[test]
fn a_log_may_be_standard_input() {
    let (machine, repo) = (Machine::new(), changed());
    let log = acme(json!([result("AC1", "The count is never used.", "a.py", 5)]));
    let file = machine.text("tool.sarif", log.to_string());
    let path = repo.path().display().to_string();
    let args = ["review", "HEAD^!", "--repo", &path, "--format", "json", "--sarif", "-"];
    let mut command = machine.command(&args);
    command.stdin(File::open(file).unwrap());
    let found = of_tools(&Machine::finish(command).json());
    assert_eq!(found.len(), 1, "{found:#?}");
}

//! SARIF: valid against the schema of OASIS, and what a scanner of code makes use of.

use serde_json::{Value, json};
use verdict::workflows::review::{
    Outcome,
    report::{ReportContext, sarif},
};

use super::{fixture, reviewed};
use crate::{
    review::support::{RULE, Repo},
    support::Machine,
};

const SCHEMA: &str = include_str!("../../../fixtures/sarif/sarif-schema-2.1.0.json");

/// The text as JSON, once nothing in it offends the schema.
#[track_caller]
pub(super) fn valid(text: &str) -> Value {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let log: Value = serde_json::from_str(text).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&log).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{}\n{text}", errors.join("\n"));
    log["runs"][0].clone()
}

fn of_binary(repo: &Repo) -> Value {
    let machine = Machine::new();
    let done = reviewed(&machine, repo, &["--format", "sarif"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    valid(&done.stdout)
}

fn of_rule<'a>(run: &'a Value, rule: &str) -> &'a Value {
    let results = run["results"].as_array().unwrap();
    let of = results.iter().find(|result| result["ruleId"] == rule);
    of.unwrap_or_else(|| panic!("no {rule} in {results:#?}"))
}

/// What the schema is for: something wrong is found to be wrong.
#[test]
#[should_panic(expected = "level")]
fn the_schema_refuses_what_is_none() {
    let result = json!({ "message": { "text": "x" }, "level": "grave" });
    let tool = json!({ "driver": { "name": "x" } });
    let log = json!({ "version": "2.1.0", "runs": [{ "tool": tool, "results": [result] }] });
    valid(&log.to_string());
}

#[test]
fn a_review_is_a_valid_log() {
    let repo = fixture();
    let run = of_binary(&repo);
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "verdict");
    assert_eq!(driver["semanticVersion"], env!("CARGO_PKG_VERSION"));
    assert!(driver["informationUri"].as_str().unwrap().starts_with("https://"), "{driver}");
    let revision = &run["versionControlProvenance"][0];
    assert_eq!(revision["revisionId"], repo.git(["rev-parse", "HEAD"]));
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);

    let fixed = of_rule(&run, "py-compare-none");
    assert_eq!(fixed["level"], "note");
    let place = &fixed["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"], json!({ "uri": "app/db.py", "uriBaseId": "%SRCROOT%" }));
    let snippet = json!({ "text": "    if name == None:" });
    assert_eq!(place["region"], json!({ "startLine": 5, "endLine": 5, "snippet": snippet }));
    let change = &fixed["fixes"][0]["artifactChanges"][0];
    let replacement = json!({
        "deletedRegion": { "startLine": 5, "endLine": 5 },
        "insertedContent": { "text": "    if name is None:" },
    });
    assert_eq!(change["replacements"], json!([replacement]));
    let fingerprint = fixed["partialFingerprints"]["verdict/v1"].as_str().unwrap();
    assert_eq!(fingerprint.len(), 16);

    let index = usize::try_from(fixed["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(driver["rules"][index]["id"], "py-compare-none");
}

/// What GitHub sorts and filters alerts by.
#[test]
fn rules_say_what_code_scanning_wants() {
    let run = of_binary(&fixture());
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let sql = rules.iter().find(|rule| rule["id"] == "sql-injection").unwrap();
    assert_eq!(sql["properties"]["tags"], json!(["security", "external/cwe/cwe-089"]));
    assert_eq!(sql["properties"]["security-severity"], "8.0");
    assert_eq!(sql["properties"]["precision"], "high");
    assert_eq!(sql["defaultConfiguration"]["level"], "error");
    assert!(sql["help"]["markdown"].as_str().unwrap().contains("placeholders"), "{sql}");
    let style = rules.iter().find(|rule| rule["id"] == "py-compare-none").unwrap();
    assert_eq!(style["properties"]["security-severity"], Value::Null);
}

/// A finding over several lines has them all as its region and its snippet.
#[test]
fn regions_go_over_all_lines() {
    let run = of_binary(&fixture());
    let sql = &of_rule(&run, "sql-injection")["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&sql["startLine"], &sql["endLine"]), (&json!(11), &json!(13)));
    let text = sql["snippet"]["text"].as_str().unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
}

/// A repository's own rule is described by its file.
#[test]
fn own_rules_are_described() {
    let repo = Repo::new();
    repo.write(".verdict/rules/no-print.yml", RULE).commit("base");
    repo.write("a.py", "print(1)\n").commit("change");
    let run = of_binary(&repo);
    let rule = &run["tool"]["driver"]["rules"][0];
    assert_eq!(rule["shortDescription"]["text"], "Printing is for scripts");
    assert_eq!(rule["help"]["text"], "Nobody reads it.\n\nUse the logger.");
}

/// Paths are URIs, whatever they are made of, and lead back to the file.
#[test]
fn odd_paths_are_uris() {
    let paths =
        ["a b.py", "ü/é.py", "q'\"uote.py", "new\nline.py", "per%cent#?.py", "a:b.py", "[x]{y}.py"];
    let repo = Repo::new();
    repo.write("x", "").commit("base");
    for path in paths {
        repo.write(path, "breakpoint()\n");
    }
    repo.commit("change");
    let run = of_binary(&repo);
    let root = url::Url::parse("file:///root/").unwrap();
    let mut found: Vec<String> = Vec::new();
    for result in run["results"].as_array().unwrap() {
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        let path = root.join(uri.as_str().unwrap()).unwrap().to_file_path().unwrap();
        found.push(path.strip_prefix("/root").unwrap().display().to_string());
    }
    found.sort();
    let mut expected = paths.map(str::to_owned);
    expected.sort();
    assert_eq!(found, expected);
}

/// A clean review is a log without results, not a missing one.
#[test]
fn a_clean_review_is_a_valid_log() {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").commit("base");
    repo.write("a.py", "x = 2\n").commit("change");
    let run = of_binary(&repo);
    assert_eq!(run["results"], json!([]));
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    assert_eq!(run["invocations"][0]["toolExecutionNotifications"], json!([]));
}

/// What is missing is told, and a scan that lacks a part is no success.
#[tokio::test]
async fn what_is_missing_is_told() {
    let repo = fixture();
    let mut state = repo.review("HEAD^!").await;
    let run = valid(&sarif(&state, &ReportContext::default()));
    let told = run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap().clone();
    let told: Vec<_> =
        told.iter().map(|n| (&n["descriptor"]["id"], &n["message"]["text"])).collect();
    assert_eq!(
        told,
        [(&json!("skipped"), &json!("binary")), (&json!("skipped"), &json!("deleted"))]
    );

    let report = state.agents.values_mut().find(|report| report.agent == "style").unwrap();
    report.outcome = Outcome::Failed("out of reach".into());
    state.judgement = None;
    let about =
        ReportContext { error: Some("run 1 failed at judge".into()), ..ReportContext::default() };
    let run = valid(&sarif(&state, &about));
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let told = invocation["toolExecutionNotifications"].to_string();
    for word in ["run 1 failed at judge", "style: out of reach", "not-reviewed", "app/db.py"] {
        assert!(told.contains(word), "{word} in {told}");
    }
    assert!(!run["results"].as_array().unwrap().is_empty());
}

/// Lines of the base side and of no file in particular are no lines of the head.
#[tokio::test]
async fn only_lines_of_the_head_are_regions() {
    let mut state = fixture().review("HEAD^!").await;
    let findings = &mut state.judgement.as_mut().unwrap().findings;
    findings.truncate(2);
    findings[0].side = verdict::analysis::Side::Left;
    (findings[1].start_line, findings[1].end_line) = (0, 0);
    let run = valid(&sarif(&state, &ReportContext::default()));
    for result in run["results"].as_array().unwrap() {
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["region"], Value::Null, "{result}");
        assert_eq!(result["fixes"], Value::Null);
    }
    let text = run["results"][0]["message"]["text"].as_str().unwrap();
    assert!(text.contains("of the base)"), "{text}");
}

/// A fix that takes lines out puts an empty text in their place: reviewdog reads it without asking
/// whether it is there.
#[tokio::test]
async fn every_fix_has_a_text() {
    let mut state = fixture().review("HEAD^!").await;
    let findings = &mut state.judgement.as_mut().unwrap().findings;
    findings.retain(|finding| finding.rule == "py-compare-none");
    findings[0].suggestion = Some(String::new());
    let run = valid(&sarif(&state, &ReportContext::default()));
    let change = &run["results"][0]["fixes"][0]["artifactChanges"][0]["replacements"][0];
    let lines = json!({ "startLine": 5, "startColumn": 1, "endLine": 6, "endColumn": 1 });
    assert_eq!(change["deletedRegion"], lines);
    assert_eq!(change["insertedContent"], json!({ "text": "" }));
}

/// A fix made from a masked line would put the mask into the file.
#[tokio::test]
async fn masks_are_no_fixes() {
    let repo = Repo::new();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    repo.write("a.py", "x = 1\n").commit("base");
    repo.write("a.py", format!("if x == None and y == '{token}':\n    pass\n")).commit("change");
    let state = repo.review("HEAD^!").await;
    let text = sarif(&state, &ReportContext::default());
    let run = valid(&text);
    let compared = of_rule(&run, "py-compare-none");
    assert_eq!(compared["fixes"], Value::Null, "{compared}");
    assert!(!text.contains(&token));
}

/// What a check of both sides is about stands in its rule, as it does for rules in files.
#[test]
fn checks_of_both_sides_are_described() {
    let repo = Repo::new();
    let locked = "package a\n\nfunc f() {\n\tmu.Lock()\n\tdefer mu.Unlock()\n\tgo_on(items)\n}\n";
    repo.write("a.go", locked).commit("base");
    repo.write("a.go", locked.replace("\tdefer mu.Unlock()\n", "")).commit("change");
    let run = of_binary(&repo);
    let index = of_rule(&run, "unlock-removed")["ruleIndex"].as_u64().unwrap();
    let rule = &run["tool"]["driver"]["rules"][usize::try_from(index).unwrap()];
    assert_eq!(rule["shortDescription"]["text"], "Missing unlock: this lock is no longer released");
    let help = rule["help"]["text"].as_str().unwrap();
    assert!(help.ends_with("\n\nGive the lock back on every way out."), "{help}");
}

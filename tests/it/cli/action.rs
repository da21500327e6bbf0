//! `action.yml`: its shell steps, with what a runner would set.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::Value;

use crate::{
    review::support::Repo,
    support::{Done, Machine},
};

const ACTION: &str = include_str!("../../../action.yml");

/// What expressions come to, by their text.
type Values<'a> = BTreeMap<&'a str, String>;

fn steps() -> Vec<Value> {
    let action: Value = serde_saphyr::from_str(ACTION).unwrap();
    assert_eq!(action["runs"]["using"], "composite");
    action["runs"]["steps"].as_array().unwrap().clone()
}

/// The value of an `env` entry: whole expressions only.
fn evaluated(text: &str, values: &Values<'_>) -> String {
    let expression = text.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}")).unwrap();
    let words = expression.split(" || ");
    let value = |word: &str| {
        values.get(word).unwrap_or_else(|| panic!("nothing is known of `{word}`")).clone()
    };
    words.map(value).find(|value| !value.is_empty()).unwrap_or_default()
}

/// Every step with a script, in order, until one fails.
fn act(machine: &Machine, work: &Path, values: &Values<'_>) -> Done {
    let temp = machine.folder().join("runner");
    let tools = machine.folder().join("tools");
    fs::create_dir_all(&temp).unwrap();
    fs::create_dir_all(&tools).unwrap();
    // In place of a build of minutes: checks what it is asked, and installs this build.
    let cargo = "#!/bin/sh\nset -eu\n[ \"$1 $2 $3\" = 'install --locked --path' ] && [ -f \"$4/Cargo.toml\" ]\n\
         [ \"$5\" = --root ]\nmkdir -p \"$6/bin\"\ncp \"$BUILT\" \"$6/bin/verdict\"\necho cargo >> \"$RUNNER_TEMP/builds\"\n";
    fs::write(tools.join("cargo"), cargo).unwrap();
    fs::set_permissions(tools.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut done = Done { code: Some(0), stdout: String::new(), stderr: String::new() };
    for step in steps().iter().filter(|step| step["run"].is_string()) {
        if !values["inputs.verdict"].is_empty() && step["if"] == "inputs.verdict == ''" {
            continue;
        }
        assert_eq!(step["shell"], "bash", "{step}");
        let script = step["run"].as_str().unwrap();
        assert!(!script.contains("${{"), "an expression in a script is code: {script}");
        let mut command: Command = machine.command_after(&format!("{script}\nexit"), &[]);
        let path = std::env::var("PATH").unwrap();
        command
            .current_dir(work)
            .env("PATH", format!("{}:{path}", tools.display()))
            .env("BUILT", env!("CARGO_BIN_EXE_verdict"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GITHUB_ACTION_PATH", env!("CARGO_MANIFEST_DIR"))
            .env("GITHUB_OUTPUT", temp.join("output"))
            .env("GITHUB_STEP_SUMMARY", temp.join("summary.md"))
            .env("RUNNER_TEMP", &temp);
        for (name, text) in step["env"].as_object().into_iter().flatten() {
            command.env(name, evaluated(text.as_str().unwrap(), values));
        }
        done = Machine::finish(command);
        if done.code != Some(0) {
            break;
        }
    }
    done
}

/// A pull request whose base has moved on, checked out as the runner does: one commit of it.
fn checkout(machine: &Machine) -> (Repo, std::path::PathBuf) {
    let origin = Repo::new();
    origin.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
    origin.write("a.py", "x = 1\n").commit("base");
    origin.git(["checkout", "-q", "-b", "topic"]);
    let sql = "def f(cur, a):\n    cur.execute(f\"SELECT * FROM t WHERE a = '{a}'\")\n";
    origin.write("a.py", sql).commit("change");
    origin.write("verdict.toml", "nonsense = 1\n").commit("settings that do not count");
    origin.git(["checkout", "-q", "main"]);
    origin.write("b.py", "breakpoint()\n").commit("meanwhile");
    let work = machine.folder().join("work");
    let url = format!("file://{}", origin.path().display());
    origin.git(["clone", "-q", "--depth=1", "--branch=topic", &url, work.to_str().unwrap()]);
    (origin, work)
}

fn values<'a>(origin: &Repo, more: &[(&'a str, &str)]) -> Values<'a> {
    let mut values: Values<'a> = BTreeMap::from([
        ("inputs.base", String::new()),
        ("inputs.head", String::new()),
        ("inputs.fail-on", "none".to_owned()),
        ("inputs.sarif", String::new()),
        ("inputs.verdict", String::new()),
        ("github.event.pull_request.base.sha", origin.git(["rev-parse", "main"])),
        ("github.event.pull_request.head.sha", origin.git(["rev-parse", "topic"])),
        ("github.event.before", String::new()),
        ("github.sha", "never looked at".to_owned()),
    ]);
    values.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    values
}

#[test]
fn a_pull_request_is_reviewed() {
    let machine = Machine::new();
    let (origin, work) = checkout(&machine);
    let more = [("inputs.fail-on", "high"), ("inputs.sarif", "verdict.sarif")];
    let done = act(&machine, &work, &values(&origin, &more));
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stdout.starts_with("::error file=a.py,line=2,"), "{done:?}");
    assert_eq!(
        done.stdout.lines().count(),
        1,
        "what main did meanwhile is not its doing: {done:?}"
    );
    let temp = machine.folder().join("runner");
    let summary = fs::read_to_string(temp.join("summary.md")).unwrap();
    assert!(summary.starts_with("## verdict: changes requested\n"), "{summary}");
    let log = fs::read_to_string(work.join("verdict.sarif")).unwrap();
    assert!(log.contains("\"ruleId\": \"sql-injection\""), "{log}");
    let output = fs::read_to_string(temp.join("output")).unwrap();
    assert_eq!(output.trim().len(), "digest=".len() + 64, "{output}");

    // Installed once, and then no longer; without a threshold the job passes.
    let done = act(&machine, &work, &values(&origin, &[]));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(fs::read_to_string(temp.join("builds")).unwrap(), "cargo\n");
}

/// A push: what the branch was before, or, for a new one, the last commit. A binary that is there is
/// taken as it is.
#[test]
fn a_push_is_reviewed() {
    let machine = Machine::new();
    let (origin, work) = checkout(&machine);
    let head = origin.git(["rev-parse", "topic~1"]);
    for before in [origin.git(["rev-parse", "topic~2"]), "0".repeat(40), String::new()] {
        let push = [
            ("github.event.pull_request.base.sha", ""),
            ("github.event.pull_request.head.sha", ""),
            ("github.event.before", before.as_str()),
            ("github.sha", head.as_str()),
            ("inputs.fail-on", "critical"),
            ("inputs.verdict", env!("CARGO_BIN_EXE_verdict")),
        ];
        let done = act(&machine, &work, &values(&origin, &push));
        assert_eq!(done.code, Some(0), "{before}: {done:?}");
        assert!(done.stdout.starts_with("::error file=a.py,line=2,"), "{before}: {done:?}");
    }
    assert!(!machine.folder().join("runner/builds").exists());
}

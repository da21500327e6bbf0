//! docs/ci.md: every command of every recipe, as it stands there.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use crate::{
    review::support::Repo,
    support::{Done, Machine},
};

const DOCS: &str = include_str!("../../../docs/ci.md");
const HOOKS: &str = include_str!("../../../.pre-commit-hooks.yaml");

/// The blocks of code in a language.
fn blocks(language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let blocks = DOCS.split(&opening).skip(1);
    blocks.map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

/// Every command line that calls verdict, out of YAML.
fn commands() -> Vec<String> {
    let yaml = blocks("yaml").concat() + HOOKS;
    let lines = yaml.lines().map(|line| {
        let line = line.trim().trim_start_matches("- ");
        line.strip_prefix("entry: ").unwrap_or(line).to_owned()
    });
    lines.filter(|line| line.starts_with("verdict ") || line.starts_with("sh -c")).collect()
}

/// A branch with a commit that has a finding of high severity, pushed nowhere yet.
fn branch() -> Repo {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").commit("base");
    let sql = "def f(cur, a):\n    cur.execute(f\"SELECT * FROM t WHERE a = '{a}'\")\n";
    repo.write("a.py", sql).commit("change");
    repo
}

/// Commands in the repository, with what pipelines and hooks set.
fn shell(machine: &Machine, repo: &Repo, line: &str) -> Done {
    let mut command: Command = machine.command_after(&format!("{line}; exit"), &[]);
    let program = Path::new(env!("CARGO_BIN_EXE_verdict")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    command
        .current_dir(repo.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GITHUB_STEP_SUMMARY", machine.folder().join("summary.md"));
    for base in ["BASE", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "PRE_COMMIT_FROM_REF"] {
        command.env(base, repo.git(["rev-parse", "HEAD~1"]));
    }
    for head in ["HEAD", "CI_COMMIT_SHA", "PRE_COMMIT_TO_REF"] {
        command.env(head, repo.git(["rev-parse", "HEAD"]));
    }
    Machine::finish(command)
}

#[test]
fn every_command_of_a_recipe_works() {
    let (machine, repo) = (Machine::new(), branch());
    let commands = commands();
    assert_eq!(commands.len(), 9, "{commands:#?}");
    for line in &commands {
        // In a pipeline the change may bring settings of its own.
        let own = line.contains("--config");
        repo.write("verdict.toml", if own { "nonsense = 1\n" } else { "" });
        let done = shell(&machine, &repo, line);
        let code = i32::from(line.contains("--fail-on"));
        assert_eq!(done.code, Some(code), "{line}: {done:?}");
        assert!(!done.stderr.contains("verdict: run"), "{line}: {done:?}");
    }
    repo.write("verdict.toml", "nonsense = 1\n");
    assert_eq!(shell(&machine, &repo, "verdict review").code, Some(2), "they would count");
    let log = fs::read_to_string(repo.path().join("verdict.sarif")).unwrap();
    assert!(log.contains("\"ruleId\": \"sql-injection\""), "{log}");
    let report = fs::read_to_string(repo.path().join("gl-code-quality-report.json")).unwrap();
    assert!(report.contains("\"check_name\": \"sql-injection\""), "{report}");
    let summary = fs::read_to_string(machine.folder().join("summary.md")).unwrap();
    assert!(summary.starts_with("## verdict: changes requested\n"), "{summary}");
}

/// Every recipe in YAML is YAML.
#[test]
fn recipes_can_be_read() {
    let recipes = blocks("yaml");
    assert_eq!(recipes.len(), 6);
    for text in recipes.iter().map(String::as_str).chain([HOOKS]) {
        let read: Result<serde_json::Value, _> = serde_saphyr::from_str(text);
        read.unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}

/// A remote of `repo`, which has nothing yet.
fn remote(repo: &Repo) -> Repo {
    let remote = Repo::new();
    remote.git(["config", "receive.denyCurrentBranch", "ignore"]);
    repo.git(["remote", "add", "origin", &remote.path().display().to_string()]);
    remote
}

/// The text of the documentation as the hook of `repo`.
fn install_hook(repo: &Repo) {
    let hook = repo.path().join(".git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let script = blocks("sh").into_iter().find(|block| block.starts_with("#!/bin/sh")).unwrap();
    fs::write(&hook, script).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The first push of all, and the first one of a branch: no upstream, and nothing there to compare
/// with. Every commit that the remote lacks counts, not only the last one.
#[test]
fn the_plain_hook_works_on_the_first_push() {
    let (machine, repo) = (Machine::new(), branch());
    let remote = remote(&repo);
    install_hook(&repo);
    repo.write("b.py", "x = 1\n").commit("later");
    let push = |what: &str| shell(&machine, &repo, &format!("git push -q origin {what} 2>&1"));
    let refused = push("main");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stdout.contains("security/sql-injection"), "{refused:?}");
    assert!(!remote.try_git(["rev-parse", "--verify", "-q", "main"]).status.success());

    let passed = push("main~2:refs/heads/main");
    assert_eq!(passed.code, Some(0), "the empty tree is the base of a first commit: {passed:?}");
    repo.git(["checkout", "-q", "-b", "topic"]);
    let refused = push("topic");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stdout.contains("security/sql-injection"), "{refused:?}");
    repo.git(["reset", "-q", "--hard", "main~2"]);
    repo.write("b.py", "x = 1\n").commit("harmless");
    let passed = push("-u topic");
    assert_eq!(passed.code, Some(0), "{passed:?}");
    assert_eq!(remote.git(["rev-parse", "topic"]), repo.git(["rev-parse", "HEAD"]));
    let nothing_new = push("topic:refs/heads/again");
    assert_eq!(nothing_new.code, Some(0), "{nothing_new:?}");
    repo.git(["tag", "-a", "v1", "-m", "v1"]);
    let tag = push("v1");
    assert_eq!(tag.code, Some(0), "{tag:?}");
}

/// The hook stops a push, and lets another pass.
#[test]
fn the_plain_hook_decides_about_a_push() {
    let (machine, repo) = (Machine::new(), branch());
    let remote = remote(&repo);
    repo.git(["push", "-q", "origin", "HEAD~1:refs/heads/main"]);
    repo.git(["fetch", "-q", "origin"]);
    install_hook(&repo);

    let push = || shell(&machine, &repo, "git push -q origin main 2>&1");
    let refused = push();
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stdout.contains("security/sql-injection"), "{refused:?}");
    let there = remote.git(["rev-parse", "main"]);
    assert_eq!(there, repo.git(["rev-parse", "HEAD~1"]));

    repo.write("a.py", "x = 2\n").git(["commit", "-qa", "--amend", "-m", "better"]);
    let passed = push();
    assert_eq!(passed.code, Some(0), "{passed:?}");
    assert_eq!(remote.git(["rev-parse", "main"]), repo.git(["rev-parse", "HEAD"]));
    let deleted =
        shell(&machine, &repo, "git push -q origin HEAD:refs/heads/x && git push -q origin :x");
    assert_eq!(deleted.code, Some(0), "{deleted:?}");
}

/// The commands that install completions and manual pages.
#[test]
fn completions_are_installed_as_told() {
    let (machine, repo) = (Machine::new(), branch());
    let block = blocks("sh").into_iter().find(|block| block.contains("completions")).unwrap();
    for line in block.lines() {
        let (_, file) = line.split_once("> ~/").unwrap();
        let file = machine.folder().join("home").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        assert_eq!(shell(&machine, &repo, line).code, Some(0), "{line}");
        assert!(fs::metadata(&file).unwrap().len() > 500, "{line}");
    }
}

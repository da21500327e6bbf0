//! What a repository and its surroundings would like to have executed or read in place of the
//! change: nothing of it is, by the real program.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;

use crate::{review::support::Repo, support::Machine};

/// Every way known to have git run a program; `RUN` stands for one that leaves a trace.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "RUN"),
    ("core.pager", "RUN"),
    ("core.editor", "RUN"),
    ("core.sshCommand", "RUN"),
    ("core.gitProxy", "RUN"),
    ("core.askPass", "RUN"),
    ("core.alternateRefsCommand", "RUN"),
    ("core.untrackedCache", "true"),
    ("credential.helper", "!RUN"),
    ("diff.external", "RUN"),
    ("diff.evil.command", "RUN"),
    ("diff.evil.textconv", "RUN"),
    ("diff.evil.cachetextconv", "true"),
    ("filter.evil.clean", "RUN"),
    ("filter.evil.smudge", "RUN"),
    ("filter.evil.process", "RUN"),
    ("filter.evil.required", "true"),
    ("merge.evil.driver", "RUN"),
    ("gpg.program", "RUN"),
    ("log.showSignature", "true"),
    ("interactive.diffFilter", "RUN"),
    ("sequence.editor", "RUN"),
    ("uploadpack.packObjectsHook", "RUN"),
    ("pager.diff-tree", "RUN"),
    ("pager.cat-file", "RUN"),
    ("alias.diff-tree", "!RUN"),
    ("alias.cat-file", "!RUN"),
    ("alias.rev-parse", "!RUN"),
    ("protocol.allow", "always"),
    ("protocol.ext.allow", "always"),
    ("extensions.partialClone", "origin"),
    ("remote.origin.promisor", "true"),
    ("remote.origin.partialCloneFilter", "blob:none"),
    ("remote.origin.url", "ext::RUN"),
    ("remote.origin.uploadpack", "RUN"),
    ("remote.origin.vcs", "evil"),
    ("submodule.recurse", "true"),
    ("maintenance.auto", "true"),
    ("gc.auto", "1"),
];

const HOOKS: &[&str] = &[
    "applypatch-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "pre-commit",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// A program that leaves a trace wherever it is run from.
fn trap(folder: &Path, canary: &Path) -> String {
    let at = folder.join("trap");
    fs::write(&at, format!("#!/bin/sh\ntouch '{}'\ncat\n", canary.display())).unwrap();
    fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    at.to_str().unwrap().to_owned()
}

fn fixture() -> Repo {
    let attributes = "* diff=evil filter=evil merge=evil\n";
    let repo = Repo::new();
    repo.write(".gitattributes", attributes).write("a.py", "x = 1\n").write("lost.py", "y = 1\n");
    repo.commit("base");
    repo.write("a.py", "x = 1\nbreakpoint()\n").write("lost.py", "y = 2\n");
    repo.commit("change");
    repo
}

fn set_traps(repo: &Repo, trap: &str) {
    for hook in HOOKS {
        fs::copy(trap, repo.path().join(".git/hooks").join(hook)).unwrap();
    }
    let more = repo.path().join(".git/more");
    fs::write(&more, format!("[diff]\n\texternal = {trap}\n[core]\n\tpager = {trap}\n")).unwrap();
    repo.git(["config", "include.path", more.to_str().unwrap()]);
    for (key, value) in SETTINGS {
        repo.git(["config", key, &value.replace("RUN", trap)]);
    }
    // Content that could be had from the remote, by way of a program.
    let blob = repo.git(["rev-parse", "HEAD~1:lost.py"]);
    let loose = repo.path().join(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
    fs::remove_file(loose).unwrap();
}

/// What a review says, its run and its times aside.
fn said(done: &crate::support::Done) -> Value {
    let mut said: Value = serde_json::from_str(&done.stdout).expect(&done.stderr);
    for own in ["run", "timings"] {
        said.as_object_mut().unwrap().remove(own);
    }
    said
}

#[test]
fn nothing_of_a_repository_is_executed() {
    let (repo, machine) = (fixture(), Machine::new());
    let canary = machine.folder().join("canary");
    set_traps(&repo, &trap(machine.folder(), &canary));
    let path = repo.path();
    let args = ["review", "HEAD^!", "--format", "json", "--repo", path.to_str().unwrap()];
    let done = machine.run(&args);
    let said = said(&done);
    assert!(!canary.exists());
    assert_eq!(said["verdict"], "incomplete", "{}", done.stderr);
    assert_eq!(said["findings"][0]["rule"], "py-debugger");
    let lost = said["coverage"].as_array().unwrap().iter().find(|row| row["path"] == "lost.py");
    assert_eq!(lost.unwrap()["reason"], "its content is not in the repository");
    // The trap works: git left to itself falls into it.
    repo.try_git(["diff", "HEAD~1", "HEAD", "--", "a.py"]);
    assert!(canary.exists());
}

/// Variables that lead git elsewhere, or have it run or write something, lead nowhere.
#[test]
fn the_environment_does_not_redirect_it() {
    let (repo, other, machine) = (fixture(), fixture(), Machine::new());
    other.write("a.py", "eval(input())\n").commit("elsewhere");
    let path = repo.path();
    let args =
        ["review", "HEAD^!", "--fresh", "--format", "json", "--repo", path.to_str().unwrap()];
    let plain = said(&machine.run(&args));
    assert_eq!(plain["findings"][0]["rule"], "py-debugger");
    let canary = machine.folder().join("canary");
    let trap = trap(machine.folder(), &canary);
    let elsewhere = other.path().join(".git").to_str().unwrap().to_owned();
    let trace = canary.to_str().unwrap();
    let mut command = machine.command(&args);
    command.envs([
        ("GIT_DIR", elsewhere.as_str()),
        ("GIT_COMMON_DIR", &elsewhere),
        ("GIT_WORK_TREE", "/"),
        ("GIT_INDEX_FILE", "/dev/null"),
        ("GIT_OBJECT_DIRECTORY", "/nowhere"),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "/nowhere"),
        ("GIT_NAMESPACE", "odd"),
        ("GIT_PREFIX", "odd/"),
        ("GIT_EXTERNAL_DIFF", &trap),
        ("GIT_DIFF_OPTS", "-u7"),
        ("GIT_PAGER", &trap),
        ("GIT_EDITOR", &trap),
        ("GIT_ASKPASS", &trap),
        ("GIT_SSH", &trap),
        ("GIT_SSH_COMMAND", &trap),
        ("GIT_PROXY_COMMAND", &trap),
        ("GIT_CONFIG", "/nowhere"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "diff.external"),
        ("GIT_CONFIG_VALUE_0", &trap),
        ("GIT_CONFIG_PARAMETERS", "'diff.noprefix=true'"),
        ("GIT_ALLOW_PROTOCOL", "ext:file"),
        ("GIT_ATTR_SOURCE", "HEAD"),
        ("GIT_GRAFT_FILE", "/nowhere"),
        ("GIT_SHALLOW_FILE", "/nowhere"),
        ("GIT_REPLACE_REF_BASE", "refs/heads/"),
        ("GIT_DEFAULT_HASH", "sha256"),
        ("GIT_LITERAL_PATHSPECS", "0"),
        ("GIT_NOGLOB_PATHSPECS", "1"),
        ("GIT_GLOB_PATHSPECS", "1"),
        ("GIT_ICASE_PATHSPECS", "1"),
        ("GIT_NO_LAZY_FETCH", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "0"),
        ("GIT_TRACE", trace),
        ("GIT_TRACE_SETUP", trace),
        ("GIT_TRACE2", trace),
        ("GIT_TRACE2_EVENT", trace),
        ("GIT_TRACE2_PERF", trace),
        ("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1"),
        ("GIT_FLUSH", "1"),
        ("PAGER", &trap),
        ("LESSOPEN", &format!("|{trap} %s")),
        ("EDITOR", &trap),
    ]);
    assert_eq!(said(&Machine::finish(command)), plain);
    assert!(!canary.exists());
}

/// A flood of complaints does not stop git, and so not the review.
#[test]
fn a_flood_of_complaints_stops_nothing() {
    let (repo, machine) = (fixture(), Machine::new());
    // Each line is a complaint of more than a hundred bytes for everybody who asks for attributes.
    let odd = format!("*.py !!{}=\n", "x".repeat(100)).repeat(5_000);
    fs::create_dir_all(repo.path().join(".git/info")).unwrap();
    fs::write(repo.path().join(".git/info/attributes"), odd).unwrap();
    let complaints = repo.try_git(["diff-tree", "-p", "HEAD~1", "HEAD"]).stderr.len();
    assert!(complaints > 256 * 1024, "{complaints}");
    let path = repo.path();
    let done =
        machine.run(&["review", "HEAD^!", "--format", "json", "--repo", path.to_str().unwrap()]);
    assert_eq!(said(&done)["findings"][0]["rule"], "py-debugger");
}

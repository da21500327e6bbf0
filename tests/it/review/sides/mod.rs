//! Checks that need both sides of the diff: the helper their tables are tried with, and whole
//! reviews.

mod callers;
mod copies;
mod cross_file;
mod errors;
mod lock_files;
mod misfits;
mod unlocks;

use std::collections::BTreeSet;

use verdict::analysis::{
    LineSet, MaskedText,
    sides::{self, CHECKS, Pair, cross_file::Callees},
};

use super::support::{Repo, found};

/// A file before and after: lines that begin with `-` are gone, those with `+` are new.
pub struct Change<'a> {
    pub path: &'a str,
    pub diff: &'a str,
}

struct Texts {
    base: MaskedText,
    head: MaskedText,
    removed: LineSet,
    added: LineSet,
}

fn texts(diff: &str) -> Texts {
    let (mut base, mut head) = (String::new(), String::new());
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let (mut old, mut new) = (0_u32, 0_u32);
    for line in diff.trim_start_matches('\n').lines() {
        let (mark, text) = if line.is_empty() { (" ", "") } else { line.split_at(1) };
        if mark != "+" {
            old += 1;
            base.push_str(&format!("{text}\n"));
        }
        if mark != "-" {
            new += 1;
            head.push_str(&format!("{text}\n"));
        }
        match mark {
            "-" => removed.push(old..=old),
            "+" => added.push(new..=new),
            " " => {}
            other => panic!("`{other}` marks no line of a diff: {line}"),
        }
    }
    let (base, head) = (base.into(), head.into());
    Texts { base, head, removed: removed.into_iter().collect(), added: added.into_iter().collect() }
}

/// The findings about a change of several files, as `rule:line`.
pub fn reported(files: &[Change<'_>]) -> Vec<String> {
    let sides: Vec<Texts> = files.iter().map(|file| texts(file.diff)).collect();
    let checked: Vec<_> = files
        .iter()
        .zip(&sides)
        .map(|(file, Texts { base, head, removed, added })| {
            sides::check(Pair { path: file.path, base, head, removed, added })
        })
        .collect();
    let mut findings: Vec<_> = checked.iter().flat_map(|c| c.findings.clone()).collect();
    if let Some(callees) = Callees::of(checked.iter().flat_map(|c| &c.changed)) {
        for (file, side) in files.iter().zip(&sides) {
            let there = |path: &String| files.iter().any(|f| f.path == path);
            let suspects = callees.check(file.path, &side.head, &side.added).into_iter();
            let certain = suspects.filter(|s| !s.rivals.iter().any(there));
            findings.extend(certain.map(|s| s.finding));
        }
    }
    findings.iter().map(|f| format!("{}:{}", f.rule, f.start_line)).collect()
}

/// Each `(path, diff)` must make exactly the one finding named with it.
pub fn finds(cases: &[(&str, &str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(path, diff, expected)| {
            let found = reported(&[Change { path, diff }]);
            (found != [*expected]).then(|| format!("{path}{diff}{found:?} is not {expected}\n"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// None of the `(path, diff)` makes any finding.
pub fn is_silent(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(path, diff)| {
            let found = reported(&[Change { path, diff }]);
            (!found.is_empty()).then(|| format!("{path}{diff}{found:?} was not expected\n"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files of which each loses or turns something when the second text replaces the first.
const FIXTURE: &[(&str, &str, &str)] = &[
    (
        "callers.py",
        "def area(width):\n    return width\n\n\ndef draw(box):\n    return area(box)\n",
        "def area(width, height):\n    return width\n\n\ndef draw(box):\n    return area(box)\n",
    ),
    (
        "error.go",
        "package a\n\nfunc f() string {\n\ta, err := g()\n\tif err != nil {\n\t\treturn \"\"\n\t}\n\treturn a.String()\n}\n",
        "package a\n\nfunc f() string {\n\ta, err := g()\n\treturn a.String()\n}\n",
    ),
    (
        "misfit.py",
        "def area(width, height):\n    return width\n",
        "def area(width, height):\n    return width\n\n\ndef draw(box):\n    return area(box)\n",
    ),
    (
        "name.py",
        "def f(ax, ay, bx, by):\n    return 0\n",
        "def f(ax, ay, bx, by):\n    dx = abs(ax - bx)\n    dy = abs(ay - bx)\n    return dx + dy\n",
    ),
    (
        "unlock.go",
        "package a\n\nfunc f() {\n\tmu.Lock()\n\tdefer mu.Unlock()\n\tgo_on(items)\n}\n",
        "package a\n\nfunc f() {\n\tmu.Lock()\n\tgo_on(items)\n}\n",
    ),
    (
        "web/package-lock.json",
        "{\"packages\": {\"\": {\"dependencies\": {\"a\": \"^1.0.0\"}}}}\n",
        "{\"packages\": {\"\": {\"dependencies\": {\"a\": \"^2.0.0\"}}}}\n",
    ),
];

fn fixture() -> Repo {
    let repo = Repo::new();
    repo.write("web/package.json", "{\"dependencies\": {\"a\": \"^1.0.0\"}}\n");
    // `name-left-behind` is below the default.
    repo.write(".verdict.toml", "[review]\nmin_confidence = 0.45\n");
    FIXTURE.iter().for_each(|(path, base, _)| {
        repo.write(path, base);
    });
    repo.commit("base");
    FIXTURE.iter().for_each(|(path, _, head)| {
        repo.write(path, head);
    });
    repo.commit("change");
    repo
}

/// A whole review makes a finding of each check, on the lines that count, and only those.
#[tokio::test]
async fn each_check_is_part_of_a_review() {
    let state = fixture().review("HEAD^!").await;
    let mut found = found(&state);
    found.sort();
    assert_eq!(
        found,
        [
            "caller-left-behind callers.py:6-6",
            "error-check-removed error.go:4-4",
            "lock-contradicts-manifest web/package-lock.json:0-0",
            "name-left-behind name.py:3-3",
            "unlock-removed unlock.go:4-4",
            "wrong-arguments misfit.py:6-6",
        ]
    );
    let ids: BTreeSet<&str> = found.iter().filter_map(|f| f.split(' ').next()).collect();
    assert_eq!(ids, CHECKS.iter().map(|c| c.id).collect());
}

/// A finding on an untouched line says so, and a comment there suppresses it.
#[tokio::test]
async fn a_finding_on_an_untouched_line_says_so() {
    let repo = Repo::new();
    let locked = "package a\n\nfunc f() {\n\tmu.Lock()\n\tdefer mu.Unlock()\n\tgo_on(items)\n}\n";
    repo.write("a.go", locked).write("b.go", locked).commit("base");
    let open = locked.replace("\tdefer mu.Unlock()\n", "");
    let why = "\t// verdict:ignore unlock-removed the caller releases it\n\tmu.Lock()\n";
    repo.write("a.go", &open).write("b.go", open.replace("\tmu.Lock()\n", why));
    repo.commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["unlock-removed a.go:4-4"]);
    let judgement = state.judgement.unwrap();
    assert_eq!(judgement.left_out.suppressed, 1);
    let body = &judgement.findings[0].body;
    assert!(body.contains("The line itself was not touched"), "{body}");
    assert!(body.contains("Line 5 of the base"), "{body}");
}

/// Checks are turned off and weighed as rules are, and their agent with them.
#[tokio::test]
async fn checks_obey_the_settings() {
    let repo = fixture();
    repo.write(
        ".verdict.toml",
        "[review]\nagents = [\"logic\"]\nignore = [\"unlock.go\"]\n[review.rules]\nname-left-behind = \"off\"\ncaller-left-behind = \"info\"\n",
    );
    repo.commit("settings");
    FIXTURE.iter().for_each(|(path, base, _)| {
        repo.write(path, base);
    });
    repo.commit("again the base");
    FIXTURE.iter().for_each(|(path, _, head)| {
        repo.write(path, head);
    });
    repo.commit("again the change");
    let state = repo.review("HEAD^!").await;
    let mut found = found(&state);
    found.sort();
    assert_eq!(
        found,
        [
            "error-check-removed error.go:4-4",
            "lock-contradicts-manifest web/package-lock.json:0-0",
            "wrong-arguments misfit.py:6-6",
        ]
    );
}

/// A routine refresh of a lock file is no finding, nor is a manifest that changes with it.
#[tokio::test]
async fn lock_files_that_agree() {
    let repo = Repo::new();
    let lock = |wanted: &str, locked: &str| {
        format!(
            "{{\"packages\": {{\"\": {{\"devDependencies\": {{\"a\": \"{wanted}\"}}}}, \"node_modules/a\": {{\"version\": \"{locked}\"}}}}}}\n"
        )
    };
    let manifest = |wanted: &str| format!("{{\"devDependencies\": {{\"a\": \"{wanted}\"}}}}\n");
    repo.write("package.json", manifest("^1.0.0"));
    repo.write("package-lock.json", lock("^1.0.0", "1.0.0")).commit("base");
    repo.write("package-lock.json", lock("^1.0.0", "1.0.1")).commit("refresh");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("package.json", manifest("^2.0.0"));
    repo.write("package-lock.json", lock("^2.0.0", "2.0.0")).commit("both");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("package-lock.json", "{\"lockfileVersion\": 1}\n").commit("an old format");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("package-lock.json", "no lock file\n").commit("damaged");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.remove("package.json").write("package-lock.json", lock("^3.0.0", "3.0.0"));
    repo.commit("without a manifest");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
}

//! Checks that need both sides of the diff: the helper their tables are tried with, and whole
//! reviews.

mod bounds;
mod callers;
mod closes;
mod conditions;
mod copies;
mod elsewhere;
mod errors;
mod gone_tests;
mod guards;
mod lock_files;
mod locks;
mod permissions;

use std::collections::BTreeSet;

use verdict::analysis::{
    LineSet, Side,
    sides::{self, CHECKS, Pair, elsewhere::Callees},
};

use super::support::{Repo, found};

/// A file before and after: lines that begin with `-` are gone, those with `+` are new.
pub struct Change<'a> {
    pub path: &'a str,
    pub diff: &'a str,
}

struct Texts {
    base: String,
    head: String,
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
    Texts { base, head, removed: removed.into_iter().collect(), added: added.into_iter().collect() }
}

/// What is said about a change of several files: `rule:line`, with `?` behind what stays below the
/// usual threshold, and `-` before a line of the base.
pub fn said(files: &[Change<'_>]) -> Vec<String> {
    let sides: Vec<Texts> = files.iter().map(|file| texts(file.diff)).collect();
    let looked: Vec<_> = files
        .iter()
        .zip(&sides)
        .map(|(file, Texts { base, head, removed, added })| {
            sides::look(Pair { path: file.path, old_path: file.path, base, head, removed, added })
        })
        .collect();
    let mut findings = sides::settle(looked.iter(), false);
    if let Some(callees) = Callees::of(looked.iter()) {
        for (file, side) in files.iter().zip(&sides) {
            let there = |path: &String| files.iter().any(|f| f.path == path);
            let suspects = callees.look(file.path, &side.head, &side.added).into_iter();
            let certain = suspects.filter(|s| !s.rivals.iter().any(there));
            findings.extend(certain.map(|s| s.finding));
        }
    }
    let told = findings.iter().map(|f| {
        let side = if f.side == Side::Left { "-" } else { "" };
        let sure = if f.confidence.get() < 50 { "?" } else { "" };
        format!("{}:{side}{}{sure}", f.rule, f.start_line)
    });
    told.collect()
}

/// Each `(path, diff)` must make exactly the one finding named with it.
pub fn finds(cases: &[(&str, &str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(path, diff, expected)| {
            let found = said(&[Change { path, diff }]);
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
            let found = said(&[Change { path, diff }]);
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
        "close.py",
        "def first(path):\n    with open(path) as f:\n        return f.read()\n",
        "def first(path):\n    f = open(path)\n    return f.read()\n",
    ),
    (
        "condition.go",
        "package a\n\nfunc f() error {\n\terr := g()\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn h()\n}\n",
        "package a\n\nfunc f() error {\n\terr := g()\n\tif err == nil {\n\t\treturn err\n\t}\n\treturn h()\n}\n",
    ),
    (
        "error.go",
        "package a\n\nfunc f() string {\n\ta, err := g()\n\tif err != nil {\n\t\treturn \"\"\n\t}\n\treturn a.String()\n}\n",
        "package a\n\nfunc f() string {\n\ta, err := g()\n\treturn a.String()\n}\n",
    ),
    (
        "guard.py",
        "def f(user):\n    if user is None:\n        return\n    user.greet()\n",
        "def f(user):\n    log()\n    user.greet()\n",
    ),
    (
        "lock.py",
        "def put(a):\n    with lock:\n        items.add(a)\n        names.add(a)\n\n\ndef get():\n    with lock:\n        return items\n",
        "def put(a):\n    items.add(a)\n    names.add(a)\n\n\ndef get():\n    with lock:\n        return items\n",
    ),
    (
        "name.py",
        "def f(ax, ay, bx, by):\n    return 0\n",
        "def f(ax, ay, bx, by):\n    dx = abs(ax - bx)\n    dy = abs(ay - bx)\n    return dx + dy\n",
    ),
    (
        "permission.py",
        "@login_required\ndef remove(request, id):\n    item = find(id)\n    item.delete()\n",
        "def remove(request, id):\n    item = find(id)\n    item.delete()\n",
    ),
    (
        "tests/test_a.py",
        "def test_a():\n    total = add(1)\n    assert total\n",
        "def test_a():\n    total = add(1)\n",
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
    repo.write("src/sum.js", "x\n").write("src/sum.test.js", "it('a', () => { expect(1); });\n");
    FIXTURE.iter().for_each(|(path, base, _)| {
        repo.write(path, base);
    });
    repo.commit("base");
    FIXTURE.iter().for_each(|(path, _, head)| {
        repo.write(path, head);
    });
    repo.remove("src/sum.test.js").commit("change");
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
            "close-removed close.py:2-2",
            "condition-turned-round condition.go:5-5",
            "error-check-removed error.go:4-4",
            "guard-removed guard.py:3-3",
            "lock-contradicts-manifest web/package-lock.json:0-0",
            "lock-removed lock.py:2-2",
            "name-left-behind name.py:3-3",
            "permission-check-removed permission.py:1-1",
            "test-file-removed src/sum.test.js:0-0",
            "test-without-assertion tests/test_a.py:1-1",
            "unlock-removed unlock.go:4-4",
        ]
    );
    let ids: BTreeSet<&str> = found.iter().filter_map(|f| f.split(' ').next()).collect();
    // Nothing is said about a test that went where programs shrink.
    let checks = CHECKS.iter().map(|c| c.id).filter(|id| *id != "test-removed");
    assert_eq!(ids, checks.collect());
}

/// A test that went is missed on the base side, by an agent of its own, where somebody wants to hear it.
#[tokio::test]
async fn a_test_that_went_is_missed() {
    let repo = Repo::new();
    repo.write(".verdict.toml", "[review]\nmin_confidence = 0.4\n");
    let one = "def test_a():\n    assert add(1)\n";
    repo.write("tests/test_a.py", format!("{one}\n\ndef test_b():\n    assert add(2)\n"));
    repo.write("src/add.py", "def add(a):\n    return a\n").commit("base");
    repo.write("tests/test_a.py", one).commit("gone");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["test-removed tests/test_a.py:5-5"]);
    let finding = &state.judgement.unwrap().findings[0];
    assert_eq!((finding.side, finding.quote.as_str()), (Side::Left, "def test_b():"));
}

/// What stands on a line that was not touched says so, and a comment there tells it away.
#[tokio::test]
async fn a_finding_on_an_untouched_line_says_so() {
    let repo = Repo::new();
    let guarded = "def f(user):\n    if user is None:\n        return\n    user.greet()\n";
    repo.write("a.py", guarded).write("b.py", guarded).commit("base");
    let why = "# verdict:ignore guard-removed the only caller asks";
    repo.write("a.py", "def f(user):\n    log()\n    user.greet()\n");
    repo.write("b.py", format!("def f(user):\n    log()\n    {why}\n    user.greet()\n"));
    repo.commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["guard-removed a.py:3-3"]);
    let judgement = state.judgement.unwrap();
    assert_eq!(judgement.left_out.suppressed, 1);
    let body = &judgement.findings[0].body;
    assert!(body.contains("The line itself was not touched"), "{body}");
    assert!(body.contains("Line 2 of the base"), "{body}");
}

/// Checks are turned off and weighed as rules are, and their agent with them.
#[tokio::test]
async fn checks_obey_the_settings() {
    let repo = fixture();
    repo.write(
        ".verdict.toml",
        "[review]\nagents = [\"logic\"]\nignore = [\"*.go\"]\n[review.rules]\nclose-removed = \"off\"\nguard-removed = \"info\"\n",
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
            "caller-left-behind callers.py:6-6",
            "lock-contradicts-manifest web/package-lock.json:0-0",
            "lock-removed lock.py:2-2",
            "name-left-behind name.py:3-3",
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

/// A file of tests is missed where its subject is seen to stay, and nothing else explains it.
#[tokio::test]
async fn files_of_tests_that_went() {
    let test = "it('a', () => { expect(1); });\n";
    let base = || {
        let repo = Repo::new();
        repo.write("lib/sum.rb", "x\n").write("spec/sum_spec.rb", "it('a') { expect(1) }\n");
        repo.write("src/main/a/Sum.java", "x\n").write("src/test/a/SumTest.java", "x\n");
        repo.write("web/sum.js", "x\n").write("web/__tests__/sum.test.js", test).commit("base");
        repo
    };
    let repo = base();
    for gone in ["spec/sum_spec.rb", "src/test/a/SumTest.java", "web/__tests__/sum.test.js"] {
        repo.remove(gone).commit("gone");
        let expected = format!("test-file-removed {gone}:0-0");
        assert_eq!(found(&repo.review("HEAD^!").await), [expected]);
    }
    // With its subject.
    let repo = base();
    repo.remove("spec/sum_spec.rb").remove("lib/sum.rb").commit("both");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    // Moved.
    let repo = base();
    repo.remove("web/__tests__/sum.test.js").write("web/test/sum.test.js", test).commit("moved");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    // Another gains what it lost.
    let repo = base();
    repo.remove("spec/sum_spec.rb").write("spec/all_spec.rb", "it('sums') { expect(1) }\n");
    repo.commit("joined");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
}

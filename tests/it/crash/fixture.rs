//! A small repository with something to find, and what a review of it must come to.

use std::{collections::BTreeMap, fmt::Write as _, io::Write as _, process::Stdio};

use serde_json::{Value, json};

use crate::{review::support::Repo, support::Machine};

/// Two commits; the second one adds four files with a finding or two each.
pub fn repository() -> Repo {
    let repo = Repo::new();
    repo.write("a.py", "def f():\n    pass\n").commit("one");
    repo.write(
        "a.py",
        "import subprocess\ndef f(path):\n    subprocess.run(f'ls {path}', shell=True)\n",
    );
    repo.write("b.rs", "fn f() { let y = dbg!(1); }\n");
    repo.write("c.js", "function g() { debugger; }\n");
    repo.write("d/e.py", "def g(x=[]):\n    breakpoint()\n    return x\n");
    repo.commit("two");
    repo
}

/// A repository of so many commits over a root, each with one finding; answers their ids, the
/// root's first. Written as one stream, because a `git commit` for each takes longer than the test.
pub fn many_commits(repo: &Repo, commits: usize) -> Vec<String> {
    let mut stream = String::new();
    for n in 0..=commits {
        let text = format!("function f{n}() {{ debugger; }}\n");
        let _ = write!(
            stream,
            "commit refs/heads/main\nmark :{}\ncommitter T <t@example.org> {} +0000\ndata 1\nx\n\
             M 100644 inline f{n}.js\ndata {}\n{text}\n",
            n + 1,
            1_700_000_000 + n,
            text.len(),
        );
    }
    let mut git = std::process::Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(repo.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(git.wait().unwrap().success());
    let ids = repo.git(["rev-list", "--reverse", "main"]);
    ids.lines().map(str::to_owned).collect()
}

/// What a run came to, without what differs from run to run by nature.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub state: Value,
    pub records: BTreeMap<String, usize>,
}

/// The machine's only run, which must be complete, with every task finished exactly once.
pub fn only_run(machine: &Machine) -> Outcome {
    let runs = machine.run(&["runs", "list", "--format", "json"]).json();
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs:#}");
    assert_eq!(runs[0]["status"], "completed", "{runs:#}");
    let id = runs[0]["id"].as_str().unwrap();
    let shown = machine.run(&["runs", "show", id, "--format", "json"]).json();
    assert_eq!(shown["failures"], json!([]));
    let history = machine.run(&["runs", "history", id, "--format", "json"]).json();
    Outcome { state: shown["state"].clone(), records: once_only(&history) }
}

/// What there is of each kind of record. No task may have finished twice, and nothing may have
/// been opened again.
fn once_only(history: &Value) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::<String, usize>::new();
    let mut tasks = BTreeMap::<String, usize>::new();
    for row in history.as_array().unwrap() {
        let kind = row["kind"].as_str().unwrap().to_owned();
        if kind == "task_finished" {
            *tasks
                .entry(format!("{} {} {}", row["step"], row["node"], row["index"]))
                .or_default() += 1;
        }
        *kinds.entry(kind).or_default() += 1;
    }
    let twice: Vec<_> = tasks.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "finished more than once: {twice:?}");
    assert_eq!((kinds["started"], kinds["finished"]), (1, 1));
    assert!(!kinds.contains_key("reopened"), "{kinds:?}");
    kinds
}

/// The output of `review --format json` without its timings.
pub fn review_of(stdout: &str) -> Value {
    let mut review: Value = serde_json::from_str(stdout).unwrap();
    review.as_object_mut().unwrap().remove("timings").unwrap();
    assert!(review["findings"].as_array().unwrap().len() >= 4);
    review
}

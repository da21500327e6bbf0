//! W5: a command at a terminal is stopped by the first signal.

use std::{
    collections::HashSet,
    io::{Read as _, Write as _},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;

use crate::{
    crash::fixture::repository,
    review::support::Repo,
    server::host::Shaky,
    support::{Machine, eventually},
};

/// Whatever takes its time: here a git that hangs. The same command goes on afterwards.
#[tokio::test]
async fn the_first_signal_ends_a_review() {
    let (repo, shaky) = (repository(), Shaky::new());
    let asked = shaky.machine.folder().join("asked");
    shaky.hang_at_contents(&asked);
    let path = repo.path().display().to_string();
    let args = ["review", "--repo", &path, "HEAD^!"];
    let mut review = shaky.machine.start(&args);
    eventually("git is at work", async || asked.exists().then_some(())).await;
    review.terminate();
    assert!(review.ends_within(Duration::from_secs(30)).await, "it waits for git");
    assert_eq!(review.ends().await.code(), Some(3));
    let said = review.said().await;
    assert!(said.contains("the same command goes on"), "{said}");
    shaky.trouble("");
    let done = shaky.machine.run(&args);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

/// What two tasks of an agent review: nearly as many after the first is done as before.
const FILES: usize = 3900;

fn large() -> Repo {
    let repo = Repo::new();
    repo.commit("base");
    for n in 0..FILES {
        repo.write(
            &format!("src/p{}/m{n}.py", n / 100),
            format!("def f{n}(a):\n    return a == None\n"),
        );
    }
    repo.commit("change");
    repo
}

/// The tasks of agents that are recorded as done.
fn finished(machine: &Machine) -> Vec<Value> {
    let runs = machine.run(&["runs", "list", "--format", "json"]).json();
    let Some(run) = runs[0]["id"].as_str() else { return Vec::new() };
    let rows = machine.run(&["runs", "history", run, "--format", "json"]).json();
    let of_agent = |row: &&Value| {
        let node = row["node"].as_str().unwrap_or_default();
        row["kind"] == "task_finished" && ["style", "security", "logic", "pattern"].contains(&node)
    };
    rows.as_array().unwrap().iter().filter(of_agent).cloned().collect()
}

/// The number before the last ` of 3900 files WORD` on a screen.
fn count(screen: &str, word: &str) -> usize {
    let end = format!(" of {FILES} files {word}");
    let before = screen.rsplit_once(&end).map_or("", |(before, _)| before);
    before.rsplit(' ').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// On a large history a terminal counts the files that are read and analysed; Ctrl-C is acknowledged
/// before the work ends; what was analysed by then is not analysed again.
#[test]
fn a_large_review_counts_stops_and_goes_on() {
    let (machine, repo) = (Machine::new(), large());
    let path = repo.path().display().to_string();
    let program = env!("CARGO_BIN_EXE_verdict");
    let line = format!("stty cols 100; exec {program} review HEAD^! --format json --repo {path}");
    let mut command = machine.command_after(&format!("exec script -qec '{line}' /dev/null"), &[]);
    command.env("TERM", "xterm-256color").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut keys, mut terminal) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut screen, mut buffer) = (String::new(), [0; 4096]);
    let (mut read, mut analysed, mut typed) = (HashSet::new(), HashSet::new(), false);
    while let Ok(length @ 1..) = terminal.read(&mut buffer) {
        screen.push_str(&String::from_utf8_lossy(&buffer[..length]));
        read.insert(count(&screen, "read"));
        analysed.insert(count(&screen, "analysed"));
        if !typed && count(&screen, "analysed") > 2000 && !finished(&machine).is_empty() {
            keys.write_all(b"\x03").unwrap();
            typed = true;
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(3), "{screen}");
    assert!(read.len() > 1 && analysed.len() > 3, "{read:?} {analysed:?}:\n{screen}");
    assert!(screen.contains("verdict: stopping, "), "{screen}");

    let before = finished(&machine);
    let done = machine.run(&["review", "HEAD^!", "--format", "json", "--repo", &path]);
    let coverage = done.json()["coverage"].as_array().unwrap().clone();
    assert_eq!(coverage.iter().filter(|row| row["status"] == "done").count(), FILES);
    let after = finished(&machine);
    // Two chunks for each agent, and the change as a whole.
    assert_eq!(after.len(), 9, "{after:#?}");
    assert!(!before.is_empty() && before.len() < after.len(), "{before:#?}");
    assert!(before.iter().all(|row| after.contains(row)), "{before:#?}\n{after:#?}");
}

//! A real process is killed with exactly K records durable, for every K, while it writes the next
//! one; started again, it ends as if nothing had happened.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;

use super::fixture::{only_run, repository, review_of};
use crate::support::{Machine, Process, barrier, eventually, lift, rows, stuck};

/// The records of an undisturbed review.
const RECORDS: u64 = 13;

/// Waits until the process stands at the barrier, and kills it there. Answers how many records
/// were durable then.
async fn kill_at(machine: &Machine, process: &mut Process) -> i64 {
    let file = machine.file();
    eventually("the process stands at the barrier", async || {
        assert!(!process.has_ended(), "it ended: {}", process.said().await);
        // Longer than a slow disk takes over a write: killed too early, a boundary would be missed.
        stuck(&file, Duration::from_secs(1)).await.then_some(())
    })
    .await;
    assert!(process.kill().await);
    lift(&file).await;
    rows(&file).await.records
}

/// Which numbers of records some process died with. What becomes known together is one write, so
/// not every number can be durable in a real process: a task and the end of its step are, and the
/// agents, if they end together. (That the engine bears a crash after each single record is shown
/// where faults can be injected, in `review::flow`.)
fn assert_covered(met: &BTreeSet<i64>) {
    println!("killed with these numbers of records durable: {met:?}");
    assert!([0, 1, 3, 8, 10].iter().all(|records| met.contains(records)), "{met:?}");
}

/// E4, W2: `verdict review`, killed before, between and behind all its records.
#[tokio::test]
async fn review_killed_at_every_record_ends_the_same() {
    let repo = repository();
    let path = repo.path().display().to_string();
    let args = ["review", "HEAD~1..HEAD", "--repo", &path, "--format", "json"];
    let undisturbed = Machine::new();
    let review = review_of(&undisturbed.run(&args).stdout);
    let outcome = only_run(&undisturbed);
    assert_eq!(outcome.records.values().sum::<usize>() as u64, RECORDS);

    let mut met = BTreeSet::new();
    for k in 0..RECORDS {
        let machine = Machine::new();
        machine.open().await.close().await.unwrap();
        barrier(&machine.file(), k).await;
        let mut process = machine.start(&args);
        let records = kill_at(&machine, &mut process).await;
        assert!(records <= i64::try_from(k).unwrap());
        met.insert(records);

        let again = machine.run(&args);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        assert_eq!(review_of(&again.stdout), review, "killed after record {records}");
        assert_eq!(only_run(&machine), outcome, "killed after record {records}");
    }
    assert_covered(&met);
}

/// E4, W2: the same for `verdict run`, found again by its key.
#[tokio::test]
async fn run_killed_at_every_record_ends_the_same() {
    let repo = repository();
    let input = job_input(&repo.path().display().to_string());
    let start = |machine: &Machine| {
        let file = machine.text("input.json", input.to_string());
        ["run", "review", "--input", &file, "--key", "mine"].map(str::to_owned)
    };
    let undisturbed = Machine::new();
    let args = start(&undisturbed);
    let state = undisturbed.run(&args.each_ref().map(String::as_str)).json();
    let outcome = only_run(&undisturbed);
    assert_eq!(state, outcome.state);

    let mut met = BTreeSet::new();
    for k in 0..RECORDS {
        let machine = Machine::new();
        let args = start(&machine);
        let args = args.each_ref().map(String::as_str);
        machine.open().await.close().await.unwrap();
        barrier(&machine.file(), k).await;
        let mut process = machine.start(&args);
        met.insert(kill_at(&machine, &mut process).await);
        assert_eq!(machine.run(&args).json(), state);
        assert_eq!(only_run(&machine), outcome);
    }
    assert_covered(&met);
}

/// W2, W6: the same for `verdict serve`: the next one finishes the run, and the message goes only
/// then.
#[tokio::test]
async fn serve_killed_at_every_record_ends_the_same() {
    let repo = repository();
    let input = job_input(&repo.path().display().to_string());
    let job = serde_json::json!({"workflow": "review", "input": input, "key": "mine"}).to_string();
    let mut first = None;
    let mut met = BTreeSet::new();
    for k in 0..=RECORDS {
        let machine = Machine::new();
        let file = machine.text("job.json", &job);
        let enqueued = machine.run(&["enqueue", &file]);
        assert_eq!((enqueued.code, enqueued.stdout.trim()), (Some(0), "mine"));
        if k < RECORDS {
            barrier(&machine.file(), k).await;
            let mut process = machine.serve().await;
            met.insert(kill_at(&machine, &mut process).await);
            assert_eq!(rows(&machine.file()).await.messages, 1, "acknowledged too early");
        }
        machine.serve_all().await;
        let outcome = only_run(&machine);
        assert_eq!(&outcome, first.get_or_insert_with(|| only_run(&machine)));
    }
    assert_covered(&met);
}

fn job_input(repo: &str) -> Value {
    serde_json::json!({"repo": repo, "base": "HEAD~1", "head": "HEAD"})
}

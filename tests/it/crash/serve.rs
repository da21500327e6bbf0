//! `verdict serve`, the real binary, under a pile of work.

use std::time::Duration;

use serde_json::{Value, json};
use verdict::{
    graph::{HistoryEntry, Meta, RunStatus, Runtime, Store, store::RunFilter},
    queue::{Job, Queue},
};

use super::{
    fixture::{many_commits, repository},
    random::wanted,
};
use crate::{
    review::support::Repo,
    support::{Machine, eventually, pass, rows},
};

async fn enqueue(machine: &Machine, repo: &str, commits: &[String]) {
    let queue = machine.queue().await;
    let jobs = commits.windows(2).map(|pair| {
        let input = json!({"repo": repo, "base": pair[0], "head": pair[1]});
        let input = serde_json::value::to_raw_value(&input).unwrap();
        Job { workflow: "review".into(), input, key: None }.to_message()
    });
    let published = jobs.map(|message| queue.publish(message, Duration::ZERO));
    futures_util::future::try_join_all(published).await.unwrap();
    queue.close().await.unwrap();
}

/// W1, W2, W6: 200 reviews, eight at a time, the server killed and started again 20 times. (The
/// thousand are worked through by `worker::thousand`, whose runs cost next to nothing.)
#[tokio::test]
async fn two_hundred_reviews_survive_twenty_kills() {
    let (reviews, kills) = (wanted("VERDICT_TEST_REVIEWS", 200), 20);
    let repo = Repo::new();
    let commits = many_commits(&repo, usize::try_from(reviews).unwrap());
    // Killed from outside again and again: no run is to blame.
    let machine = Machine::new().set("worker.lost_claims", "1000");
    enqueue(&machine, &repo.path().display().to_string(), &commits).await;

    let mut random = fastrand::Rng::with_seed(wanted("VERDICT_TEST_SEED", 11));
    let mut alive = 0;
    for _ in 0..kills {
        let mut process = machine.serve().await;
        pass(Duration::from_millis(random.u64(50..600))).await;
        alive += u64::from(rows(&machine.file()).await.messages > 0);
        assert!(process.kill().await);
    }
    assert!(alive >= kills / 2, "the work was done before the {alive}th kill");
    machine.serve_all().await;
    println!("{alive} of {kills} kills while messages were left");
    check_all(&machine, usize::try_from(reviews).unwrap()).await;
}

/// Every run complete, none twice, no finished task run again, no dead letters.
async fn check_all(machine: &Machine, expected: usize) {
    let runtime = runtime(machine).await;
    let heads = runtime.store.list(&RunFilter::default()).await.unwrap();
    assert_eq!(heads.len(), expected);
    for head in &heads {
        assert_eq!(head.status, RunStatus::Completed, "{head:?}");
        assert_eq!((head.executions, &head.error), (0, &None));
        let mut seen = Vec::new();
        for HistoryEntry { meta, .. } in runtime.history(&head.id).await.unwrap() {
            match meta {
                Meta::TaskFinished { step, node, index, .. } => {
                    assert!(!seen.contains(&(step, node.clone(), index)), "{node} twice");
                    seen.push((step, node, index));
                }
                Meta::Reopened { why, .. } => panic!("reopened: {why}"),
                _ => {}
            }
        }
        assert_eq!(seen.len(), 7, "{seen:?}");
    }
    assert_eq!(machine.run(&["dlq", "list", "--format", "json"]).json(), json!([]));
}

async fn runtime(machine: &Machine) -> Runtime {
    let store = std::sync::Arc::new(machine.store().await) as std::sync::Arc<dyn Store>;
    Runtime::new(store, verdict::base::Clock::system(), "test")
}

/// W6: SIGTERM in the middle: it ends by itself with 0, within the grace period, holding nothing;
/// the next one does the rest.
#[tokio::test]
async fn a_server_told_to_stop_hands_back_what_it_has() {
    let repo = Repo::new();
    let commits = many_commits(&repo, 120);
    let machine = Machine::new();
    enqueue(&machine, &repo.path().display().to_string(), &commits).await;
    let mut process = machine.serve().await;
    eventually("some runs are under way", async || {
        (rows(&machine.file()).await.runs > 2).then_some(())
    })
    .await;
    process.terminate();
    assert!(process.ends_within(Duration::from_secs(10)).await, "it outlived its grace");
    assert_eq!(process.ends().await.code(), Some(0), "{}", process.said().await);

    let runtime = runtime(&machine).await;
    for head in runtime.store.list(&RunFilter::default()).await.unwrap() {
        assert_eq!(head.lease, None, "{head:?}");
        assert!(matches!(head.status, RunStatus::Completed | RunStatus::Queued), "{head:?}");
    }
    let depth = machine.queue().await.depth().await.unwrap();
    assert_eq!(depth.in_hand, Some(0), "{depth:?}");
    assert!(depth.ready.unwrap() > 0, "it had worked through everything: {depth:?}");

    machine.serve_all().await;
    check_all(&machine, 120).await;
}

/// W2: killed when the run is complete and its message is not yet acknowledged: the next server
/// acknowledges it and runs nothing.
#[tokio::test]
async fn killed_before_the_acknowledgement_runs_nothing_twice() {
    let repo = repository();
    let machine = Machine::new();
    let input = json!({"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"});
    let job: Value = json!({"workflow": "review", "input": input});
    let file = machine.text("job.json", job.to_string());
    assert_eq!(machine.run(&["enqueue", &file]).code, Some(0));
    crate::support::hold_messages(&machine.file()).await;
    let mut process = machine.serve().await;
    eventually("the server stands before the acknowledgement", async || {
        let there = crate::support::stuck(&machine.file(), Duration::from_millis(400)).await;
        (there && rows(&machine.file()).await.records == 13).then_some(())
    })
    .await;
    assert!(process.kill().await);
    crate::support::lift(&machine.file()).await;
    let rows_now = rows(&machine.file()).await;
    assert_eq!((rows_now.messages, rows_now.records), (1, 13));

    machine.serve_all().await;
    check_all(&machine, 1).await;
}

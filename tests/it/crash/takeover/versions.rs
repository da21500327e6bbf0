//! A run of a version of its workflow that the real binary does not know, on every store that
//! outlives a process: left alone for a while, then given up with the reason.

use std::time::Duration;

use serde_json::{Value, json};
use verdict::{
    forge::Target,
    graph::{NewSpec, RunId, RunStatus},
    queue::Decoded,
    workflows::{Workflow as _, review::Review},
};

use super::{
    Hit,
    crew::{Journal, Worker},
    site::Site,
};
use crate::support::eventually;

async fn left_alone_then_given_up(site: Site) {
    let target = json!({"forge": "local", "repo": "/nowhere", "base": "a", "head": "b"});
    let target: Target = serde_json::from_value(target).unwrap();
    let id = RunId::of("review", "of tomorrow");
    let spec = NewSpec::new("review", Review::VERSION + 1, target.into()).id(id.clone());
    site.runtime.open(&Review::graph().unwrap(), spec).await.unwrap();
    let wake = Decoded::wake_message(id.as_str());
    site.queue.publish(wake, Duration::ZERO).await.unwrap();

    let mut seat = site.seat(Hit::Stop);
    seat.machine = seat.machine.set("worker.version_wait", "1s");
    let mut worker = Worker::at(seat);
    worker.serves().await;
    eventually("the run is given up", async || {
        let head = site.runtime.store.head(&id).await.unwrap().unwrap();
        assert!(matches!(head.status, RunStatus::Queued | RunStatus::Failed | RunStatus::Running));
        (head.status == RunStatus::Failed).then_some(())
    })
    .await;
    let none = async || (site.messages().await == 0).then_some(());
    eventually("its message is gone", none).await;
    let letters = worker.seat.machine.run(&["dlq", "list", "--format", "json"]).json();
    let [letter] = &letters.as_array().unwrap()[..] else { panic!("{letters:#}") };
    assert_eq!(letter["reason"], "unsupported_version");
    let said = letter["error"].as_str().unwrap();
    let why = format!(
        "run {id} is of version {} of workflow `review`, which no worker here continues",
        Review::VERSION + 1
    );
    assert!(said.contains(&why), "{said}");
    let history = site.runtime.history(&id).await.unwrap();
    let kinds: Vec<_> = history.iter().map(|entry| entry.meta.kind()).collect();
    assert!(!kinds.contains(&"task_finished"), "a node was run: {kinds:?}");
    let mut journal = Journal::default();
    worker.ends(&mut journal).await;
    let told: Vec<Value> =
        journal.alarms.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(told.iter().any(|line| line["message"] == "given up"), "{told:?}");
    site.finish().await;
}

/// E20, W3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_an_unknown_version_in_a_file_is_given_up() {
    left_alone_then_given_up(Site::sqlite().await).await;
}

/// E20, W3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_an_unknown_version_on_postgres_is_given_up() {
    left_alone_then_given_up(Site::postgres().await).await;
}

/// E20, W3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_an_unknown_version_on_firestore_is_given_up() {
    left_alone_then_given_up(Site::firestore().await).await;
}

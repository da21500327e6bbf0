//! The workflows beside the review: X1–X4. docs/workflows.md names the test of every line of their
//! specifications.

mod delivery;
pub mod models;
mod orchestrator;
mod search;
mod writing;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter as _;
use verdict::graph::{Graph, State, testing::Checks};

use self::models::Models;
use crate::{
    graph::bench::on_each,
    server::{post, serve, stop},
    support::{Machine, eventually},
};

/// N1: on every store, a crash after every record ends in the same state, every node may run twice,
/// and every node may fail.
async fn survives_everything<S: State, D: Send + Sync + 'static>(
    graph: Graph<S, D>,
    deps: D,
    input: fn() -> S::Input,
) {
    let deps = Arc::new(deps);
    on_each(async |bench| {
        let (graph, deps) = (graph.clone(), deps.clone());
        let checks = Checks { graph, deps, store: bench.runtime.store.clone(), input };
        assert!(checks.survives_every_crash().await.unwrap() > 5);
        let nodes = checks.graph.all_nodes().len() as u64;
        assert_eq!(checks.every_node_may_run_twice().await, Ok(nodes));
        assert_eq!(checks.every_node_may_fail().await, Ok(nodes));
    })
    .await;
}

/// A machine whose models are these.
fn machine(models: &Models) -> Machine {
    Machine::new().set("model.chain", &models.entry())
}

/// The state of a run once it has this status.
async fn state_at(machine: &Machine, run: &str, status: &str) -> Value {
    let show = ["runs", "show", run, "--format", "json"];
    let mut seen = eventually(&format!("run {run} is {status}"), async || {
        let seen = machine.run(&show).json();
        assert!(seen["status"] != "failed" || status == "failed", "{seen:#}");
        (seen["status"] == status).then_some(seen)
    })
    .await;
    seen["state"].take()
}

/// The final states of three runs of one input: from the command line, from a message, over HTTP.
async fn from_everywhere(machine: &Machine, workflow: &str, input: &Value) -> [Value; 3] {
    let file = machine.text("input.json", input.to_string());
    let by_command = machine.run(&["run", workflow, "--input", &file]).json();
    let job = json!({"workflow": workflow, "input": input}).to_string();
    let job = machine.text("job.json", job);
    let (process, at) = serve(machine, "all").await;
    let queued = machine.run(&["enqueue", &job]);
    assert_eq!(queued.code, Some(0), "{}", queued.stderr);
    let answer = post(at, &json!({"workflow": workflow, "input": input})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let posted = answer.json()["id"].as_str().unwrap().to_owned();
    let by_request = state_at(machine, &posted, "completed").await;
    let list = ["runs", "list", "--workflow", workflow, "--format", "json"];
    let all = eventually("all three are complete", async || {
        let all = machine.run(&list).json();
        let done = |run: &&Value| run["status"] == "completed";
        let all = all.as_array().unwrap().clone();
        (all.iter().filter(done).count() == 3).then_some(all)
    })
    .await;
    let mut others = all.iter().filter(|run| run["id"] != posted.as_str());
    // The newest first: the message came after the command.
    let by_message = others.next().unwrap()["id"].as_str().unwrap();
    let by_message = state_at(machine, by_message, "completed").await;
    stop(process).await;
    [by_command, by_message, by_request]
}

/// What comes of a future, and what was logged meanwhile.
async fn logged<T>(future: impl Future<Output = T>) -> (T, String) {
    // The writer has to live as long as any clone of the subscriber may.
    let kept: &'static Mutex<Vec<u8>> = Box::leak(Box::default());
    let subscriber =
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || kept.make_writer()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let done = future.await;
    drop(guard);
    (done, String::from_utf8(kept.lock().unwrap().clone()).unwrap())
}

//! E12 and E13 between processes: a run is followed, and answered, by others than the one that works
//! on it. The real binary, on one SQLite file.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{
    Answer, HOST, JSON, ask,
    events::{Reader, Told, named},
    get, post, serve, stop,
};
use crate::{
    support::{Machine, until},
    workflows::models::{Asked, Models, Reply},
};

/// A bugfix: its agents do their part; the first asks for an approval if the task says `ask me`.
fn answers(asked: &Asked) -> Reply {
    let asks = asked.instructions.contains("You are the bug_fixer.");
    Reply::json(match &*asked.schema {
        "TaskAnalysis" => json!({
            "task_type": "bugfix", "complexity": "simple", "requires_ui": false,
            "requires_backend": true, "requires_architecture": false, "requires_approval": false,
            "suggested_agents": [],
        }),
        "AgentAnswer" => json!({
            "success": true, "summary": "done",
            "routing_hints": {"needs_approval": asks && asked.prompt.contains("ask me")},
        }),
        other => panic!("{other}"),
    })
}

fn is_tester(asked: &Asked) -> bool {
    asked.instructions.contains("You are the tester.")
}

/// One whose workers keep their runs, however slow it is. Who is dead is not waited for.
fn machine(models: &Models) -> Machine {
    Machine::new().set("model.chain", &models.entry()).set("worker.lease", "30s")
}

/// Starts the task; answers where its run is.
async fn start(at: SocketAddr, prompt: &str) -> String {
    let job = json!({"workflow": "orchestrator", "input": {"prompt": prompt}});
    let answer = post(at, &job).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.header("location").unwrap().to_owned()
}

fn last_id(told: &[Told]) -> &str {
    told.iter().rev().find_map(|told| told.1.as_deref()).unwrap()
}

/// All but the end, which shows the run as it is then.
fn seen(told: &[Told]) -> &[Told] {
    told.split_last().unwrap().1
}

/// Told by one process until it is killed, in the middle of a node, then by the one that takes the run
/// over: nothing is missing, nothing comes twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_goes_on_at_another_process_once_the_first_was_killed() {
    // Whoever asks the tester first waits for ever.
    let models = Models::retried(|asked, before| match is_tester(asked) && before == 0 {
        true => answers(asked).held(),
        false => answers(asked),
    });
    let machine = machine(&models);
    let (mut first, at) = serve(&machine, "all").await;
    let run = start(at, "Fix the null pointer bug in auth.ts").await;
    let path = format!("{run}/events");
    let mut reader = Reader::of(at, &path, &[]).await;
    let mut agents = 0;
    let mut told = reader
        .up_to(|(name, _, task)| {
            agents += usize::from(name == "node_started" && task["node"] == "execute_agent");
            agents == 2
        })
        .await;
    until("the tester is asked", || models.asked().iter().any(is_tester)).await;
    assert!(first.kill().await);
    drop(reader);

    let (second, at) = serve(&machine, "all").await;
    told.extend(Reader::behind(at, &path, last_id(&told)).await.all().await);
    let (name, _, ended) = told.last().unwrap();
    assert_eq!((name.as_str(), &ended["status"]), ("ended", &json!("completed")));
    assert_eq!(seen(&told), seen(&Reader::of(at, &path, &[]).await.all().await));
    let starts = named(&told, "node_started");
    let agents = starts.iter().filter(|task| task["node"] == "execute_agent").count();
    assert_eq!(agents, 3, "the one that was at work when its process died has started once");
    let tested = models.asked().iter().filter(|asked| is_tester(asked)).count();
    assert_eq!(tested, 2);
    stop(second).await;
}

async fn resume(at: SocketAddr, run: &str, answer: &Value) -> Answer {
    ask(at, &format!("POST {run}/resume"), &[HOST, JSON], &answer.to_string()).await
}

/// The worker has no API; two gateways have. One takes the answer, the other tells a second one what
/// the first was, and a reader at either sees the run go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_is_answered_through_another_process_and_once() {
    let models = Models::start(answers);
    let machine = machine(&models);
    let (worker, _) = serve(&machine, "worker").await;
    let (one, at_one) = serve(&machine, "gateway").await;
    let (two, at_two) = serve(&machine, "gateway").await;
    let run = start(at_one, "Fix it, but ask me first").await;
    let path = format!("{run}/events");
    let mut reader = Reader::of(at_two, &path, &[]).await;
    let mut told = reader.up_to(|told| told.2["kind"] == "interrupted").await;
    let shown = get(at_two, &run).await.json();
    let interrupt = &shown["interrupts"][0]["id"];
    assert_eq!(shown["interrupts"][0]["node"], "awaiting_approval", "{shown:#}");

    let approved = json!({"interrupt": interrupt, "answer": {"approved": true}});
    let taken = resume(at_two, &run, &approved).await;
    assert_eq!(taken.status, 200, "{taken:?}");
    let rejected = json!({"interrupt": interrupt, "answer": {"approved": false, "abort": true}});
    for at in [at_one, at_two] {
        let second = resume(at, &run, &rejected).await;
        let first = json!({"approved": true});
        assert_eq!((second.status, &second.json()["first"]), (409, &first), "{second:?}");
    }

    told.extend(reader.all().await);
    assert_eq!(seen(&told), seen(&Reader::of(at_one, &path, &[]).await.all().await));
    let (name, _, ended) = told.last().unwrap();
    assert_eq!((name.as_str(), &ended["status"]), ("ended", &json!("completed")));
    let answers = named(&told, "record").into_iter().filter(|row| row["kind"] == "resumed");
    assert_eq!(answers.count(), 1);
    for process in [worker, one, two] {
        stop(process).await;
    }
}

//! `verdict serve --role`, the real binary, on one SQLite file.

use serde_json::{Value, json};
use verdict::graph::{Body, Record, RunStatus, Store};

use super::{ask, get, metric, post, readiness, serve, stop};
use crate::{
    crash::fixture::repository,
    review::support::Repo,
    support::{Machine, eventually, rows},
};

fn job(repo: &Repo) -> Value {
    let input = json!({"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"});
    json!({"workflow": "review", "input": input})
}

/// One on which messages go first, and come once however slow the machine is: a sweep would not count
/// as one, and a message that comes again would count twice.
fn unhurried() -> Machine {
    Machine::new()
        .set("worker.sweep_margin", "10m")
        .set("worker.lease", "10m")
        .set("queue.visibility", "10m")
}

async fn completed(machine: &Machine, id: &str) {
    let store = machine.store().await;
    let run = id.parse().unwrap();
    eventually("the run completes", async || {
        let head = store.head(&run).await.unwrap().unwrap();
        (head.status == RunStatus::Completed).then_some(())
    })
    .await;
}

/// R: one process accepts, another one works, each says what it is.
#[tokio::test]
async fn a_gateway_accepts_and_a_worker_works() {
    let (repo, machine) = (repository(), unhurried());
    let (gateway, at) = serve(&machine, "gateway").await;
    assert_eq!(readiness(at, true).await, json!({"queue": "ok", "store": "ok"}));
    let answer = post(at, &job(&repo)).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    let unknown = machine.text("job.json", r#"{"workflow":"opera","input":1}"#);
    assert_eq!(machine.run(&["enqueue", "--force", &unknown]).code, Some(0));
    assert_eq!(metric(at, r#"verdict_runs_submitted_total{outcome="created"}"#).await, Some(1.0));
    assert_eq!(metric(at, "verdict_queue_received_total").await, None, "not its business");
    let head = machine.store().await.head(&id.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((head.status, head.epoch), (RunStatus::Queued, 0));

    let (worker, works) = serve(&machine, "worker").await;
    assert_eq!(readiness(works, true).await, json!({"worker": "ok"}));
    completed(&machine, &id).await;
    eventually("the queue is empty", async || {
        (rows(&machine.file()).await.messages == 0).then_some(())
    })
    .await;
    for (name, value) in [
        ("verdict_queue_received_total", 2.0),
        (r#"verdict_queue_settled_total{outcome="done",message="ack"}"#, 1.0),
        (r#"verdict_queue_settled_total{outcome="unknown_workflow",message="ack"}"#, 1.0),
        ("verdict_queue_in_hand", 0.0),
        ("verdict_queue_age_seconds_count", 2.0),
        // Nobody had either in hand before: the gateway took none.
        ("verdict_queue_redeliveries_total", 0.0),
        ("verdict_worker_paused", 0.0),
        (r#"verdict_dead_letters_total{reason="unknown_workflow"}"#, 1.0),
        (r#"verdict_dead_letters_total{reason="permanent"}"#, 0.0),
        (r#"verdict_queue_depth{state="ready"}"#, 0.0),
        (r#"verdict_queue_depth{state="dead"}"#, 1.0),
    ] {
        eventually(&format!("{name} is {value}"), async || {
            (metric(works, name).await == Some(value)).then_some(())
        })
        .await;
    }
    let text = get(works, "/metrics").await.body;
    assert!(text.contains("# HELP verdict_queue_age_seconds From publishing"), "{text}");
    let answer = post(works, &job(&repo)).await;
    assert_eq!(answer.status, 404);
    assert!(answer.error().contains("--role worker"), "{answer:?}");

    let again = post(at, &job(&repo)).await;
    assert_eq!(again.json(), json!({"id": id, "status": "completed"}), "asked again");
    assert_eq!((again.status, rows(&machine.file()).await.messages), (202, 0));
    stop(gateway).await;
    stop(worker).await;
}

/// One trace, from the request through the run to the log of whoever works on it.
#[tokio::test]
async fn a_trace_is_followed_from_the_request_to_the_log() {
    let (repo, machine) = (repository(), unhurried().set("log.format", "json"));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let (gateway, at) = serve(&machine, "gateway").await;
    let header = format!("traceparent: 00-{trace}-00f067aa0ba902b7-01");
    let body = job(&repo).to_string();
    let headers = [super::HOST, super::JSON, &header];
    let answer = ask(at, "POST /api/runs", &headers, &body).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = answer.json()["id"].as_str().unwrap().to_owned();

    let run = id.parse().unwrap();
    let (_, stored) = machine.store().await.load(&run, 0).await.unwrap().unwrap();
    let Body::Start(start) = Record::<()>::decode(1, &stored[0]).unwrap().body else {
        panic!("a run starts with its start")
    };
    assert_eq!(start.envelope.unwrap().trace.unwrap().trace_id(), trace);

    let (mut worker, _) = serve(&machine, "worker").await;
    let line: Value = serde_json::from_str(&worker.says("settled").await).unwrap();
    let span = &line["span"];
    assert_eq!((&span["name"], &span["run"]), (&json!("message"), &json!(id)), "{line}");
    assert_eq!((&span["trace_id"], &span["workflow"]), (&json!(trace), &json!("review")));
    assert_eq!((&line["message"], &line["outcome"]), (&json!("settled"), &json!("done")));
    let said = stop(gateway).await;
    let told = said.lines().find(|line| line.contains("run asked for")).unwrap();
    assert!(told.contains(trace) && told.contains(&id), "{told}");
    stop(worker).await;
}

/// Both in one process, which is what `serve` is unless told otherwise.
#[tokio::test]
async fn one_process_accepts_and_works() {
    let (repo, machine) = (repository(), Machine::new());
    let (process, at) = serve(&machine, "all").await;
    let checks = readiness(at, true).await;
    assert_eq!(checks, json!({"queue": "ok", "store": "ok", "worker": "ok"}));
    let answer = post(at, &job(&repo)).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    completed(&machine, answer.json()["id"].as_str().unwrap()).await;
    stop(process).await;
}

/// Behind an address that others reach, a list of folders is needed, as with any other queue.
#[tokio::test]
async fn callers_from_elsewhere_may_name_only_allowed_folders() {
    let repo = repository();
    let machine = Machine::new().set("server.token", "t").set("server.listen", "0.0.0.0:0");
    let mut process = machine.start(&["serve"]);
    let line = process.says("serving").await;
    let (_, port) = line.split_once("0.0.0.0:").unwrap();
    let port: u16 = port.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
    let headers = [super::HOST, super::JSON, "authorization: Bearer t"];
    let body = job(&repo).to_string();
    let at = ([127, 0, 0, 1], port).into();
    let answer = ask(at, "POST /api/runs", &headers, &body).await;
    assert_eq!(answer.status, 422, "{answer:?}");
    assert!(answer.error().contains("forge.local.allow"), "{answer:?}");
    stop(process).await;
}

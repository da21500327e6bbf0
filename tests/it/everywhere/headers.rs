//! Headers that are nested as deeply as a frame can hold.

use serde_json::json;
use verdict::graph::{RunStatus, store::Store};

use crate::{
    crash::fixture::repository,
    server::{post, readiness, serve, stop},
    support::{Broker, Machine, eventually},
};

/// The client of AMQP reads headers by recursion: this many levels need more than a usual stack.
const LEVELS: usize = 3_000;

/// W3: it neither ends the process nor stays in its way: it is explained, and what comes after it is
/// done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deeply_nested_headers_on_rabbitmq_end_no_worker() {
    let (broker, repo) = (Broker::shared().await, repository());
    let machine = Machine::new()
        .set("queue.url", &format!("{}?queue=work", broker.url()))
        .set("forge.local.allow", &repo.path().display().to_string());
    let (mut process, at) = serve(&machine, "all").await;
    readiness(at, true).await;
    let nested = "{\"a\":".repeat(LEVELS) + "1" + &"}".repeat(LEVELS);
    broker.publish("work", "{}", &nested).await;
    eventually("it is a dead letter", async || {
        assert!(!process.has_ended(), "{}", process.said().await);
        (broker.queue("work.dead").await?.messages == 1).then_some(())
    })
    .await;
    let input = json!({"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"});
    let taken = post(at, &json!({"workflow": "review", "input": input})).await;
    assert_eq!(taken.status, 202, "{taken:?}");
    let run = taken.json()["id"].as_str().unwrap().parse().unwrap();
    let store = machine.store().await;
    eventually("the next one is done", async || {
        let status = store.head(&run).await.unwrap().unwrap().status;
        (status == RunStatus::Completed).then_some(())
    })
    .await;
    assert!(!process.has_ended());
    stop(process).await;
    let letters = machine.run(&["dlq", "list", "--format", "json"]).json();
    assert_eq!(letters[0]["reason"], "undecodable", "{letters:#}");
    broker.finish().await;
}

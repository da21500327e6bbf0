//! The ports of forges, proved by a forge over HTTP that exists in this test only: whole reviews of
//! it, and what becomes of its refusals.

mod client;
mod server;

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use verdict::{
    base::{FaultKind, Result},
    forge::{Forges, Locator, Published, Selection, local::LocalGit},
    graph::{EndedExecution, Stop, testing::Faults},
    workflows::{
        Admission, Event, Start, Workflow as _,
        review::{self, Limits, Review, ReviewDeps, ReviewStart, ReviewState, agents::AGENTS},
    },
};

use self::{client::HttpForge, server::Server};
use super::{agents::executed, support::found};

/// A change with a finding for an agent that reads the head, and one for an agent that needs both
/// sides.
async fn server() -> Server {
    Server::start(&[
        ("a.py", None, "x = 1\nbreakpoint()\n"),
        (
            "shapes.py",
            Some("def area(width):\n    return width\n\n\narea(1)\n"),
            "def area(width, height):\n    return width\n\n\narea(1)\n",
        ),
        ("requests.txt", Some("same\n"), "same\n"),
    ])
    .await
}

fn deps(server: &Server) -> ReviewDeps {
    let http = HttpForge::at(&server.address);
    let forges = Forges::default().with(Arc::new(LocalGit::default())).with(Arc::new(http));
    ReviewDeps::new(forges, Limits::default()).unwrap()
}

async fn admit(deps: &ReviewDeps, input: &str) -> Result<Start<ReviewStart>> {
    let input = RawValue::from_string(input.to_owned()).unwrap().into();
    match Review::admit(deps, &Event::Job { input, key: "k".into(), attended: true }).await? {
        Admission::Start(start) => Ok(start),
        other => panic!("{other:?}"),
    }
}

async fn reviewed(deps: &ReviewDeps, faults: Faults) -> EndedExecution<ReviewState> {
    let start = admit(deps, r#"{"http":"7"}"#).await.unwrap();
    executed(review::graph(AGENTS).unwrap(), deps.clone(), start.input, faults).await
}

const FOUND: [&str; 2] = ["caller-left-behind shapes.py:5-5", "py-debugger a.py:2-2"];

/// A job names a change as its forge does; the review reads it there and stands there once, however
/// often its last node runs.
#[tokio::test]
async fn a_review_reads_and_publishes_through_the_ports() {
    let server = server().await;
    let deps = deps(&server);
    let start = admit(&deps, r#"{"http":"7"}"#).await.unwrap();
    assert_eq!((start.subject.as_deref(), start.order), (Some("http:7"), 12));
    assert_eq!(start.key, "http:7:base7..head7");
    let fresh = admit(&deps, r#"{"http":"7","fresh":"again"}"#).await.unwrap();
    assert_eq!(fresh.key, "http:7:base7..head7#again");

    let ran = reviewed(&deps, Faults::default().repeat("publish")).await;
    assert_eq!(ran.stop, Stop::Completed);
    let state = ran.machine.state().unwrap();
    assert_eq!(found(state), FOUND);
    let [review] = &server.reviews()[..] else { panic!("{:?}", server.reviews()) };
    assert_eq!(state.published, Some(Published::At(format!("{}/reviews/1", server.address))));
    assert_eq!(
        (review["verdict"].as_str(), review["attempt"].as_u64()),
        (Some("changes_requested"), Some(1))
    );
    let places = review["comments"].as_array().unwrap().iter();
    let places: Vec<_> = places.map(|c| format!("{}:{}", c["path"], c["lines"])).collect();
    assert_eq!(places, ["\"shapes.py\":[5,5]", "\"a.py\":[2,2]"]);
    let summary = review["summary"].as_str().unwrap();
    assert!(summary.contains("Debugger breakpoint left in"), "{summary}");
    // Each text was read once, for all agents; what a file lost, once more: it may have moved to where findings are.
    let read = server.requests();
    let blobs: Vec<&String> = read.iter().filter(|path| path.starts_with("/blobs/")).collect();
    let base = "/blobs/base-shapes.py";
    assert_eq!(blobs, ["/blobs/head-a.py", "/blobs/head-shapes.py", base, base]);
}

/// What is no such name, or of no such forge, is told to whoever asked.
#[tokio::test]
async fn what_no_forge_knows_is_refused() {
    let server = server().await;
    let deps = deps(&server);
    for (input, why) in [
        (r#"{"http":"8"}"#, "there is nothing at /changes/8"),
        (r#"{"ftp":"7"}"#, "no forge `ftp` is configured (known: http, local)"),
        (r#"{"http":7}"#, "does not fit workflow `review`"),
        (r#"{"http":"7","local":"/"}"#, "unknown field `http`"),
        (r#"{"repo":"/"}"#, "missing field `base`"),
    ] {
        let fault = admit(&deps, input).await.unwrap_err();
        assert!(fault.message.contains(why), "{input}: {fault}");
        assert_eq!(fault.kind, FaultKind::Permanent, "{input}");
    }
}

/// R4: a forge that asks for patience is waited for as long as it says, by whoever runs the node.
#[tokio::test]
async fn a_refusal_carries_its_wait() {
    let server = server().await;
    let deps = deps(&server);
    let locator =
        Locator { forge: "http".into(), place: "7".into(), selection: Selection::Default };
    server.refuse("/changes/7", 429, Some(7));
    let fault = deps.forges.resolve(&locator).await.unwrap_err();
    let asked = Some(Duration::from_secs(7));
    assert_eq!((fault.kind, fault.retry_after), (FaultKind::Transient, asked), "{fault}");
    server.refuse("/changes/7", 503, None);
    let fault = deps.forges.resolve(&locator).await.unwrap_err();
    assert_eq!((fault.kind, fault.retry_after), (FaultKind::Transient, None), "{fault}");

    // More than a node waits for itself: the run is left to its worker, with the wait.
    server.refuse("/changes/7/files", 429, Some(3_600));
    let ran = reviewed(&deps, Faults::default()).await;
    let Stop::Failed(failure) = ran.stop else { panic!("{:?}", ran.stop) };
    assert_eq!(failure.node.as_deref(), Some("ingest"));
    assert_eq!(failure.fault.retry_after, Some(Duration::from_secs(3_600)));
}

/// R2: an agent that is refused is missing from the review, and only that one.
#[tokio::test]
async fn a_refused_agent_hides_no_other() {
    let server = server().await;
    server.refuse("/blobs/base-shapes.py", 429, Some(3_600));
    let ran = reviewed(&deps(&server), Faults::default()).await;
    assert_eq!(ran.stop, Stop::Completed);
    let state = ran.machine.state().unwrap();
    assert_eq!(found(state), FOUND);
    let judgement = state.judgement.as_ref().unwrap();
    assert_eq!(judgement.verdict.word(), "incomplete");
    let [missing] = &judgement.missing[..] else { panic!("{:?}", judgement.missing) };
    assert!(missing.starts_with("style: ") && missing.contains("429"), "{missing}");
}

/// R4: a forge that is gone is an outage, not a failure of the run's.
#[tokio::test]
async fn a_forge_out_of_reach_is_an_outage() {
    let server = server().await;
    let deps = deps(&server);
    let start = admit(&deps, r#"{"http":"7"}"#).await.unwrap();
    server.stop().await;
    let fault = admit(&deps, r#"{"http":"7"}"#).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Outage, "{fault}");
    let graph = review::graph(AGENTS).unwrap();
    let once = graph.tune("ingest", |node| _ = node.retry(verdict::graph::RetryPolicy::none()));
    let ran = executed(once.unwrap(), deps, start.input, Faults::default()).await;
    let Stop::Failed(failure) = ran.stop else { panic!("{:?}", ran.stop) };
    assert_eq!(failure.fault.kind, FaultKind::Outage);
}

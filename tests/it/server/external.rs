//! E25: events from outside, sent over HTTP and from the command line.

use serde_json::json;
use verdict::graph::{EventStore as _, RunStatus};

use super::operating::Desk;
use crate::{
    support::Machine,
    worker::hall::{Act, seconds},
};

/// A run that waits says so in listings, receives what is sent, and is named in the answer.
#[tokio::test]
async fn an_event_sent_over_http_wakes_the_run_that_waits_for_it() {
    let desk = Desk::new(true).await;
    let worker = desk.worker();
    desk.hall.stage.put_up("one", [Act::Await("ci/abc", seconds(600))]);
    let location = desk.start("one").await;
    desk.hall.becomes("one", RunStatus::Parked).await;
    let listed = desk.seen("/api/runs?waiting=event").await;
    let waiting = &listed["runs"][0]["waiting"];
    assert_eq!((&waiting["for"], &waiting["events"]), (&json!("event"), &json!(["ci/abc"])));
    assert!(waiting["until"].is_string(), "{listed}");
    assert_eq!(desk.seen("/api/runs?waiting=person").await["runs"], json!([]));
    let shown = desk.seen(&location).await;
    assert_eq!(shown["interrupts"], json!([]), "nobody is asked: {shown}");
    assert_eq!(shown["pending"][0]["waits"], "for an event");

    // A person's answer is none.
    let answer = json!({"interrupt": "2.0.event:ci/abc", "answer": "green"});
    let refused = desk.tell(&format!("POST {location}/resume"), &answer).await;
    assert_eq!(refused.status, 404, "{refused:?}");

    let event = json!({"key": "ci/abc", "payload": "green", "id": "7"});
    for runs in [json!([shown["id"]]), json!([])] {
        let sent = desk.tell("POST /api/events", &event).await;
        assert_eq!(sent.status, 202, "{sent:?}");
        assert_eq!(sent.json(), json!({"id": "7", "runs": runs}), "the second time it is known");
    }
    desk.hall.becomes("one", RunStatus::Completed).await;
    let state = desk.seen(&format!("{location}/state")).await;
    assert!(state.to_string().contains(r#"work Event(\"green\")"#), "{state}");
    worker.stop().await;

    for (body, status) in [
        (json!({}), 400),
        (json!({"key": "k", "unknown": 1}), 400),
        (json!({"key": ""}), 422),
        (json!({"key": "k".repeat(513)}), 422),
        (json!({"key": "a\nb"}), 422),
        (json!({"key": "k", "id": ""}), 422),
        (json!({"key": "k", "payload": "x".repeat(300_000)}), 422),
    ] {
        assert_eq!(desk.tell("POST /api/events", &body).await.status, status);
    }
    // Each without an id is an event of its own; without a payload it carries null.
    let first = desk.tell("POST /api/events", &json!({"key": "k"})).await.json();
    let second = desk.tell("POST /api/events", &json!({"key": "k"})).await.json();
    assert_ne!(first["id"], second["id"]);
    let kept = desk.hall.store.find_event("k", &[]).await.unwrap().unwrap();
    assert_eq!(&kept.payload[..], b"null");
}

/// The same from a terminal: it is kept in the store for whoever waits.
#[tokio::test]
async fn an_event_is_sent_from_the_command_line() {
    let machine = Machine::new();
    let sent = machine.run(&["events", "send", "ci/abc", r#"{"ok": true}"#, "--id", "7"]);
    assert_eq!((sent.code, &*sent.stdout), (Some(0), "7\n"), "{sent:?}");
    let again =
        machine.run(&["events", "send", "ci/abc", "false", "--id", "7", "--format", "json"]);
    let again: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again, json!({"id": "7", "runs": []}));
    let store = machine.store().await;
    let kept = store.find_event("ci/abc", &[]).await.unwrap().unwrap();
    assert_eq!((&*kept.id, &kept.payload[..]), ("7", &br#"{"ok": true}"#[..]), "the first counts");
    for args in [&["k", "{"][..], &["", "1"], &["k", "1", "--id", ""]] {
        let refused = machine.run(&[&["events", "send"], args].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
    }
}

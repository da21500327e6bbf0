//! Runs and dead letters operated over HTTP: seen, answered, stopped, copied, forgotten.

use std::{net::SocketAddr, sync::Arc};

use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};
use verdict::{
    base::{Clock, Fault},
    checkpoint::Memory,
    graph::{RunStatus, store::LetterState},
    runs::Runs,
    server::{Api, Parts, Readiness, Server, ServerOptions},
};

use super::{Answer, HOST, JSON, ask, get, post};
use crate::{
    support::Machine,
    worker::hall::{Act, Hall, id, part},
};

/// A server over the runs of a hall.
pub struct Desk {
    pub hall: Hall,
    /// What server and worker share.
    pub runs: Runs,
    pub address: SocketAddr,
    _stop: DropGuard,
}

impl Desk {
    pub async fn new(development: bool) -> Self {
        let hall = Hall::new().await;
        let runs = hall.driver().with_key_values(Arc::new(Memory::new(Clock::system())));
        let listen = ([127, 0, 0, 1], 0).into();
        let options = ServerOptions { listen, ..ServerOptions::default() };
        let server = Server::bind(&options).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let parts = Parts {
            readiness: Readiness::new([]),
            webhooks: None,
            api: Some(Api::new(runs.clone(), development)),
            metrics: Arc::new(String::new),
        };
        tokio::spawn(server.run(parts, stop.clone()));
        Self { hall, runs, address, _stop: stop.drop_guard() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        get(self.address, path).await
    }

    /// What is at this path.
    pub async fn seen(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    pub async fn tell(&self, line: &str, body: &Value) -> Answer {
        ask(self.address, line, &[HOST, JSON], &body.to_string()).await
    }

    pub async fn does(&self, line: &str) -> Answer {
        ask(self.address, line, &[HOST], "").await
    }

    /// Asks for this part over HTTP; answers where it is found.
    pub async fn start(&self, name: &str) -> String {
        let answer = post(self.address, &json!({"workflow": "play", "input": part(name)})).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.header("location").unwrap().to_owned()
    }
}

/// 17.10: what starts a run says where it is, and there it is.
#[tokio::test]
async fn a_run_is_found_where_its_start_says() {
    let desk = Desk::new(false).await;
    let location = desk.start("one").await;
    let queued = desk.seen(&location).await;
    assert_eq!((&queued["status"], &queued["workflow"]), (&json!("queued"), &json!("play")));
    let worker = desk.hall.worker();
    desk.hall.becomes("one", RunStatus::Completed).await;
    let done = desk.seen(&location).await;
    assert_eq!((&done["status"], &done["error"]), (&json!("completed"), &Value::Null));
    assert_eq!(done["timings"]["order"], json!(["prepare", "work", "publish"]));
    assert_eq!(desk.seen(&location[..20]).await["id"], done["id"], "by its first digits");

    let history = desk.seen(&format!("{location}/history")).await;
    let kinds: Vec<_> = history.as_array().unwrap().iter().map(|row| &row["kind"]).collect();
    assert_eq!(json!(kinds), json!(desk.hall.kinds("one").await));
    let later = desk.seen(&format!("{location}/history?after=2&limit=1")).await;
    assert_eq!(later, json!([history[2]]));

    let drawing = desk.get(&format!("{location}/drawing")).await;
    assert!(drawing.body.contains("class n_prepare,n_publish,n_work done"), "{drawing:?}");
    let drawing = desk.get(&format!("{location}/drawing?format=dot")).await;
    assert!(drawing.body.starts_with("digraph"), "{drawing:?}");
    let bare = desk.get("/api/workflows/play/drawing").await;
    assert!(bare.body.contains("n_work") && !bare.body.contains("done"), "{bare:?}");
    let workflows = json!([{"name": "play", "versions": [1], "events": []}]);
    assert_eq!(desk.seen("/api/workflows").await, workflows);
    worker.stop().await;
}

/// E15, S1: a state is content; it is shown only where that was asked for.
#[tokio::test]
async fn states_are_shown_in_development_mode_only() {
    for development in [false, true] {
        let desk = Desk::new(development).await;
        let location = desk.start("one").await;
        let worker = desk.hall.worker();
        desk.hall.becomes("one", RunStatus::Completed).await;
        let run = desk.seen(&location).await;
        assert_eq!(run.get("state").is_some(), development, "{run}");
        let state = desk.get(&format!("{location}/state")).await;
        let early = desk.get(&format!("{location}/state?step=1")).await;
        if development {
            assert_eq!(state.json()["state"]["done"], json!(["prepare", "work", "publish"]));
            assert_eq!(early.json()["state"]["done"], json!(["prepare"]));
            assert_eq!(desk.get(&format!("{location}/state?step=9")).await.status, 404);
        } else {
            assert_eq!((state.status, early.status), (403, 403));
            assert!(state.error().contains("server.development"), "{state:?}");
        }
        worker.stop().await;
    }
}

#[tokio::test]
async fn runs_are_listed_page_by_page_and_filtered() {
    let desk = Desk::new(false).await;
    for name in ["a", "b", "c", "d", "e"] {
        desk.start(name).await;
        desk.hall.pass(std::time::Duration::from_millis(7));
    }
    let cancelled = desk.does(&format!("POST /api/runs/{}/cancel", id("c"))).await;
    assert_eq!(cancelled.json()["status"], "cancelled", "{cancelled:?}");
    let (mut listed, mut path) = (Vec::new(), "/api/runs?limit=2".to_owned());
    let mut pages = 0;
    loop {
        let page = desk.seen(&path).await;
        listed.extend(page["runs"].as_array().unwrap().iter().map(|run| run["key"].clone()));
        pages += 1;
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/runs?limit=2&cursor={next}");
    }
    assert_eq!((json!(listed), pages), (json!(["e", "d", "c", "b", "a"]), 3));
    for (query, keys) in [
        ("status=cancelled", json!(["c"])),
        ("status=queued,cancelled&limit=1", json!(["e"])),
        ("workflow=opera", json!([])),
        ("subject=none", json!([])),
        ("older_than=1h", json!([])),
        ("newer_than=1h&status=cancelled", json!(["c"])),
        ("waiting=person", json!([])),
    ] {
        let page = desk.seen(&format!("/api/runs?{query}")).await;
        let found: Vec<_> = page["runs"].as_array().unwrap().iter().map(|r| &r["key"]).collect();
        assert_eq!(json!(found), keys, "{query}");
    }
    for (query, word) in [
        ("status=done", "`done`"),
        ("waiting=rain", "`rain`"),
        ("limit=0", "`limit`"),
        ("limit=many", "limit"),
        ("cursor=x", "`cursor`"),
        ("older_than=old", "`older_than`"),
        ("stauts=queued", "stauts"),
    ] {
        let refused = desk.get(&format!("/api/runs?{query}")).await;
        assert_eq!(refused.status, 400, "{query}: {refused:?}");
        assert!(refused.error().contains(word), "{refused:?}");
    }
}

/// E12 over HTTP: what waits for a person is a list; the first answer counts, and the second is
/// told it.
#[tokio::test]
async fn an_interrupt_is_answered_once() {
    let desk = Desk::new(false).await;
    desk.hall.stage.put_up("one", [Act::Ask]);
    let worker = desk.hall.worker();
    let location = desk.start("one").await;
    desk.hall.becomes("one", RunStatus::Parked).await;
    let waiting = desk.seen("/api/interrupts").await;
    let [asked] = &waiting["interrupts"].as_array().unwrap()[..] else { panic!("{waiting}") };
    assert_eq!((&asked["run"], &asked["title"]), (&json!(id("one")), &json!("may it?")));
    let run = desk.seen(&location).await;
    assert_eq!(run["waiting"]["for"], "person");
    assert_eq!(run["interrupts"][0]["id"], asked["interrupt"]);

    let path = format!("POST {location}/resume");
    let unknown = json!({"interrupt": "9.9.no", "answer": true});
    assert_eq!(desk.tell(&path, &unknown).await.status, 404);
    for bad in [json!({}), json!({"answer": 1, "extra": 2}), json!([])] {
        assert_eq!(desk.tell(&path, &bad).await.status, 400, "{bad}");
    }
    let answer = json!({"interrupt": asked["interrupt"], "answer": true});
    let taken = desk.tell(&path, &answer).await;
    assert_eq!((taken.status, &taken.json()["id"]), (200, &run["id"]), "{taken:?}");
    desk.hall.becomes("one", RunStatus::Completed).await;
    let second = desk.tell(&path, &json!({"interrupt": asked["interrupt"], "answer": 7})).await;
    assert_eq!((second.status, &second.json()["first"]), (409, &json!(true)), "{second:?}");
    let unnamed = desk.tell(&path, &json!({"answer": true})).await;
    assert_eq!(unnamed.status, 409, "nothing is open: {unnamed:?}");
    assert_eq!(desk.seen("/api/interrupts").await["interrupts"], json!([]));
    worker.stop().await;
}

#[tokio::test]
async fn a_run_is_stopped_copied_and_deleted() {
    let desk = Desk::new(false).await;
    let location = desk.start("one").await;
    let refused = desk.does(&format!("DELETE {location}")).await;
    assert_eq!(refused.status, 409, "it has not ended: {refused:?}");
    assert_eq!(desk.does(&format!("POST {location}/cancel")).await.status, 200);
    assert_eq!(desk.does(&format!("POST {location}/cancel")).await.status, 409, "ended");
    let fork = desk.tell(&format!("POST {location}/fork"), &json!({"from": 0})).await;
    assert_eq!(fork.status, 202, "{fork:?}");
    let copy = fork.header("location").unwrap().to_owned();
    assert_eq!(desk.seen(&copy).await["status"], "queued");
    let late = desk.tell(&format!("POST {location}/fork"), &json!({"from": 7})).await;
    assert_eq!(late.status, 404, "{late:?}");
    assert_eq!(desk.does(&format!("DELETE {copy}?force=true")).await.status, 204);
    assert_eq!(desk.does(&format!("DELETE {location}")).await.status, 204);
    for gone in [&copy, &location] {
        assert_eq!(desk.get(gone).await.status, 404);
        assert_eq!(desk.does(&format!("DELETE {gone}")).await.status, 404);
        assert_eq!(desk.does(&format!("POST {gone}/cancel")).await.status, 404);
    }
    for (id, status) in [("zz", 422), ("012", 422), ("0123", 404), ("a b", 422)] {
        let path = format!("/api/runs/{}", id.replace(' ', "%20"));
        assert_eq!(desk.get(&path).await.status, status, "{id}");
    }
}

#[tokio::test]
async fn dead_letters_are_seen_replayed_and_discarded() {
    let desk = Desk::new(false).await;
    for name in ["one", "two", "three"] {
        desk.hall.stage.put_up(name, [Act::Fail(Fault::permanent("it is broken"))]);
    }
    let worker = desk.hall.worker();
    for name in ["one", "two", "three"] {
        desk.start(name).await;
        desk.hall.becomes(name, RunStatus::Failed).await;
        desk.hall.pass(std::time::Duration::from_millis(7));
    }
    let page = desk.seen("/api/dead-letters?limit=2&reason=permanent&workflow=play").await;
    let rows = page["dead_letters"].as_array().unwrap();
    assert_eq!((&rows[0]["run"], &rows[1]["run"]), (&json!(id("three")), &json!(id("two"))));
    let next = page["next"].as_str().unwrap();
    let last = desk.seen(&format!("/api/dead-letters?limit=2&cursor={next}")).await;
    assert_eq!(last["dead_letters"][0]["run"], json!(id("one")));
    assert_eq!((last["dead_letters"].as_array().unwrap().len(), &last["next"]), (1, &Value::Null));

    let letter = |row: &Value| format!("/api/dead-letters/{}", row["id"].as_str().unwrap());
    let (three, two) = (letter(&rows[0]), letter(&rows[1]));
    let shown = desk.seen(&three).await;
    assert_eq!(shown["error"], "it is broken");
    assert!(shown["payload"].as_str().unwrap().contains("three"), "{shown}");

    for changed in [true, false] {
        let replayed = desk.does(&format!("POST {three}/replay")).await;
        let told = json!({"id": rows[0]["id"], "state": "replayed", "changed": changed});
        assert_eq!((replayed.status, replayed.json()), (200, told));
        let discarded = desk.does(&format!("POST {two}/discard")).await;
        let told = json!({"id": rows[1]["id"], "state": "discarded", "changed": changed});
        assert_eq!((discarded.status, discarded.json()), (200, told));
    }
    desk.hall.empties().await;
    desk.hall.becomes("three", RunStatus::Completed).await;
    assert_eq!(desk.does(&format!("POST {two}/replay")).await.status, 409, "put away");
    for gone in ["POST /api/dead-letters/0123/replay", "GET /api/dead-letters/0123"] {
        assert_eq!(desk.does(gone).await.status, 404, "{gone}");
    }
    let open = desk.seen("/api/dead-letters").await;
    assert_eq!(open["dead_letters"].as_array().unwrap().len(), 1, "{open}");
    let all = desk.seen("/api/dead-letters?settled=true").await;
    let states: Vec<_> =
        all["dead_letters"].as_array().unwrap().iter().map(|l| &l["state"]).collect();
    let [done, away, open] = LetterState::ALL.map(LetterState::as_str).map(|state| json!(state));
    assert_eq!(states.len(), 3);
    assert!([&done, &away, &open].iter().all(|state| states.contains(state)), "{states:?}");
    worker.stop().await;
}

/// The setting is one of the binary's, too.
#[test]
fn development_mode_is_a_setting() {
    let machine = Machine::new().set("server.development", "true");
    let shown = machine.run(&["config", "show"]);
    assert!(shown.stdout.contains("server.development"), "{shown:?}");
}

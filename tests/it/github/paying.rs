//! P3, N1: what a pull request costs over many pushes.

use std::sync::Arc;

use fake_models::{Call, ModelServer, Reply, When};
use serde_json::json;

use super::Place;
use crate::{
    review::{
        models::support::{
            AGENTS, JUDGE, asked_by, files, finds, none_paid_twice, nothing, task_of,
        },
        support::Repo,
    },
    server::{post, serve, stop},
    support::eventually,
};

const PUSHES: usize = 19;

/// A pull request of three files, one of which has a defect that only a model finds.
async fn place(models: &ModelServer) -> Place {
    let repo = Repo::new();
    repo.write("src/a.py", "def a(x):\n    return x\n").commit("base");
    repo.write("src/a.py", "def a(x):\n    return x + 1\n");
    repo.write("src/b.py", "def b(x):\n    return x * 2\n");
    repo.write("src/c.py", "def c(x):\n    return x - 3\n").commit("change");
    let place = Place::of(repo).await;
    models.script(When::any(), [nothing()]);
    models.script(When::says(JUDGE), [Reply::json(json!({"rulings": []}))]);
    models.script(asked_by("logic"), [finds(&[("src/b.py", "return x * 2")])]);
    let machine =
        place.machine.set("model.chain", &models.openai("m")).set("model.small_change", "0");
    // Nothing comes again by itself, however slow the machine is: calls are counted.
    let machine = machine.set("worker.lease", "10m").set("queue.visibility", "10m");
    Place { machine, ..place }
}

/// The paths of all files that a call shows.
fn paths(call: &Call) -> Vec<String> {
    files(call).into_iter().map(|file| file.path).collect()
}

/// Nineteen pushes that leave the pull request's files as they are and change something else each time: one more file, or another
/// line of the last one. Each is reviewed whole, and only what it changed is paid for.
#[tokio::test]
async fn nineteen_pushes_pay_for_what_changed() {
    let models = Arc::new(ModelServer::start().unwrap());
    let place = place(&models).await;
    let (server, at) = serve(&place.machine, "all").await;
    let reviewed = async || {
        let job = json!({"workflow": "review", "input": {"github": "octo/demo#1"}});
        let id = post(at, &job).await.json()["id"].as_str().unwrap().to_owned();
        let head = place.pull.head();
        eventually("the head is reviewed", async || {
            let run = crate::server::get(at, &format!("/api/runs/{id}")).await.json();
            (run["status"] == "completed").then_some(())
        })
        .await;
        let reviews = place.pull.reviews();
        assert_eq!(reviews.iter().filter(|review| review.commit == head).count(), 1);
    };
    reviewed().await;
    let first = models.calls();
    assert_eq!(first.len(), AGENTS.len() + 1, "four agents, and the judge");
    for call in first.iter().filter(|call| !call.says(JUDGE)) {
        assert_eq!(paths(call), ["src/a.py", "src/b.py", "src/c.py"]);
    }
    let of_model = || {
        let comments = place.pull.review_comments().into_iter();
        comments.filter(|comment| comment.path == "src/b.py").collect::<Vec<_>>()
    };
    let said = of_model();
    assert_eq!(said.len(), 1, "{said:?}");
    let mut known = first.len();
    for push in 0..PUSHES {
        // Each file comes with one push and is changed by the next one.
        let file = format!("src/more{}.py", push / 2);
        place.push(&file, &format!("def more{push}(x):\n    return x + {push}\n"));
        reviewed().await;
        let calls = models.calls().split_off(known);
        assert_eq!(calls.len(), AGENTS.len(), "push {push}");
        for agent in AGENTS {
            let own: Vec<&Call> = calls.iter().filter(|call| call.says(task_of(agent))).collect();
            let [call] = own[..] else { panic!("{agent} asked {} times", own.len()) };
            assert_eq!(paths(call), std::slice::from_ref(&file), "push {push}, {agent}");
        }
        known += calls.len();
    }
    stop(server).await;
    none_paid_twice(&models);
    assert_eq!(place.pull.reviews().len(), PUSHES + 1, "one of each head");
    let body = |comments: &[fake_github::Comment]| {
        comments.iter().map(|one| one.body.clone()).collect::<Vec<_>>()
    };
    assert_eq!(body(&of_model()), body(&said), "said once, and not fixed");
    place.nothing_was_refused();
}

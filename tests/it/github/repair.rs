//! Gap repair: what nobody took while it was sent is found afterwards.

use fake_github::{App, Role};

use super::{Place, permissions, triggers::Served};
use crate::support::Machine;

/// An App whose webhooks nobody takes, and settings for it.
fn deaf(place: &Place) -> (App, Machine) {
    let app = place.github.app("verdict", permissions(), &["pull_request", "issue_comment"]);
    app.install("octo");
    // Nobody listens on this port.
    app.webhook("http://127.0.0.1:1/webhooks/github", "secret");
    let key = place.machine.text("app.pem", app.private_key());
    let machine = Machine::new()
        .set("github.url", &place.github.url())
        .set("github.app_id", &app.id().to_string())
        .set("github.private_key_path", &key)
        .set("github.repair_interval", "0s")
        .set("worker.quiet", "0s");
    (app, machine)
}

/// Deliveries that failed and open pull requests without a review are put on the queue once.
#[tokio::test]
async fn what_was_missed_is_taken_in_once() {
    let place = Place::new().await;
    let (app, machine) = deaf(&place);
    place.repository.collaborator("writer", Role::Write);
    place.push("e.js", "function h() { debugger; }\n");
    let asked = place.pull.comment("writer", "/verdict help");
    place.github.webhooks_settled().await;
    let repaired = machine.run(&["github", "repair", "--format", "json"]).json();
    assert_eq!((&repaired["deliveries"], &repaired["pull_requests"]), (&2.into(), &1.into()));
    let again = machine.run(&["github", "repair", "--format", "json"]).json();
    assert_eq!((&again["deliveries"], &again["pull_requests"]), (&0.into(), &0.into()));
    machine.serve_all().await;
    assert_eq!(place.pull.reviews().len(), 1);
    assert_eq!(place.pull.reactions(asked), [(app.login(), "eyes".to_owned())]);
    place.nothing_was_refused();
}

/// With a user's token there is no delivery log: the repositories are named.
#[tokio::test]
async fn a_token_repairs_the_repositories_that_are_named() {
    let place = Place::new().await;
    let unnamed = place.machine.run(&["github", "repair"]);
    assert_ne!(unnamed.code, Some(0));
    assert!(unnamed.stderr.contains("name those"), "{}", unnamed.stderr);
    let repaired = place.machine.run(&["github", "repair", "octo/demo", "--format", "json"]).json();
    assert_eq!(repaired["pull_requests"], 1);
    place.machine.serve_all().await;
    assert_eq!(place.pull.reviews().len(), 1);
    let again = place.machine.run(&["github", "repair", "octo/demo", "--format", "json"]).json();
    assert_eq!(again["pull_requests"], 0);
}

/// A process that serves looks by itself.
#[tokio::test]
async fn who_serves_finds_what_was_opened_before() {
    let site =
        Served::with(Place::new().await, |machine| machine.set("github.repair_interval", "1s"))
            .await;
    site.reviews(1).await;
    site.stop().await;
}

//! A pull request reviewed from a terminal, and verdict set up there.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt as _};

use fake_github::{Level, LoggedRequest};

use super::{Place, permissions};
use crate::support::{Machine, Process};

/// `review --github` shows what it finds and leaves nothing on GitHub, unless told to publish.
#[tokio::test]
async fn a_pull_request_is_reviewed_from_a_terminal() {
    let place = Place::new().await;
    let address = "octo/demo#1";
    let shown = place.machine.run(&["review", "--github", address, "--format", "json"]).json();
    assert!(shown["findings"].as_array().unwrap().len() > 3, "{shown}");
    assert_eq!(shown["head"], place.pull.head());
    let to_the_api = |request: &LoggedRequest| request.path.starts_with("/repos/");
    assert!(!place.github.writes().iter().any(to_the_api), "nothing is left there");
    let published =
        place.machine.run(&["review", "--github", address, "--publish", "--format", "json"]).json();
    assert_eq!(
        published["findings"].as_array().unwrap().len(),
        shown["findings"].as_array().unwrap().len()
    );
    assert_eq!(place.pull.reviews().len(), 1);
    let nowhere = place.machine.run(&["review", "--github", "octo/demo#99"]);
    assert_ne!(nowhere.code, Some(0), "{}", nowhere.stderr);
    let unset = Machine::new().run(&["review", "--github", address]);
    assert_eq!(unset.code, Some(2), "{}", unset.stderr);
    assert!(unset.stderr.contains("github.token"), "{}", unset.stderr);
    place.nothing_was_refused();
}

/// P12: `doctor` names what an App was not granted, and what is lost without it.
#[tokio::test]
async fn the_doctor_says_what_is_lost_without_a_permission() {
    let place = Place::new().await;
    let mut granted = permissions();
    granted.remove("checks");
    let less = place.github.app("less", granted, &["pull_request"]);
    less.install("octo");
    let key = place.machine.text("app.pem", less.private_key());
    let machine = Machine::new()
        .set("github.url", &place.github.url())
        .set("github.app_id", &less.id().to_string())
        .set("github.private_key_path", &key);
    let said = machine.run(&["doctor"]).stdout;
    assert!(said.contains("github.octo") && said.contains("lacks checks: write"), "{said}");
    assert!(said.contains("event `issue_comment`: commands"), "{said}");
    let read = BTreeMap::from([("metadata", Level::Read), ("contents", Level::Read)]);
    let read = read.into_iter().map(|(name, level)| (name.to_owned(), level)).collect();
    let blind = place.github.app("blind", read, &[]);
    blind.install("octo");
    let key = place.machine.text("blind.pem", blind.private_key());
    let machine =
        machine.set("github.app_id", &blind.id().to_string()).set("github.private_key_path", &key);
    let done = machine.run(&["doctor"]);
    assert_eq!(done.code, Some(2), "{}", done.stdout);
    assert!(done.stdout.contains("no review is published"), "{}", done.stdout);
}

/// P12: the manifest flow makes the App and writes settings that work.
#[tokio::test]
async fn setup_makes_the_app_and_writes_its_settings() {
    let place = Place::new().await;
    let machine = Machine::new().set("github.url", &place.github.url());
    let hook = "https://verdict.example/webhooks/github";
    let mut setup = Process::start(machine.command(&["github", "setup", "--webhook-url", hook]));
    let line = setup.says("open this page").await;
    let page = line.rsplit(' ').next().unwrap().to_owned();
    let browser =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let html = browser.get(&page).send().await.unwrap().text().await.unwrap();
    let attribute = |name: &str| {
        let (_, rest) = html.split_once(&format!("{name}=\"")).unwrap();
        let value = rest.split('"').next().unwrap();
        value.replace("&quot;", "\"").replace("&lt;", "<").replace("&amp;", "&")
    };
    let manifest = [("manifest", attribute("name=\"manifest\" value"))];
    let answer = browser.post(attribute("action")).form(&manifest).send().await.unwrap();
    let back = answer.headers()["location"].to_str().unwrap().to_owned();
    assert!(back.starts_with(&page), "{back}");
    browser.get(back).send().await.unwrap();
    assert_eq!(setup.ends().await.code(), Some(0), "{}", setup.said().await);
    let said = setup.said().await;
    assert!(said.contains("/installations/new") && said.contains("verdict doctor"), "{said}");
    let file = machine.folder().join("verdict.toml");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(std::fs::read_to_string(&file).unwrap().contains("webhook_secret = "));
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("github.app") && doctor.contains("installed nowhere"), "{doctor}");
    let again = machine.run(&["github", "setup", "--webhook-url", hook]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
}

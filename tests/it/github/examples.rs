//! Every example that GitHub gives of its webhooks, through the real gateway and worker.

use std::path::Path;

use super::{triggers::Served, webhooks::deliver_event};
use crate::{everywhere::webhooks::examples, support::Machine};

/// Where `tests/github/setup` puts GitHub's examples.
const FOLDER: &str = "target/octokit/node_modules/@octokit/webhooks-examples/api.github.com";

/// All are taken, none is refused or becomes a dead letter, and none starts anything: the App is not
/// installed on their repositories.
#[tokio::test]
async fn every_real_webhook_is_taken_and_comes_to_its_end() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    assert!(folder.is_dir(), "{FOLDER} is missing: run tests/github/setup");
    let all = examples(&folder);
    assert!(all.len() > 300, "{} examples", all.len());
    let site = Served::new().await;
    for (nth, (event, body)) in all.iter().enumerate() {
        let body = std::str::from_utf8(body).unwrap();
        let (status, answer) = deliver_event(site.at, event, &format!("real-{nth}"), body).await;
        let expected = if event == "ping" { 200 } else { 202 };
        assert_eq!(status, expected, "{event} {nth}: {answer}");
    }
    site.settled().await;
    let list = |machine: &Machine, args: &[&str]| machine.run(args).json();
    let letters = list(&site.place.machine, &["dlq", "list", "--format", "json"]);
    assert_eq!((letters, site.runs()), (serde_json::json!([]), 0));
    site.stop().await;
}

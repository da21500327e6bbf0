//! `verdict eval` over golden comments on pull requests.

use fake_models::{ModelServer, Reply, When};
use serde_json::{Value, json};

use super::Place;
use crate::review::models::support::nothing;

/// P7: the public set of golden comments is read as it is; a model says which findings mean the same; nothing is published.
#[tokio::test]
async fn golden_comments_are_compared_by_a_model() {
    let models = ModelServer::start().unwrap();
    models.script(When::any(), [nothing()]);
    let matches = Reply::by(|call| {
        let findings = call.prompt.split("FINDING ").skip(1);
        let number = |finding: &str| finding.split(' ').next().unwrap().parse::<u32>().unwrap();
        let in_shell = findings.filter(|finding| finding.contains("a.py, line 3")).map(number);
        let pairs = in_shell.map(|finding| json!({"comment": 1, "finding": finding}));
        Reply::json(json!({"pairs": pairs.collect::<Vec<_>>()}))
    });
    let compares = When::says("You compare what a reviewer found").and_says("reaches a shell");
    models.script(compares, [matches]);
    let place = Place::new().await;
    let suite = json!([{
        "pr_title": "More files",
        "url": "https://github.com/octo/demo/pull/1",
        "az_comment": "whatever else there is",
        "comments": [
            {"comment": "The path reaches a shell.", "severity": "High", "category": "security"},
            {"comment": "Nobody is logged in here.", "severity": "Low"},
            {"comment": "The name could be better.", "severity": "Low", "category": "style"},
        ],
    }]);
    let suite = place.machine.text("demo.json", suite.to_string());
    let args = ["eval", &suite, "--times", "1", "--format", "json"];
    let without = place.machine.run(&args);
    assert_eq!(without.code, Some(2), "{without:?}");
    assert!(without.stderr.contains("set model.chain"), "{without:?}");
    let machine = place.machine.set("model.chain", &models.openai("m"));
    let place = Place { machine, ..place };
    let figures = place.machine.run(&args).json();
    let total = &figures[0]["total"];
    assert_eq!((&total["right"], &total["missed"]), (&json!(1), &json!(1)), "{figures:#}");
    assert!(total["extra"].as_u64() > Some(0), "{figures:#}");
    assert_eq!(figures[0]["cases"][0][0], Value::from("octo/demo#1"));
    assert!(place.pull.reviews().is_empty() && place.pull.comments().is_empty());
}

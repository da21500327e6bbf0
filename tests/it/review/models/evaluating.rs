//! `verdict eval`: figures over a suite of cases.

use std::path::Path;

use fake_models::{ModelServer, Reply, When};
use serde_json::{Value, json};

use super::support::{JUDGE, Site, answer, asked_by, by_models, finding, finds, report};
use crate::support::{Machine, eventually};

/// The suite that ships with the project.
fn suite() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/eval").display().to_string()
}

/// P7: a suite is reviewed several times, with two sets of settings; the figures say which found more, and what it cost.
#[test]
fn two_sets_of_settings_are_compared() {
    let site = Site::new();
    let sees = Reply::by(|call| {
        answer(call, finding(call, "src/price.py", "if not member:").into_iter().collect())
    });
    site.models.script(asked_by("logic"), [sees]);
    let without = site.machine.text("without.toml", "[model]\nmemo = \"1h\"\n");
    let args = ["eval", &suite(), "--times", "2", "--format", "json"];
    let figures = site.machine.run(&args).json();
    let with = &figures[0];
    assert_eq!(
        (with["recall"]["mean"].as_f64(), with["total"]["noise"].as_u64()),
        (Some(1.0), Some(0)),
        "{figures:#}"
    );
    assert!(with["total"]["usage"]["cost"].as_u64().unwrap() > 0);
    let asked = site.models.calls().len();
    assert!(asked >= 2 * 4 * 3, "each repetition asks anew: {asked}");
    // Without a model the case that only a reader understands is missed.
    let bare = Site::new().with("model.chain", "");
    let args = ["eval", &suite(), "--times", "1", "--against", &without, "--format", "json"];
    let figures = bare.machine.run(&args).json();
    assert_eq!(figures.as_array().unwrap().len(), 2);
    let case = |name: &str| {
        let cases = figures[0]["cases"].as_array().unwrap();
        cases.iter().find(|case| case[0] == name).unwrap()[1].clone()
    };
    assert_eq!(
        (&case("wrong-discount")["missed"], &case("sql-injection")["right"]),
        (&Value::from(1), &Value::from(1)),
        "{figures:#}"
    );
    let text = bare.machine.run(&["eval", &suite(), "--times", "1"]).stdout;
    assert!(
        text.contains("F1") && text.contains("clean-rename: 0 of 0 found, 0 not expected"),
        "{text}"
    );
}

/// Has the model `strict` refute everything, when it is the judge.
fn refuted_by_strict(models: &ModelServer) {
    let drops = Reply::by(|call| {
        let claims = call.prompt.matches("CLAIM ").count();
        let drop = |claim| json!({"claim": claim, "quote": "x", "ruling": "drop", "reason": "No."});
        Reply::json(json!({"rulings": (1..=claims).map(drop).collect::<Vec<_>>()}))
    });
    models.script(When::says(JUDGE).of_model("strict"), [drops]);
}

/// N5: two judges are compared on what the same agents found: the second settings ask, and pay, nobody else.
#[test]
fn judges_are_compared_without_the_agents() {
    let site = Site::new();
    let sees = Reply::by(|call| {
        answer(call, finding(call, "src/price.py", "if not member:").into_iter().collect())
    });
    site.models.script(asked_by("logic"), [sees]);
    refuted_by_strict(&site.models);
    // The environment would count for both.
    let machine = Machine::new();
    let settings = |model: &str| {
        let chain = site.models.openai(model);
        machine.text(&format!("{model}.toml"), format!("[model]\nchain = [\"{chain}\"]\n"))
    };
    let (first, second) = (settings("m"), settings("strict"));
    let suite = suite();
    let args = ["--config", &first, "eval", &suite, "--times", "2", "--format", "json"];
    let figures =
        machine.run(&[&args[..], &["--against", &second, "--judge-only"]].concat()).json();
    let of = |at: usize| {
        let figures = &figures[at];
        let calls = figures["total"]["usage"]["calls"].as_u64().unwrap();
        (figures["recall"]["mean"].as_f64().unwrap(), calls as usize)
    };
    let calls = site.models.calls();
    let of_model = |name: &str| calls.iter().filter(|call| call.model == name).count();
    assert_eq!(of(0), (1.0, of_model("m")), "{figures:#}");
    assert!(of(1).0 < 1.0, "{figures:#}");
    assert_eq!((of(1).1, of_model("strict")), (2, 2), "one claim, twice: {figures:#}");
    assert!(calls.iter().all(|call| call.model == "m" || call.says(JUDGE)));
    let alone = machine.run(&["eval", &suite, "--judge-only"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
}

/// N5: a fork from the agents' step on is judged by the models of now; the agents are not asked again, and the run itself stays.
#[tokio::test]
async fn a_fork_asks_only_the_judge() {
    let site = Site::new();
    site.models.script(asked_by("logic"), [finds(&[("src/pay.py", "return sum(items) - 1")])]);
    refuted_by_strict(&site.models);
    let report = report(&site.review());
    let run = report["run"].as_str().unwrap().to_owned();
    let asked = site.models.calls().len();
    assert_eq!((by_models(&report).len(), asked), (1, 5));
    let chain = site.models.openai("strict");
    // Nothing comes again by itself, however slow the machine is: calls are counted.
    let site = site.with("model.chain", &chain).with("worker.lease", "10m");
    let site = site.with("queue.visibility", "10m");
    let history = site.machine.run(&["runs", "history", &run, "--format", "json"]).json();
    let judged = history.as_array().unwrap().iter().find(|row| row["node"] == "judge").unwrap();
    let last = (judged["step"].as_u64().unwrap() - 1).to_string();
    let fork = site.machine.run(&["runs", "fork", &run, "--from", &last]).stdout.trim().to_owned();
    let shown = |run: &str| site.machine.run(&["runs", "show", run, "--format", "json"]).json();
    // Not until the queue is empty: a sweep may have taken the run, and its message waits for the lease.
    let mut worker = site.machine.serve().await;
    let completed = async || Some(shown(&fork)).filter(|run| run["status"] == "completed");
    let forked = eventually("the fork is judged", completed).await;
    worker.terminate();
    assert_eq!(worker.ends().await.code(), Some(0));
    assert_eq!(forked["state"]["judgement"]["findings"], json!([]));
    assert_eq!(forked["state"]["judgement"]["left_out"]["refuted"], 1);
    let calls = site.models.calls();
    let [judge] = &calls[asked..] else { panic!("{} calls more", calls.len() - asked) };
    assert!(judge.model == "strict" && judge.says(JUDGE));
    assert_eq!(shown(&run)["state"]["judgement"]["findings"].as_array().unwrap().len(), 1);
}

/// A suite that is none is an error of usage that names what is wrong with it.
#[test]
fn a_suite_that_cannot_be_read_says_why() {
    let site = Site::new();
    let empty = site.machine.folder().display().to_string();
    let refused = site.machine.run(&["eval", &empty]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("there is no case in it"), "{refused:?}");
}

//! What models find, and what becomes of it.

use tokio::time::Instant;

use fake_models::Reply;
use serde_json::json;

use super::support::{AGENTS, Site, answer, asked_by, by_models, finding, finds, report, task_of};
use crate::support::PATIENCE;

/// R2, R6: the four agents ask side by side, each its own question; their findings stand beside those of the analysis, and what
/// several say of one line is said once.
#[test]
fn agents_ask_models_side_by_side() {
    let site = Site::new();
    for agent in AGENTS {
        let finds = finds(&[("src/pay.py", "return sum(items) - 1")]);
        site.models.script(asked_by(agent), [finds.held()]);
    }
    // None is answered before all have asked.
    let models = site.models.clone();
    let release = std::thread::spawn(move || {
        let until = Instant::now() + PATIENCE;
        while models.most_in_hand() < AGENTS.len() && Instant::now() < until {
            std::thread::yield_now();
        }
        models.release();
    });
    let done = site.review();
    release.join().unwrap();
    let report = report(&done);
    assert_eq!((done.code, report["verdict"].as_str()), (Some(0), Some("changes_requested")));
    assert_eq!(site.models.most_in_hand(), AGENTS.len());
    assert_eq!(by_models(&report).len(), 1, "{report:#}");
    assert_eq!(report["left_out"]["merged"], 3);
    let calls = site.models.calls();
    assert_eq!(calls.len(), AGENTS.len() + 1, "the judge asks once");
    for agent in AGENTS {
        assert_eq!(calls.iter().filter(|call| call.says(task_of(agent))).count(), 1, "{agent}");
    }
}

/// P5: a finding whose line is off stands on the row it quotes; one that quotes no row, or a row that is there twice, is dropped
/// and counted.
#[test]
fn findings_stand_on_the_rows_they_quote() {
    let site = Site::new();
    let reply = Reply::by(|call| {
        let right = finding(call, "src/pay.py", "return total(items)").unwrap();
        let with = |changes: serde_json::Value| {
            let mut finding = right.clone();
            for (name, value) in changes.as_object().unwrap() {
                finding[name] = value.clone();
            }
            finding
        };
        let off = with(json!({"line": 1, "replacement": "    return 0"}));
        let invented = with(json!({"quote": "return nothing_like_it()", "title": "Invented"}));
        let elsewhere = with(json!({"file": 7, "title": "Of no file"}));
        let removed = finding(call, "src/pay.py", "return sum(items)").map(|mut finding| {
            finding["side"] = json!("old");
            finding["line"] = json!(2);
            finding["title"] = json!("A line that was needed is gone");
            finding
        });
        answer(call, [off, invented, elsewhere].into_iter().chain(removed).collect())
    });
    site.models.script(asked_by("logic"), [reply]);
    let report = report(&site.review());
    let lines: Vec<_> = by_models(&report).into_iter().collect();
    assert_eq!(lines, ["logic src/pay.py:2", "logic src/pay.py:6"], "{report:#}");
    let findings = report["findings"].as_array().unwrap();
    let moved = findings.iter().find(|f| f["start_line"] == 6).unwrap();
    assert_eq!((moved["suggestion"].is_null(), moved["side"].as_str()), (true, Some("RIGHT")));
    assert_eq!(findings.iter().find(|f| f["start_line"] == 2).unwrap()["side"], "LEFT");
    assert_eq!(report["left_out"]["unanchored"], 2);
}

/// P7: nothing found counts only with proof that it was read; without, the file is named as not reviewed.
#[test]
fn an_empty_answer_needs_proof_of_reading() {
    let site = Site::new();
    let unproved = Reply::json(json!({"read": [], "findings": []}));
    site.models.script(asked_by("security"), [unproved]);
    let report = report(&site.review());
    assert_eq!(report["verdict"], "incomplete");
    let missing = report["missing"].to_string();
    assert!(missing.contains("security: the model did not show that it read it"), "{missing}");
    assert_eq!(report["coverage"][0]["agents"]["security"], "failed");
    assert_eq!(report["coverage"][0]["agents"]["logic"], "done");
    let asked =
        site.models.calls().iter().filter(|call| call.says("Your side is security")).count();
    assert_eq!(asked, 2, "it was asked once more");
}

/// R3: a model that fails takes nothing with it: the analysis of its agent and the other agents are shown, and the review says
/// what is missing.
#[test]
fn a_model_that_fails_leaves_the_rest() {
    let site = Site::new();
    site.repo
        .write("src/run.py", "import os\n\n\ndef run(request):\n    os.system(request.args['c'])\n")
        .commit("more");
    site.models.script(asked_by("security"), [Reply::status(503)]);
    site.models.script(asked_by("logic"), [finds(&[("src/run.py", "def run(request):")])]);
    let done = site.review();
    let report = report(&done);
    assert_eq!((done.code, report["verdict"].as_str()), (Some(0), Some("incomplete")));
    let analysis = report["findings"].as_array().unwrap().iter();
    let analysis = analysis.filter(|f| f["agent"] == "security" && f["source"] != "model");
    assert!(analysis.count() > 0, "{report:#}");
    assert_eq!(by_models(&report).into_iter().collect::<Vec<_>>(), ["logic src/run.py:4"]);
    assert!(report["missing"].to_string().contains("security, its model: openai::m answered 503"));
}

/// R4: a refused key is not asked again; what was found is shown, and the run fails with the reason.
#[test]
fn a_refused_key_fails_the_run_after_its_findings_are_shown() {
    let site = Site::new().with("model.key", "wrong");
    site.models.require_key("right");
    site.repo
        .write("src/run.py", "import os\n\n\ndef run(request):\n    os.system(request.args['c'])\n")
        .commit("more");
    let done = site.review();
    let report = report(&done);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert_eq!(report["verdict"], "incomplete");
    assert!(!report["findings"].as_array().unwrap().is_empty());
    assert!(
        done.stderr.contains("openai::m answered 401 (unauthorized); check its key"),
        "{done:?}"
    );
    assert_eq!(site.models.calls().len(), 4, "each agent asked once");
    assert!(!format!("{done:?}").contains("wrong"), "{done:?}");
}

/// R6: without a chain no model is asked, and no word is said about models.
#[test]
fn without_a_chain_nothing_is_asked() {
    let site = Site::new().with("model.chain", "");
    let report = report(&site.review());
    assert_eq!((site.models.calls().len(), report.get("models")), (0, None));
}

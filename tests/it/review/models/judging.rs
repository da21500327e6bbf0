//! The second opinion on what models found.

use fake_models::{Call, Reply, When};
use serde_json::{Value, json};

use super::support::{JUDGE, Site, asked_by, by_models, finds, report};

const SOURCE: &str = "def keep(a):\n    return a / 0\n\n\ndef drop(a):\n    return a / 1\n\n\ndef lower(a):\n    return a / 2\n\n\ndef merge(a):\n    return a / 3\n";

/// Three claims of the logic agent and one of the pattern agent about one file.
fn site() -> Site {
    let site = Site::new();
    site.repo.write("src/four.py", SOURCE).commit("four");
    let row = |n: u32| {
        (
            "src/four.py",
            ["return a / 0", "return a / 1", "return a / 2", "return a / 3"][n as usize],
        )
    };
    site.models.script(asked_by("logic"), [finds(&[row(0), row(1), row(2)])]);
    site.models.script(asked_by("pattern"), [finds(&[row(3)])]);
    site
}

/// Rules on the claims by what they quote.
fn rules(call: &Call, ruling: impl Fn(&str) -> Value) -> Reply {
    let claims = call.prompt.split("CLAIM ").skip(1);
    let rulings = claims.map(|claim| {
        let number: u32 = claim.split_whitespace().next().unwrap().parse().unwrap();
        let mut ruling = ruling(claim);
        ruling["claim"] = json!(number);
        ruling["quote"] = json!("return a");
        ruling["reason"] = json!("The rows say so.");
        ruling
    });
    Reply::json(json!({"rulings": rulings.collect::<Vec<_>>()}))
}

/// P5: another request reads the rows again; it drops, lowers and merges what models found, and its reasons are kept.
#[test]
fn the_judge_drops_lowers_and_merges() {
    let site = site();
    let reply = Reply::by(|call| {
        rules(call, |claim| match claim {
            claim if claim.contains("a / 1") => json!({"ruling": "drop"}),
            claim if claim.contains("a / 2") => json!({"ruling": "lower"}),
            claim if claim.contains("a / 3") => json!({"ruling": "merge", "same_as": 1}),
            _ => json!({"ruling": "keep"}),
        })
    });
    site.models.script(When::says(JUDGE), [reply]);
    let done = site.review();
    let report = report(&done);
    let lines: Vec<String> = by_models(&report).into_iter().collect();
    assert_eq!(lines, ["logic src/four.py:10", "logic src/four.py:2"], "{report:#}");
    let severity = |line: u32| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|f| f["start_line"] == line).unwrap()["severity"].clone()
    };
    assert_eq!((severity(2), severity(10)), (json!("high"), json!("medium")));
    assert_eq!(
        (&report["left_out"]["refuted"], &report["left_out"]["merged"]),
        (&json!(1), &json!(1))
    );
    let run =
        site.machine.run(&["runs", "show", report["run"].as_str().unwrap(), "--format", "json"]);
    let rulings = run.json()["state"]["judgement"]["rulings"].clone();
    assert_eq!(rulings.as_array().unwrap().len(), 4, "{rulings:#}");
    assert_eq!(rulings[0]["reason"], "The rows say so.");
    let judged = site.models.calls().into_iter().filter(|call| call.says(JUDGE)).count();
    assert_eq!(judged, 1);
}

/// P5: it can add nothing: rulings on claims that nobody made change nothing, and of two that are merged into each other one stays.
#[test]
fn the_judge_adds_nothing_and_loses_no_cause() {
    let site = site();
    let reply = Reply::by(|call| {
        let mut reply = json!({"rulings": []});
        let claims = call.prompt.matches("CLAIM ").count();
        reply["rulings"] = (1..=claims + 3)
            .map(|claim| json!({
                "claim": claim, "quote": "x", "ruling": "merge", "same_as": claims + 1 - claim.min(claims), "reason": "x",
            }))
            .collect();
        reply["findings"] = json!([{"title": "one more"}]);
        Reply::json(reply)
    });
    site.models.script(When::says(JUDGE), [reply]);
    let report = report(&site.review());
    assert_eq!(
        (by_models(&report).len(), &report["left_out"]["merged"]),
        (2, &json!(2)),
        "{report:#}"
    );
}

/// R3: a judge that does not answer leaves the findings as they are, and the review complete.
#[test]
fn without_the_judge_everything_stays() {
    let site = site();
    site.models.script(When::says(JUDGE), [Reply::status(400)]);
    let report = report(&site.review());
    assert_eq!(
        (by_models(&report).len(), report["verdict"].as_str()),
        (4, Some("changes_requested"))
    );
    assert_eq!(report["left_out"].get("refuted"), None);
}

//! What reviews cost, and what is not paid again.

use fake_models::{ModelServer, Outcome, Reply, When};
use serde_json::Value;

use super::support::{JUDGE, Site, asked_by, by_models, finds, nothing, report};
use crate::support::eventually;

/// P7: tokens and cost of the review are those the server counted.
#[test]
fn the_review_says_what_it_cost() {
    let site = Site::new();
    let report = report(&site.review());
    let (paid, told) = (site.models.paid(), &report["models"]["usage"]);
    assert_eq!(told["calls"], paid.calls);
    assert_eq!((&told["input"], &told["output"]), (&paid.input.into(), &paid.output.into()));
    let cost = (paid.input - paid.cached) * 3 + paid.output * 15 + paid.cached * 3 / 10;
    assert!(told["cost"].as_u64().unwrap().abs_diff(cost) <= 4, "{told}, not {cost}");
    let text = site.review_as("text").stdout;
    assert!(text.contains(&format!("models: openai::m · 4 calls, {} +", paid.input)), "{text}");
}

/// P7: what was paid for an answer that nobody could use is in the bill, and stays there when it is asked for again.
#[tokio::test]
async fn what_is_paid_in_vain_is_in_the_bill() {
    let refusing = ModelServer::start().unwrap();
    refusing.script(When::any(), [Reply::status(401)]);
    let site = Site::new().with("worker.lease", "10m").with("queue.visibility", "10m");
    let chain = format!("{},{}", refusing.openai("n"), site.models.openai("m"));
    let site = site.with("model.chain", &chain);
    let billed = |run: &str| {
        let state =
            site.machine.run(&["runs", "show", run, "--format", "json"]).json()["state"].take();
        let reports = state["models"].as_object().unwrap().values().chain([&state["judgement"]]);
        let used: Vec<&Value> = reports.map(|report| &report["model"]["usage"]).collect();
        ["calls", "input", "output"]
            .map(|of| used.iter().filter_map(|used| used[of].as_u64()).sum::<u64>())
    };
    let paid = || {
        let paid = site.models.paid();
        [paid.calls, paid.input, paid.output]
    };
    // Each is asked first whether a repair helps.
    site.models.script(asked_by("logic"), [Reply::text("I think it is fine.")]);
    // Read in part only: paid, and for the next model, of which there is none.
    site.models.script(asked_by("security"), [nothing().claiming(200, 20)]);
    site.enqueue();
    site.machine.serve_all().await;
    let letters = site.machine.run(&["dlq", "list", "--format", "json"]).json();
    let letter = &letters[0];
    let run = letter["run"].as_str().unwrap();
    assert_eq!(paid()[0], 5, "two of logic");
    assert_eq!(billed(run), paid());
    site.models.script(asked_by("logic"), [nothing()]);
    site.models.script(asked_by("security"), [nothing()]);
    assert_eq!(site.machine.run(&["dlq", "replay", letter["id"].as_str().unwrap()]).code, Some(0));
    site.machine.serve_all().await;
    assert_eq!(paid()[0], 7);
    assert_eq!(billed(run), paid());
}

/// P3, N1: asked again, afresh or after another commit, only what changed is paid; findings on the rest are there again, on the
/// lines where they now are.
#[test]
fn only_what_changed_is_paid_again() {
    let site = Site::new();
    site.repo.write("src/other.py", "def f(a):\n    return a / 0\n").commit("other");
    site.models.script(
        When::says("Your side is logic"),
        [finds(&[("src/other.py", "return a / 0"), ("src/pay.py", "return total(items)")])],
    );
    let review = |range: &str| {
        let folder = site.repo.path().display().to_string();
        let args = ["review", "--repo", &folder, range, "--format", "json", "--fresh"];
        report(&site.machine.run(&args))
    };
    let first = review("HEAD~2..HEAD");
    let asked = site.models.calls().len();
    assert_eq!(asked, 5, "four agents, and the judge");
    let again = review("HEAD~2..HEAD");
    assert_eq!(site.models.calls().len(), asked, "nothing changed");
    assert_eq!(again["findings"], first["findings"]);
    assert_eq!(again["models"]["usage"]["calls"], 0);
    assert!(again["models"]["saved"]["input"].as_u64().unwrap() > 0);
    // A comment at the top of one file moves all its lines; the other is as it was.
    let moved = "# totals\n\ndef total(items):\n    return sum(items) - 1\n\n\ndef refund(items):\n    return total(items)\n";
    site.repo.write("src/pay.py", moved).commit("moved");
    let moved = review("HEAD~3..HEAD");
    let calls = site.models.calls();
    assert_eq!(calls.len(), asked + 5);
    for call in calls[asked..].iter().filter(|call| !call.says(JUDGE)) {
        assert!(call.says("src/pay.py") && !call.says("src/other.py"), "{}", call.prompt);
    }
    let lines = by_models(&moved);
    assert!(
        lines.contains("logic src/other.py:2") && lines.contains("logic src/pay.py:8"),
        "{lines:?}"
    );
}

/// N1: a worker killed between two answers pays for none again.
#[tokio::test]
async fn a_crash_between_two_calls_pays_nothing_twice() {
    let site = Site::new();
    site.models.script(When::says("Your side is readability"), [nothing().held()]);
    let folder = site.repo.path().display().to_string();
    let args = ["review", "--repo", &folder, "HEAD~1..HEAD", "--format", "json"];
    let mut process = site.machine.start(&args);
    let answered = async || {
        let answered =
            |outcome| site.models.calls().iter().filter(|c| c.outcome == outcome).count();
        (answered(Outcome::Answered) == 3 && answered(Outcome::InHand) == 1).then_some(())
    };
    eventually("three answers", answered).await;
    // The fourth is not answered before the others are durable.
    let kept = async || {
        let runs = site.machine.run(&["runs", "list", "--format", "json"]).json();
        let run = runs[0]["id"].as_str()?.to_owned();
        let history = site.machine.run(&["runs", "history", &run, "--format", "json"]).json();
        let of_models = |record: &&Value| record["node"] == "models";
        (history.as_array()?.iter().filter(of_models).count() == 3).then_some(())
    };
    eventually("three are kept", kept).await;
    process.kill().await;
    site.models.script(When::says("Your side is readability"), [nothing()]);
    let report = report(&site.review());
    assert_eq!(report["verdict"], "clean", "{report:#}");
    let calls = site.models.calls();
    assert_eq!(calls.len(), 5, "the fourth was asked again, nobody else");
    assert_eq!(calls.iter().filter(|call| call.outcome == Outcome::Answered).count(), 4);
}

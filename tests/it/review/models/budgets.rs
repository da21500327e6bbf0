//! What runs, repositories and days may cost.

use serde_json::Value;

use super::support::{Site, report};

/// P7: a day's budget that is spent parks the next run until it is over; what is paid already is used.
#[test]
fn a_spent_budget_parks_the_run() {
    for budget in ["model.day_budget", "model.repository_budget"] {
        let site = Site::new().with(budget, "0.0001");
        // One agent, so that no other one's call is in hand when the first is paid for.
        site.repo.write(".verdict.toml", "[review]\nagents = [\"logic\"]\n").commit("settings");
        site.repo.write("src/first.py", "first = 1\n").commit("first");
        assert_eq!(report(&site.review())["verdict"], "clean", "nothing was spent before");
        let paid = site.models.calls().len();
        let again = site.review();
        assert_eq!((again.code, site.models.calls().len()), (Some(0), paid), "it is known");
        site.repo.write("src/more.py", "more = 1\n").commit("more");
        let parked = site.review();
        assert_eq!((parked.code, site.models.calls().len()), (Some(3), paid), "{parked:?}");
        assert!(parked.stderr.contains("waits until"), "{parked:?}");
        let runs =
            site.machine.run(&["runs", "list", "--format", "json", "--waiting", "time"]).json();
        let waiting: &Value = &runs[0];
        assert_eq!(waiting["status"], "parked", "{runs:#}");
        assert!(waiting["waiting"].to_string().contains(budget), "{waiting:#}");
    }
}

/// P7: a run's own budget bounds that run: what it cannot ask any more is missing, and no waiting helps.
#[test]
fn a_run_stays_within_its_budget() {
    let site = Site::new().with("model.run_budget", "0.0001").with("model.concurrency", "1");
    let report = report(&site.review());
    assert_eq!(report["verdict"], "incomplete", "{report:#}");
    assert!(
        report["missing"].to_string().contains("model.run_budget of 0.0001 is spent"),
        "{report:#}"
    );
    assert!(site.models.calls().len() == 1);
}

/// P7: a budget needs to know what a model costs.
#[test]
fn a_budget_needs_prices() {
    let site = Site::new().with("model.prices", "").with("model.day_budget", "5");
    let refused = site.review();
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("`openai::m` has no price, and a budget needs one"),
        "{refused:?}"
    );
}

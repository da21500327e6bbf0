//! P4: a large change and models: in parts, within its budgets and within memory.

use std::collections::{BTreeMap, BTreeSet};

use fake_models::{Call, Outcome, Reply};
use serde_json::json;

use super::support::{
    AGENTS, JUDGE, Site, answer, asked_by, by_models, files, finding, none_paid_twice, task_of,
};
use crate::review::measured::reviewed;

const FILES: usize = 200;

/// In each of them.
const LINES: usize = 100;

/// Files in which a model finds something.
const FAULTY: usize = 20;

fn path(n: usize) -> String {
    format!("src/part{:02}/module{n}.py", n % 20)
}

fn text(word: &str, n: usize) -> String {
    (0..LINES).map(|line| format!("{word}_{n}_{line} = compute({n}, {line})\n")).collect()
}

/// A line of which it is said that it is wrong.
fn wrong(n: usize) -> String {
    format!("value_{n}_50 = compute({n}, 50)")
}

/// Half of the files are new, of the others every line is another.
fn site() -> Site {
    let site = Site::new();
    for n in (0..FILES).step_by(2) {
        site.repo.write(&path(n), text("before", n));
    }
    site.repo.commit("before");
    for n in 0..FILES {
        site.repo.write(&path(n), text("value", n));
    }
    site.repo.commit("20,000 lines");
    site
}

/// How often each file was shown.
fn shown<'c>(calls: impl IntoIterator<Item = &'c Call>) -> BTreeMap<String, usize> {
    let mut shown = BTreeMap::new();
    for file in calls.into_iter().flat_map(files) {
        *shown.entry(file.path).or_default() += 1;
    }
    shown
}

/// P4, P7: 200 files and 20,000 changed lines: each agent reads each file once, in requests that a model reads well; each claim is
/// checked once, in such requests too; everything is covered, the budgets hold, and the bill is the server's own.
#[tokio::test]
async fn a_change_of_20_000_lines_fits_its_budgets() {
    let site = site().with("model.run_budget", "20").with("model.day_budget", "40");
    let finds = Reply::by(|call| {
        let found = (0..FAULTY).filter_map(|n| finding(call, &path(n), &wrong(n)));
        answer(call, found.collect())
    });
    site.models.script(asked_by("logic"), [finds]);
    let reviewed = reviewed(&site.machine, &site.repo).await;

    let report = &reviewed.said;
    assert_eq!(report["verdict"], "changes_requested", "{}", report["missing"]);
    assert_eq!((reviewed.rows("done"), reviewed.rows("skipped")), (FILES, 0));
    let rows = report["coverage"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["lines"].as_u64().unwrap()).sum::<u64>(), 20_000);
    for agent in AGENTS {
        assert!(rows.iter().all(|row| row["agents"][agent] == "done"), "{agent}");
    }
    let found: BTreeSet<String> = (0..FAULTY).map(|n| format!("logic {}:51", path(n))).collect();
    assert_eq!(by_models(report), found);

    let calls = site.models.calls();
    assert!(calls.iter().all(|call| call.outcome == Outcome::Answered));
    for agent in AGENTS {
        let own: Vec<&Call> = calls.iter().filter(|call| call.says(task_of(agent))).collect();
        assert!((20..=100).contains(&own.len()), "{agent}: {} requests", own.len());
        let once: BTreeMap<String, usize> = (0..FILES).map(|n| (path(n), 1)).collect();
        assert_eq!(shown(own), once, "{agent}");
    }
    let judge: Vec<&Call> = calls.iter().filter(|call| call.says(JUDGE)).collect();
    let claims: usize = judge.iter().map(|call| call.prompt.matches("CLAIM ").count()).sum();
    assert_eq!(claims, FAULTY);
    assert!(shown(judge).values().all(|times| *times == 1), "a claim's file is shown with it");
    // About 14,000 tokens of files, and what frames them.
    let most = calls.iter().map(|call| call.paid.input).max();
    assert!(most < Some(24_000), "a request of {most:?} tokens");
    none_paid_twice(&site.models);

    let (paid, told) = (site.models.paid(), &report["models"]["usage"]);
    assert_eq!(
        (&told["calls"], &told["input"], &told["output"]),
        (&json!(paid.calls), &json!(paid.input), &json!(paid.output))
    );
    assert!(told["cost"].as_u64().unwrap() < 20_000_000, "{told}");
    println!("{} calls, {} + {} tokens", paid.calls, paid.input, paid.output);
    reviewed.within(500, 300);
}

//! Killed at random instants. `VERDICT_TEST_KILLS` says how often, `VERDICT_TEST_SEED` when.

use std::time::Duration;

use tokio::time::Instant;

use super::fixture::{only_run, repository, review_of};
use crate::support::{Database, Machine, pass};

/// A number from the environment.
pub fn wanted(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// E4, W2: `review` and `run`, killed up to three times each at any instant of their lives, then
/// left alone.
#[tokio::test]
async fn killed_at_random_instants_ends_the_same() {
    rounds(25, async || Machine::new()).await;
}

/// The same, with the runs on a server that outlives every process.
#[tokio::test]
async fn killed_at_random_instants_ends_the_same_on_a_server() {
    let database = Database::shared().await;
    let url = database.url();
    let machine = || Machine::new().set("store.url", &url);
    assert_eq!(machine().run(&["migrate"]).code, Some(0));
    rounds(6, async || {
        database.empty().await;
        machine()
    })
    .await;
    database.finish().await;
}

/// `machine` makes one without any runs.
async fn rounds(kills: u64, machine: impl AsyncFn() -> Machine) {
    let repo = repository();
    let path = repo.path().display().to_string();
    let input = serde_json::json!({"repo": &path, "base": "HEAD~1", "head": "HEAD"}).to_string();
    let review = ["review", "HEAD~1..HEAD", "--repo", &path, "--format", "json"];
    let began = Instant::now();
    let (mut life, mut undisturbed) = (Duration::MAX, None);
    // The shortest of a few lives, so that a busy machine does not make every kill come too late.
    for _ in 0..3 {
        let (machine, began) = (machine().await, Instant::now());
        let review = review_of(&machine.run(&review).stdout);
        life = life.min(began.elapsed());
        undisturbed = Some((review, only_run(&machine)));
    }
    let (wanted_review, outcome) = undisturbed.unwrap();

    let kills = wanted("VERDICT_TEST_KILLS", kills);
    let mut random = fastrand::Rng::with_seed(wanted("VERDICT_TEST_SEED", 7));
    let (mut killed, mut late, mut rounds) = (0, 0, 0);
    while killed < kills {
        rounds += 1;
        let machine = machine().await;
        let file = machine.text("input.json", &input);
        let run = ["run", "review", "--input", &file, "--key", "mine"];
        let args: &[&str] = if rounds % 2 == 0 { &run } else { &review };
        for _ in 0..random.u64(1..=3) {
            let mut process = machine.start(args);
            pass(life.mul_f64(random.f64())).await;
            if process.kill().await {
                killed += 1;
            } else {
                late += 1;
                process.ends().await;
            }
        }
        let last = machine.run(args);
        assert_eq!(last.code, Some(0), "round {rounds}: {}", last.stderr);
        if rounds % 2 == 1 {
            assert_eq!(review_of(&last.stdout), wanted_review, "round {rounds}");
        }
        assert_eq!(only_run(&machine).state, outcome.state, "round {rounds}");
        assert!(late <= 10 + 3 * kills, "the process is never caught alive");
    }
    let all = began.elapsed();
    println!("{killed} kills in {rounds} runs ({late} too late), life {life:?}, {all:?} in all");
}

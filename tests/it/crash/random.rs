//! Killed at random instants. `VERDICT_TEST_KILLS` says how often (25), `VERDICT_TEST_SEED` when.

use std::time::Duration;

use tokio::time::Instant;

use super::fixture::{only_run, repository, review_of};
use crate::support::{Machine, pass};

/// A number from the environment.
pub fn wanted(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// E4, W2: `review` and `run`, killed up to three times each at any instant of their lives, then
/// left alone.
#[tokio::test]
async fn killed_at_random_instants_ends_the_same() {
    let repo = repository();
    let path = repo.path().display().to_string();
    let input = serde_json::json!({"repo": &path, "base": "HEAD~1", "head": "HEAD"}).to_string();
    let machine = Machine::new();
    let review = ["review", "HEAD~1..HEAD", "--repo", &path, "--format", "json"];
    let began = Instant::now();
    let wanted_review = review_of(&machine.run(&review).stdout);
    let life = began.elapsed();
    let outcome = only_run(&machine);

    let kills = wanted("VERDICT_TEST_KILLS", 25);
    let mut random = fastrand::Rng::with_seed(wanted("VERDICT_TEST_SEED", 7));
    let (mut killed, mut late, mut rounds) = (0, 0, 0);
    while killed < kills {
        rounds += 1;
        let machine = Machine::new();
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
    println!(
        "{killed} kills in {rounds} runs ({late} came too late), life {life:?}, {:?} in all",
        Duration::from_millis(u64::try_from(began.elapsed().as_millis()).unwrap())
    );
}

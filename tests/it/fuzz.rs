//! A seeded slice of every fuzz target: known inputs, mangled. The same bytes every time, unless
//! `VERDICT_FUZZ_SECONDS` asks for a long run with new ones. See docs/testing.md.

use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

#[path = "../../fuzz/src/inputs.rs"]
mod inputs;
#[path = "../../fuzz/src/review.rs"]
mod review;
#[path = "../../fuzz/src/targets.rs"]
mod targets;

fn fuzz(name: &str) {
    let target = inputs::TARGETS.iter().find(|target| target.name == name).unwrap();
    let asked = std::env::var("VERDICT_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let began = Instant::now();
    let more = |done: u64| match asked {
        Some(seconds) => began.elapsed() < Duration::from_secs(seconds),
        None => done < target.slice,
    };
    let mut rng = if asked.is_some() { Rng::new() } else { Rng::with_seed(7) };
    let seeds = (target.seeds)();
    seeds.iter().take(50).for_each(|seed| (target.run)(seed));
    let mut done = 0;
    while more(done) {
        let input = inputs::mangled(&mut rng, &seeds);
        let outcome = std::panic::catch_unwind(|| (target.run)(&input));
        assert!(outcome.is_ok(), "{name} broke on {:?}", String::from_utf8_lossy(&input));
        done += 1;
    }
    println!("{name}: {done} inputs in {:?}", began.elapsed());
}

macro_rules! each {
    ($($name:ident)+) => { $(#[test] fn $name() { fuzz(stringify!($name)); })+ };
}

each! { message settings records patch edits own_rule review_settings suppressions masking source flow }

/// A target without a test is fuzzed by nobody.
#[test]
fn every_target_has_its_test() {
    let source = include_str!("fuzz.rs");
    let list = source.lines().find(|line| line.starts_with("each! {")).unwrap();
    assert!(inputs::TARGETS.iter().all(|target| list.contains(&format!(" {} ", target.name))));
}

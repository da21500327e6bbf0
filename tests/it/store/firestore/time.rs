//! Leases are judged by the service's time; what a pod takes the time of day to be never matters.
//! The pod is this test binary under `faketime`, told by a variable to play its part.

use std::{
    process::{Command, Output},
    time::Duration,
};

use verdict::{
    base::{Clock, Timestamp},
    graph::store::{ClaimAs, Claimed, NewRun, Store},
};

use super::super::harness::*;
use crate::support::{Firestore, eventually};

const PROJECT: &str = "VERDICT_TEST_PROJECT";
const HOUR: Duration = Duration::from_secs(3600);

/// Opens two runs, one for long and one for a moment, tries to take the one that is held, and says
/// what time it is.
#[tokio::test]
async fn part_of_a_pod() {
    let Ok(project) = std::env::var(PROJECT) else { return };
    let server = Firestore::named(&project);
    let store = super::on(&server).await;
    println!("clock={}", Clock::system().now().0);
    for (name, ttl) in [("long", HOUR), ("brief", Duration::from_secs(1))] {
        let claim = Some(ClaimAs { owner: "pod".into(), ttl });
        assert!(store.open(NewRun { claim, ..run(name) }).await.unwrap().lease.is_some());
    }
    let held = Store::claim(&*store, claim("held")).await.unwrap();
    assert!(matches!(held, Claimed::LeaseHeld(_)), "{held:?}");
    let wait = Store::claim(&*store, claim("later")).await.unwrap();
    assert!(matches!(wait, Claimed::NotBefore(_)), "{wait:?}");
}

fn pod(shift: &str, server: &Firestore) -> Output {
    Command::new("faketime")
        .args(["-f", shift])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "store::firestore::time::part_of_a_pod", "--nocapture"])
        .env(PROJECT, server.project())
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("DONT_FAKE_MONOTONIC", "1")
        .output()
        .unwrap()
}

/// W4: an hour ahead it takes nothing before its time, and what it dies over is taken over after its
/// lease; an hour behind it keeps what it holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_whose_clock_is_an_hour_off_keeps_the_rules() {
    for (shift, hours) in [("+1h", 1), ("-1h", -1)] {
        let server = Firestore::shared();
        let store = super::on(&server).await;
        let held = NewRun { claim: Some(ClaimAs { ttl: HOUR / 2, ..by("me") }), ..run("held") };
        let opened = store.open(held).await.unwrap();
        let soon = Timestamp(opened.head.created_at.0 + 1_800_000);
        store.open(NewRun { not_before: Some(soon), ..run("later") }).await.unwrap();
        let output = pod(shift, &server);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{shift}: {said}{told}");
        let clock = said.lines().find_map(|line| line.split_once("clock=")).unwrap().1;
        let off = clock.trim().parse::<i64>().unwrap() - Clock::system().now().0;
        assert!((off - hours * 3_600_000).abs() < 600_000, "its clock was {off} ms off");
        let long = Store::claim(&*store, claim("long")).await.unwrap();
        assert!(matches!(long, Claimed::LeaseHeld(_)), "{shift}: {long:?}");
        let brief = eventually("its short lease ends", async || {
            let claimed = Store::claim(&*store, claim("brief")).await.unwrap();
            matches!(claimed, Claimed::Yours(..)).then_some(())
        });
        brief.await;
    }
}

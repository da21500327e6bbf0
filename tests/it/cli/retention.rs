//! `store.retention`, by servers, on every store.

use verdict::graph::store::{Letter, LetterState, RunStatus};

use super::site::Site;
use crate::{
    store::harness::{id, letter, run},
    support::{Process, eventually},
};

/// Servers remove what has ended and outlived its retention, each run by one of them, and count it;
/// what waits, what is held and what is mourned stays.
async fn servers_remove_what_outlived_its_retention(site: &Site) {
    for n in 0..20 {
        site.made(run(&n.to_string()), RunStatus::Completed).await;
    }
    for (name, status) in [
        ("mourned", RunStatus::Failed),
        ("parked", RunStatus::Parked),
        ("held", RunStatus::Running),
    ] {
        site.made(run(name), status).await;
    }
    let mourned = Letter { run: Some(id("mourned")), confirmed: true, ..letter("l") };
    site.store.put_letter(mourned).await.unwrap();

    let mut servers = [serve(site).await, serve(site).await];
    let left = async |wanted: usize| {
        let few = async || (site.listed(&[]).len() <= wanted).then_some(());
        eventually(&format!("{wanted} runs are left"), few).await;
    };
    left(3).await;
    let names: Vec<_> = site.listed(&[]).iter().map(|row| row["key"].to_string()).collect();
    for name in ["mourned", "parked", "held"] {
        assert!(names.contains(&format!("{name:?}")), "{names:?}");
    }
    site.store.settle_letter("l", LetterState::Discarded, None).await.unwrap();
    left(2).await;
    // A store may remove it after the run: with the next look, where both are no one step.
    eventually("its letter goes", async || {
        site.store.letter("l").await.unwrap().is_none().then_some(())
    })
    .await;
    eventually("each run is counted once", async || {
        let mut counted = 0;
        for (address, _) in &servers {
            counted += expired(address).await;
        }
        assert!(counted <= 21, "{counted}");
        (counted == 21).then_some(())
    })
    .await;

    let mut logged = 0;
    for (_, server) in &mut servers {
        server.terminate();
        assert_eq!(server.ends().await.code(), Some(0));
        logged += removed(&server.said().await);
    }
    assert_eq!(logged, 21);
}

/// How many runs a server says it has removed.
async fn expired(address: &str) -> usize {
    let page = reqwest::get(format!("http://{address}/metrics")).await.unwrap();
    let page = page.text().await.unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix("verdict_runs_expired_total "));
    line.unwrap().parse().unwrap()
}

/// A server and its address.
async fn serve(site: &Site) -> (String, Process) {
    let mut process = site.machine.start(&["serve"]);
    let line = process.says("serving").await;
    let address = line.split("address=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    (address, process)
}

/// How many runs were removed, as the log says.
fn removed(log: &str) -> usize {
    let lines = log.lines().filter(|line| line.contains("removed runs that outlived"));
    let counts = lines.map(|line| {
        let count = line.split("runs=").nth(1).unwrap().split(' ').next().unwrap();
        count.parse::<usize>().unwrap()
    });
    counts.sum()
}

macro_rules! keeping_a_second {
    ($($store:ident),+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $store() {
            let site = Site::$store().await.with("store.retention", "1s");
            servers_remove_what_outlived_its_retention(&site).await;
            site.done().await;
        })+
    };
}

keeping_a_second!(sqlite, postgres, firestore);

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
    site.store.settle_letter("l", LetterState::Discarded).await.unwrap();
    left(2).await;
    assert!(site.store.letter("l").await.unwrap().is_none());

    let (mut counted, mut logged) = (0, 0);
    for (address, server) in &mut servers {
        let page = reqwest::get(format!("http://{address}/metrics")).await.unwrap();
        let page = page.text().await.unwrap();
        let line = page.lines().find_map(|line| line.strip_prefix("verdict_runs_expired_total "));
        counted += line.unwrap().parse::<usize>().unwrap();
        server.terminate();
        assert_eq!(server.ends().await.code(), Some(0));
        logged += removed(&server.said().await);
    }
    assert_eq!((counted, logged), (21, 21));
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

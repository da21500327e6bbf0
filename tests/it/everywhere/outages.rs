//! What everybody needs is out of reach: nobody's attempt is counted, and nothing is given up.

use std::time::Duration;

use verdict::{base::Fault, graph::RunStatus, worker::Status};

use super::site::{Site, everywhere, millis, unlock};
use crate::worker::hall::{Act, part};

/// W3: the forge is away: not counted, handed back; the worker pauses, says so, and recovers.
async fn an_outage_is_nobodys_failure(site: Site) {
    let away = || Act::Fail(Fault::outage("the forge is away"));
    site.stage.put_up("a", [away(), away()]);
    let hand = site.worker().await;
    let mut status = hand.working.worker.status();
    site.send(&part("a")).await;
    let paused = hand.is_paused().await;
    assert_eq!(paused, "the forge is away");
    hand.working.is(|status| *status == Status::Taking).await;
    assert!(status.has_changed().unwrap());
    status.mark_unchanged();
    let head = site.becomes("a", RunStatus::Completed).await;
    assert_eq!((head.executions, head.error), (0, None));
    assert_eq!(hand.count("failed"), 2);
    hand.counts("done", 1).await;
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

/// W3: the store is away when a message comes.
async fn a_store_that_is_away_pauses_the_worker(site: Site) {
    let hand = site.worker().await;
    site.all_quiet().await;
    let lock = site.lock_store().await;
    site.send(&part("a")).await;
    let why = hand.is_paused().await;
    assert!(why.contains("locked by another process"), "{why}");
    unlock(lock).await;
    assert_eq!(site.becomes("a", RunStatus::Completed).await.executions, 0);
    hand.working.is(|status| *status == Status::Taking).await;
    hand.counts("done", 2).await;
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

/// W3: the store goes away in the middle of a run: what was recorded is not done again.
async fn a_store_that_goes_away_in_a_run_costs_it_nothing(mut site: Site) {
    site.options.lease = Duration::from_secs(2);
    site.stage.put_up("a", [Act::Stand]);
    let hand = site.worker().await;
    site.send(&part("a")).await;
    site.stage.stand(1).await;
    let lock = site.lock_store().await;
    site.stage.open();
    hand.is_paused().await;
    unlock(lock).await;
    let head = site.becomes("a", RunStatus::Completed).await;
    assert_eq!((head.executions, head.error), (0, None));
    let ran = site.ran("a");
    assert_eq!(ran.iter().filter(|node| *node == "prepare").count(), 1);
    assert_eq!(ran.iter().filter(|node| *node == "publish").count(), 1);
    hand.counts("done", 1).await;
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

/// Half an hour of a store that can be read and not written to, under workers that are restarted
/// every ninety seconds because they are not ready. Each takes what is there, cannot begin, and hands
/// it back.
async fn half_an_hour_without_a_store_gives_nothing_up(site: Site) {
    const MESSAGES: u64 = 4;
    const RESTARTS: usize = 20;
    let names: Vec<_> = (0..MESSAGES).map(|n| format!("part {n}")).collect();
    let lock = site.lock_store().await;
    for name in &names {
        site.send(&part(name)).await;
    }
    for _ in 0..RESTARTS {
        let hand = site.worker().await;
        hand.counts("unreachable", 1).await;
        hand.is_paused().await;
        hand.stop().await;
    }
    unlock(lock).await;
    let hand = site.worker().await;
    for name in &names {
        assert_eq!(site.becomes(name, RunStatus::Completed).await.executions, 0);
        assert_eq!(site.ran(name), ["prepare", "work", "publish"]);
    }
    assert_eq!(site.letters().await, []);
    hand.counts("done", MESSAGES).await;
    site.ends(hand, 0).await;
}

/// The same for the worker's own waits: a run that fails as often as it may is put off as long.
async fn what_is_put_off_often_is_not_given_up(mut site: Site) {
    site.options.attempts = 1000;
    site.options.backoff = vec![millis(1)];
    site.stage.put_up("a", (0..40).map(|_| Act::Fail(Fault::transient("busy"))));
    let hand = site.worker().await;
    site.send(&part("a")).await;
    assert_eq!(site.becomes("a", RunStatus::Completed).await.executions, 40);
    hand.counts("done", 1).await;
    assert_eq!(hand.count("failed"), 40);
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

everywhere![
    an_outage_is_nobodys_failure,
    a_store_that_is_away_pauses_the_worker,
    a_store_that_goes_away_in_a_run_costs_it_nothing,
    half_an_hour_without_a_store_gives_nothing_up,
    what_is_put_off_often_is_not_given_up,
];

//! A worker that stops, and the next one.

use verdict::{graph::RunStatus, worker::Status};

use super::site::{Site, everywhere, millis};
use crate::worker::hall::{Act, part};

/// W5: told to stop, a worker lets a node come to its end, records it, and gives the rest back.
async fn a_stopping_worker_lets_go_and_the_next_one_goes_on(site: Site) {
    site.stage.put_up("a", [Act::Stand]);
    let hand = site.worker().await;
    site.send(&part("a")).await;
    site.stage.stand(1).await;
    hand.working.told_to_stop();
    hand.working.is(|status| *status == Status::Stopping).await;
    // Nothing is taken any more.
    site.send(&part("b")).await;
    site.stage.open();
    hand.stop().await;
    let head = site.head("a").await.unwrap();
    assert_eq!((head.status, head.lease, head.executions), (RunStatus::Queued, None, 0));
    assert_eq!(site.head("b").await, None);

    let hand = site.worker().await;
    site.becomes("a", RunStatus::Completed).await;
    site.becomes("b", RunStatus::Completed).await;
    hand.counts("done", 2).await;
    assert_eq!(site.ran("a"), ["prepare", "work", "publish"]);
    site.ends(hand, 0).await;
}

/// W5: what does not come to a record within the grace period is cut short, and runs again.
async fn what_outlasts_the_grace_period_is_cut_short(mut site: Site) {
    site.options.grace = millis(100);
    site.stage.put_up("a", [Act::Stand]);
    let hand = site.worker().await;
    site.send(&part("a")).await;
    site.stage.stand(1).await;
    hand.stop().await;
    let head = site.head("a").await.unwrap();
    assert_eq!((head.status, head.lease, head.executions), (RunStatus::Queued, None, 0));

    let hand = site.worker().await;
    site.becomes("a", RunStatus::Completed).await;
    hand.counts("done", 1).await;
    assert_eq!(site.ran("a"), ["prepare", "work", "work", "publish"]);
    site.ends(hand, 0).await;
}

/// W4: two workers on one queue, one of which goes: each run is worked once.
async fn two_workers_share_the_queue(site: Site) {
    let (one, two) = (site.worker().await, site.worker().await);
    let names: Vec<_> = (0..40).map(|n| format!("part {n}")).collect();
    for (at, name) in names.iter().enumerate() {
        if at == 20 {
            site.becomes(&names[0], RunStatus::Completed).await;
        }
        site.send(&part(name)).await;
    }
    site.becomes(&names[30], RunStatus::Completed).await;
    one.stop().await;
    for name in &names {
        site.becomes(name, RunStatus::Completed).await;
        assert_eq!(site.ran(name), ["prepare", "work", "publish"], "{name}");
    }
    assert_eq!(site.letters().await, []);
    site.ends(two, 0).await;
}

everywhere![
    a_stopping_worker_lets_go_and_the_next_one_goes_on,
    what_outlasts_the_grace_period_is_cut_short,
    two_workers_share_the_queue,
];

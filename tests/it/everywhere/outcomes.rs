//! Rows of the table that begin with an execution.

use std::time::Duration;

use verdict::{
    base::{Clock, Fault},
    graph::{
        ClaimHow, RunStatus, Runtime,
        store::{Claimed, LetterReason, Resumed},
    },
    queue::Decoded,
};

use super::site::{Site, everywhere, millis};
use crate::worker::hall::{Act, Part, Scene, about, id, part};

/// W2: the checks below would see a message that nobody acknowledged.
async fn what_is_not_acknowledged_is_seen(site: Site) {
    site.send(&part("a")).await;
    let queue = site.place.open().await;
    queue.consumer().next().await.unwrap();
    queue.close().await.unwrap();
    drop(queue);
    site.closes(1, 0).await;
}

/// W3: completed, already done, ignored: the message goes.
async fn what_is_done_is_acknowledged(site: Site) {
    let hand = site.worker().await;
    site.send(&part("a")).await;
    let head = site.becomes("a", RunStatus::Completed).await;
    assert_eq!((head.executions, head.not_before, head.error), (0, None, None));
    site.send(&part("a")).await;
    site.send(&Part { event: Some("ignore".into()), ..part("b") }).await;
    hand.counts("done", 3).await;
    assert_eq!(site.ran("a"), ["prepare", "work", "publish"]);
    assert_eq!(site.head("b").await, None);
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

/// W3: a superseded run's message goes, and comes too late.
async fn what_is_superseded_is_acknowledged(site: Site) {
    site.stage.put_up("old", [Act::Stand]);
    let hand = site.worker().await;
    site.send(&about("old", "pr 1", 1)).await;
    site.stage.stand(1).await;
    site.send(&about("new", "pr 1", 2)).await;
    site.becomes("new", RunStatus::Completed).await;
    site.becomes("old", RunStatus::Superseded).await;
    site.stage.open();
    hand.counts("done", 2).await;
    site.send(&about("old", "pr 1", 1)).await;
    hand.counts("done", 3).await;
    assert_eq!(site.ran("old"), ["prepare", "work"]);
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

/// W3, E15: a run that waits for a person leaves the queue, and goes on when woken with the answer.
async fn a_run_that_asks_is_parked_until_it_is_answered(site: Site) {
    site.stage.put_up("a", [Act::Ask]);
    let hand = site.worker().await;
    site.send(&part("a")).await;
    let head = site.becomes("a", RunStatus::Parked).await;
    assert_eq!((head.not_before, head.executions), (None, 0));
    hand.counts("parked", 1).await;

    let yes = serde_json::value::to_raw_value(&true).unwrap();
    let open = site.runtime.inspect::<Scene>(&id("a")).await.unwrap().1;
    let interrupt = open.interrupts()[0].id.clone();
    let resumed = site.runtime.resume(&id("a"), &interrupt, &yes).await.unwrap();
    assert!(matches!(resumed, Resumed::Accepted(_)), "{resumed:?}");
    site.post(Decoded::wake_message(id("a").as_str())).await;
    site.becomes("a", RunStatus::Completed).await;
    assert_eq!(site.ran("a"), ["prepare", "work", "work", "publish"]);
    hand.counts("done", 1).await;
    assert_eq!(hand.count("parked"), 1, "its message came back");
    site.ends(hand, 0).await;
}

/// W3: a run that waits for a time leaves the queue, and the sweep brings it back.
async fn a_run_that_waits_for_a_time_is_parked_until_then(mut site: Site) {
    site.options.sweep_margin = Duration::ZERO;
    site.stage.put_up("a", [Act::Park(millis(5000))]);
    let hand = site.worker().await;
    site.send(&part("a")).await;
    let until = site.becomes("a", RunStatus::Parked).await.not_before.unwrap();
    let head = site.becomes("a", RunStatus::Completed).await;
    assert!(site.now() >= until, "too early");
    assert_eq!(head.executions, 0);
    hand.counts("done", 1).await;
    assert_eq!((hand.count("parked"), hand.count("done")), (1, 1));
    site.ends(hand, 0).await;
}

/// W3: a transient failure comes back later and is counted; what was finished is not run again.
async fn a_transient_failure_comes_back_later(site: Site) {
    let busy = Fault::transient("busy");
    site.stage.put_up("a", [Act::Fail(busy.clone()), Act::Fail(busy)]);
    let hand = site.worker().await;
    let began = site.now();
    site.send(&part("a")).await;
    let head = site.becomes("a", RunStatus::Completed).await;
    assert!(site.now().since(began) >= millis(400), "it did not wait");
    assert_eq!((head.executions, head.error), (2, None));
    assert_eq!(site.ran("a"), ["prepare", "work", "work", "work", "publish"]);
    hand.counts("done", 1).await;
    assert_eq!(hand.count("failed"), 2);
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

/// W3: the last of the attempts is the last.
async fn the_last_failure_becomes_a_dead_letter(mut site: Site) {
    site.options.attempts = 3;
    site.stage.put_up("a", (0..3).map(|_| Act::Fail(Fault::transient("busy"))));
    let hand = site.worker().await;
    site.send(&part("a")).await;
    assert_eq!(site.becomes("a", RunStatus::Failed).await.executions, 3);
    let letter = site.only_letter().await;
    assert_eq!(letter.reason, LetterReason::AttemptsExhausted);
    assert_eq!((letter.run, letter.executions), (Some(id("a")), 3));
    assert_eq!((letter.node.as_deref(), &letter.error[..]), (Some("work"), "busy"));
    assert_eq!(site.ran("a"), ["prepare", "work", "work", "work"]);
    site.ends(hand, 1).await;
}

/// W3: a permanent failure: run failed, letter recorded, on the queue and confirmed, message gone.
/// Whoever watches the queue reads the letter's id and the reason, and has the payload.
async fn a_permanent_failure_becomes_a_dead_letter_at_once(site: Site) {
    site.stage.put_up("a", [Act::Fail(Fault::permanent("no"))]);
    let hand = site.worker().await;
    site.send(&part("a")).await;
    let head = site.becomes("a", RunStatus::Failed).await;
    assert_eq!((head.executions, head.error.as_deref()), (1, Some("no")));
    let letter = site.only_letter().await;
    assert_eq!((letter.reason, letter.node.as_deref()), (LetterReason::Permanent, Some("work")));
    let kinds = site.kinds("a").await;
    assert_eq!(kinds[kinds.len() - 3..], ["finished", "letter", "letter_confirmed"]);
    let dead = site.place.dead(1).await;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].body, letter.payload);
    for told in [&letter.id[..], "permanent"] {
        let headers = &dead[0].headers;
        assert!(headers.values().any(|value| value == told), "`{told}` is not in {headers:?}");
    }
    let headers = dead[0].size() - dead[0].body.len();
    assert!(headers < 1000, "{headers} bytes of headers");
    site.ends(hand, 1).await;
}

/// W3: a run that a living worker holds is left alone, and its message waits, uncounted.
async fn a_held_run_makes_its_message_wait(site: Site) {
    site.stage.put_up("a", [Act::Park(Duration::ZERO)]);
    let hand = site.worker().await;
    site.send(&part("a")).await;
    site.becomes("a", RunStatus::Parked).await;
    hand.counts("parked", 1).await;
    let another = Runtime::new(site.store.clone(), Clock::system(), "another");
    let how = ClaimHow { early: true, reopen: false };
    let claimed = another.with_ttl(millis(5000)).claim(&id("a"), how).await.unwrap();
    assert!(matches!(claimed, Claimed::Yours(..)));
    site.send(&part("a")).await;
    hand.counts("held", 1).await;
    let head = site.head("a").await.unwrap();
    assert_eq!((head.status, head.executions), (RunStatus::Running, 0));
    // It never comes back: the lease ends, and the message finds the run free.
    assert_eq!(site.becomes("a", RunStatus::Completed).await.executions, 0);
    hand.counts("done", 1).await;
    assert_eq!(site.letters().await, []);
    site.ends(hand, 0).await;
}

everywhere![
    what_is_not_acknowledged_is_seen,
    what_is_done_is_acknowledged,
    what_is_superseded_is_acknowledged,
    a_run_that_asks_is_parked_until_it_is_answered,
    a_run_that_waits_for_a_time_is_parked_until_then,
    a_transient_failure_comes_back_later,
    the_last_failure_becomes_a_dead_letter,
    a_permanent_failure_becomes_a_dead_letter_at_once,
    a_held_run_makes_its_message_wait,
];

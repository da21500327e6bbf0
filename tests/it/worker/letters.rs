//! Dead letters in an operator's hands.

use verdict::{
    base::Fault,
    graph::{RunStatus, store::LetterState},
    queue::{Message, header},
    runs::Replayed,
};

use super::hall::{Act, Hall, part};
use crate::support::eventually;

async fn failed(hall: &Hall) -> String {
    hall.stage.put_up("a", [Act::Fail(Fault::permanent("no"))]);
    hall.send(&part("a")).await;
    hall.becomes("a", RunStatus::Failed).await;
    let letter = hall.only_letter().await;
    hall.settled(0).await;
    letter.id
}

async fn state(hall: &Hall, letter: &str) -> LetterState {
    hall.store.letter(letter).await.unwrap().unwrap().state
}

/// W3: a replay goes on at what failed, once, however often it is asked for or arrives.
#[tokio::test]
async fn a_replay_goes_on_at_what_failed_and_once() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    let letter = failed(&hall).await;
    assert_eq!(hall.replay(&letter).await, Replayed::Done);
    hall.becomes("a", RunStatus::Completed).await;
    let again = hall.replay(&letter).await;
    assert_eq!(again, Replayed::Before(LetterState::Replayed));
    hall.settled(0).await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "work", "publish"]);
    assert_eq!(hall.dead().await, []);

    // The broker delivers the replay's message a second time.
    let stored = hall.store.letter(&letter).await.unwrap().unwrap();
    let message = Message { headers: stored.headers, body: stored.payload };
    hall.post(message.with(header::REPLAY, &letter)).await;
    hall.settled(0).await;
    assert_eq!(hall.stage.ran("a").len(), 4);
    let reopened = hall.kinds("a").await.iter().filter(|kind| **kind == "reopened").count();
    assert_eq!(reopened, 1);
    worker.stop().await;
}

/// W3: a run that fails again after its replay gets a second letter, and an old replay that comes
/// late does not open it.
#[tokio::test]
async fn a_second_failure_gives_a_second_letter() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    let first = failed(&hall).await;
    hall.stage.put_up("a", [Act::Fail(Fault::permanent("no again"))]);
    hall.replay(&first).await;
    let second = eventually("a second letter", async || {
        let letters = hall.all_letters().await;
        letters.into_iter().find(|letter| letter.id != first && letter.confirmed)
    })
    .await;
    assert_eq!((second.state, &second.error[..]), (LetterState::Open, "no again"));
    assert_eq!(state(&hall, &first).await, LetterState::Replayed);
    hall.becomes("a", RunStatus::Failed).await;
    hall.settled(0).await;
    let dead = hall.dead().await;
    assert_eq!(dead.iter().map(|dead| &dead.id).collect::<Vec<_>>(), [&second.id]);

    hall.send(&part("a")).await;
    let late = hall.store.letter(&first).await.unwrap().unwrap();
    let late = Message { headers: late.headers, body: late.payload };
    hall.post(late.with(header::REPLAY, &first)).await;
    hall.settled(0).await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "work"]);

    hall.replay(&second.id).await;
    hall.becomes("a", RunStatus::Completed).await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "work", "work", "publish"]);
    worker.stop().await;
}

/// W3: a replay that no worker has taken yet waits on the queue like any message.
#[tokio::test]
async fn a_replay_survives_that_nobody_is_there() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    let letter = failed(&hall).await;
    worker.stop().await;
    hall.replay(&letter).await;
    hall.waiting(1).await;
    assert_eq!(hall.head("a").await.unwrap().status, RunStatus::Failed);
    let worker = hall.worker();
    hall.becomes("a", RunStatus::Completed).await;
    hall.settled(0).await;
    worker.stop().await;
}

/// W2: a worker that died after it claimed the run for a replay, and before it said why.
#[tokio::test]
async fn a_replay_cut_short_is_done_again() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    let letter = failed(&hall).await;
    worker.stop().await;
    hall.replay(&letter).await;
    let clock = verdict::base::Clock::system();
    let ttl = super::hall::seconds(1);
    let dead = verdict::graph::Runtime::new(hall.store.clone(), clock, "dead").with_ttl(ttl);
    let how = verdict::graph::ClaimHow { early: true, reopen: true };
    let _ = dead.claim(&super::hall::id("a"), how).await.unwrap();
    hall.pass(super::hall::seconds(2));

    let worker = hall.worker();
    hall.becomes("a", RunStatus::Completed).await;
    hall.empties().await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "work", "publish"]);
    worker.stop().await;
}

/// W3: discarding puts a letter away for good; its run stays failed.
#[tokio::test]
async fn a_discarded_letter_is_put_away() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    let letter = failed(&hall).await;
    assert_eq!(hall.discard(&letter).await, Replayed::Done);
    assert_eq!(state(&hall, &letter).await, LetterState::Discarded);
    assert_eq!(hall.dead().await, []);
    let again = hall.discard(&letter).await;
    assert_eq!(again, Replayed::Before(LetterState::Discarded));
    let replay = hall.replay(&letter).await;
    assert_eq!(replay, Replayed::Before(LetterState::Discarded));
    assert_eq!(hall.replay("nobody").await, Replayed::Missing);
    hall.settled(0).await;
    hall.becomes("a", RunStatus::Failed).await;
    worker.stop().await;
}

/// W3: a message that still cannot be read opens its letter again, also when a worker was quicker
/// than the operator's command.
#[tokio::test]
async fn a_replay_that_fails_again_leaves_an_open_letter() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    hall.post(Message::new("{ not json")).await;
    let letter = hall.only_letter().await;
    for _ in 0..20 {
        hall.pass(super::hall::seconds(1));
        assert_eq!(hall.replay(&letter.id).await, Replayed::Done);
        hall.settled(0).await;
        eventually("the letter is open again", async || {
            (state(&hall, &letter.id).await == LetterState::Open).then_some(())
        })
        .await;
    }
    hall.only_letter().await;
    worker.stop().await;
}

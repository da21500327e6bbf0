//! Dead letters: what becomes one, in which order, and what operators do with it.

use std::time::Duration;

use serde_json::json;
use verdict::{
    base::Fault,
    graph::{
        NewSpec, RunStatus,
        store::{LetterReason, LetterState},
    },
    queue::{Decoded, Message, header},
    runs::Replayed,
    worker::Status,
    workflows::Workflow,
};

use super::site::{Hand, Site, everywhere, millis};
use crate::{
    support::eventually,
    worker::hall::{Act, Play, id, part},
};

async fn state(site: &Site, letter: &str) -> LetterState {
    site.store.letter(letter).await.unwrap().unwrap().state
}

/// W3: what cannot be read becomes a letter without a run, and the queue goes on.
async fn undecodable_messages_become_letters(site: Site) {
    let hand = site.worker().await;
    site.post(Message::new("{ not json").with("x-mark", "kept")).await;
    let letter = site.only_letter().await;
    assert_eq!((letter.reason, letter.state), (LetterReason::Undecodable, LetterState::Open));
    assert_eq!((letter.run, letter.executions), (None, 1));
    assert_eq!(&letter.payload[..], b"{ not json");
    assert_eq!(letter.headers["x-mark"], "kept");
    assert!(letter.error.contains("its body is not as expected"), "{}", letter.error);
    site.all_quiet().await;
    assert_eq!(hand.count("undecodable"), 1);
    site.ends(hand, 1).await;
}

/// W3: a workflow nobody has.
async fn unknown_workflows_become_letters(site: Site) {
    let hand = site.worker().await;
    site.post(Message::new(json!({"workflow": "opera", "input": 1}).to_string())).await;
    let letter = site.only_letter().await;
    assert_eq!(letter.reason, LetterReason::UnknownWorkflow);
    assert_eq!(letter.workflow.as_deref(), Some("opera"));
    assert_eq!(letter.error, "there is no workflow `opera` here (known: play)");
    site.all_quiet().await;
    assert_eq!(hand.count("unknown_workflow"), 1);
    site.ends(hand, 1).await;
}

/// W3, E20: a run of a newer version waits for a worker that knows it, uncounted, and is given up
/// after the wait.
async fn a_run_of_an_unknown_version_waits_and_is_then_given_up(mut site: Site) {
    site.options.version_wait = millis(6000);
    let hand = site.worker().await;
    let began = site.now();
    let spec = NewSpec::new("play", 2, part("a")).id(id("a"));
    site.runtime.open(&Play::graph().unwrap(), spec).await.unwrap();
    site.post(Decoded::wake_message(id("a").as_str())).await;
    hand.counts("unknown_version", 1).await;
    // Claimed for a moment, to note what it waits for.
    let head = site.becomes("a", RunStatus::Queued).await;
    assert_eq!((head.version, head.executions), (1, 0));
    assert_eq!(site.letters().await, []);
    let letter = site.only_letter().await;
    assert!(site.now().since(began) >= millis(6000), "too early");
    assert_eq!((letter.reason, letter.run), (LetterReason::UnsupportedVersion, Some(id("a"))));
    assert!(letter.error.contains("version 2 of workflow `play`"), "{}", letter.error);
    site.becomes("a", RunStatus::Failed).await;
    assert_eq!(site.ran("a"), [""; 0]);
    site.ends(hand, 1).await;
}

/// W3: as long as a letter is not on the queue, and confirmed to be, the message is not gone.
async fn a_letter_is_confirmed_before_its_message_goes(mut site: Site) {
    site.options.reconcile = Duration::from_secs(3600);
    let hand = site.worker().await;
    site.all_quiet().await;
    site.place.refuse_dead().await;
    site.post(Message::new("{ not json")).await;
    hand.counts("undecodable", 1).await;
    let recorded = async || {
        let letters = site.letters().await;
        assert!(letters.len() <= 1 && letters.iter().all(|letter| !letter.confirmed));
        letters.into_iter().next()
    };
    eventually("the letter is recorded", recorded).await;
    hand.is_paused().await;
    hand.stop().await;

    site.place.take_dead().await;
    let hand = site.worker().await;
    // The message is still there.
    hand.counts("undecodable", 1).await;
    assert_eq!(site.only_letter().await.reason, LetterReason::Undecodable);
    site.all_quiet().await;
    site.ends(hand, 1).await;
}

/// W3: the same for a run's letter: it is delivered, and its log says so, once the queue takes it.
async fn a_runs_letter_is_delivered_however_late(mut site: Site) {
    site.options.reconcile = Duration::from_secs(3600);
    site.stage.put_up("a", [Act::StandAndFail(Fault::permanent("no"))]);
    let hand = site.worker().await;
    site.send(&part("a")).await;
    site.stage.stand(1).await;
    site.place.refuse_dead().await;
    site.stage.open();
    eventually("it has failed", async || {
        (site.head("a").await?.status == RunStatus::Failed).then_some(())
    })
    .await;
    eventually("it could not be delivered", async || {
        let paused = *hand.working.worker.status().borrow() != Status::Taking;
        (paused || hand.count("done") > 0).then_some(())
    })
    .await;
    let letters = site.letters().await;
    assert_eq!((letters.len(), letters[0].confirmed), (1, false));
    assert!(!site.kinds("a").await.contains(&"letter_confirmed"));

    site.place.take_dead().await;
    site.only_letter().await;
    eventually("its log says so", async || {
        (site.kinds("a").await.last() == Some(&"letter_confirmed")).then_some(())
    })
    .await;
    site.all_quiet().await;
    assert_eq!(site.ran("a"), ["prepare", "work"]);
    site.stragglers_come().await;
    site.ends(hand, 1).await;
}

/// A run that failed for good, at `work`.
async fn failed(site: &Site) -> (Hand, String) {
    site.stage.put_up("a", [Act::Fail(Fault::permanent("no"))]);
    let hand = site.worker().await;
    site.send(&part("a")).await;
    site.becomes("a", RunStatus::Failed).await;
    let letter = site.only_letter().await.id;
    (hand, letter)
}

/// Waits until the worker has taken away what was settled.
async fn dead_are(site: &Site, count: usize) {
    eventually("the dead letters' depth is true", async || {
        (site.place.dead(count).await.len() == count).then_some(())
    })
    .await;
}

/// W3, N6: a replay of what the broker shows goes on at what failed, once, however often it arrives.
async fn a_replay_goes_on_at_what_failed_and_once(site: Site) {
    let (hand, letter) = failed(&site).await;
    assert_eq!(site.replay(&letter).await, Replayed::Done);
    site.becomes("a", RunStatus::Completed).await;
    let again = site.replay(&letter).await;
    assert_eq!(again, Replayed::Before(LetterState::Replayed));
    let stored = site.store.letter(&letter).await.unwrap().unwrap();
    let message = Message { headers: stored.headers, body: stored.payload };
    hand.counts("done", 1).await;
    site.post(message.with(header::REPLAY, &letter)).await;
    hand.counts("done", 2).await;
    assert_eq!(site.ran("a"), ["prepare", "work", "work", "publish"]);
    let reopened = site.kinds("a").await.iter().filter(|kind| **kind == "reopened").count();
    assert_eq!(reopened, 1);
    dead_are(&site, 0).await;
    site.ends(hand, 0).await;
}

/// W3: a discarded letter leaves the queue, whose depth is then that of the open ones.
async fn a_discarded_letter_leaves_the_queue(site: Site) {
    let (hand, letter) = failed(&site).await;
    site.post(Message::new("{ not json")).await;
    eventually("both letters are confirmed", async || {
        let letters = site.letters().await;
        (letters.len() == 2 && letters.iter().all(|letter| letter.confirmed)).then_some(())
    })
    .await;
    dead_are(&site, 2).await;
    assert_eq!(site.discard(&letter).await, Replayed::Done);
    assert_eq!(state(&site, &letter).await, LetterState::Discarded);
    dead_are(&site, 1).await;
    assert_eq!(&site.place.dead(1).await[0].body[..], b"{ not json");
    site.becomes("a", RunStatus::Failed).await;
    site.ends(hand, 1).await;
}

/// W3: what the broker gave up by itself becomes a letter, which is replayed like any other.
async fn the_brokers_own_dead_letters_are_taken_in(site: Site) {
    let message = crate::worker::hall::message(&part("a")).with("x-mark", "kept");
    site.place.give_up(message.clone()).await;
    let hand = site.worker().await;
    let letter = site.only_letter().await;
    assert_eq!((letter.reason, letter.state), (LetterReason::BrokerLimit, LetterState::Open));
    assert_eq!(letter.id, message.digest());
    assert_eq!((letter.payload, &letter.headers["x-mark"][..]), (message.body, "kept"));
    assert_eq!(site.head("a").await, None);

    assert_eq!(site.replay(&letter.id).await, Replayed::Done);
    site.becomes("a", RunStatus::Completed).await;
    assert_eq!(state(&site, &letter.id).await, LetterState::Replayed);
    dead_are(&site, 0).await;
    site.ends(hand, 0).await;
}

/// W3: messages that fail again while their letters are replayed stay on the queue, whoever is quicker.
/// What is shown there is what is open, long before anybody reconciles.
async fn a_replay_that_fails_again_keeps_the_queues_depth_true(mut site: Site) {
    const LETTERS: usize = 30;
    site.options.reconcile = Duration::from_secs(3600);
    let hand = site.worker().await;
    for n in 0..LETTERS {
        site.post(Message::new(format!("{{ not json {n}"))).await;
    }
    dead_are(&site, LETTERS).await;
    let open = async || {
        let letters = site.letters().await;
        letters.into_iter().filter(|one| one.state == LetterState::Open && one.confirmed).count()
    };
    eventually("all are confirmed", async || (open().await == LETTERS).then_some(())).await;
    let ids: Vec<String> = site.letters().await.into_iter().map(|letter| letter.id).collect();
    let answers = site.close(&ids, LetterState::Replayed).await;
    assert!(answers.iter().all(|answer| *answer == Replayed::Done), "{answers:?}");
    hand.counts("undecodable", 2 * LETTERS as u64).await;
    eventually("all are open again", async || (open().await == LETTERS).then_some(())).await;
    dead_are(&site, LETTERS).await;
    site.ends(hand, LETTERS).await;
}

everywhere![
    a_replay_that_fails_again_keeps_the_queues_depth_true,
    undecodable_messages_become_letters,
    unknown_workflows_become_letters,
    a_run_of_an_unknown_version_waits_and_is_then_given_up,
    a_letter_is_confirmed_before_its_message_goes,
    a_runs_letter_is_delivered_however_late,
    a_replay_goes_on_at_what_failed_and_once,
    a_discarded_letter_leaves_the_queue,
    the_brokers_own_dead_letters_are_taken_in,
];

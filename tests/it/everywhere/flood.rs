//! A flood of webhooks of every kind: each is acknowledged and counted, those that this version
//! cannot serve are explained, and nothing stands still or falls over.
//!
//! A test run has a slice of it. `tests/webhooks` has the whole, with real bodies:
//! docs/testing.md.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;
use verdict::{
    forge::local::{GitOptions, LocalGit},
    graph::store::LetterReason,
    worker::Options,
    workflows::{
        Bound,
        review::{Limits, Review, ReviewDeps},
    },
};

use super::{
    embedded, pubsub, rabbit,
    site::{Hand, Place, Site},
    webhooks::Webhooks,
};
use crate::support::eventually;

/// How many, for RabbitMQ and the embedded queue; the emulator gets a tenth.
const COUNT: &str = "VERDICT_TEST_WEBHOOKS";
/// Published at a time.
const PUBLISHERS: usize = 32;
/// The worker is never further behind.
const BEHIND: usize = 2000;
/// The same at the emulator, which sends ahead as much as there is, whatever it is told. What is too
/// much even to be kept waiting goes back, and comes again later each time.
const LITTLE_BEHIND: usize = 500;

fn count(slice: usize, part: usize) -> usize {
    std::env::var(COUNT).map_or(slice, |text| text.parse::<usize>().unwrap() / part)
}

/// How many messages it has seen through.
fn settled(hand: &Hand) -> usize {
    usize::try_from(hand.working.worker.counts().get().values().sum::<u64>()).unwrap()
}

/// Waits until it has seen so many through; time is up only when it stands still.
async fn reaches(hand: &Hand, count: usize) {
    while settled(hand) < count {
        let before = settled(hand);
        eventually("one more is settled", async || (settled(hand) > before).then_some(())).await;
    }
}

/// Publishes them all; answers how many want a review.
async fn publish(site: &Site, hand: &Hand, webhooks: &Webhooks, flood: Flood) -> usize {
    let Flood { count, behind, .. } = flood;
    let (mut wanted, part) = (0, behind / 2);
    for from in (0..count).step_by(part) {
        reaches(hand, (from + part).saturating_sub(behind)).await;
        let some: Vec<_> = (from..count.min(from + part)).map(|nth| webhooks.nth(nth)).collect();
        wanted += some.iter().filter(|webhook| webhook.event == "pull_request").count();
        let publish = async |message| site.post(message).await;
        let some = stream::iter(some.iter().map(|webhook| webhook.to_message()));
        some.for_each_concurrent(PUBLISHERS, publish).await;
    }
    wanted
}

/// How much, and on what.
#[derive(Debug, Clone, Copy)]
struct Flood {
    count: usize,
    /// How many may wait at a time.
    behind: usize,
    /// The queue delivers each once, unless something breaks.
    once: bool,
}

/// W1, W3: of so many webhooks none is lost, whatever is in them.
async fn takes(place: impl Place + 'static, flood: Flood) {
    let Flood { count, once, .. } = flood;
    let mut site = Site::new(place).await;
    let usual = Options::default();
    let Options { sweep, reconcile, .. } = usual;
    site.options = Options { sweep, reconcile, ..site.options };
    let forge = Arc::new(LocalGit::new(GitOptions::default()));
    let review = ReviewDeps::new(forge, Limits::default()).unwrap();
    let workflows = site.registry().with(Bound::<Review>::new(review).unwrap());
    let hand = site.worker_for(workflows).await;
    let webhooks = Webhooks::new();

    let began = Instant::now();
    let wanted = publish(&site, &hand, &webhooks, flood).await;
    reaches(&hand, count).await;
    let took = began.elapsed();
    site.all_quiet().await;

    // One more was healthy.
    let (done, refused) = ((count - wanted + 1) as u64, wanted as u64);
    hand.counts("done", done).await;
    let counts = hand.working.worker.counts().get();
    assert!(counts["done"] >= done && counts["not_admitted"] >= refused, "{counts:?}");
    if once {
        assert_eq!((counts["done"], counts["not_admitted"]), (done, refused), "{counts:?}");
    }
    assert_eq!(counts.len(), 2, "{counts:?}");
    explained(&site, wanted).await;
    println!(
        "{}: {count} webhooks ({}) in {took:.1?}, {:.0} a second; {wanted} dead letters",
        std::thread::current().name().unwrap_or_default(),
        webhooks.kind(),
        count as f64 / took.as_secs_f64(),
    );
    site.ends(hand, wanted).await;
}

/// There is no forge to ask about a pull request: its event is kept, with the reason.
async fn explained(site: &Site, wanted: usize) {
    let letters = eventually("every letter is confirmed", async || {
        let letters = site.letters().await;
        let all = letters.len() == wanted && letters.iter().all(|letter| letter.confirmed);
        all.then_some(letters)
    })
    .await;
    for letter in letters {
        assert_eq!(letter.reason, LetterReason::Permanent);
        assert!(letter.error.starts_with("no forge is configured"), "{}", letter.error);
        assert_eq!(letter.headers["x-github-event"], "pull_request");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_takes_a_flood_of_webhooks() {
    let flood = Flood { count: count(2000, 1), behind: BEHIND, once: true };
    takes(embedded::place().await, flood).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rabbit_takes_a_flood_of_webhooks() {
    let flood = Flood { count: count(2000, 1), behind: BEHIND, once: true };
    takes(rabbit::place().await, flood).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pubsub_takes_a_flood_of_webhooks() {
    let flood = Flood { count: count(500, 10), behind: LITTLE_BEHIND, once: false };
    takes(pubsub::place().await, flood).await;
}

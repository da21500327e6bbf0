//! Pub/Sub, disturbed, as far as Google's emulator can be.
//!
//! The emulator keeps everything in memory. When it is started again, events that no worker had
//! begun are gone with it: what Pub/Sub itself promises is not put to the test here, and not verdict's
//! to promise. What verdict had begun is in its own store, and is finished.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::timeout;

use super::{
    counting::{HELD, open_gate, put},
    place::{ACK_DEADLINE, CONCURRENCY, LIMIT, Place},
    rounds, seeded,
    serving::Serving,
    site::{Site, Stream},
};
use crate::support::{Emulator, Proxy, eventually, pass};

/// The emulator sends ahead as much as there is, whatever it is told: no more than a worker takes.
const PACE: Duration = Duration::from_millis(400);

async fn start(place: Place) -> (Site, Stream) {
    let site = Site::new(place).await;
    let stream = Stream::start(site.queue(), PACE, 0);
    site.until_completed(10).await;
    (site, stream)
}

/// After the disturbance: everything goes on, comes to its end, and nothing is left.
async fn ends(site: Site, stream: Stream) {
    site.taking().await;
    stream.go_on(20).await;
    let events = stream.ends().await;
    finish(site, &events).await;
}

/// The worker stays for as long as a message can be with somebody who has gone; then a fresh consumer
/// finds nothing.
async fn finish(site: Site, events: &BTreeSet<u64>) {
    site.until_all(events).await;
    pass(ACK_DEADLINE + Duration::from_secs(2)).await;
    let fresh = site.queue();
    site.ends(events).await;
    let found = timeout(Duration::from_secs(3), fresh.consumer().next()).await;
    assert!(found.is_err(), "something is left: {found:?}");
    fresh.close().await.unwrap();
}

/// Shorter than a call may take: nothing needs to be done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_emulator_is_stopped_for_a_moment_again_and_again() {
    let emulator = Emulator::private().await;
    let (site, stream) = start(Place::pubsub(&emulator)).await;
    let mut random = seeded();
    for _ in 0..rounds(4) {
        emulator.freeze();
        pass(LIMIT.mul_f64(0.1 + 0.3 * random.f64())).await;
        emulator.thaw();
        stream.go_on(10).await;
    }
    ends(site, stream).await;
}

/// Longer: the worker says so, and goes on by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_emulator_is_stopped_for_longer_than_a_call_may_take() {
    let emulator = Emulator::private().await;
    let serving = Serving::pubsub(&emulator, emulator.address()).await;
    let (site, stream) = start(Place::pubsub(&emulator)).await;
    for _ in 0..rounds(1) {
        emulator.freeze();
        let why = site.paused().await;
        assert!(why.contains("Pub/Sub"), "{why}");
        let why = serving.not_ready("queue").await;
        assert!(why.contains("Pub/Sub"), "{why}");
        serving.not_ready("worker").await;
        emulator.thaw();
        serving.ready().await;
        site.taking().await;
        stream.go_on(10).await;
    }
    serving.ends().await;
    ends(site, stream).await;
}

/// Nobody closes anything, and nothing comes through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_path_is_frozen() {
    let emulator = Emulator::shared();
    let proxy = Proxy::new(emulator.address());
    let serving = Serving::pubsub(&emulator, proxy.address()).await;
    let (site, stream) = start(Place::pubsub_through(&emulator, proxy.address())).await;
    for _ in 0..rounds(1) {
        proxy.freeze();
        site.paused().await;
        serving.not_ready("queue").await;
        serving.not_ready("worker").await;
        proxy.thaw();
        serving.ready().await;
        site.taking().await;
        stream.go_on(10).await;
    }
    serving.ends().await;
    ends(site, stream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_path_is_cut_and_mended_again_and_again() {
    let emulator = Emulator::shared();
    let mut proxy = Proxy::new(emulator.address());
    let serving = Serving::pubsub(&emulator, proxy.address()).await;
    let (site, stream) = start(Place::pubsub_through(&emulator, proxy.address())).await;
    let mut random = seeded();
    for _ in 0..rounds(4) {
        proxy.cut().await;
        pass(Duration::from_millis(random.u64(0..1500))).await;
        proxy.mend();
        stream.go_on(10).await;
    }
    proxy.cut().await;
    serving.not_ready("queue").await;
    serving.not_ready("worker").await;
    proxy.mend();
    serving.ends().await;
    ends(site, stream).await;
}

/// The worker has as many runs in hand as it takes, and nothing else is on the queue.
async fn hold(site: &Site, events: &mut BTreeSet<u64>) {
    let (queue, held) = (site.queue(), HELD..HELD + CONCURRENCY as u64);
    let all = events.len() + CONCURRENCY;
    for number in held.clone() {
        put(&*queue, number).await;
    }
    queue.close().await.unwrap();
    eventually("the worker has everything in hand", async || {
        (site.begun().await == all as u64).then_some(())
    })
    .await;
    events.extend(held);
}

/// The emulator has lost its topics and messages. The same worker makes the topics again and goes
/// on; what it had in hand it finishes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_emulator_forgets_everything_under_a_worker() {
    let mut emulator = Emulator::private().await;
    let (site, stream) = start(Place::pubsub(&emulator)).await;
    let mut events = stream.ends().await;
    site.until_all(&events).await;
    hold(&site, &mut events).await;
    emulator.restart().await;
    open_gate(site.folder());
    site.until_all(&events).await;

    let stream = Stream::start(site.queue(), PACE, 100_000);
    stream.go_on(30).await;
    events.extend(stream.ends().await);
    finish(site, &events).await;
}

/// The messages are gone, and the worker that had begun on them is too: the sweep of another one
/// finds every run that had begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_emulator_forgets_what_a_dead_worker_had_begun() {
    let mut emulator = Emulator::private().await;
    let (mut site, stream) = start(Place::pubsub(&emulator)).await;
    let mut events = stream.ends().await;
    site.until_all(&events).await;
    hold(&site, &mut events).await;
    site.crash().await;
    emulator.restart().await;
    open_gate(site.folder());
    site.work();
    finish(site, &events).await;
}

//! RabbitMQ, disturbed.

use std::{collections::BTreeSet, time::Duration};

use verdict::graph::store::{Letter, LetterFilter, LetterReason, LetterState};

use super::{
    counting::{FAILING, HELD, open_gate, put},
    place::{CONCURRENCY, LIMIT, Place, QUEUE},
    rounds, seeded,
    serving::Serving,
    site::{Site, Stream},
};
use crate::support::{Broker, Proxy, eventually, pass};

const PACE: Duration = Duration::from_millis(80);

/// A worker under way, and the stream it works on.
struct Play {
    broker: Broker,
    site: Site,
    stream: Stream,
}

impl Play {
    /// Under way: some runs are complete.
    async fn new(broker: Broker) -> Self {
        let place = Place::rabbit(&broker);
        Self::at(broker, place).await
    }

    async fn at(broker: Broker, place: Place) -> Self {
        let site = Site::new(place).await;
        let stream = Stream::start(site.queue(), PACE, 0);
        site.until_completed(20).await;
        Self { broker, site, stream }
    }

    /// After the disturbance: everything goes on, comes to its end, and nothing is left.
    async fn ends(self) {
        let Self { broker, site, stream } = self;
        site.taking().await;
        stream.go_on(50).await;
        let events = stream.ends().await;
        finish(broker, site, &events).await;
    }
}

async fn finish(broker: Broker, site: Site, events: &BTreeSet<u64>) {
    site.until_all(events).await;
    broker.empty(QUEUE).await;
    site.ends(events).await;
    broker.finish().await;
}

/// The queue of the real binary beside the worker.
fn reviews(broker: &Broker) -> String {
    format!("{}?queue=reviews", broker.url())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_broker_is_stopped_and_started() {
    let mut play = Play::new(Broker::private().await).await;
    let serving = Serving::rabbit(&reviews(&play.broker)).await;
    for _ in 0..rounds(1) {
        play.broker.stop().await;
        let why = play.site.paused().await;
        assert!(why.contains("amqp"), "{why}");
        let why = serving.not_ready("queue").await;
        assert!(why.contains("amqp"), "{why}");
        serving.not_ready("worker").await;
        play.broker.start().await;
        serving.ready().await;
        play.stream.go_on(20).await;
    }
    assert!(play.stream.refused() > 0, "nothing was published while it was away");
    serving.ends().await;
    play.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_broker_is_killed_and_started() {
    let mut play = Play::new(Broker::private().await).await;
    let serving = Serving::rabbit(&reviews(&play.broker)).await;
    let mut random = seeded();
    // RabbitMQ does not bring back a quorum queue that was killed before it had its leader.
    play.broker.queues().await;
    for _ in 0..rounds(1) {
        pass(Duration::from_millis(random.u64(0..500))).await;
        play.broker.kill().await;
        play.site.paused().await;
        serving.not_ready("queue").await;
        serving.not_ready("worker").await;
        play.broker.start().await;
        serving.ready().await;
        play.stream.go_on(20).await;
    }
    serving.ends().await;
    play.ends().await;
}

/// A connection that is closed is made again at once: nothing needs to pause for longer than that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_connections_are_closed_again_and_again() {
    let play = Play::new(Broker::shared().await).await;
    let serving = Serving::rabbit(&reviews(&play.broker)).await;
    let mut random = seeded();
    for _ in 0..rounds(6) {
        pass(Duration::from_millis(random.u64(100..1200))).await;
        play.broker.close_connections(1).await;
    }
    serving.ends().await;
    play.ends().await;
}

/// Publishers are held up, consumers are not: what is on the queue is worked through, and whoever
/// asks for a run over HTTP has it in the store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_broker_raises_its_disk_alarm() {
    let play = Play::new(Broker::private().await).await;
    let serving = Serving::rabbit(&reviews(&play.broker)).await;
    play.broker.disk_alarm(true).await;
    let refused = play.stream.refused();
    eventually("events are refused", async || (play.stream.refused() > refused).then_some(()))
        .await;
    let taken = play.stream.taken();
    play.site.until_completed(taken).await;

    let run = serving.review().await;
    let why = serving.not_ready("queue").await;
    assert!(why.contains("takes nothing from publishers"), "{why}");
    serving.completed(&run).await;
    assert!(play.stream.taken() <= taken + 4, "it takes events in spite of the alarm");

    play.broker.disk_alarm(false).await;
    serving.ends().await;
    play.ends().await;
}

/// Events that wait on a queue while everything in hand stands still.
const WAITING: usize = 5;

/// What waits on a queue that somebody deletes is gone with it, by the broker's own act: whoever
/// published it does so again. What the worker has begun is not lost, though its messages are.
async fn delete_under_it(play: Play, recreate: impl AsyncFnOnce(&Broker)) {
    let Play { broker, site, stream } = play;
    let mut events = stream.ends().await;
    site.until_all(&events).await;
    broker.empty(QUEUE).await;
    let queue = site.queue();
    let held = HELD..HELD + (CONCURRENCY + WAITING) as u64;
    for number in held.clone() {
        put(&*queue, number).await;
    }
    eventually("the worker has everything in hand", async || {
        let seen = broker.queue(QUEUE).await?;
        (seen.ready == WAITING as u64 && seen.unacknowledged == CONCURRENCY as u64).then_some(())
    })
    .await;
    recreate(&broker).await;
    open_gate(site.folder());
    site.until_completed((events.len() + CONCURRENCY) as u64).await;
    let begun = site.keys().await;
    let gone: Vec<u64> = held.clone().filter(|number| !begun.contains(number)).collect();
    assert_eq!(gone.len(), WAITING, "of {held:?} only {gone:?} were not begun");
    for number in gone {
        put(&*queue, number).await;
    }
    queue.close().await.unwrap();
    drop(queue);
    events.extend(held);

    let stream = Stream::start(site.queue(), PACE, 100_000);
    stream.go_on(50).await;
    events.extend(stream.ends().await);
    finish(broker, site, &events).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_queue_is_deleted_and_made_again_by_verdict() {
    let play = Play::new(Broker::shared().await).await;
    delete_under_it(play, async |broker| {
        broker.delete_queue(QUEUE).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_queue_is_deleted_and_made_again_by_hand() {
    let play = Play::new(Broker::shared().await).await;
    delete_under_it(play, async |broker| {
        let arguments = broker.queue(QUEUE).await.unwrap().arguments;
        broker.delete_queue(QUEUE).await;
        broker.create_queue(QUEUE, &arguments).await;
    })
    .await;
}

/// With nobody allowed to make it again, the worker says what is missing, and goes on when it is
/// there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_consumer_says_so_until_its_queue_is_back() {
    let Play { broker, site, stream } = Play::new(Broker::shared().await).await;
    let mut events = stream.ends().await;
    site.until_all(&events).await;
    broker.empty(QUEUE).await;
    let arguments = broker.queue(QUEUE).await.unwrap().arguments;
    broker.allow_declaring(false).await;
    broker.delete_queue(QUEUE).await;
    let why = site.paused().await;
    assert!(why.contains(QUEUE), "{why}");
    broker.allow_declaring(true).await;
    if broker.queue(QUEUE).await.is_none() {
        broker.create_queue(QUEUE, &arguments).await;
    }
    site.taking().await;
    let stream = Stream::start(site.queue(), PACE, 100_000);
    stream.go_on(100).await;
    events.extend(stream.ends().await);
    finish(broker, site, &events).await;
}

/// Nobody closes anything, and nothing comes through: the heartbeat finds out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_path_is_frozen_for_longer_than_the_heartbeat() {
    let broker = Broker::shared().await;
    let proxy = Proxy::new(broker.address());
    let serving =
        Serving::rabbit(&format!("{}?queue=reviews", broker.url_through(proxy.address()))).await;
    let place = Place::rabbit_through(&broker, proxy.address());
    let play = Play::at(broker, place).await;
    for _ in 0..rounds(1) {
        proxy.freeze();
        play.site.paused().await;
        serving.not_ready("queue").await;
        serving.not_ready("worker").await;
        pass(LIMIT).await;
        proxy.thaw();
        serving.ready().await;
        play.stream.go_on(20).await;
    }
    serving.ends().await;
    play.ends().await;
}

/// Shorter than anything anybody waits for: nobody notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_path_is_frozen_for_a_moment_again_and_again() {
    let broker = Broker::shared().await;
    let proxy = Proxy::new(broker.address());
    let place = Place::rabbit_through(&broker, proxy.address());
    let play = Play::at(broker, place).await;
    let accepted = proxy.accepted();
    let mut random = seeded();
    for _ in 0..rounds(5) {
        proxy.freeze();
        pass(LIMIT.mul_f64(0.1 + 0.2 * random.f64())).await;
        proxy.thaw();
        play.stream.go_on(10).await;
    }
    assert_eq!(proxy.accepted(), accepted, "a connection was made again");
    play.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_path_is_cut_and_mended_again_and_again() {
    let broker = Broker::shared().await;
    let mut proxy = Proxy::new(broker.address());
    let url = broker.url_through(proxy.address());
    let serving = Serving::rabbit(&format!("{url}?queue=reviews")).await;
    let place = Place::rabbit_through(&broker, proxy.address());
    let play = Play::at(broker, place).await;
    let mut random = seeded();
    for _ in 0..rounds(4) {
        proxy.cut().await;
        pass(Duration::from_millis(random.u64(0..1500))).await;
        proxy.mend();
        play.stream.go_on(20).await;
        pass(Duration::from_millis(random.u64(0..500))).await;
    }
    proxy.cut().await;
    serving.not_ready("queue").await;
    serving.not_ready("worker").await;
    proxy.mend();
    serving.ends().await;
    play.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_path_is_slow_each_way() {
    let broker = Broker::shared().await;
    let proxy = Proxy::new(broker.address());
    let place = Place::rabbit_through(&broker, proxy.address());
    let play = Play::at(broker, place).await;
    proxy.delay(Duration::from_millis(150));
    play.stream.go_on(50).await;
    assert_eq!(play.site.pauses(), Vec::<String>::new(), "slow is not away");
    play.ends().await;
}

async fn letters(site: &Site) -> Vec<Letter> {
    site.runtime.store.letters(&LetterFilter::default()).await.unwrap()
}

/// A letter is recorded, published, confirmed, and only then is its message acknowledged, also when
/// the queue for the letters goes in between and nobody may make it again for a while.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_of_dead_letters_is_deleted_under_a_failure() {
    let broker = Broker::shared().await;
    let site = Site::new(Place::rabbit(&broker)).await;
    let (queue, dead) = (site.queue(), format!("{QUEUE}.dead"));
    put(&*queue, FAILING).await;
    eventually("it is begun", async || (site.begun().await == 1).then_some(())).await;
    broker.allow_declaring(false).await;
    broker.delete_queue(&dead).await;
    open_gate(site.folder());
    let letter = eventually("the letter is recorded", async || letters(&site).await.pop()).await;
    assert_eq!((letter.confirmed, letter.reason), (false, LetterReason::Permanent), "{letter:?}");
    let why = site.paused().await;
    assert!(why.contains(QUEUE), "{why}");
    eventually("the message is still there", async || {
        (broker.queue(QUEUE).await?.messages == 1).then_some(())
    })
    .await;
    assert!(broker.queue(&dead).await.is_none());
    assert!(!letters(&site).await[0].confirmed);

    broker.allow_declaring(true).await;
    eventually("the letter is confirmed", async || letters(&site).await[0].confirmed.then_some(()))
        .await;
    eventually("the letter is where people look, and its message is gone", async || {
        let (main, dead) = (broker.queue(QUEUE).await?, broker.queue(&dead).await?);
        (main.messages == 0 && dead.messages >= 1).then_some(())
    })
    .await;
    let all = letters(&site).await;
    assert_eq!((all.len(), all[0].state), (1, LetterState::Open), "{all:?}");
    assert_eq!(all[0].id, letter.id);
    queue.close().await.unwrap();
    drop(queue);
    site.leave().await;
    broker.finish().await;
}

//! What every queue must do, checked on each [`Bench`]. A new queue is one more line at the end.
//!
//! No test is left out for any queue. Where one cannot keep a promise ([`Promise`]), the test asks
//! for what is left of it. Where time cannot be wound, a test waits by asking, and checks on the
//! queue's clock that nothing came too early.

use std::{
    collections::{BTreeMap, HashMap},
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures_util::FutureExt;
use verdict::queue::{
    DeadLetter, Delivery, Depth, Message, Queue, QueueError, Settled, Settlement, peek_dead,
};

#[cfg(feature = "amqp")]
use super::amqp::bench as amqp_bench;
use super::bench::{self, Bench, Promise, within};
#[cfg(feature = "pubsub")]
use super::pubsub::bench as pubsub_bench;
use crate::support::eventually;

const NOW: Duration = Duration::ZERO;

fn text(delivery: &Delivery) -> &str {
    std::str::from_utf8(&delivery.message.body).unwrap()
}

async fn publish(queue: &dyn Queue, body: &str) {
    queue.publish(Message::new(body.to_owned()), NOW).await.unwrap();
}

async fn take(queue: &dyn Queue) -> Delivery {
    within(queue.consumer().next()).await.unwrap()
}

async fn settle(delivery: &Delivery, how: Settlement) -> Settled {
    delivery.settle(how).await.unwrap()
}

/// Waits until nothing can be taken now. What is true at once where the queue is in this process
/// takes a moment to get to a broker.
async fn nothing_ready(queue: &dyn Queue) {
    eventually("nothing is ready", async || {
        matches!(queue.depth().await.unwrap().ready, Some(0) | None).then_some(())
    })
    .await;
}

async fn assert_depth(
    bench: &dyn Bench,
    queue: &dyn Queue,
    [ready, in_hand, delayed, dead]: [u64; 4],
) {
    let told = |promise, count| bench.keeps(promise).then_some(count);
    let expected = Depth {
        ready: told(Promise::TellsReady, ready),
        in_hand: told(Promise::TellsInHand, in_hand),
        delayed: told(Promise::TellsDelayed, delayed),
        dead: told(Promise::TellsDead, dead),
    };
    if bench.keeps(Promise::Wound) {
        assert_eq!(queue.depth().await.unwrap(), expected);
        return;
    }
    eventually(&format!("the depth is {expected:?}"), async || {
        (queue.depth().await.unwrap() == expected).then_some(())
    })
    .await;
}

/// W2: a message is gone when it was acknowledged, and not before.
pub async fn published_received_acknowledged(bench: &dyn Bench) {
    let queue = bench.open().await;
    queue.check().await.unwrap();
    let published = bench.now();
    publish(&*queue, "one").await;
    assert_depth(bench, &*queue, [1, 0, 0, 0]).await;

    let delivery = take(&*queue).await;
    assert_eq!(text(&delivery), "one");
    assert_eq!(delivery.deliveries, 1);
    assert!((published..=bench.now()).contains(&delivery.enqueued_at));
    assert_eq!(delivery.held_for, bench.visibility());
    assert_depth(bench, &*queue, [0, 1, 0, 0]).await;

    assert_eq!(settle(&delivery, Settlement::Ack).await, Settled::Done);
    assert_depth(bench, &*queue, [0, 0, 0, 0]).await;
    assert_eq!(settle(&delivery, Settlement::Ack).await, Settled::Stale);
}

/// A consumer that was waiting first is woken by a message published later.
pub async fn waiting_consumer_is_woken(bench: &dyn Bench) {
    let (near, far) = (bench.open().await, bench.open().await);
    for queue in [&near, &far] {
        let mut waiting = pin!(take(&*near));
        assert!((&mut waiting).now_or_never().is_none());
        publish(&**queue, "hello").await;
        assert_eq!(text(&waiting.await), "hello");
    }
}

/// Messages come out in the order they went in.
pub async fn first_in_first_out(bench: &dyn Bench) {
    let queue = bench.open().await;
    for n in 0..20 {
        publish(&*queue, &n.to_string()).await;
        // Some share their moment, some do not.
        bench.pass(Duration::from_millis(n % 2)).await;
    }
    let mut came = Vec::new();
    for _ in 0..20 {
        let delivery = take(&*queue).await;
        came.push(text(&delivery).parse::<u64>().unwrap());
        settle(&delivery, Settlement::Ack).await;
    }
    if !bench.keeps(Promise::Order) {
        came.sort_unstable();
    }
    assert!(came.into_iter().eq(0..20));
}

/// A delayed message is not delivered before its time, and others pass it.
pub async fn delayed_until_its_time(bench: &dyn Bench) {
    let queue = bench.open().await;
    let delays = bench.keeps(Promise::DelaysPublished);
    let (published, delay) = (bench.now(), bench.delay());
    queue.publish(Message::new("late"), delay).await.unwrap();
    if delays {
        if bench.keeps(Promise::Wound) {
            assert_depth(bench, &*queue, [0, 0, 1, 0]).await;
        }
        publish(&*queue, "soon").await;
        let soon = take(&*queue).await;
        assert_eq!(text(&soon), "soon");
        settle(&soon, Settlement::Ack).await;
    }
    if bench.keeps(Promise::Wound) {
        bench.pass(delay - Duration::from_millis(1)).await;
        nothing_ready(&*queue).await;
        bench.pass(Duration::from_millis(1)).await;
    }
    let late = take(&*queue).await;
    assert_eq!(text(&late), "late");
    assert!(late.enqueued_at.since(published) < delay, "it is as old as its publication");
    assert!(!delays || bench.now().since(published) >= delay, "too early");
}

/// A receive that already waits answers when a delayed message's time comes.
pub async fn waiting_consumer_sees_time_pass(bench: &dyn Bench) {
    let queue = bench.open().await;
    let published = bench.now();
    queue.publish(Message::new("late"), bench.delay()).await.unwrap();
    let mut waiting = pin!(take(&*queue));
    assert!((&mut waiting).now_or_never().is_none());
    bench.pass(bench.delay()).await;
    assert_eq!(text(&waiting.await), "late");
    let delays = bench.keeps(Promise::DelaysPublished);
    assert!(!delays || bench.now().since(published) >= bench.delay(), "too early");
}

/// "Back later" waits its time, lets others pass, and is never counted.
pub async fn later_is_delivered_later_and_not_counted(bench: &dyn Bench) {
    let queue = bench.open().await;
    publish(&*queue, "patient").await;
    let (rounds, delay) = (if bench.keeps(Promise::Wound) { 50 } else { 3 }, bench.delay());
    let mut delivery = take(&*queue).await;
    let enqueued_at = delivery.enqueued_at;
    for _ in 0..rounds {
        assert_eq!(text(&delivery), "patient");
        assert!(!bench.keeps(Promise::HandBackUncounted) || delivery.deliveries == 1);
        assert_eq!(delivery.enqueued_at, enqueued_at);
        let asked = bench.now();
        assert_eq!(settle(&delivery, Settlement::Later(delay)).await, Settled::Done);
        assert_eq!(settle(&delivery, Settlement::Ack).await, Settled::Stale);
        if bench.keeps(Promise::Wound) {
            assert_depth(bench, &*queue, [0, 0, 1, 0]).await;
        }
        publish(&*queue, "passes").await;
        let other = take(&*queue).await;
        assert_eq!(text(&other), "passes");
        settle(&other, Settlement::Ack).await;
        bench.pass(delay).await;
        delivery = take(&*queue).await;
        let kept = bench.keeps(Promise::LaterKept);
        assert!(!kept || bench.now().since(asked) >= delay, "too early");
    }
    settle(&delivery, Settlement::Ack).await;
    assert_depth(bench, &*queue, [0, 0, 0, 0]).await;
}

/// A message handed back is ready at once, ahead of what came after it, and is never counted.
pub async fn handed_back_is_ready_at_once(bench: &dyn Bench) {
    let queue = bench.open().await;
    publish(&*queue, "first").await;
    bench.pass(Duration::from_secs(1)).await;
    publish(&*queue, "second").await;
    for _ in 0..20 {
        let delivery = take(&*queue).await;
        assert!(!bench.keeps(Promise::HandedBackFirst) || text(&delivery) == "first");
        assert!(!bench.keeps(Promise::HandBackUncounted) || delivery.deliveries == 1);
        bench.pass(Duration::from_secs(1)).await;
        assert_eq!(settle(&delivery, Settlement::HandBack).await, Settled::Done);
        assert_eq!(settle(&delivery, Settlement::HandBack).await, Settled::Stale);
    }
    assert_depth(bench, &*queue, [2, 0, 0, 0]).await;
}

/// W2: what nobody settled comes back, and says how often that happened.
pub async fn unsettled_comes_back_counted(bench: &dyn Bench) {
    let queue = bench.open().await;
    let exact = bench.keeps(Promise::CountsExactly);
    publish(&*queue, "again").await;
    for nth in 1..=5 {
        let delivery = take(&*queue).await;
        assert!(if exact {
            delivery.deliveries == nth
        } else {
            nth == 1 || delivery.deliveries > 1
        });
        nothing_ready(&*queue).await;
        bench.take_away().await;
    }
    // Being asked to wait neither adds to the count nor forgets it.
    let delivery = take(&*queue).await;
    assert!(delivery.deliveries == 6 || !exact && delivery.deliveries > 1);
    settle(&delivery, Settlement::HandBack).await;
    let again = take(&*queue).await.deliveries;
    assert!(again == delivery.deliveries || !exact && again > 1);
}

/// A delivery that is extended stays; when the extensions stop it comes back, where it does so by
/// itself.
pub async fn extended_stays_in_hand(bench: &dyn Bench) {
    let queue = bench.open().await;
    publish(&*queue, "long").await;
    let delivery = take(&*queue).await;
    let nearly = bench.visibility() - Duration::from_millis(1);
    for _ in 0..5 {
        bench.pass(nearly).await;
        let extended = delivery.extend(bench.visibility()).await.unwrap();
        assert_eq!(extended, Settled::Done);
    }
    bench.pass(nearly).await;
    assert_depth(bench, &*queue, [0, 1, 0, 0]).await;
    if bench.keeps(Promise::ComesBackByTime) {
        bench.pass(Duration::from_millis(1)).await;
    } else {
        bench.take_away().await;
    }
    assert_eq!(text(&take(&*queue).await), "long");
    let extended = delivery.extend(bench.visibility()).await.unwrap();
    assert_eq!(extended, Settled::Stale);
}

/// Late but alone: a delivery whose visibility ran out is still its holder's to settle until
/// somebody else has it.
pub async fn late_settlement_counts_while_nobody_else_took_it(bench: &dyn Bench) {
    let queue = bench.open().await;
    publish(&*queue, "slow").await;
    let delivery = take(&*queue).await;
    bench.pass(bench.visibility() * 3).await;
    assert_eq!(settle(&delivery, Settlement::Ack).await, Settled::Done);
    assert_depth(bench, &*queue, [0, 0, 0, 0]).await;
}

/// Nobody settles, extends or returns another's delivery.
pub async fn stale_delivery_changes_nothing(bench: &dyn Bench) {
    let (one, two) = (bench.open().await, bench.open().await);
    publish(&*one, "contended").await;
    let first = take(&*one).await;
    bench.take_away().await;
    let second = take(&*two).await;

    let later = Settlement::Later(Duration::from_secs(1));
    for how in [Settlement::Ack, later, Settlement::HandBack] {
        assert_eq!(settle(&first, how).await, Settled::Stale);
    }
    let extended = first.extend(Duration::from_secs(9999)).await.unwrap();
    assert_eq!(extended, Settled::Stale);
    assert_depth(bench, &*two, [0, 1, 0, 0]).await;
    assert_eq!(settle(&second, Settlement::Ack).await, Settled::Done);

    // Not even when a new message may live where the old one did.
    publish(&*one, "new").await;
    let new = take(&*two).await;
    assert_eq!(settle(&second, Settlement::Ack).await, Settled::Stale);
    assert_eq!(settle(&new, Settlement::Ack).await, Settled::Done);
}

/// Of several settlements at once exactly one counts; extensions do not get in each other's way.
pub async fn settled_once_however_many_ask(bench: &dyn Bench) {
    let queue = &*bench.open().await;
    for how in [Settlement::Ack, Settlement::HandBack, Settlement::Later(Duration::ZERO)] {
        publish(queue, "contended").await;
        let delivery = &take(queue).await;
        let extensions = (0..10).map(|_| delivery.extend(bench.visibility()));
        let extended = futures_util::future::try_join_all(extensions).await.unwrap();
        assert_eq!(extended, [Settled::Done; 10]);
        let settlements = (0..10).map(|_| settle(delivery, how));
        let settled = futures_util::future::join_all(settlements).await;
        assert_eq!(settled.iter().filter(|settled| **settled == Settled::Done).count(), 1);
        if how != Settlement::Ack {
            settle(&take(queue).await, Settlement::Ack).await;
        }
        assert_depth(bench, queue, [0, 0, 0, 0]).await;
    }
}

/// A delivery does not keep its queue open: once the queue was dropped, it is stale and the message
/// somebody else's.
pub async fn delivery_of_a_dropped_queue_is_stale(bench: &dyn Bench) {
    let queue = bench.open().await;
    publish(&*queue, "safe").await;
    let held = take(&*queue).await;
    drop(queue);
    eventually("the queue is gone", async || {
        let extended = held.extend(bench.visibility()).await.unwrap();
        (extended == Settled::Stale).then_some(())
    })
    .await;
    assert_eq!(settle(&held, Settlement::Ack).await, Settled::Stale);
    bench.after_crash().await;
    let queue = bench.open().await;
    let again = take(&*queue).await;
    assert_eq!(text(&again), "safe");
    assert_eq!(settle(&again, Settlement::Ack).await, Settled::Done);
}

/// A consumer keeps its place when its wait is dropped, and gives it up when it is dropped itself.
pub async fn consumer_keeps_its_place(bench: &dyn Bench) {
    let queue = bench.open().await;
    let mut consumer = queue.consumer();
    assert!(consumer.next().now_or_never().is_none());
    publish(&*queue, "one").await;
    let delivery = within(consumer.next()).await.unwrap();
    assert_eq!(text(&delivery), "one");
    settle(&delivery, Settlement::Ack).await;

    assert!(consumer.next().now_or_never().is_none());
    publish(&*queue, "two").await;
    drop(consumer);
    let delivery = take(&*queue).await;
    assert_eq!(text(&delivery), "two");
    settle(&delivery, Settlement::Ack).await;
    assert_depth(bench, &*queue, [0, 0, 0, 0]).await;
}

/// W2: a consumer that vanishes with messages in hand loses none of them.
pub async fn crash_with_messages_in_hand_loses_none(bench: &dyn Bench) {
    let queue = bench.open().await;
    for n in 0..30 {
        publish(&*queue, &n.to_string()).await;
    }
    for _ in 0..20 {
        take(&*queue).await;
    }
    drop(queue);

    let queue = bench.open().await;
    bench.after_crash().await;
    let mut seen = BTreeMap::new();
    for _ in 0..30 {
        let delivery = take(&*queue).await;
        seen.insert(text(&delivery).parse::<u32>().unwrap(), delivery.deliveries);
        assert_eq!(settle(&delivery, Settlement::Ack).await, Settled::Done);
    }
    assert!(seen.keys().copied().eq(0..30));
    let again = seen.values().filter(|deliveries| **deliveries > 1).count();
    // What was fetched ahead and never given out may count too.
    let exactly = seen.values().all(|deliveries| *deliveries <= 2) && again == 20;
    assert!(if bench.keeps(Promise::CountsExactly) { exactly } else { again >= 20 });
    assert_depth(bench, &*queue, [0, 0, 0, 0]).await;
}

/// W3: dead letters are listed in order, kept once per id, removable, and the depth is true.
pub async fn dead_letters(bench: &dyn Bench) {
    let queue = bench.open().await;
    let letter = |id: &str, body: &str| DeadLetter {
        id: id.to_owned(),
        reason: "permanent".to_owned(),
        by_broker: false,
        notes: Vec::new(),
        message: Message::new(body.to_owned()).with("x-github-event", "pull_request"),
    };
    for (id, body) in [("b", "first"), ("a", "second"), ("c", "third")] {
        queue.publish_dead(letter(id, body)).await.unwrap();
    }
    assert_depth(bench, &*queue, [0, 0, 0, 3]).await;
    let kept = [letter("b", "first"), letter("a", "second"), letter("c", "third")];
    assert_eq!(
        by_order(bench, peek_dead(&*queue, 100).await.unwrap()),
        by_order(bench, kept.into())
    );
    assert_eq!(peek_dead(&*queue, 2).await.unwrap().len(), 2);
    assert_eq!(peek_dead(&*queue, 0).await.unwrap(), []);

    let remove = async |queue: &dyn Queue, ids: &[&str]| {
        let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
        queue.remove_dead(&ids).await.unwrap()
    };
    assert_eq!(remove(&*queue, &["a"]).await, 1);
    assert_eq!(remove(&*queue, &["a"]).await, 0);
    assert_eq!(remove(&*queue, &["never"]).await, 0);
    drop(queue);
    let queue = bench.open().await;
    assert_depth(bench, &*queue, [0, 0, 0, 2]).await;
    queue.publish_dead(letter("a", "second")).await.unwrap();
    let expected = [letter("b", "first"), letter("c", "third"), letter("a", "second")];
    let letters = peek_dead(&*queue, 9).await.unwrap();
    assert_eq!(by_order(bench, letters), by_order(bench, expected.into()));
    dead_letter_published_again(bench, &*queue, letter("b", "again")).await;
}

async fn dead_letter_published_again(bench: &dyn Bench, queue: &dyn Queue, again: DeadLetter) {
    let times = if bench.keeps(Promise::LetterOnce) { 1 } else { 2 };
    queue.publish_dead(again.clone()).await.unwrap();
    assert_depth(bench, queue, [0, 0, 0, 2 + times]).await;
    let shown = peek_dead(queue, 9).await.unwrap();
    let same = shown.iter().filter(|letter| letter.id == again.id);
    assert_eq!(same.clone().count() as u64, times);
    assert!(same.clone().any(|letter| letter.message == again.message));
    assert_eq!(queue.remove_dead(&[again.id]).await.unwrap() as u64, times);
    assert_depth(bench, queue, [0, 0, 0, 2]).await;
}

/// As they came where the queue keeps an order, else in one of ours.
fn by_order(bench: &dyn Bench, mut letters: Vec<DeadLetter>) -> Vec<DeadLetter> {
    if !bench.keeps(Promise::LetterOrder) {
        letters.sort_by(|one, other| one.id.cmp(&other.id));
    }
    letters
}

/// W4: 1,000 messages, 16 consumers, every kind of settlement: each is acknowledged once.
pub async fn many_consumers_acknowledge_each_once(bench: &dyn Bench) {
    const MESSAGES: usize = 1000;
    let publishers: Vec<_> = futures_util::future::join_all((0..4).map(|_| bench.open())).await;
    futures_util::future::join_all((0..MESSAGES).map(|n| {
        let queue = &publishers[n % 4];
        async move { publish(&**queue, &n.to_string()).await }
    }))
    .await;

    let acknowledged = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
    let done = tokio_util::sync::CancellationToken::new();
    let consumers: Vec<_> = (0..16)
        .map(|n| {
            let queue = publishers[n % 4].clone();
            let (acknowledged, done) = (acknowledged.clone(), done.clone());
            tokio::spawn(async move {
                while let Some(delivery) = done.run_until_cancelled(queue.consumer().next()).await {
                    let delivery = delivery.unwrap();
                    let how = match fastrand::u8(..4) {
                        0 => Settlement::Later(Duration::ZERO),
                        1 => Settlement::HandBack,
                        _ => Settlement::Ack,
                    };
                    assert_eq!(settle(&delivery, how).await, Settled::Done);
                    if how == Settlement::Ack {
                        let mut all = acknowledged.lock().unwrap();
                        *all.entry(text(&delivery).to_owned()).or_default() += 1;
                        if all.len() == MESSAGES {
                            done.cancel();
                        }
                    }
                }
            })
        })
        .collect();
    for consumer in consumers {
        within(consumer).await.unwrap();
    }
    assert!(acknowledged.lock().unwrap().values().all(|times| *times == 1));
    assert_depth(bench, &*publishers[0], [0, 0, 0, 0]).await;
}

/// A wait that is dropped at any point takes no message with it.
pub async fn cancelled_receive_loses_nothing(bench: &dyn Bench) {
    const MESSAGES: usize = 100;
    let queue = bench.open().await;
    for n in 0..MESSAGES {
        publish(&*queue, &n.to_string()).await;
    }
    let mut got = Vec::new();
    while got.len() < MESSAGES {
        // From "never polled" to "nearly always answered".
        let patience = Duration::from_micros(fastrand::u64(..2000));
        let Ok(delivery) = tokio::time::timeout(patience, queue.consumer().next()).await else {
            // What an abandoned wait had taken is back at the latest by then.
            if fastrand::u8(..10) == 0 {
                bench.pass(bench.visibility()).await;
            }
            continue;
        };
        let delivery = delivery.unwrap();
        assert_eq!(settle(&delivery, Settlement::Ack).await, Settled::Done);
        got.push(text(&delivery).parse::<usize>().unwrap());
    }
    got.sort_unstable();
    assert!(got.into_iter().eq(0..MESSAGES));
    assert_depth(bench, &*queue, [0, 0, 0, 0]).await;
}

/// W5: a closed queue gives nothing more out and keeps nothing to itself; what is in hand can
/// still be settled.
pub async fn closed_keeps_nothing(bench: &dyn Bench) {
    let queue = bench.open().await;
    for body in ["held", "free"] {
        publish(&*queue, body).await;
    }
    let held = take(&*queue).await;
    // Dropped at every stage of being served, so that some deliveries are on their way.
    for _ in 0..20 {
        let patience = Duration::from_micros(fastrand::u64(..500));
        if let Ok(delivery) = tokio::time::timeout(patience, queue.consumer().next()).await {
            settle(&delivery.unwrap(), Settlement::HandBack).await;
        }
    }
    queue.close().await.unwrap();
    queue.close().await.unwrap();
    assert!(within(queue.consumer().next()).await.is_err());
    assert_depth(bench, &*queue, [1, 1, 0, 0]).await;
    assert_eq!(settle(&held, Settlement::Ack).await, Settled::Done);
    let other = bench.open().await;
    let left = take(&*other).await;
    assert_ne!(text(&left), text(&held));
}

/// A message as large as the limit passes whole; one byte more is refused for good, by size.
pub async fn largest_message(bench: &dyn Bench) {
    let queue = bench.open().await;
    let limit = bench.limit();
    let empty = Message::default().with("content-type", "application/json");
    let body: Vec<u8> = (0..limit - empty.size()).map(|n| (n % 251) as u8).collect();
    let largest = Message { body: Bytes::from(body.clone()), ..empty.clone() };
    queue.publish(largest.clone(), NOW).await.unwrap();
    let delivery = take(&*queue).await;
    assert!(delivery.message == largest, "it came back changed");
    settle(&delivery, Settlement::Ack).await;

    let body = Bytes::from([body, vec![0]].concat());
    let error = queue.publish(Message { body, ..empty }, NOW).await.unwrap_err();
    assert_eq!(error, QueueError::TooLarge { size: limit + 1, limit });
    assert!(!error.is_transient() && !error.fault().is_transient());
    assert_depth(bench, &*queue, [0, 0, 0, 0]).await;
}

/// Headers and body arrive as they were sent: every byte value, empty ones, letters of any script.
pub async fn bit_for_bit(bench: &dyn Bench) {
    let queue = bench.open().await;
    let every_byte: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let messages = [
        Message::new(every_byte).with("X-GitHub-Event", "pull_request"),
        Message::new("").with("empty", "").with("unicode", "Grüße \u{1f600} \"quoted\" \\ 'x'"),
        Message::new("{\"run\":\"\\u0000\"}").with("traceparent", "00-1-2-01"),
        Message::default(),
    ];
    for message in messages {
        queue.publish(message.clone(), NOW).await.unwrap();
        let delivery = take(&*queue).await;
        assert!(delivery.message == message, "{message:?} came back changed");
        settle(&delivery, Settlement::Ack).await;
    }
}

/// The suite on every bench: the module that makes it, and its name.
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        suite!(@on bench, own_file, [$($test),*]);
        suite!(@on bench, shared_file, [$($test),*]);
        #[cfg(feature = "amqp")]
        suite!(@on amqp_bench, quorum, [$($test),*]);
        #[cfg(feature = "amqp")]
        suite!(@on amqp_bench, classic, [$($test),*]);
        #[cfg(feature = "pubsub")]
        suite!(@on pubsub_bench, emulator, [$($test),*]);
        #[cfg(feature = "pubsub")]
        suite!(@on pubsub_bench, exactly_once, [$($test),*]);
    };
    (@on $place:ident, $bench:ident, [$($test:ident),*]) => {
        mod $bench {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    let bench = super::$place::$bench().await;
                    super::$test(&bench).await;
                    crate::queue::bench::Bench::finish(bench).await;
                }
            )*
        }
    };
}

suite![
    published_received_acknowledged,
    waiting_consumer_is_woken,
    first_in_first_out,
    delayed_until_its_time,
    waiting_consumer_sees_time_pass,
    later_is_delivered_later_and_not_counted,
    handed_back_is_ready_at_once,
    unsettled_comes_back_counted,
    extended_stays_in_hand,
    late_settlement_counts_while_nobody_else_took_it,
    stale_delivery_changes_nothing,
    settled_once_however_many_ask,
    delivery_of_a_dropped_queue_is_stale,
    consumer_keeps_its_place,
    crash_with_messages_in_hand_loses_none,
    dead_letters,
    many_consumers_acknowledge_each_once,
    cancelled_receive_loses_nothing,
    closed_keeps_nothing,
    largest_message,
    bit_for_bit,
];

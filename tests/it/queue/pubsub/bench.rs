//! Pub/Sub queues for the conformance suite, on the emulator that all tests share.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use google_cloud_pubsub::{
    client::{SubscriptionAdmin, TopicAdmin},
    model::{DeadLetterPolicy, RetryPolicy, Subscription},
};
use verdict::{
    base::{Clock, Timestamp},
    queue::{
        Queue,
        pubsub::{Options, PubSub},
    },
};

use crate::{
    queue::bench::{Bench, Promise},
    support::Emulator,
};

/// Administrators of an emulator.
pub struct Admin {
    pub topics: TopicAdmin,
    pub subscriptions: SubscriptionAdmin,
    project: String,
}

impl Admin {
    pub async fn of(emulator: &Emulator) -> Self {
        let nobody = || google_cloud_auth::credentials::anonymous::Builder::new().build();
        let topics = TopicAdmin::builder().with_endpoint(emulator.endpoint());
        let subscriptions = SubscriptionAdmin::builder().with_endpoint(emulator.endpoint());
        Self {
            topics: topics.with_credentials(nobody()).build().await.unwrap(),
            subscriptions: subscriptions.with_credentials(nobody()).build().await.unwrap(),
            project: emulator.project().to_owned(),
        }
    }

    pub fn topic(&self, id: &str) -> String {
        format!("projects/{}/topics/{id}", self.project)
    }

    pub fn subscription(&self, id: &str) -> String {
        format!("projects/{}/subscriptions/{id}", self.project)
    }

    pub async fn get(&self, id: &str) -> Option<Subscription> {
        let call = self.subscriptions.get_subscription();
        call.set_subscription(self.subscription(id)).send().await.ok()
    }

    /// Declares what `Queue` would, with the options of these tests, changed by `change`.
    pub async fn declare(&self, options: &Options, change: impl Fn(Subscription) -> Subscription) {
        for id in ["work", "work-dead"] {
            self.topics.create_topic().set_name(self.topic(id)).send().await.unwrap();
        }
        let mut retry = RetryPolicy::new();
        retry.minimum_backoff = options.min_backoff.try_into().ok();
        retry.maximum_backoff = options.max_backoff.try_into().ok();
        let dead = DeadLetterPolicy::new()
            .set_dead_letter_topic(self.topic("work-dead"))
            .set_max_delivery_attempts(i32::try_from(options.delivery_attempts).unwrap());
        let wanted = Subscription::new()
            .set_name(self.subscription("work"))
            .set_topic(self.topic("work"))
            .set_ack_deadline_seconds(10)
            .set_retry_policy(retry)
            .set_dead_letter_policy(dead);
        let call = self.subscriptions.create_subscription();
        call.with_request(change(wanted)).send().await.unwrap();
    }
}

/// Options that make a test short: Pub/Sub's own limits are ten seconds.
pub fn options(emulator: &Emulator) -> Options {
    Options {
        min_backoff: Duration::from_millis(300),
        max_backoff: Duration::from_millis(600),
        ack_deadline: Duration::from_secs(10),
        timeout: Duration::from_secs(10),
        emulator: Some(emulator.address().to_owned()),
        ..Options::default()
    }
}

/// The queue `work` with these options.
pub fn open(emulator: &Emulator, options: Options, prefetch: usize) -> PubSub {
    PubSub::open(emulator.project(), "work", None, options, prefetch).unwrap()
}

pub struct PubSubBench {
    emulator: Emulator,
    options: Options,
}

/// A subscription that the queue itself makes.
pub async fn emulator() -> PubSubBench {
    let emulator = Emulator::shared();
    let options = Options { ack_deadline: VISIBILITY, ..options(&emulator) };
    PubSubBench { emulator, options }
}

/// A subscription made by somebody else, with exactly-once delivery.
pub async fn exactly_once() -> PubSubBench {
    let bench = emulator().await;
    let admin = Admin::of(&bench.emulator).await;
    admin.declare(&bench.options, |wanted| wanted.set_enable_exactly_once_delivery(true)).await;
    bench
}

/// What nobody speaks of goes back after this; the service's own deadline is longer.
const VISIBILITY: Duration = Duration::from_secs(2);

const CANNOT: &[(Promise, &str)] = &[
    (Promise::Order, "Pub/Sub keeps none without ordering keys"),
    (Promise::HandedBackFirst, "what is handed back waits for the retry policy"),
    (Promise::HandBackUncounted, "Pub/Sub counts every refusal"),
    (Promise::CountsExactly, "what was fetched ahead and given back counts too"),
    (Promise::DelaysPublished, "Pub/Sub has no delay"),
    (Promise::LetterOnce, "a topic takes what it is given"),
    (Promise::Wound, "the service's time is its own"),
    (Promise::TellsReady, "numbers are in Cloud Monitoring"),
    (Promise::TellsInHand, "numbers are in Cloud Monitoring"),
    (Promise::TellsDelayed, "numbers are in Cloud Monitoring"),
    (Promise::TellsDead, "numbers are in Cloud Monitoring"),
];

#[async_trait(?Send)]
impl Bench for PubSubBench {
    async fn open(&self) -> Arc<dyn Queue> {
        Arc::new(open(&self.emulator, self.options.clone(), 300))
    }

    fn cannot(&self) -> &[(Promise, &str)] {
        CANNOT
    }

    /// Time passes by itself.
    async fn pass(&self, _time: Duration) {}

    /// What nobody speaks of comes back by itself.
    async fn take_away(&self) {}

    fn now(&self) -> Timestamp {
        Clock::system().now()
    }

    fn visibility(&self) -> Duration {
        self.options.ack_deadline
    }

    fn delay(&self) -> Duration {
        Duration::from_millis(100)
    }

    fn limit(&self) -> usize {
        10_000_000 - 16 * 1024
    }
}

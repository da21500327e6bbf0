//! What is declared: made, verified, or named when it is missing.

use std::time::Duration;

use verdict::queue::{
    Message, Queue, Settled, Settlement,
    pubsub::{Options, PubSub},
};

use super::bench::{Admin, open, options};
use crate::{queue::bench::within, support::Emulator};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_made_as_the_options_say() {
    let emulator = Emulator::shared();
    let queue = open(&emulator, Options { delivery_attempts: 7, ..options(&emulator) }, 8);
    queue.check().await.unwrap();
    queue.check().await.unwrap();
    let admin = Admin::of(&emulator).await;
    let made = admin.get("work").await.unwrap();
    assert_eq!(made.topic, admin.topic("work"));
    assert_eq!(made.ack_deadline_seconds, 10);
    let dead = made.dead_letter_policy.unwrap();
    assert_eq!(dead.dead_letter_topic, admin.topic("work-dead"));
    assert_eq!(dead.max_delivery_attempts, 7);
    let retry = made.retry_policy.unwrap();
    let wait: Duration = retry.minimum_backoff.unwrap().try_into().unwrap();
    assert_eq!(wait, options(&emulator).min_backoff);
    assert!(!made.enable_message_ordering);
    let dead = admin.get("work-dead").await.unwrap();
    assert_eq!(dead.topic, admin.topic("work-dead"));
    assert!(dead.dead_letter_policy.is_none());
    for row in queue.diagnose().await {
        assert!(row.found.is_ok(), "{row:?}");
    }
}

/// Two processes that start at once both find everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_by_two_at_once() {
    let emulator = Emulator::shared();
    let queues = [0, 1, 2, 3].map(|_| open(&emulator, options(&emulator), 8));
    futures_util::future::try_join_all(queues.iter().map(|queue| queue.check())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_and_not_to_be_made_is_named_with_the_command() {
    let emulator = Emulator::shared();
    let queue = open(&emulator, Options { create: false, ..options(&emulator) }, 8);
    let admin = Admin::of(&emulator).await;
    for (missing, command) in [
        ("topics/work", "gcloud pubsub topics create work "),
        ("topics/work-dead", "gcloud pubsub topics create work-dead "),
        (
            "subscriptions/work-dead",
            "gcloud pubsub subscriptions create work-dead --topic=work-dead",
        ),
        ("subscriptions/work", "gcloud pubsub subscriptions create work --topic=work"),
    ] {
        for error in [
            queue.check().await.unwrap_err(),
            within(queue.consumer().next()).await.unwrap_err(),
            queue.publish(Message::new("x"), Duration::ZERO).await.unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(!error.is_transient() && text.contains(missing), "{text}");
            assert!(text.contains(command), "{text}");
        }
        let rows = queue.diagnose().await;
        let wrong = rows.iter().filter_map(|row| row.found.as_ref().err());
        assert!(wrong.clone().any(|text| text.contains(command)), "{rows:?}");
        match missing.split_once('/').unwrap() {
            ("topics", id) => {
                admin.topics.create_topic().set_name(admin.topic(id)).send().await.unwrap();
            }
            (_, "work-dead") => {
                let call = admin.subscriptions.create_subscription();
                let call = call.set_name(admin.subscription("work-dead"));
                call.set_topic(admin.topic("work-dead")).send().await.unwrap();
            }
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_differs_is_named_and_left_alone() {
    for field in ["topic", "dead_letter_topic", "attempts", "backoff", "deadline", "push"] {
        let emulator = Emulator::shared();
        let admin = Admin::of(&emulator).await;
        let mut wanted = options(&emulator);
        let mut topic = None;
        let (named, told) = match field {
            "topic" => {
                topic = Some("other");
                ("topic is", "topics/other")
            }
            "attempts" => {
                ("max_delivery_attempts is 50, expected 100", "--max-delivery-attempts=100")
            }
            "backoff" => ("minimum_backoff is 300ms, expected 100ms", "--min-retry-delay=0.1s"),
            "deadline" => ("ack_deadline is 10s, expected 20s", "--ack-deadline=20"),
            "push" => ("delivery is push, expected pull", "pull subscription"),
            _ => ("dead_letter_topic is unset", "--dead-letter-topic=work-dead"),
        };
        let declared = wanted.clone();
        match field {
            "backoff" => wanted.min_backoff = Duration::from_millis(100),
            "deadline" => wanted.ack_deadline = Duration::from_secs(20),
            _ => {}
        }
        admin
            .declare(&declared, |mut subscription| {
                match field {
                    "dead_letter_topic" => subscription.dead_letter_policy = None,
                    "attempts" => {
                        subscription.dead_letter_policy.as_mut().unwrap().max_delivery_attempts =
                            50;
                    }
                    "push" => {
                        let push = google_cloud_pubsub::model::PushConfig::new();
                        let push = push.set_push_endpoint("http://127.0.0.1:9/none");
                        subscription.push_config = Some(push);
                    }
                    _ => {}
                }
                subscription
            })
            .await;
        let before = format!("{:?}", admin.get("work").await.unwrap());
        let queue = PubSub::open(emulator.project(), "work", topic, wanted, 8).unwrap();
        let error = queue.check().await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(named) && text.contains(told), "{field}: {text}");
        assert!(!error.is_transient());
        assert_eq!(format!("{:?}", admin.get("work").await.unwrap()), before);
    }
}

/// A longer deadline, exactly-once delivery and a topic of another name do no harm.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_no_harm_is_accepted() {
    let emulator = Emulator::shared();
    let admin = Admin::of(&emulator).await;
    admin.topics.create_topic().set_name(admin.topic("events")).send().await.unwrap();
    let topic = admin.topic("events");
    let change = |wanted: google_cloud_pubsub::model::Subscription| {
        let wanted = wanted.set_topic(&topic).set_ack_deadline_seconds(60);
        wanted.set_enable_exactly_once_delivery(true)
    };
    admin.declare(&options(&emulator), change).await;
    let queue = open(&emulator, options(&emulator), 8);
    queue.check().await.unwrap();
    queue.publish(Message::new("hello"), Duration::ZERO).await.unwrap();
    let delivery = within(queue.consumer().next()).await.unwrap();
    assert_eq!(delivery.message.body, "hello");
    let settled = delivery.settle(Settlement::Ack).await.unwrap();
    assert_eq!(settled, Settled::Done);
    let rows = queue.diagnose().await;
    let subscription = rows.iter().find(|row| row.what == "subscription").unwrap();
    assert!(subscription.found.as_ref().unwrap().contains("exactly-once"), "{subscription:?}");
}

#[tokio::test]
async fn bad_names_are_refused_naming_the_setting() {
    let with = |dead: &str| Options { dead_topic: Some(dead.to_owned()), ..Options::default() };
    let good = Options::default();
    for (project, subscription, topic, options, setting) in [
        ("", "work", None, good.clone(), "queue.url"),
        ("p r", "work", None, good.clone(), "queue.url"),
        ("project", "ab", None, good.clone(), "queue.url"),
        ("project", "1work", None, good.clone(), "queue.url"),
        ("project", "work", Some("goog-x"), good.clone(), "queue.url"),
        ("project", "work", None, with("a/b"), "queue.pubsub.dead_topic"),
        ("project", "work", Some("work"), with("work"), "queue.pubsub.dead_subscription"),
    ] {
        let error = PubSub::open(project, subscription, topic, options, 8).err().unwrap();
        assert!(error.to_string().contains(setting), "{error}");
        assert!(!error.is_transient());
    }
}

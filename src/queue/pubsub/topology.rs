//! What is declared at Pub/Sub: two topics and two subscriptions, made and verified here alone.

use google_cloud_pubsub::model::{DeadLetterPolicy, ExpirationPolicy, RetryPolicy, Subscription};

use super::{
    Options, QueueError,
    clients::Clients,
    error::{bounded, classify, is_already_there, permanent},
    names::{Names, id_of},
    verify::verify,
};

/// Makes what is missing, if that is wanted, and verifies what is there. Answers the topic's full
/// name, and what differs without doing harm.
pub(super) async fn ensure(
    clients: &Clients,
    names: &Names,
    options: &Options,
) -> Result<(String, Vec<String>), QueueError> {
    let found = clients.subscription(&names.main()).await?;
    let topic = topic(names, found.as_ref());
    if found.is_none() || names.topic.is_some() {
        have_topic(clients, names, options, &topic).await?;
    }
    have_topic(clients, names, options, &names.dead_topic()).await?;
    have_dead_subscription(clients, names, options).await?;
    let found = match found {
        Some(found) => found,
        None => make_subscription(clients, names, options, &topic).await?,
    };
    let accepted = verify(&found, names, options)?;
    Ok((found.topic, accepted))
}

fn topic(names: &Names, found: Option<&Subscription>) -> String {
    match (&names.topic, found) {
        (Some(topic), _) => names.topic_path(topic),
        (None, Some(found)) => found.topic.clone(),
        (None, None) => names.topic_path(&names.subscription),
    }
}

async fn have_topic(
    clients: &Clients,
    names: &Names,
    options: &Options,
    path: &str,
) -> Result<(), QueueError> {
    if clients.has_topic(path).await? {
        return Ok(());
    }
    if !options.create {
        return Err(missing(path, &topic_command(names, path)));
    }
    let doing = format!("making {path}");
    let call = clients.topics.create_topic().set_name(path).send();
    bounded(clients.timeout, &doing, async {
        match call.await {
            Err(error) if !is_already_there(&error) => Err(classify(&doing, &error)),
            _ => Ok(()),
        }
    })
    .await
}

async fn have_dead_subscription(
    clients: &Clients,
    names: &Names,
    options: &Options,
) -> Result<(), QueueError> {
    let path = names.dead();
    let found = match clients.subscription(&path).await? {
        Some(found) => found,
        None if options.create => {
            let wanted = Subscription::new().set_name(&path).set_topic(names.dead_topic());
            create(clients, wanted.set_ack_deadline_seconds(seconds(options))).await?
        }
        None => return Err(missing(&path, &dead_command(names))),
    };
    if found.topic == names.dead_topic() {
        return Ok(());
    }
    let why = format!(
        "topic is {}, expected {}: name the right one in `queue.pubsub.dead_subscription` or \
         `queue.pubsub.dead_topic`",
        found.topic,
        names.dead_topic()
    );
    Err(permanent(&path, why))
}

async fn make_subscription(
    clients: &Clients,
    names: &Names,
    options: &Options,
    topic: &str,
) -> Result<Subscription, QueueError> {
    if !options.create {
        return Err(missing(&names.main(), &main_command(names, options, topic)));
    }
    let mut retry = RetryPolicy::new();
    retry.minimum_backoff = options.min_backoff.try_into().ok();
    retry.maximum_backoff = options.max_backoff.try_into().ok();
    let attempts = i32::try_from(options.delivery_attempts).unwrap_or(i32::MAX);
    let dead = DeadLetterPolicy::new().set_dead_letter_topic(names.dead_topic());
    let wanted = Subscription::new()
        .set_name(names.main())
        .set_topic(topic)
        .set_ack_deadline_seconds(seconds(options))
        .set_retry_policy(retry)
        .set_dead_letter_policy(dead.set_max_delivery_attempts(attempts));
    create(clients, wanted).await
}

/// Creates a subscription that never expires; one that appeared meanwhile is as good.
async fn create(clients: &Clients, wanted: Subscription) -> Result<Subscription, QueueError> {
    let path = wanted.name.clone();
    let doing = format!("making {path}");
    // A policy without a time to live: never.
    let wanted = wanted.set_expiration_policy(ExpirationPolicy::new());
    let call = clients.subscriptions.create_subscription().with_request(wanted).send();
    // The client's future is large.
    let call = Box::pin(call);
    let made = bounded(clients.timeout, &doing, async {
        match call.await {
            Ok(made) => Ok(Some(made)),
            Err(error) if is_already_there(&error) => Ok(None),
            Err(error) => Err(classify(&doing, &error)),
        }
    });
    match made.await? {
        Some(made) => Ok(made),
        None => match clients.subscription(&path).await? {
            Some(found) => Ok(found),
            None => Err(permanent(&doing, "it is made and deleted at the same time")),
        },
    }
}

/// The acknowledgement deadline, in whole seconds and within what Pub/Sub takes.
pub(super) fn seconds(options: &Options) -> i32 {
    i32::try_from(options.ack_deadline.as_secs().clamp(10, 600)).unwrap_or(600)
}

fn missing(path: &str, command: &str) -> QueueError {
    let why = format!("it is missing: make it with `{command}`, or set `queue.pubsub.create`");
    permanent(path, why)
}

pub(super) fn topic_command(names: &Names, path: &str) -> String {
    format!("gcloud pubsub topics create {} --project={}", id_of(path), names.project)
}

pub(super) fn dead_command(names: &Names) -> String {
    format!(
        "gcloud pubsub subscriptions create {} --topic={} --project={} --expiration-period=never",
        names.dead_subscription, names.dead_topic, names.project
    )
}

pub(super) fn main_command(names: &Names, options: &Options, topic: &str) -> String {
    format!(
        "gcloud pubsub subscriptions create {} --topic={} --project={} --ack-deadline={} \
         --min-retry-delay={}s --max-retry-delay={}s --dead-letter-topic={} \
         --max-delivery-attempts={} --expiration-period=never",
        names.subscription,
        id_of(topic),
        names.project,
        seconds(options),
        options.min_backoff.as_secs_f64(),
        options.max_backoff.as_secs_f64(),
        names.dead_topic,
        options.delivery_attempts
    )
}

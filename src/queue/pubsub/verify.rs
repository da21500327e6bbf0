//! Whether a subscription is as this queue needs it.

use std::time::Duration;

use google_cloud_pubsub::model::Subscription;

use super::{Options, QueueError, error::permanent, names::Names, topology::seconds};

/// Checks the subscription; answers what differs and does no harm.
///
/// # Errors
/// For the first difference that does: the field, what it is, what was expected, what to do.
pub(super) fn verify(
    found: &Subscription,
    names: &Names,
    options: &Options,
) -> Result<Vec<String>, QueueError> {
    let differ = |field: &str, is: String, expected: String, todo: String| {
        let why = format!("{field} is {is}, expected {expected}: {todo}");
        Err(permanent(&found.name, why))
    };
    if let Some(topic) = names.topic.as_ref().map(|topic| names.topic_path(topic))
        && found.topic != topic
    {
        let todo = "name that topic in `queue.url`, or another subscription".to_owned();
        return differ("topic", found.topic.clone(), topic, todo);
    }
    if found.detached || found.topic == "_deleted-topic_" {
        let todo = "delete the subscription, it is made anew".to_owned();
        return differ("topic", "gone".to_owned(), "a topic".to_owned(), todo);
    }
    if let Some(kind) = pushed(found) {
        let todo = "make it a pull subscription, or name another in `queue.url`".to_owned();
        return differ("delivery", kind.to_owned(), "pull".to_owned(), todo);
    }
    let update = |flag: String| {
        format!(
            "run `gcloud pubsub subscriptions update {} --project={} {flag}`, or change the setting",
            names.subscription, names.project
        )
    };
    let dead = found.dead_letter_policy.as_ref();
    let dead_topic = dead.map_or("unset", |policy| policy.dead_letter_topic.as_str());
    if dead_topic != names.dead_topic() {
        let flag = format!(
            "--dead-letter-topic={} --max-delivery-attempts={}",
            names.dead_topic, options.delivery_attempts
        );
        let field = "dead_letter_policy.dead_letter_topic";
        return differ(field, dead_topic.to_owned(), names.dead_topic(), update(flag));
    }
    let attempts = dead.map_or(0, |policy| i64::from(policy.max_delivery_attempts));
    if attempts != i64::from(options.delivery_attempts) {
        let field = "dead_letter_policy.max_delivery_attempts";
        let expected = options.delivery_attempts.to_string();
        let todo = update(format!("--max-delivery-attempts={expected}"));
        return differ(field, attempts.to_string(), expected, todo);
    }
    let retry = found.retry_policy.as_ref();
    let least = retry.and_then(|retry| std_duration(retry.minimum_backoff));
    let most = retry.and_then(|retry| std_duration(retry.maximum_backoff));
    for (field, is, expected, flag) in [
        ("retry_policy.minimum_backoff", least, options.min_backoff, "--min-retry-delay"),
        ("retry_policy.maximum_backoff", most, options.max_backoff, "--max-retry-delay"),
    ] {
        if is != Some(expected) {
            let todo = update(format!("{flag}={}s", expected.as_secs_f64()));
            let is = is.map_or("unset".to_owned(), text);
            return differ(field, is, text(expected), todo);
        }
    }
    let deadline = found.ack_deadline_seconds;
    if deadline < seconds(options) {
        let expected = format!("{}s", seconds(options));
        let todo = update(format!("--ack-deadline={}", seconds(options)));
        return differ("ack_deadline", format!("{deadline}s"), expected, todo);
    }
    Ok(accepted(found, options))
}

fn accepted(found: &Subscription, options: &Options) -> Vec<String> {
    let mut accepted = Vec::new();
    if found.ack_deadline_seconds > seconds(options) {
        let is = found.ack_deadline_seconds;
        accepted.push(format!("ack_deadline is {is}s, longer than `queue.pubsub.ack_deadline`"));
    }
    if found.enable_exactly_once_delivery {
        accepted.push("exactly-once delivery is on".to_owned());
    }
    if found.enable_message_ordering {
        accepted.push("message ordering is on, and messages here carry no key".to_owned());
    }
    if !found.filter.is_empty() {
        accepted.push("a filter drops messages before they come here".to_owned());
    }
    if found.expiration_policy.as_ref().is_some_and(|policy| policy.ttl.is_some()) {
        accepted.push("the subscription expires when it is not used".to_owned());
    }
    accepted
}

fn pushed(found: &Subscription) -> Option<&'static str> {
    if found.push_config.as_ref().is_some_and(|push| !push.push_endpoint.is_empty()) {
        Some("push")
    } else if found.bigquery_config.is_some() {
        Some("to BigQuery")
    } else {
        found.cloud_storage_config.is_some().then_some("to Cloud Storage")
    }
}

fn std_duration<T: TryInto<Duration>>(duration: Option<T>) -> Option<Duration> {
    duration.and_then(|duration| duration.try_into().ok())
}

fn text(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

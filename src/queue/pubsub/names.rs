//! The names of a queue's topics and subscriptions: checked once, and written in full.

use super::{Options, QueueError};
use crate::base::Fault;

/// What a queue is called.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub project: String,
    pub subscription: String,
    /// Unset: whatever topic the subscription is on, else the subscription's name.
    pub topic: Option<String>,
    pub dead_topic: String,
    pub dead_subscription: String,
}

impl Names {
    pub(super) fn new(
        project: &str,
        subscription: &str,
        topic: Option<&str>,
        options: &Options,
    ) -> Result<Self, QueueError> {
        let dead_topic =
            options.dead_topic.clone().unwrap_or_else(|| format!("{subscription}-dead"));
        let dead_subscription =
            options.dead_subscription.clone().unwrap_or_else(|| dead_topic.clone());
        let fits = |c: char| c.is_ascii_alphanumeric() || "-.:".contains(c);
        if project.is_empty() || project.len() > 100 || !project.chars().all(fits) {
            let why = "expected the id of a Google Cloud project";
            return Err(bad("queue.url", "the project", project, why));
        }
        check("queue.url", "the subscription", subscription)?;
        topic.map_or(Ok(()), |topic| check("queue.url", "the topic", topic))?;
        check("queue.pubsub.dead_topic", "the topic of dead letters", &dead_topic)?;
        let what = "the subscription of dead letters";
        check("queue.pubsub.dead_subscription", what, &dead_subscription)?;
        if dead_subscription == subscription {
            let why = "it is the subscription messages are taken from";
            return Err(bad("queue.pubsub.dead_subscription", what, &dead_subscription, why));
        }
        if topic == Some(&dead_topic) {
            let why = "it is the topic messages are published to";
            return Err(bad("queue.pubsub.dead_topic", "the topic", &dead_topic, why));
        }
        let (project, subscription) = (project.to_owned(), subscription.to_owned());
        let topic = topic.map(str::to_owned);
        Ok(Self { project, subscription, topic, dead_topic, dead_subscription })
    }

    /// `projects/PROJECT/topics/ID`.
    pub(super) fn topic_path(&self, id: &str) -> String {
        format!("projects/{}/topics/{id}", self.project)
    }

    /// `projects/PROJECT/subscriptions/ID`.
    pub(super) fn subscription_path(&self, id: &str) -> String {
        format!("projects/{}/subscriptions/{id}", self.project)
    }

    pub(super) fn main(&self) -> String {
        self.subscription_path(&self.subscription)
    }

    pub(super) fn dead(&self) -> String {
        self.subscription_path(&self.dead_subscription)
    }

    pub(super) fn dead_topic(&self) -> String {
        self.topic_path(&self.dead_topic)
    }
}

/// The last part of a full name.
pub(super) fn id_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn check(setting: &str, what: &str, id: &str) -> Result<(), QueueError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~+%".contains(c);
    let starts = id.starts_with(|c: char| c.is_ascii_alphabetic()) && !id.starts_with("goog");
    if starts && (3..=255).contains(&id.len()) && id.chars().all(fits) {
        return Ok(());
    }
    let why =
        "expected 3 to 255 letters, digits and -._~+%, beginning with a letter and not with `goog`";
    Err(bad(setting, what, id, why))
}

fn bad(setting: &str, what: &str, found: &str, why: &str) -> QueueError {
    let found: String = found.chars().take(300).collect();
    let message = format!("{setting}: {what} cannot be `{found}`: {why}");
    QueueError::Fault(Fault::permanent(message))
}

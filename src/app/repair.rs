//! Gap repair: GitHub delivers an event once. What was missed while nobody answered is found in the
//! App's delivery log and among the open pull requests, and put on the queue.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{App, inbox::QueueInbox};
use crate::{
    base::{Fault, Result},
    forge::github::{GitHub, MissedEvent, OpenPull},
    graph::{Head, RunStatus, store::RunFilter},
    queue::Webhook,
    runs::Runs,
    server::{Accepted, WebhookInbox},
};

/// Where it is noted that a repair was made, so that of several processes one does it.
const SPACE: &str = "github-repair";

/// How long after its start a process looks for the first time, at most.
const FIRST_WAIT: Duration = Duration::from_secs(60);

/// What was put on the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Repaired {
    /// Deliveries that nobody had taken.
    pub deliveries: usize,
    /// Open pull requests whose head has no review.
    pub pull_requests: usize,
}

/// What a repair needs.
pub(super) struct Repair {
    github: GitHub,
    runs: Runs,
    inbox: QueueInbox,
}

impl App {
    /// Looks for what was missed, in these repositories, or in all on which the App is installed.
    ///
    /// # Errors
    /// When GitHub, the store or the queue does not answer, or nothing says where to look.
    pub async fn repair(&self, repositories: &[String]) -> Result<Repaired> {
        let unset = || {
            Fault::permanent(
                "GitHub is not configured: set github.app_id and github.private_key_path, or \
                 github.token",
            )
        };
        self.repairing().ok_or_else(unset)?.once(repositories).await
    }

    pub(super) fn repairing(&self) -> Option<Repair> {
        let inbox = QueueInbox { queue: self.queue.clone(), seen: self.key_values.clone() };
        let github = self.github.clone()?;
        Some(Repair { github, runs: self.runs.clone(), inbox })
    }
}

impl Repair {
    async fn once(&self, repositories: &[String]) -> Result<Repaired> {
        let mut repaired = Repaired::default();
        let source = self.github.webhook_source();
        if source.is_none() && repositories.is_empty() {
            let why = "only an App knows its repositories: name those to look through";
            return Err(Fault::permanent(why));
        }
        let source = source.unwrap_or_default();
        if !source.is_empty() {
            // GitHub's log calls a delivery lost for days, also when it was taken in since: each of those
            // is asked for once.
            for lost in self.github.undelivered().await? {
                if !self.inbox.has(&lost.delivery, &source).await? {
                    let missed = self.github.missed(lost).await?;
                    repaired.deliveries += self.take(missed, &source).await?;
                }
            }
        }
        let all = match repositories {
            [] => self.github.repositories().await?,
            named => named.to_vec(),
        };
        for repository in all {
            for pull in self.github.open_pulls(&repository).await? {
                if !self.is_reviewed(&pull).await? {
                    repaired.pull_requests += self.take(pull.event, &source).await?;
                }
            }
        }
        Ok(repaired)
    }

    /// Answers how many were new: one or none.
    async fn take(&self, missed: MissedEvent, source: &str) -> Result<usize> {
        let MissedEvent { event, delivery, body } = missed;
        let webhook = Webhook { event, delivery: Some(delivery), body };
        Ok(usize::from(self.inbox.accept(webhook, source).await? == Accepted::Queued))
    }

    /// Whether its head has a review, or a run that is to become one.
    async fn is_reviewed(&self, pull: &OpenPull) -> Result<bool> {
        let filter = RunFilter { subject: Some(pull.subject.clone()), ..RunFilter::default() };
        let runs = self.runs.store().list(&filter).await?;
        let gone = [RunStatus::Superseded, RunStatus::Cancelled];
        let counts = |run: &&Head| !gone.contains(&run.status);
        // A run that is still to come to its end finds the head by itself.
        let covers = |run: &Head| run.key.contains(&pull.head) || !run.status.is_final();
        Ok(runs.iter().filter(counts).any(covers))
    }

    /// Repairs every `interval`, in one process of a store at a time, until it is dropped.
    pub(super) async fn regularly(self, interval: Duration) {
        // What is on the queue goes first.
        tokio::time::sleep((interval / 2).min(FIRST_WAIT)).await;
        loop {
            let store: &Arc<_> = &self.inbox.seen;
            match store.put_if_absent(SPACE, "last", Bytes::new(), interval).await {
                Ok(None) => match self.once(&[]).await {
                    Ok(Repaired { deliveries, pull_requests })
                        if deliveries + pull_requests > 0 =>
                    {
                        tracing::info!(deliveries, pull_requests, "missed events were taken in");
                    }
                    Ok(_) => {}
                    Err(fault) => {
                        tracing::warn!(error = %fault, "looking for missed events failed")
                    }
                },
                Ok(Some(_)) => {}
                Err(fault) => tracing::warn!(error = %fault, "looking for missed events failed"),
            }
            tokio::time::sleep(interval / 2).await;
        }
    }
}

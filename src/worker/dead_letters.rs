//! Dead letters without a run, and the queue's own: a worker brings them to the store.

use std::{collections::HashSet, sync::atomic::Ordering, time::Duration};

use async_trait::async_trait;
use tokio::{sync::OwnedMutexGuard, time::Instant};

use super::{Worker, metrics, probe::jittered, settle::Origin, work::without_replay};
use crate::{
    base::{Result, Timestamp},
    graph::store::{Letter, LetterReason, LetterState},
    queue::{DeadLetter, DeadVisitor, Fate, QueueError},
    runs::Runs,
};

/// After a look at the queue's dead letters, so many times as long goes by before the next, whatever
/// has changed.
const MIN_PAUSES_PER_RECONCILIATION: u32 = 10;

/// A look at the queue's dead letters: when it ended, how long it took, how many were left.
pub(super) struct Reconciled {
    at: Instant,
    took: Duration,
    dead: Option<u64>,
}

/// Unconfirmed letters that one sweep publishes, at most.
const MAX_LETTERS_PER_SWEEP: usize = 100;

impl Worker {
    /// Publishes what was recorded and not confirmed, and reconciles the queue's dead letters with the
    /// store's: now and then, and soon after something may have changed there. `last` is held
    /// meanwhile: one sweep at a time.
    pub(super) async fn sweep_dead_letters(self, mut last: OwnedMutexGuard<Option<Reconciled>>) {
        if let Err(fault) = self.shared.runs.publish_unconfirmed(MAX_LETTERS_PER_SWEEP).await {
            tracing::warn!(error = %fault, "delivering dead letters failed");
        }
        let dead = self.dead_depth().await;
        let every = jittered(self.shared.options.reconcile);
        let due = |last: &Reconciled| {
            let changed = dead != last.dead || self.shared.replayed.load(Ordering::Relaxed);
            let calm = last.at.elapsed() >= last.took * MIN_PAUSES_PER_RECONCILIATION;
            last.at.elapsed() >= every || changed && calm
        };
        if last.as_ref().is_none_or(due) {
            self.shared.replayed.store(false, Ordering::Relaxed);
            let began = Instant::now();
            if let Err(fault) = self.reconcile().await {
                tracing::warn!(error = %fault, "reconciling dead letters failed");
            }
            let dead = self.dead_depth().await;
            *last = Some(Reconciled { at: Instant::now(), took: began.elapsed(), dead });
        }
    }

    /// How many dead letters the queue has, if it tells.
    async fn dead_depth(&self) -> Option<u64> {
        match self.shared.queue.depth().await {
            Ok(depth) => {
                metrics::depth(&depth);
                depth.dead
            }
            Err(error) => {
                tracing::debug!(%error, "the queue does not tell its depth");
                None
            }
        }
    }

    /// Makes the queue's dead letters agree with the store's: imports what a broker gave up by
    /// itself, and removes what was settled, so that the queue's depth is what is open.
    async fn reconcile(&self) -> Result<()> {
        if self.shared.queue.depth().await?.dead == Some(0) {
            return Ok(());
        }
        let mut visitor = Reconciliation { runs: &self.shared.runs, kept: HashSet::new() };
        Ok(self.shared.queue.visit_dead(&mut visitor).await?)
    }
}

struct Reconciliation<'a> {
    runs: &'a Runs,
    kept: HashSet<String>,
}

#[async_trait]
impl DeadVisitor for Reconciliation<'_> {
    async fn visit(&mut self, dead: DeadLetter) -> Result<Fate, QueueError> {
        let id = dead.id.clone();
        let fate = self.judge(dead).await?;
        // Published twice, after an answer that was lost: one says it all.
        let again = fate == Fate::Keep && !self.kept.insert(id);
        Ok(if again { Fate::Remove } else { fate })
    }
}

impl Reconciliation<'_> {
    async fn judge(&self, dead: DeadLetter) -> Result<Fate> {
        match self.runs.store().letter(&dead.id).await? {
            Some(letter) if letter.state == LetterState::Open => Ok(Fate::Keep),
            // Sent again, and given up again: that is news.
            Some(letter) if letter.state == LetterState::Replayed && dead.by_broker => {
                self.import(dead).await.map(|()| Fate::Keep)
            }
            Some(_) => Ok(Fate::Remove),
            None => self.import(dead).await.map(|()| Fate::Keep),
        }
    }

    async fn import(&self, dead: DeadLetter) -> Result<()> {
        let error = format!("the queue gave this message up by itself ({})", dead.reason);
        let (reason, now) = (LetterReason::BrokerLimit, self.runs.now());
        let origin = Origin { message: &dead.message, deliveries: 1, enqueued_at: now };
        let letter = letter_about(&origin, reason, error, now);
        let letter = Letter { id: dead.id, confirmed: true, ..letter };
        metrics::dead_letter(reason);
        tracing::error!(
            dead_letter = letter.id,
            error = letter.error,
            "dead letter of the queue's own"
        );
        Ok(self.runs.store().put_letter(letter).await?)
    }
}

/// A letter about a message that has no run. Its id is the message's hash.
pub(super) fn letter_about(
    origin: &Origin<'_>,
    reason: LetterReason,
    error: String,
    now: Timestamp,
) -> Letter {
    Letter {
        id: origin.message.digest(),
        reason,
        state: LetterState::Open,
        run: None,
        workflow: None,
        node: None,
        error,
        executions: origin.deliveries,
        first_at: origin.enqueued_at,
        last_at: now,
        headers: without_replay(origin.message),
        payload: origin.message.body.clone(),
        confirmed: false,
    }
}

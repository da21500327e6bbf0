//! Dead letters: written to the store, shown on the queue, replayed and discarded by operators.

use std::{collections::HashSet, sync::Arc, time::Duration};

use bytes::Bytes;

use async_trait::async_trait;

use super::{metrics, settle::message_of};
use crate::{
    base::{Result, Timestamp, hash_hex},
    graph::{
        ClaimHow, Envelope, Failure, Meta, RunId, Runtime,
        store::{
            Claimed, Head, HeadChange, Lease, Letter, LetterFilter, LetterReason, LetterState,
            RunStatus,
        },
    },
    queue::{DeadLetter, DeadVisitor, Fate, Message, Queue, QueueError, header, note},
};

/// The longest error that a broker's copy of a letter tells, in bytes: Pub/Sub takes 1,024.
const NOTE_LIMIT: usize = 1000;

/// How long a letter without a run is left to the worker that has its message in hand.
const YOUNG: Duration = Duration::from_secs(60);

/// What a replay or a discarding came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// It was done.
    Done,
    /// It had this state before; nothing was done.
    Before(LetterState),
    /// There is no such letter.
    Missing,
}

/// The dead letters of one store and its queue. Cheap to clone.
#[derive(Clone)]
pub struct DeadLetters {
    runtime: Runtime,
    queue: Arc<dyn Queue>,
}

impl DeadLetters {
    /// Of this store and queue.
    pub fn new(runtime: Runtime, queue: Arc<dyn Queue>) -> Self {
        Self { runtime, queue }
    }

    /// Puts a recorded letter where people watch, and records that it is there. Harmless twice.
    pub(super) async fn deliver(&self, letter: &Letter) -> Result<()> {
        let dead = DeadLetter {
            id: letter.id.clone(),
            reason: letter.reason.to_string(),
            by_broker: false,
            notes: notes(letter),
            message: message_of(letter),
        };
        self.queue.publish_dead(dead).await?;
        self.runtime.store.confirm_letter(&letter.id).await?;
        Ok(())
    }

    /// Sends the letters' messages again; their runs, where they have one, go on at what failed.
    /// Answers for each letter, in order.
    ///
    /// # Errors
    /// If the store or the queue fails: for the letter it failed at, and for the rest nothing was
    /// done. Doing it again is harmless.
    pub async fn replay(&self, ids: &[String]) -> (Vec<Replayed>, Result<()>) {
        self.close(ids, LetterState::Replayed).await
    }

    /// Puts the letters away. Answers for each letter, in order.
    ///
    /// # Errors
    /// As [`Self::replay`].
    pub async fn discard(&self, ids: &[String]) -> (Vec<Replayed>, Result<()>) {
        self.close(ids, LetterState::Discarded).await
    }

    /// One letter after the other, then the queue's copies in one go: going through a broker's
    /// dead letters costs as much for one as for all.
    async fn close(&self, ids: &[String], to: LetterState) -> (Vec<Replayed>, Result<()>) {
        let (mut answers, mut settled, mut result) = (Vec::new(), Vec::new(), Ok(()));
        for id in ids {
            let answer = match to {
                LetterState::Replayed => self.send_again(id).await,
                _ => self.settle(id, to).await,
            };
            match answer {
                Ok(answer) => answers.push(answer),
                Err(fault) => {
                    result = Err(fault);
                    break;
                }
            }
            if answers.last() != Some(&Replayed::Missing) {
                settled.push(id.clone());
            }
        }
        if !settled.is_empty()
            && let Err(error) = self.queue.remove_dead(&settled).await
        {
            tracing::warn!(%error, "settled dead letters stay on the queue until the next sweep");
        }
        (answers, result)
    }

    async fn send_again(&self, id: &str) -> Result<Replayed> {
        let Some(letter) = self.runtime.store.letter(id).await? else {
            return Ok(Replayed::Missing);
        };
        if letter.state != LetterState::Open {
            return Ok(Replayed::Before(letter.state));
        }
        // Sent first: a crash now leaves an open letter and a message that does its work once.
        let message = message_of(&letter).with(header::REPLAY, id);
        self.queue.publish(message, Duration::ZERO).await?;
        let closed = self.settle(id, LetterState::Replayed).await?;
        // A worker may have been quicker: what failed again meanwhile was closed with the rest.
        if let Some(now) = self.runtime.store.letter(id).await?
            && (now.last_at, now.executions) != (letter.last_at, letter.executions)
        {
            self.runtime.store.put_letter(now).await?;
        }
        Ok(closed)
    }

    async fn settle(&self, id: &str, to: LetterState) -> Result<Replayed> {
        Ok(match self.runtime.store.settle_letter(id, to).await? {
            None => Replayed::Missing,
            Some((_, true)) => Replayed::Done,
            Some((before, false)) => Replayed::Before(before),
        })
    }

    /// Delivers letters that were recorded and not confirmed.
    pub(super) async fn deliver_late(&self, limit: usize) {
        if let Err(fault) = self.deliver_unconfirmed(limit).await {
            tracing::warn!(%fault, "delivering dead letters failed");
        }
    }

    async fn deliver_unconfirmed(&self, limit: usize) -> Result<()> {
        let state = Some(LetterState::Open);
        let filter = LetterFilter { state, confirmed: Some(false), limit };
        for letter in self.runtime.store.letters(&filter).await? {
            self.deliver_recorded(&letter.id).await?;
        }
        Ok(())
    }

    /// Delivers what was recorded about a run and not confirmed, before its message goes. `false`
    /// when somebody else holds the run, and may be about to.
    pub(super) async fn deliver_of(&self, run: &RunId) -> Result<bool> {
        let state = Some(LetterState::Open);
        let filter = LetterFilter { state, confirmed: Some(false), limit: 0 };
        for letter in self.runtime.store.letters(&filter).await? {
            if letter.run.as_ref() == Some(run) && !self.deliver_recorded(&letter.id).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `false` when it is left to somebody else.
    async fn deliver_recorded(&self, id: &str) -> Result<bool> {
        let Some(letter) = self.runtime.store.letter(id).await? else { return Ok(true) };
        let holder = self.holder(&letter).await?;
        if matches!(holder, Holder::Other) {
            return Ok(false);
        }
        let delivered = self.deliver(&letter).await;
        if let Holder::Us(lease, head) = holder {
            self.note_delivered((&lease, &head), &letter, delivered.is_ok()).await?;
        }
        delivered?;
        tracing::info!(letter = letter.id, "dead letter delivered late");
        Ok(true)
    }

    /// Who may deliver a letter that is not confirmed. Its run is claimed, so that two do not.
    async fn holder(&self, letter: &Letter) -> Result<Holder> {
        let Some(run) = &letter.run else {
            // Its message is still in hand somewhere, or comes again.
            let young = self.runtime.clock.now().since(letter.last_at) < YOUNG;
            return Ok(if young { Holder::Other } else { Holder::Nobody });
        };
        // A run that goes on again is not to be touched: the letter is about what was before.
        match self.runtime.store.head(run).await? {
            Some(head) if head.status == RunStatus::Failed => {}
            _ => return Ok(Holder::Nobody),
        }
        let how = ClaimHow { early: true, reopen: true };
        Ok(match self.runtime.claim(run, how).await? {
            Claimed::Yours(lease, head) => Holder::Us(lease, head),
            Claimed::Held(_) => Holder::Other,
            _ => Holder::Nobody,
        })
    }

    /// Lets the run go, with its letter's confirmation in the log if there is one.
    async fn note_delivered(
        &self,
        (lease, head): (&Lease, &Head),
        letter: &Letter,
        delivered: bool,
    ) -> Result<()> {
        let change = HeadChange {
            status: RunStatus::Failed,
            not_before: None,
            waiting: None,
            executions: head.executions,
            active: head.active,
            error: head.error.clone(),
        };
        let confirmed = Meta::LetterConfirmed { id: letter.id.clone() };
        let confirmed = if delivered { std::slice::from_ref(&confirmed) } else { &[] };
        self.runtime.note((lease, head), confirmed, change, None, false).await?;
        Ok(())
    }

    /// Makes the queue's dead letters agree with the store's: imports what a broker gave up by
    /// itself, and removes what was settled, so that the queue's depth is what is open.
    ///
    /// # Errors
    /// If the store or the queue fails.
    pub async fn reconcile(&self) -> Result<()> {
        if self.queue.depth().await?.dead == Some(0) {
            return Ok(());
        }
        let mut visitor = Reconciliation { runtime: &self.runtime, kept: HashSet::new() };
        Ok(self.queue.visit_dead(&mut visitor).await?)
    }
}

/// Who may deliver a letter.
enum Holder {
    /// We do, as the run's owner.
    Us(Lease, Box<Head>),
    /// Somebody else is about to.
    Other,
    /// Whoever comes.
    Nobody,
}

struct Reconciliation<'a> {
    runtime: &'a Runtime,
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
        match self.runtime.store.letter(&dead.id).await? {
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
        let now = self.runtime.clock.now();
        let letter = Letter {
            id: dead.id,
            confirmed: true,
            ..letter_of_message(&dead.message, LetterReason::BrokerLimit, error, now)
        };
        metrics::dead_letter(LetterReason::BrokerLimit);
        tracing::error!(letter = letter.id, error = letter.error, "dead letter of the queue's own");
        Ok(self.runtime.store.put_letter(letter).await?)
    }
}

/// What people who watch the broker's queue see of a letter.
fn notes(letter: &Letter) -> Vec<(&'static str, String)> {
    let error = letter.error.floor_char_boundary(NOTE_LIMIT);
    let mut notes = vec![
        (note::ERROR, letter.error[..error].replace(char::is_control, " ")),
        (note::ATTEMPTS, letter.executions.to_string()),
        (note::FIRST_AT, letter.first_at.to_string()),
        (note::LAST_AT, letter.last_at.to_string()),
    ];
    let run = letter.run.as_ref().map(ToString::to_string);
    let known = [(note::WORKFLOW, &letter.workflow), (note::RUN, &run), (note::NODE, &letter.node)];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    notes.extend(known);
    notes
}

/// A letter about a message that has no run. Its id is the message's hash.
pub fn letter_of_message(
    message: &Message,
    reason: LetterReason,
    error: String,
    now: Timestamp,
) -> Letter {
    let mut headers = message.headers.clone();
    headers.remove(header::REPLAY);
    Letter {
        id: message.digest(),
        reason,
        state: LetterState::Open,
        run: None,
        workflow: None,
        node: None,
        error,
        executions: 1,
        first_at: now,
        last_at: now,
        headers,
        payload: message.body.clone(),
        confirmed: false,
    }
}

/// A letter about a run's failure. Its id is the run's and the failure's number.
pub(super) fn letter_of_run(
    (run, number): (&RunId, usize),
    reason: LetterReason,
    (failure, workflow): (&Failure, Option<String>),
    (executions, first_at, last_at): (u32, Timestamp, Timestamp),
    envelope: Option<Envelope>,
) -> Letter {
    // A run that came from no message is replayed by waking it.
    let envelope = envelope.unwrap_or_else(|| {
        let wake = crate::queue::Decoded::wake_message(run.as_str());
        let body = String::from_utf8_lossy(&wake.body).into_owned();
        Envelope { headers: wake.headers, body, trace: None }
    });
    Letter {
        id: hash_hex(&[run.as_str().as_bytes(), number.to_string().as_bytes()]),
        reason,
        state: LetterState::Open,
        run: Some(run.clone()),
        workflow,
        node: failure.node.as_deref().map(str::to_owned),
        error: failure.fault.to_string(),
        executions,
        first_at,
        last_at,
        headers: envelope.headers,
        payload: Bytes::from(envelope.body),
        confirmed: false,
    }
}

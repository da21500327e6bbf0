//! Dead letters: recorded in the store, published for who watches the queue, replayed and discarded by
//! operators.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;

use super::{Error, Runs, notifier::Settled, settle::unchanged};
use crate::{
    base::{Fault, Result, Timestamp, hash_hex},
    graph::{
        ClaimHow, Envelope, Failure, Meta, RunId,
        store::{
            Claimed, Head, HeadChange, Lease, Letter, LetterFilter, LetterReason, LetterState,
            RunStatus,
        },
    },
};

/// How long a letter without a run is left to the worker that has its message in hand.
const MIN_PUBLISH_AGE: Duration = Duration::from_secs(60);

/// How often the queue's copies of settled letters are taken away while many are settled.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(2);

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

impl Replayed {
    /// Whether the call that was to settle letter `id` so did it; `false` if it was so before.
    ///
    /// # Errors
    /// If there is no such letter, or it was settled otherwise before.
    pub fn changed(self, id: &str, to: LetterState) -> Result<bool, Error> {
        match self {
            Self::Done => Ok(true),
            Self::Before(state) if state == to => Ok(false),
            Self::Before(state) => {
                Err(Error::Conflict(format!("letter `{id}` was {state} before")))
            }
            Self::Missing => Err(Error::NotFound(format!("there is no letter `{id}`"))),
        }
    }
}

/// Dead letters that fit every one of these.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LetterQuery {
    /// Also those that were replayed or discarded.
    #[arg(skip)]
    pub settled: bool,
    /// Given up for this reason: `permanent`, `undecodable`, …
    #[arg(long)]
    pub reason: Option<LetterReason>,
    /// Of this workflow.
    #[arg(long)]
    pub workflow: Option<String>,
    /// Last given up longer ago than this: `90m`, `2d`.
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub older_than: Option<Duration>,
    /// Last given up no longer ago than this.
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub newer_than: Option<Duration>,
    /// Only letters behind the one of this time and id in the listing.
    #[arg(skip)]
    pub after: Option<(Timestamp, String)>,
}

impl LetterQuery {
    fn fits(&self, letter: &Letter, now: Timestamp) -> bool {
        let age = now.since(letter.last_at);
        self.reason.is_none_or(|reason| letter.reason == reason)
            && self.workflow.as_ref().is_none_or(|name| letter.workflow.as_ref() == Some(name))
            && self.older_than.is_none_or(|limit| age > limit)
            && self.newer_than.is_none_or(|limit| age <= limit)
            && self.after.as_ref().is_none_or(|(at, id)| (letter.last_at, &letter.id) < (*at, id))
    }
}

#[async_trait]
impl Settled for Runs {
    async fn is_settled(&self, letter: &str) -> Result<bool> {
        let found = self.store().letter(letter).await?;
        Ok(found.is_some_and(|letter| letter.state != LetterState::Open))
    }
}

/// Who may publish a letter.
enum Publisher {
    /// This process, as the run's owner.
    Us(Lease, Box<Head>),
    /// Somebody else is about to.
    Other,
    /// Whoever comes.
    Anyone,
}

impl Runs {
    /// The dead letters that fit, the newest first, without their payloads.
    pub async fn dead_letters(&self, query: &LetterQuery) -> Result<Vec<Letter>, Error> {
        let state = (!query.settled).then_some(LetterState::Open);
        let filter = LetterFilter { state, confirmed: None, limit: 0 };
        let (mut letters, now) = (self.store().letters(&filter).await?, self.now());
        letters.retain(|letter| query.fits(letter, now));
        letters.sort_unstable_by(|a, b| (b.last_at, &b.id).cmp(&(a.last_at, &a.id)));
        Ok(letters)
    }

    /// A dead letter, and its payload as people may read it.
    pub async fn dead_letter(&self, id: &str) -> Result<(Letter, String), Error> {
        let id = self.letter_id(id).await?;
        let letter = self.store().letter(&id).await?;
        let letter = letter.ok_or_else(|| Error::NotFound(format!("there is no letter `{id}`")))?;
        let payload = self.workflows.readable(letter.workflow.as_deref(), &letter.payload);
        Ok((letter, payload))
    }

    /// The id of the letter whose id begins so.
    ///
    /// # Errors
    /// If there is none, or several.
    pub async fn letter_id(&self, id: &str) -> Result<String, Error> {
        if self.store().letter(id).await?.is_some() {
            return Ok(id.to_owned());
        }
        let none = || Error::NotFound(format!("there is no letter `{id}`"));
        if id.len() < super::MIN_ID_DIGITS {
            return Err(none());
        }
        let all = self.dead_letters(&LetterQuery { settled: true, ..Default::default() }).await?;
        let mut found = all.into_iter().filter(|letter| letter.id.starts_with(id));
        match (found.next(), found.next()) {
            (None, _) => Err(none()),
            (Some(letter), None) => Ok(letter.id),
            _ => Err(Error::Invalid(format!("several letters begin with `{id}`: give more of it"))),
        }
    }

    /// Replays or discards one letter: its message is sent again, and its run goes on at what failed;
    /// or it is put away. Answers whether this call did it; `false` if it was so before.
    ///
    /// # Errors
    /// If there is no such letter, it was settled otherwise before, or the store or the queue fails.
    pub async fn close_letter(&self, id: &str, to: LetterState) -> Result<bool, Error> {
        let mut closed = Ok(Replayed::Missing);
        self.close_each(&[id.to_owned()], to, |_, answer| closed = answer).await;
        closed?.changed(id, to)
    }

    /// Replays or discards letters, each by itself: one that cannot be sent leaves the others be.
    /// `told` hears of each as it is done. An outage ends it: nothing was done to the letters after.
    ///
    /// The queue's copies go every few seconds and at the end: going through a broker's dead letters
    /// costs as much for one as for all.
    pub async fn close_each(
        &self,
        ids: &[String],
        to: LetterState,
        mut told: impl FnMut(&str, Result<Replayed>),
    ) {
        let (mut settled, mut removed) = (Vec::new(), Instant::now());
        for id in ids {
            let answer = match to {
                LetterState::Replayed => self.resend(id).await,
                _ => self.settle_letter(id, to, None).await,
            };
            let ends = answer.as_ref().is_err_and(Fault::is_transient);
            if answer.as_ref().is_ok_and(|answer| *answer != Replayed::Missing) {
                settled.push(id.clone());
            }
            told(id, answer);
            if ends {
                break;
            }
            if removed.elapsed() >= REMOVAL_INTERVAL {
                self.remove_copies(&mut settled).await;
                removed = Instant::now();
            }
        }
        self.remove_copies(&mut settled).await;
    }

    async fn remove_copies(&self, settled: &mut Vec<String>) {
        let letters = std::mem::take(settled);
        if !letters.is_empty()
            && let Err(error) = self.notifier.remove(&letters, self).await
        {
            tracing::warn!(%error, "settled dead letters stay on the queue until the next sweep");
        }
    }

    async fn resend(&self, id: &str) -> Result<Replayed> {
        let Some(letter) = self.store().letter(id).await? else { return Ok(Replayed::Missing) };
        if letter.state != LetterState::Open {
            return Ok(Replayed::Before(letter.state));
        }
        // Sent first: a crash now leaves an open letter and a message that does its work once.
        self.notifier.resend(&letter).await?;
        let settled = self.settle_letter(id, LetterState::Replayed, Some(letter.last_at)).await?;
        Ok(match settled {
            // A worker was quicker, and the message failed again.
            Replayed::Before(LetterState::Open) => Replayed::Done,
            settled => settled,
        })
    }

    async fn settle_letter(
        &self,
        id: &str,
        to: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Replayed> {
        Ok(match self.store().settle_letter(id, to, last_at).await? {
            None => Replayed::Missing,
            Some((_, true)) => Replayed::Done,
            Some((before, false)) => Replayed::Before(before),
        })
    }

    /// Records a dead letter that has no run, then publishes it.
    ///
    /// # Errors
    /// If the store or the queue does not take it.
    pub async fn record_dead_letter(&self, letter: &Letter) -> Result<()> {
        self.store().put_letter(letter.clone()).await?;
        self.publish_dead_letter(letter).await.map(drop)
    }

    /// Publishes a recorded letter, shows the end of its run, and records that both are done.
    /// Idempotent. `false` when the end could not be shown and a sweep is to try again.
    pub(super) async fn publish_dead_letter(&self, letter: &Letter) -> Result<bool> {
        self.notifier.publish(letter).await?;
        if let Some(run) = &letter.run
            && !self.show_failure(run, &letter.error).await?
        {
            return Ok(false);
        }
        self.store().confirm_letter(&letter.id).await?;
        Ok(true)
    }

    /// Shows that a run failed, unless it goes on again. What cannot be shown at all holds up no
    /// letter.
    async fn show_failure(&self, run: &RunId, error: &str) -> Result<bool> {
        let head = self.store().head(run).await?;
        if head.is_none_or(|head| head.status != RunStatus::Failed) {
            return Ok(true);
        }
        let Err(fault) = self.show_standing(run, (RunStatus::Failed, error)).await else {
            return Ok(true);
        };
        tracing::warn!(%run, error = %fault, "that the run failed is not shown");
        Ok(!fault.is_transient())
    }

    /// Publishes letters that were recorded and not confirmed, at most so many.
    ///
    /// # Errors
    /// If the store or the queue fails.
    pub async fn publish_unconfirmed(&self, limit: usize) -> Result<()> {
        for letter in self.unconfirmed(limit).await? {
            self.publish_late(&letter.id).await?;
        }
        Ok(())
    }

    /// Publishes what was recorded about a run and not confirmed. `false` when somebody else holds
    /// the run, and may be about to.
    pub(super) async fn publish_dead_letters_of(&self, run: &RunId) -> Result<bool> {
        for letter in self.unconfirmed(0).await? {
            if letter.run.as_ref() == Some(run) && !self.publish_late(&letter.id).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn unconfirmed(&self, limit: usize) -> Result<Vec<Letter>> {
        let state = Some(LetterState::Open);
        Ok(self.store().letters(&LetterFilter { state, confirmed: Some(false), limit }).await?)
    }

    /// `false` when it is left to somebody else.
    async fn publish_late(&self, id: &str) -> Result<bool> {
        let letter = self.store().letter(id).await?;
        // Whoever recorded it may just have been about to.
        let Some(letter) = letter.filter(|letter| !letter.confirmed) else { return Ok(true) };
        let publisher = self.publisher(&letter).await?;
        if matches!(publisher, Publisher::Other) {
            return Ok(false);
        }
        let published = self.publish_dead_letter(&letter).await;
        if let Publisher::Us(lease, head) = publisher {
            let confirmed = published.as_ref().is_ok_and(|confirmed| *confirmed);
            self.release_published((&lease, &head), &letter, confirmed).await?;
        }
        published?;
        tracing::info!(dead_letter = letter.id, "dead letter delivered late");
        Ok(true)
    }

    /// Who may publish a letter that is not confirmed. Its run is claimed, so that two do not.
    async fn publisher(&self, letter: &Letter) -> Result<Publisher> {
        let Some(run) = &letter.run else {
            // Its message is still in hand somewhere, or comes again.
            let young = self.now().since(letter.last_at) < MIN_PUBLISH_AGE;
            return Ok(if young { Publisher::Other } else { Publisher::Anyone });
        };
        // A run that goes on again is not to be touched: the letter is about what was before.
        match self.store().head(run).await? {
            Some(head) if head.status == RunStatus::Failed => {}
            _ => return Ok(Publisher::Anyone),
        }
        let how = ClaimHow { early: true, reopen: true };
        Ok(match self.runtime.claim(run, how).await? {
            Claimed::Yours(lease, head) => Publisher::Us(lease, head),
            Claimed::LeaseHeld(_) => Publisher::Other,
            _ => Publisher::Anyone,
        })
    }

    /// Lets the run go, with its letter's confirmation in the log if there is one.
    async fn release_published(
        &self,
        (lease, head): (&Lease, &Head),
        letter: &Letter,
        published: bool,
    ) -> Result<()> {
        let change = HeadChange { status: RunStatus::Failed, ..unchanged(head) };
        let confirmed = published.then(|| Meta::LetterConfirmed { id: letter.id.clone() });
        self.runtime.note((lease, head), confirmed.as_slice(), change, None, false).await?;
        Ok(())
    }

    /// The letter about a run's failure. Its id is the run's and the failure's number.
    pub(super) fn letter_of(
        &self,
        head: &Head,
        (number, executions): (usize, u32),
        (failure, reason): (&Failure, LetterReason),
        (first_at, message): (Timestamp, Envelope),
    ) -> Letter {
        Letter {
            id: hash_hex(&[head.id.as_str().as_bytes(), number.to_string().as_bytes()]),
            reason,
            state: LetterState::Open,
            run: Some(head.id.clone()),
            workflow: Some(head.workflow.clone()),
            node: failure.node.as_deref().map(str::to_owned),
            error: failure.fault.to_string(),
            executions,
            first_at,
            last_at: self.now(),
            headers: message.headers,
            payload: Bytes::from(message.body),
            confirmed: false,
        }
    }
}

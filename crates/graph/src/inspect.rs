//! Runs looked at and acted on from outside: inspected, forked, answered, stopped.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{
    codec::HistoryEntry,
    machine::RunMachine,
    path::StepRef,
    record::{Body, Meta, Record},
    rewind,
    runtime::{Runtime, decode, replay},
    spec::ClaimHow,
    state::State,
    store::{
        Append, Cancelled, Claimed, Head, HeadChange, Hold, Lease, Letter, NewRun, Resumed, RunId,
        RunStatus, StoredRecord,
    },
    waiting::Waiting,
};
use crate::base::{Fault, Result, Timestamp};

impl Runtime {
    /// The run as its records tell it.
    ///
    /// # Errors
    /// If there is no such run, or its log cannot be read as this workflow's.
    pub async fn inspect<S: State>(&self, run: &RunId) -> Result<(Head, RunMachine<S>)> {
        let (head, stored) = self.loaded(run).await?;
        Ok((head, replay(&stored)?))
    }

    /// The state as it was after `step` (0 for the start).
    ///
    /// # Errors
    /// If there is no such run or step.
    pub async fn checkpoint<S: State>(&self, run: &RunId, step: u32) -> Result<Arc<S>> {
        let (_, stored) = self.loaded(run).await?;
        let records = prefix::<S::Update>(run, &stored, &step.into())?;
        RunMachine::<S>::replay(records)?
            .into_state()
            .ok_or_else(|| Fault::permanent(format!("run {run} has not started")))
    }

    /// Copies the run up to the end of a step, perhaps of a subgraph, into a new one, with an id of
    /// its own and no subject, and leaves it queued. It publishes nothing unless `publish`.
    ///
    /// # Errors
    /// If there is no such run or step.
    pub async fn fork<U>(
        &self,
        run: &RunId,
        step: impl Into<StepRef>,
        publish: bool,
    ) -> Result<RunId>
    where
        U: Serialize + DeserializeOwned,
    {
        let until = step.into();
        let (head, stored) = self.loaded(run).await?;
        let mut records = prefix::<U>(run, &stored, &until)?;
        let step = until.inside.first().map_or(until.step, |(step, _)| *step);
        let asks = interrupts_of(&records);
        let meta = Meta::Forked { parent: run.clone(), step, publish };
        records.push(Record::new(self.clock.now(), meta, Body::None));
        let compress = self.store.compresses();
        let encoded: std::result::Result<Vec<_>, _> =
            records.iter().map(|record| record.encode(compress)).collect();
        let id = RunId::random();
        let new = NewRun {
            superseded: self.bare(&Meta::Superseded { by: id.clone() })?,
            id: id.clone(),
            workflow: head.workflow,
            workflow_version: head.workflow_version,
            key: format!("fork of {run} after step {until}: {id}"),
            subject: None,
            order: 0,
            not_before: Some(Timestamp::default()),
            records: encoded?,
            asks,
            claim: None,
        };
        self.store.open(new).await?;
        Ok(id)
    }

    /// Answers an interrupt of a run, whoever runs it. The second answer gets the first. A wait for an
    /// event is no such interrupt: see [`Runtime::send`].
    ///
    /// # Errors
    /// If the store fails.
    pub async fn resume(&self, run: &RunId, interrupt: &str, value: &RawValue) -> Result<Resumed> {
        if self.waits_for_event(run, interrupt).await? {
            return Ok(Resumed::Unknown);
        }
        let meta = Meta::Resumed { id: interrupt.to_owned(), event: None };
        let body = Body::Value(value.to_owned().into());
        let record = Record::<()>::new(self.clock.now(), meta, body);
        let record = record.encode(self.store.compresses())?;
        let value = Bytes::copy_from_slice(value.get().as_bytes());
        Ok(self.store.resume(run, interrupt, value, record).await?)
    }

    /// Stops a run from outside.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn cancel(&self, run: &RunId, by: &str) -> Result<Cancelled> {
        let record = self.bare(&Meta::Cancelled { by: by.to_owned() })?;
        Ok(self.store.cancel(run, record).await?)
    }

    /// The run's records, without what may be large.
    ///
    /// # Errors
    /// If there is no such run, or a record cannot be read.
    pub async fn history(&self, run: &RunId) -> Result<Vec<HistoryEntry>> {
        let (_, stored) = self.loaded(run).await?;
        let rows =
            (1u64..).zip(&stored).map(|(seq, record)| Ok(HistoryEntry::decode(seq, record)?));
        rows.collect()
    }

    /// Puts a run whose version no worker here knows off until then, and says so in its head. A run
    /// that somebody holds, or whose time has not come, or that waits for an answer, stays as it is.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn await_version(&self, head: &Head, until: Timestamp) -> Result<()> {
        self.put_off(head, until, Waiting::Version { since: head.unknown_since() }).await
    }

    /// Puts a run off until then, and says in its head what it waits for. A run that somebody holds,
    /// or whose time has not come, or that waits for an answer, stays as it is.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn put_off(&self, head: &Head, until: Timestamp, waiting: Waiting) -> Result<()> {
        if head.status == RunStatus::Parked && head.not_before.is_none() {
            return Ok(());
        }
        // One that has ended and is due again stays so: it would be the first of all that are due.
        let ended = head.status == RunStatus::Completed;
        let seen = (head.epoch + 1, head.version);
        let how = ClaimHow { early: false, reopen: ended };
        let Claimed::Yours(lease, head) = self.claim(&head.id, how).await? else { return Ok(()) };
        if ended && (head.epoch, head.version) != seen {
            // It went on meanwhile. Whoever takes it over reads in its log how it ended.
            return Ok(());
        }
        let change = HeadChange {
            status: if ended { RunStatus::Completed } else { RunStatus::Queued },
            not_before: Some(until),
            waiting: Some(waiting),
            executions: head.executions,
            active: head.active,
            error: head.error.clone(),
        };
        self.note((&lease, &head), &[], change, None, false).await.map(drop)
    }

    /// Appends records that need no knowledge of the workflow to a run this process has claimed:
    /// its failure, a letter, a letter's confirmation. The lease stays if `hold`.
    ///
    /// # Errors
    /// If the store refuses.
    pub async fn note(
        &self,
        (lease, head): (&Lease, &Head),
        metas: &[Meta],
        change: HeadChange,
        letter: Option<Letter>,
        hold: bool,
    ) -> Result<u64> {
        let records: Result<Vec<_>> = metas.iter().map(|meta| self.bare(meta)).collect();
        let append = Append {
            lease: lease.clone(),
            expected: head.version,
            batch: fastrand::u128(..),
            records: records?,
            head: change,
            asks: Vec::new(),
            letter: letter.map(Box::new),
            hold: if hold { Hold::Keep(self.ttl) } else { Hold::Release },
        };
        Ok(self.store.append(append).await?)
    }
}

fn prefix<U: DeserializeOwned>(
    run: &RunId,
    stored: &[StoredRecord],
    step: &StepRef,
) -> Result<Vec<Record<U>>> {
    rewind::prefix(decode(stored)?, step)
        .ok_or_else(|| Fault::permanent(format!("run {run} never finished step {step}")))
}

/// The interrupts in these records, with their answers.
fn interrupts_of<U>(records: &[Record<U>]) -> Vec<(String, Option<Bytes>)> {
    let answer = |wanted: &str| {
        records.iter().find_map(|record| match (&record.meta, &record.body) {
            (Meta::Resumed { id, .. }, Body::Value(value)) if id == wanted => {
                Some(Bytes::copy_from_slice(value.get().as_bytes()))
            }
            _ => None,
        })
    };
    let asked = records.iter().filter_map(|record| match &record.meta {
        Meta::Interrupted { id, .. } => Some((id.clone(), answer(id))),
        _ => None,
    });
    asked.collect()
}

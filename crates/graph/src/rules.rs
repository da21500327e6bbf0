//! The store port's rules as plain functions over heads.

use std::time::Duration;

use crate::{
    base::Timestamp,
    store::{
        Append, Claim, ClaimAs, Claimed, Deleted, FORMAT, Head, HeadChange, Hold, Holder, Lease,
        Letter, LetterState, NewRun, Resumed, RunFilter, RunStatus, StoreError, Waiting,
    },
};

/// The head of a run just made, claimed if that was asked for and it is not `late` (born
/// superseded).
pub fn born(new: &NewRun, late: bool, now: Timestamp) -> (Head, Option<Lease>) {
    let mut head = Head {
        id: new.id.clone(),
        workflow: new.workflow.clone(),
        workflow_version: new.workflow_version,
        format: FORMAT,
        key: new.key.clone(),
        subject: new.subject.clone(),
        order: new.order,
        status: if late { RunStatus::Superseded } else { RunStatus::Queued },
        version: new.records.len() as u64,
        epoch: 0,
        lease: None,
        not_before: if late { None } else { new.not_before },
        waiting: None,
        executions: 0,
        lost_claims: 0,
        active: Duration::ZERO,
        error: None,
        created_at: now,
        updated_at: now,
    };
    let lease = new.claim.as_ref().filter(|_| !late).map(|by| take(&mut head, by, now));
    (head, lease)
}

/// What [`Store::open`] does to the run it finds: it takes the higher of both orders. Answers
/// whether that changed it.
///
/// [`Store::open`]: crate::store::Store::open
pub fn found(head: &mut Head, order: i64, now: Timestamp) -> bool {
    let higher = order > head.order;
    if higher {
        head.order = order;
        head.updated_at = now;
    }
    higher
}

/// Whether a run opened now for the subject of `other` is born superseded because of it.
pub fn outranks(other: &Head, order: i64) -> bool {
    other.status != RunStatus::Superseded && other.order > order
}

/// Whether opening a run of that order supersedes `other`.
pub fn is_superseded_by(other: &Head, order: i64) -> bool {
    !other.status.is_final() && other.order <= order
}

/// Whether [`Store::settle_letter`] settles this letter.
///
/// [`Store::settle_letter`]: crate::store::Store::settle_letter
pub fn settles(letter: &Letter, state: LetterState, last_at: Option<Timestamp>) -> bool {
    letter.state == LetterState::Open
        && state != LetterState::Open
        && last_at.is_none_or(|at| letter.last_at == at)
}

/// Stops a run from outside with one record: nobody holds it any more, and nobody need look after
/// it.
pub fn stop(head: &mut Head, status: RunStatus, now: Timestamp) {
    head.status = status;
    head.version += 1;
    head.epoch += 1;
    head.lease = None;
    head.not_before = None;
    head.waiting = None;
    head.updated_at = now;
}

/// The living lease on the run, if any.
pub fn living(head: &Head, now: Timestamp) -> Option<&Holder> {
    head.lease.as_ref().filter(|holder| holder.expires > now)
}

fn take(head: &mut Head, by: &ClaimAs, now: Timestamp) -> Lease {
    head.epoch += 1;
    head.lost_claims = head.lost_claims_after_claim();
    head.lease = Some(Holder { owner: by.owner.clone(), expires: now.plus(by.ttl) });
    head.status = RunStatus::Running;
    head.not_before = None;
    head.waiting = None;
    head.updated_at = now;
    Lease { run: head.id.clone(), epoch: head.epoch }
}

/// Claims the run, or says why not.
pub fn claim(head: &mut Head, claim: &Claim, now: Timestamp) -> Claimed {
    if head.status.is_final() && !claim.reopen {
        return Claimed::Final(head.status);
    }
    if let Some(holder) = living(head, now)
        && claim.dead.as_ref() != Some(&holder.owner)
    {
        return Claimed::LeaseHeld(holder.clone());
    }
    match head.not_before {
        Some(at) if at > now && !claim.early => Claimed::NotBefore(at),
        _ => Claimed::Yours(take(head, &claim.by, now), Box::new(head.clone())),
    }
}

/// Keeps the lease for `ttl` from now.
pub fn renew(
    head: &mut Head,
    lease: &Lease,
    ttl: Duration,
    now: Timestamp,
) -> Result<(), StoreError> {
    match &mut head.lease {
        Some(holder) if head.epoch == lease.epoch => holder.expires = now.plus(ttl),
        _ => return Err(StoreError::Fenced),
    }
    Ok(())
}

/// The last batch appended to a run, and the version it was answered with.
pub type LastBatch = Option<(u128, u64)>;

/// The answer to an append that is not to be done: because it was done before, or never may be.
pub fn settled(head: &Head, last: LastBatch, append: &Append) -> Option<Result<u64, StoreError>> {
    match last {
        Some((batch, version)) if batch == append.batch => return Some(Ok(version)),
        _ => {}
    }
    if head.lease.is_none() || head.epoch != append.lease.epoch {
        return Some(Err(StoreError::Fenced));
    }
    let moved = head.version != append.expected;
    moved.then_some(Err(StoreError::Conflict { version: head.version }))
}

/// What a change lets a run wait for: only one that can be taken up waits.
pub fn waiting(change: &HeadChange) -> Option<&Waiting> {
    waits_in(change.status, change.waiting.as_ref())
}

/// The same for what is stored: an older build, working on the same store, does not clear it.
pub fn waits_in<T>(status: RunStatus, waiting: Option<T>) -> Option<T> {
    waiting.filter(|_| WAITING.contains(&status))
}

/// The statuses in which a run waits for what its head says.
pub const WAITING: [RunStatus; 2] = [RunStatus::Queued, RunStatus::Parked];

/// Does what the append says to the head. Answers the version after it.
pub fn append(head: &mut Head, append: &Append, now: Timestamp) -> u64 {
    head.version += append.records.len() as u64;
    head.status = append.head.status;
    head.not_before = append.head.not_before;
    head.waiting = waiting(&append.head).cloned();
    head.executions = append.head.executions;
    head.active = append.head.active;
    head.error.clone_from(&append.head.error);
    head.updated_at = now;
    // Whoever gets so far has not died of what the others died of.
    head.lost_claims = 0;
    match (append.hold, &mut head.lease) {
        (Hold::Keep(ttl), Some(holder)) => holder.expires = now.plus(ttl),
        _ => head.lease = None,
    }
    head.version
}

/// Whether an answer to an interrupt is taken. `ask` is the interrupt as it stands: absent, open
/// (`Some(None)`) or answered. `None` is yes.
pub fn refuse_answer(head: &Head, ask: Option<Option<bytes::Bytes>>) -> Option<Resumed> {
    match ask {
        Some(Some(first)) => Some(Resumed::Already(first)),
        _ if head.status.is_final() => Some(Resumed::Final(head.status)),
        None => Some(Resumed::Unknown),
        Some(None) => None,
    }
}

/// Takes an answer to an interrupt; answers the number of its record.
pub fn resume(head: &mut Head, now: Timestamp) -> u64 {
    head.version += 1;
    head.updated_at = now;
    if head.status == RunStatus::Parked && living(head, now).is_none() {
        head.status = RunStatus::Queued;
        head.not_before = Some(now);
        head.waiting = None;
    }
    head.version
}

/// Since when somebody should look after the run, if that is `margin` ago or more.
pub fn due_since(head: &Head, now: Timestamp, margin: Duration) -> Option<Timestamp> {
    if living(head, now).is_some() {
        return None;
    }
    let abandoned = (head.status == RunStatus::Running)
        .then(|| head.lease.as_ref().map_or(head.updated_at, |holder| holder.expires));
    let since = [abandoned, head.not_before].into_iter().flatten();
    since.filter(|at| at.plus(margin) <= now).min()
}

/// Whether the run has ended, will not go on by itself, and has not changed for `age`.
pub fn outlived(head: &Head, now: Timestamp, age: Duration) -> bool {
    head.status.is_final() && head.not_before.is_none() && head.updated_at.plus(age) <= now
}

/// Why the run is not to be deleted by somebody who may be mistaken about it.
pub fn spared(head: &Head, now: Timestamp) -> Option<Deleted> {
    match living(head, now) {
        Some(holder) => Some(Deleted::LeaseHeld(holder.clone())),
        None => (!head.status.is_final()).then_some(Deleted::Unfinished(head.status)),
    }
}

/// Whether the letter is settled and as old.
pub fn letter_outlived(letter: &Letter, now: Timestamp, age: Duration) -> bool {
    letter.state != LetterState::Open && letter.last_at.plus(age) <= now
}

/// A letter recorded again.
pub fn again(letter: &mut Letter, new: &Letter) {
    letter.last_at = new.last_at;
    letter.error.clone_from(&new.error);
    letter.executions = new.executions;
    if letter.state == LetterState::Replayed {
        letter.state = LetterState::Open;
        letter.confirmed = false;
    }
}

/// Whether the filter lets the run through.
pub fn listed(head: &Head, filter: &RunFilter, now: Timestamp) -> bool {
    let waits = || head.waits(now).is_some_and(|why| filter.waiting.contains(&why.kind()));
    (filter.statuses.is_empty() || filter.statuses.contains(&head.status))
        && (filter.waiting.is_empty() || waits())
        && filter.workflow.as_ref().is_none_or(|workflow| *workflow == head.workflow)
        && filter.subject.as_ref().is_none_or(|subject| head.subject.as_ref() == Some(subject))
        && filter.id_prefix.as_ref().is_none_or(|prefix| head.id.as_str().starts_with(&**prefix))
        && filter.after.as_ref().is_none_or(|(at, id)| (head.created_at, &head.id) < (*at, id))
}

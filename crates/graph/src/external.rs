//! Events from outside, by key: kept for a time, and given to the runs that wait for them.
//!
//! Whoever sends keeps the event first, then answers the waits that are noted for its key. A run that
//! waits notes that first, then looks for an event that is kept. Whichever comes second finds the
//! other. An answer is a record of the run like that to an interrupt, and the first one counts, so an
//! event and a deadline cannot both.
//!
//! No wait is answered with an event that an earlier wait of its run was answered with. Tasks side
//! by side each receive it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use super::{
    codec::HistoryEntry,
    path::Path,
    record::{Body, Meta, Record, Redo},
    rewind,
    runtime::Runtime,
    store::{Resumed, RunId, Store, StoreError, StoredRecord},
};
use crate::base::{Fault, Result, Timestamp, invalid_input};

/// The longest key or id of an event, in bytes.
pub const MAX_EVENT_NAME_BYTES: usize = 512;
/// The largest payload of an event, in bytes.
pub const MAX_EVENT_BYTES: usize = 256 * 1024;

/// How long a wait stays noted after its deadline: the run may be late to notice that.
const WAIT_MARGIN: Duration = Duration::from_secs(86_400);

/// What the names of such interrupts begin with.
const WAIT_PREFIX: &str = "event:";

/// What came of waiting for an event. See [`Context::wait_for_event`](super::Context::wait_for_event).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited<T> {
    /// The event's payload.
    Event(T),
    /// None came by the deadline.
    TimedOut,
}

/// An event that a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedEvent {
    /// Its key.
    pub key: Arc<str>,
    /// The deadline.
    pub until: Timestamp,
}

impl AwaitedEvent {
    /// Its name among the interrupts of its task.
    pub(super) fn name(key: &str) -> String {
        format!("{WAIT_PREFIX}{key}")
    }
}

/// An event from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalEvent {
    /// What it is waited for by.
    pub key: String,
    /// Which of the key's events it is: sent again, it is the same one.
    pub id: String,
    /// What it carries: JSON.
    pub payload: Bytes,
}

impl ExternalEvent {
    /// An event of that key.
    ///
    /// # Errors
    /// Permanent if key or id is empty, holds control characters or is longer than
    /// [`MAX_EVENT_NAME_BYTES`], or the payload is larger than [`MAX_EVENT_BYTES`] or nested too deeply.
    pub fn new(key: &str, id: &str, payload: &RawValue) -> Result<Self> {
        check("key", key)?;
        check("id", id)?;
        let payload = payload.get();
        if payload.len() > MAX_EVENT_BYTES {
            let size = payload.len();
            let why = format!("the event's payload is {size} bytes, more than {MAX_EVENT_BYTES}");
            return Err(Fault::permanent(why));
        }
        // What no node could read is not kept.
        serde_json::from_str::<Value>(payload)
            .map_err(|e| Fault::permanent(format!("the event's payload cannot be read: {e}")))?;
        let payload = Bytes::copy_from_slice(payload.as_bytes());
        Ok(Self { key: key.to_owned(), id: id.to_owned(), payload })
    }
}

pub(super) fn check(what: &str, text: &str) -> Result<()> {
    let why = match text.len() {
        0 => "is empty".to_owned(),
        size if size > MAX_EVENT_NAME_BYTES => {
            format!("is {size} bytes long, more than {MAX_EVENT_NAME_BYTES}")
        }
        _ if text.chars().any(char::is_control) => "holds control characters".to_owned(),
        _ => return Ok(()),
    };
    Err(Fault::permanent(format!("the event's {what} {why}")))
}

/// An open interrupt that an event of that key answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventWait {
    /// The key.
    pub key: String,
    /// The run.
    pub run: RunId,
    /// The interrupt's id.
    pub interrupt: String,
}

/// The part of a [`Store`] that keeps events, and notes who waits for them.
#[async_trait]
pub trait EventStore: Send + Sync + 'static {
    /// Keeps an event for `ttl`. One of the same key and id that is kept already stays as it is.
    async fn put_event(&self, event: ExternalEvent, ttl: Duration) -> Result<(), StoreError>;

    /// The oldest event of the key that is kept and whose id is not one of `except`.
    async fn find_event(
        &self,
        key: &str,
        except: &[String],
    ) -> Result<Option<ExternalEvent>, StoreError>;

    /// Notes a wait for `ttl`, or for longer if it is noted already.
    async fn note_event_wait(&self, wait: EventWait, ttl: Duration) -> Result<(), StoreError>;

    /// The waits noted for the key. Some may be over: the run was answered, has ended or is gone.
    async fn event_waits(&self, key: &str) -> Result<Vec<EventWait>, StoreError>;

    /// Notes a wait no longer.
    async fn drop_event_wait(&self, wait: &EventWait) -> Result<(), StoreError>;

    /// Removes events and notes whose time is over. Answers how many.
    async fn sweep_events(&self) -> Result<u64, StoreError>;
}

/// What stands in the log as the answer to a wait.
#[derive(Serialize, Deserialize)]
struct Answer {
    /// The event's id; none when the deadline passed.
    event: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
}

/// What the answer to a wait says.
pub(super) fn read<T: DeserializeOwned>(answer: &RawValue) -> Result<Awaited<T>, String> {
    let Answer { event, payload } =
        serde_json::from_str(answer.get()).map_err(|e| invalid_input(&e))?;
    if event.is_none() {
        return Ok(Awaited::TimedOut);
    }
    let payload = payload.as_ref().map_or("null", |payload| payload.get());
    serde_json::from_str(payload).map(Awaited::Event).map_err(|e| invalid_input(&e))
}

/// Where in its run a task is: step and index, from the outermost graph inwards.
type Position = Vec<(u32, u32)>;

fn position(path: &Path, step: u32, index: u32) -> Position {
    let around = path.places().iter().map(|place| (place.step, place.index));
    around.chain([(step, index)]).collect()
}

/// Whether a wait there was over before one at `later` began: its task, or one around it, is of an
/// earlier step of the same graph, or it is the same task.
fn precedes(earlier: &Position, later: &Position) -> bool {
    match earlier.iter().zip(later).find(|(earlier, later)| earlier != later) {
        Some(((earlier, _), (later, _))) => earlier < later,
        None => true,
    }
}

/// A wait that nothing has answered.
pub(super) struct OpenWait {
    pub(super) id: String,
    position: Position,
    pub(super) event: AwaitedEvent,
}

/// The waits of one run, as its log tells them.
#[derive(Default)]
pub(super) struct RunWaits {
    pub(super) open: Vec<OpenWait>,
    /// Where events were received, their keys and ids.
    received: Vec<(Position, Arc<str>, String)>,
}

impl RunWaits {
    fn of(stored: &[StoredRecord]) -> Result<Self> {
        let records = (1..).zip(stored).map(|(seq, stored)| {
            let HistoryEntry { at, path, meta, .. } = HistoryEntry::decode(seq, stored)?;
            Ok(Record::<()> { at, path, meta, body: Body::None })
        });
        let (records, _) = rewind::effective(records.collect::<Result<_>>()?);
        let mut waits = Self::default();
        for Record { path, meta, .. } in records {
            match meta {
                Meta::Interrupted { id, step, index: Some(index), event: Some(event), .. } => {
                    let position = position(&path, step, index);
                    waits.open.push(OpenWait { id, position, event });
                }
                Meta::Resumed { id, event } => waits.close(&id, event),
                // What was not answered by then needs no answer, and receives no event.
                Meta::TaskFinished { step, index, .. } => {
                    let ended = position(&path, step, index);
                    waits.open.retain(|open| !open.position.starts_with(&ended));
                }
                Meta::Reopened { from, redo: Redo::All, .. } if path.is_empty() => {
                    let at = |open: &OpenWait| open.position.first().map(|(step, _)| *step);
                    waits.open.retain(|open| at(open) != Some(from));
                }
                _ => {}
            }
        }
        Ok(waits)
    }

    fn close(&mut self, id: &str, event: Option<String>) {
        let Some(place) = self.open.iter().position(|open| open.id == id) else { return };
        let OpenWait { position, event: AwaitedEvent { key, .. }, .. } = self.open.remove(place);
        self.received.extend(event.map(|event| (position, key, event)));
    }

    /// The events that this wait is not answered with.
    fn received_before(&self, wait: &OpenWait) -> Vec<String> {
        let before = self.received.iter().filter(|(position, key, _)| {
            *key == wait.event.key && precedes(position, &wait.position)
        });
        before.map(|(.., id)| id.clone()).collect()
    }

    /// The waits of a run; none if there is no such run.
    pub(super) async fn load(store: &dyn Store, run: &RunId) -> Result<Self> {
        let loaded = store.load(run, 0).await?;
        loaded.map_or_else(|| Ok(Self::default()), |(_, stored)| Self::of(&stored))
    }

    /// Answers an open wait of `run` with an event that is kept, or because its deadline has passed.
    /// Answers whether nobody need wait any more.
    pub(super) async fn answer(
        &self,
        store: &dyn Store,
        now: Timestamp,
        (run, open): (&RunId, &OpenWait),
    ) -> Result<bool> {
        let OpenWait { id, event: AwaitedEvent { key, until }, .. } = open;
        let answer = match store.find_event(key, &self.received_before(open)).await? {
            Some(event) => Answer {
                event: Some(event.id),
                payload: Some(serde_json::from_slice(&event.payload).map_err(|e| {
                    Fault::permanent(format!("an event of key `{key}` cannot be read: {e}"))
                })?),
            },
            None if *until <= now => Answer { event: None, payload: None },
            None => return Ok(false),
        };
        let value = serde_json::value::to_raw_value(&answer)
            .map_err(|e| Fault::permanent(format!("the answer has no JSON form: {e}")))?;
        let meta = Meta::Resumed { id: id.clone(), event: answer.event };
        let bytes = Bytes::copy_from_slice(value.get().as_bytes());
        let record = Record::<()>::new(now, meta, Body::Value(value.into()));
        let record = record.encode(store.compresses())?;
        match store.resume(run, id, bytes, record).await {
            Ok(
                Resumed::Accepted(_) | Resumed::Already(_) | Resumed::Final(_) | Resumed::Unknown,
            )
            | Err(StoreError::Missing(_)) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// Notes an open wait of a run, and answers it if that can be done now.
pub(super) async fn wait(
    store: &dyn Store,
    now: Timestamp,
    (run, waits, open): (&RunId, &RunWaits, &OpenWait),
) -> Result<()> {
    let AwaitedEvent { key, until } = &open.event;
    let wait = EventWait { key: key.to_string(), run: run.clone(), interrupt: open.id.clone() };
    store.note_event_wait(wait.clone(), until.since(now).saturating_add(WAIT_MARGIN)).await?;
    if waits.answer(store, now, (run, open)).await? {
        store.drop_event_wait(&wait).await?;
    }
    Ok(())
}

impl Runtime {
    /// Keeps an event for `ttl`, and gives it to the runs that wait for its key. Answers these runs:
    /// each is queued, unless somebody works on it. To send it again is harmless, and makes good for
    /// a sending that failed half-way.
    ///
    /// # Errors
    /// If the store fails; what the other runs wait for is answered nonetheless.
    pub async fn send(&self, event: ExternalEvent, ttl: Duration) -> Result<Vec<RunId>> {
        let key = event.key.clone();
        self.store.put_event(event, ttl).await?;
        let (mut woken, mut failed) = (Vec::new(), None);
        for wait in self.store.event_waits(&key).await? {
            match self.give(&wait).await {
                Ok(true) if !woken.contains(&wait.run) => woken.push(wait.run),
                Ok(_) => {}
                Err(fault) if fault.is_transient() => failed = failed.or(Some(fault)),
                Err(fault) => {
                    tracing::warn!(run = %wait.run, error = %fault, "an event could not be given to a run");
                }
            }
        }
        failed.map_or(Ok(woken), Err)
    }

    /// Answers whether the run may go on now.
    async fn give(&self, wait: &EventWait) -> Result<bool> {
        let (store, now) = (&*self.store, self.clock.now());
        let waits = RunWaits::load(store, &wait.run).await?;
        let open = waits.open.iter().find(|open| open.id == wait.interrupt);
        let answered = match open {
            Some(open) => waits.answer(store, now, (&wait.run, open)).await?,
            None => true,
        };
        if answered {
            store.drop_event_wait(wait).await?;
        }
        Ok(answered && open.is_some())
    }

    /// Whether an event answers that interrupt, rather than a person.
    pub(super) async fn waits_for_event(&self, run: &RunId, interrupt: &str) -> Result<bool> {
        if !interrupt.contains(WAIT_PREFIX) {
            return Ok(false);
        }
        let waits = RunWaits::load(&*self.store, run).await?;
        Ok(waits.open.iter().any(|open| open.id == interrupt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Place;

    #[test]
    fn a_wait_whose_task_ended_or_runs_again_is_over() {
        let stored = |path: &Path, meta: Meta| {
            let body = Body::<()>::None;
            Record { at: Timestamp(0), path: path.clone(), meta, body }.encode(false).unwrap()
        };
        let (own, node) = (Path::default(), Arc::<str>::from("n"));
        let inside = own.inside(Place { step: 2, node: node.clone(), index: 0 });
        let event = AwaitedEvent { key: "k".into(), until: Timestamp(9) };
        let (id, name) = ("2.0/1.0.event:k".to_owned(), AwaitedEvent::name("k"));
        let asks = Meta::Interrupted {
            id,
            step: 1,
            node: node.clone(),
            index: Some(0),
            name,
            event: Some(event),
        };
        let log = [stored(&inside, asks)];
        assert_eq!(RunWaits::of(&log).unwrap().open.len(), 1);
        let (by, fault) = (None, Some(Fault::permanent("no")));
        let ended = Meta::TaskFinished { step: 2, node, index: 0, attempts: 1, us: 0, by, fault };
        let [waits] = log;
        assert!(RunWaits::of(&[waits, stored(&own, ended)]).unwrap().open.is_empty());
    }

    #[test]
    fn a_wait_precedes_those_of_later_steps_and_not_those_beside_it() {
        for (earlier, later, expected) in [
            (vec![(1, 0)], vec![(2, 0)], true),
            (vec![(2, 0)], vec![(2, 1)], false),
            (vec![(2, 0)], vec![(2, 0)], true),
            (vec![(3, 0)], vec![(2, 0)], false),
            // In a subgraph, and after it.
            (vec![(2, 0), (5, 0)], vec![(3, 0)], true),
            // In the subgraph, and in another beside it.
            (vec![(2, 0), (1, 0)], vec![(2, 1), (5, 0)], false),
            (vec![(2, 0), (1, 0)], vec![(2, 0), (5, 0)], true),
        ] {
            assert_eq!(precedes(&earlier, &later), expected, "{earlier:?} {later:?}");
        }
    }
}

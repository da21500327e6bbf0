//! What must be true of every run in the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use verdict::{
    base::Timestamp,
    graph::{
        Head, Meta, Record, RunId, RunMachine, RunStatus, Runtime, Store,
        store::{LetterFilter, RunFilter},
    },
    workflows::review::{ReviewState, ReviewUpdate},
};

use super::{
    Hit,
    crew::{Journal, Task},
    site::{LEASE, Site},
};
use crate::support::Machine;

/// A run's log, in order.
type History = Vec<(Timestamp, Meta)>;

/// What a review comes to that nobody disturbs.
struct Undisturbed {
    state: Value,
    kinds: BTreeMap<&'static str, usize>,
}

/// Looks at every run.
pub async fn all(site: &Site, asked: u64, hit: Hit, journal: &Journal) {
    assert!(journal.alarms.is_empty(), "{:#?}", journal.alarms);
    let wanted = &undisturbed(site).await;
    let heads = site.runtime.store.list(&RunFilter::default()).await.unwrap();
    assert_eq!(heads.len() as u64, asked, "every review is one run");
    let looked =
        heads.iter().map(async |head| one(&site.runtime, head, wanted, hit, journal).await);
    stream::iter(looked).buffer_unordered(8).collect::<()>().await;
    assert_eq!(site.runtime.store.letters(&LetterFilter::default()).await.unwrap(), []);
}

async fn one(runtime: &Runtime, head: &Head, wanted: &Undisturbed, hit: Hit, journal: &Journal) {
    assert_eq!((head.status, &head.lease), (RunStatus::Completed, &None), "{head:?}");
    assert_eq!((head.executions, &head.error), (0, &None), "{head:?}");
    let (came, history) = came_to(runtime, &head.id).await;
    assert_eq!(came.kinds, wanted.kinds, "{head:?}: {history:#?}");
    assert_eq!(came.state, wanted.state, "{head:?}");
    in_order(head, &history);
    once(&history);
    if hit == Hit::Stop {
        nothing_stale(head, &history);
    }
    none_again(&head.id, &history, journal);
}

/// A review of the same commit, on a machine of its own.
async fn undisturbed(site: &Site) -> Undisturbed {
    let machine = Machine::new();
    let file = machine.text("job.json", site.job(0).body);
    assert_eq!(machine.run(&["enqueue", &file]).code, Some(0));
    machine.serve_all().await;
    let store: Arc<dyn Store> = Arc::new(machine.store().await);
    let runtime = Runtime::new(store, verdict::base::Clock::system(), "test");
    let heads = runtime.store.list(&RunFilter::default()).await.unwrap();
    came_to(&runtime, &heads[0].id).await.0
}

/// What a run came to, and its log.
async fn came_to(runtime: &Runtime, run: &RunId) -> (Undisturbed, History) {
    let (_, stored) = runtime.store.load(run, 0).await.unwrap().unwrap();
    let records: Vec<Record<ReviewUpdate>> = (1u64..)
        .zip(&stored)
        .map(|(number, stored)| Record::decode(number, stored).unwrap())
        .collect();
    let history: History = records.iter().map(|record| (record.at, record.meta.clone())).collect();
    let machine = RunMachine::<ReviewState>::replay(records).unwrap();
    let state = serde_json::to_value(&**machine.state().unwrap()).unwrap();
    let mut kinds = BTreeMap::new();
    for (_, meta) in &history {
        *kinds.entry(meta.kind()).or_default() += 1;
    }
    (Undisturbed { state, kinds }, history)
}

/// No record is older than the one before it: none was written by somebody who had made it before
/// another took the run over.
fn in_order(head: &Head, history: &History) {
    assert_eq!(history.len() as u64, head.version, "{head:?}");
    assert!(history.is_sorted_by_key(|(at, _)| *at), "{head:?}: {history:#?}");
}

/// No task ended twice, publish among them.
fn once(history: &History) {
    let mut seen = BTreeSet::new();
    for (_, meta) in history {
        if let Meta::TaskFinished { step, node, index, .. } = meta {
            assert!(seen.insert((*step, node.clone(), *index)), "{node} twice: {history:#?}");
        }
    }
    assert!(seen.iter().any(|(_, node, _)| &**node == "publish"));
}

/// Nobody dies here, so a run goes over when its lease is over. What is recorded behind the first
/// task of the new holder began as long after what the old one recorded last; had the old one gone on
/// writing, its task would have begun before it was stopped.
fn nothing_stale(head: &Head, history: &History) {
    let lease = i64::try_from(LEASE.as_micros()).unwrap();
    let mut holder: Option<Arc<str>> = None;
    let (mut since, mut last) = (None, 0);
    for (at, meta) in history {
        let at = at.0 * 1000;
        if let Meta::TaskFinished { us, by, node, .. } = meta {
            if by.is_some() && by != &holder {
                since = holder.as_ref().map(|_| last + lease);
                holder.clone_from(by);
            }
            // A millisecond is what a record's time is rounded to.
            let began = at + 1000 - i64::try_from(*us).unwrap();
            let fine = since.is_none_or(|since| began >= since);
            assert!(fine, "{node} of {head:?} began too early: {history:#?}");
        }
        last = at;
    }
}

/// A process that ends a task of which another's end is recorded already began it again, or had
/// begun it before it lost the run: then it was told so, or gave up.
fn none_again(run: &RunId, history: &History, journal: &Journal) {
    let mut holder = None;
    for (at, meta) in history {
        let Meta::TaskFinished { step, node, index, by, .. } = meta else { continue };
        holder = by.clone().or(holder);
        let pid = holder.as_deref().and_then(pid_of).unwrap();
        let task: Task = (run.clone(), u64::from(*step), node.to_string(), u64::from(*index));
        let ends = journal.done.get(&task).map(Vec::as_slice).unwrap_or_default();
        assert!(ends.iter().any(|end| end.pid == pid), "{task:?} was done by {pid}: {ends:?}");
        for end in ends.iter().filter(|end| end.pid != pid && end.at.0 > at.0 + 1) {
            let stale = (end.pid, run.clone());
            let ended = journal.fenced.contains(&stale) || journal.lost.contains(&stale);
            assert!(ended, "{task:?} ended at {at:?} by {pid}, and again: {end:?}");
        }
    }
}

/// HOST:PID@START.PLACE.
fn pid_of(owner: &str) -> Option<u32> {
    owner.rsplit_once(':')?.1.split_once('@')?.0.parse().ok()
}

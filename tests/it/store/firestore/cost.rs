//! What is billed: documents written, read and deleted. `docs/operations.md` quotes these numbers.

use std::{sync::Arc, time::Duration};

use verdict::{
    base::{Clock, RateLimit, RateLimiter, key_value::KeyValueStore},
    checkpoint::FirestoreUsage,
    graph::{
        Execute, Graph, NewSpec, Runtime, Stop, Store,
        store::{Append, EventStore as _, EventWait, ExternalEvent, LetterFilter, RunFilter},
    },
    workflows::{
        Workflow,
        review::{Limits, Review, ReviewDeps, ReviewState},
    },
};

use super::super::harness::*;
use crate::{
    crash::fixture::repository,
    review::support::{deps, resolve},
    support::Firestore,
};

fn usage(reads: u64, writes: u64, deletes: u64) -> FirestoreUsage {
    FirestoreUsage { reads, writes, deletes }
}

/// What it costs beyond what was spent before.
async fn costs<T>(
    store: &verdict::checkpoint::FirestoreStore,
    does: impl Future<Output = T>,
) -> (T, FirestoreUsage) {
    let before = store.usage();
    let done = does.await;
    let after = store.usage();
    let spent = usage(
        after.reads - before.reads,
        after.writes - before.writes,
        after.deletes - before.deletes,
    );
    (done, spent)
}

/// Two documents for each append, the head and what was appended; opening looks once whether the
/// run is there; nothing else is read, and nothing beside is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_writes_two_documents_an_append_and_reads_one() {
    let server = Firestore::shared();
    let store = super::on(&server).await;
    // The server's time, once for each process.
    store.head(&id("nothing")).await.unwrap();
    let repo = repository();
    let range = verdict::forge::Selection::Range("HEAD~1..HEAD".to_owned());
    let target = resolve(&repo.path(), range).await.unwrap();
    let graph: Graph<ReviewState, ReviewDeps> = Review::graph().unwrap();
    let runtime = Runtime::new(store.clone(), Clock::system(), "one");
    let review = async {
        let spec = NewSpec::new("review", 1, target.into()).claim();
        let begun = runtime.open(&graph, spec).await.unwrap();
        let execute = Execute::new(graph.clone(), Arc::new(deps(Limits::default())));
        let ran = runtime.execute(execute, begun.held.unwrap()).await.unwrap();
        assert_eq!(ran.stop, Stop::Completed);
    };
    let ((), spent) = costs(&store, review).await;
    let appends = server.count("records").await as u64;
    println!("{appends} appends: {spent:?}");
    // Opening; ingest with the step; the agents, together or one by one; judge; publish; the end.
    assert!((5..=9).contains(&appends), "{appends}");
    assert_eq!(spent, usage(1, 2 * appends, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_each_operation_costs() {
    let server = Firestore::shared();
    let store = super::on(&server).await;
    store.head(&id("nothing")).await.unwrap();
    let claimed = |name: &str| verdict::graph::store::NewRun { claim: Some(by("me")), ..run(name) };
    let (opened, spent) = costs(&store, store.open(claimed("a"))).await;
    assert_eq!(spent, usage(1, 2, 0), "opening and claiming");
    let lease = opened.unwrap().lease.unwrap();
    let (_, spent) = costs(&store, store.append(append(&lease, 1, &["x"; 20]))).await;
    assert_eq!(spent, usage(0, 2, 0), "twenty records in one append");
    let (_, spent) = costs(&store, store.renew(&lease, TTL)).await;
    assert_eq!(spent, usage(0, 1, 0), "renewing");
    let ended = Append {
        head: verdict::graph::store::HeadChange {
            status: verdict::graph::RunStatus::Completed,
            ..change()
        },
        hold: verdict::graph::store::Hold::Release,
        ..append(&lease, 21, &["end"])
    };
    let (_, spent) = costs(&store, store.append(ended)).await;
    assert_eq!(spent, usage(0, 2, 0), "ending");
    let (loaded, spent) = costs(&store, store.load(&id("a"), 0)).await;
    assert_eq!(loaded.unwrap().unwrap().1.len(), 22);
    assert_eq!(spent, usage(1 + 3, 0, 0), "loading: the head, and each append");
    // About a subject: its document, the unfinished runs and the higher ones beside.
    let (_, spent) = costs(&store, store.open(about("b", "s", 1))).await;
    assert_eq!(spent, usage(4, 3, 0), "opening a run about something");
    let (_, spent) = costs(&store, store.open(about("c", "s", 2))).await;
    assert_eq!(spent, usage(4, 5, 0), "and superseding one");
    // The first time in an hour it looks for what is left over, too.
    let (_, spent) = costs(&store, store.due(Duration::ZERO, 10)).await;
    assert_eq!(spent, usage(2, 0, 0), "the first sweep");
    let (_, spent) = costs(&store, store.due(Duration::ZERO, 10)).await;
    assert_eq!(spent, usage(1, 0, 0), "a sweep that finds nothing");
    let (gone, spent) = costs(&store, store.expire(Duration::from_secs(3600), 100)).await;
    assert_eq!((gone.unwrap(), spent), (0, usage(3, 0, 0)), "nothing has outlived its retention");
    let (_, spent) = costs(&store, store.head(&id("a"))).await;
    assert_eq!(spent, usage(1, 0, 0), "a look at a run that is watched");
    let (there, spent) = costs(&store, store.confirm_letter("none")).await;
    assert_eq!(
        (there, spent),
        (Ok(false), usage(0, 0, 0)),
        "the rest of a look at whether it can be written"
    );
    let unconfirmed = LetterFilter { confirmed: Some(false), ..LetterFilter::default() };
    let (_, spent) = costs(&store, store.letters(&unconfirmed)).await;
    assert_eq!(spent, usage(1, 0, 0), "no letters");
    let (listed, spent) = costs(&store, store.list(&RunFilter::default())).await;
    assert_eq!((listed.unwrap().len(), spent), (3, usage(3, 0, 0)), "listing");
    let (_, spent) = costs(&store, store.put_if_absent("s", "k", "v".into(), TTL)).await;
    assert_eq!(spent, usage(0, 1, 0), "a new value of the key-value store");
    let (_, spent) = costs(&store, store.get("s", "k")).await;
    assert_eq!(spent, usage(1, 0, 0), "reading it");
    let (_, spent) = costs(&store, store.sweep()).await;
    assert_eq!(spent, usage(1, 0, 0), "looking for what has expired, and finding nothing");
    let event = ExternalEvent { key: "k".into(), id: "1".into(), payload: "1".into() };
    let (_, spent) = costs(&store, store.put_event(event, Duration::from_secs(60))).await;
    assert_eq!(spent, usage(0, 1, 0), "an event");
    let wait = EventWait { key: "k".into(), run: id("a"), interrupt: "1.0.event:k".into() };
    let (_, spent) = costs(&store, store.note_event_wait(wait.clone(), TTL)).await;
    assert_eq!(spent, usage(1, 1, 0), "noting a wait for it");
    let (_, spent) = costs(&store, store.find_event("k", &[])).await;
    assert_eq!(spent, usage(1, 0, 0), "receiving it");
    let (_, spent) = costs(&store, store.event_waits("k")).await;
    assert_eq!(spent, usage(1, 0, 0), "who waits for it");
    let (_, spent) = costs(&store, store.drop_event_wait(&wait)).await;
    assert_eq!(spent, usage(0, 0, 1), "waiting no longer");
    let (_, spent) = costs(&store, store.sweep_events()).await;
    assert_eq!(spent, usage(2, 0, 0), "looking for events that are over, and finding none");
    let limit = RateLimit { capacity: 1.0, per_second: 1.0 };
    let limiter = RateLimiter::new(store.clone(), "limits", limit);
    let (_, spent) = costs(&store, limiter.acquire("k", 1.0)).await;
    assert_eq!(spent, usage(1, 1, 0), "acquiring of a rate limit");
    // The head with a note of what is left; then that: the names are read, all is deleted.
    let (_, spent) = costs(&store, store.delete(&id("a"))).await;
    assert_eq!(spent, usage(1 + 1 + 3 + 1, 1, 1 + 3 + 1), "deleting");
}

//! What a run waits for: written with the append, listed by it.

use verdict::graph::store::{
    Append, HeadChange, Hold, NewRun, Question, Resumed, RunFilter, RunId, RunStatus, Waiting,
    WaitingFor,
};

use super::harness::*;

fn asking() -> Waiting {
    let question = |id: &str| Question { id: id.into(), title: format!("which? {ODD}") };
    Waiting::Person { interrupts: vec![question("1.0.a"), question("1.0.b")], more: 7 }
}

fn for_time() -> Waiting {
    Waiting::Time { reason: Some("the quota".into()) }
}

/// Parks a run that waits for this.
async fn park(place: &Place, new: NewRun, waiting: Waiting) {
    let lease = place.hold_new(NewRun { asks: vec![("1.0.a".into(), None)], ..new }).await;
    let head = HeadChange {
        status: RunStatus::Parked,
        not_before: matches!(waiting, Waiting::Time { .. }).then(|| place.now().plus(TTL)),
        waiting: Some(waiting),
        ..change()
    };
    let append = Append { head, hold: Hold::Release, ..append(&lease, 1, &["parked"]) };
    place.store.append(append).await.unwrap();
}

fn filter(kinds: &[WaitingFor]) -> RunFilter {
    RunFilter { waiting: kinds.to_vec(), ..RunFilter::default() }
}

async fn names(place: &Place, filter: RunFilter) -> Vec<String> {
    place.store.list(&filter).await.unwrap().into_iter().map(|head| head.key).collect()
}

/// E24: all of it comes back with every head, and the store narrows by its kind.
pub async fn is_written_with_the_append_and_listed(place: &Place) {
    let since = place.now();
    let all = [
        ("person", asking()),
        ("time", for_time()),
        ("limit", Waiting::Limit),
        ("version", Waiting::Version { since }),
    ];
    for (name, waiting) in &all {
        park(place, run(name), waiting.clone()).await;
        place.pass(SECOND).await;
    }
    place.open(run("queued")).await;
    for (name, waiting) in &all {
        assert_eq!(place.head(name).await.waiting.as_ref(), Some(waiting));
        assert_eq!(place.head(name).await.waits(place.now()).as_ref(), Some(waiting));
        let listed = place.store.list(&filter(&[waiting.kind()])).await.unwrap();
        assert_eq!(listed, [place.head(name).await], "{name}");
    }
    assert_eq!(place.head("queued").await.waiting, None);
    let two = [WaitingFor::Time, WaitingFor::Person];
    assert_eq!(names(place, filter(&two)).await, ["time", "person"], "the newest first");
    assert_eq!(names(place, filter(&[])).await.len(), 5, "no filter");
}

/// Once it is taken up, answered or stopped it waits no more.
pub async fn ends_with_a_claim_an_answer_and_a_stop(place: &Place) {
    for name in ["claimed", "answered", "cancelled", "superseded"] {
        let subject = if name == "superseded" { about(name, "s", 1) } else { run(name) };
        park(place, subject, asking()).await;
    }
    let (_, head) = yours(place.claim("claimed").await);
    assert_eq!(head.waiting, None);
    let run = id("answered");
    let answered = place.store.resume(&run, "1.0.a", "1".into(), record("answer")).await;
    assert!(matches!(answered.unwrap(), Resumed::Accepted(_)));
    place.store.cancel(&id("cancelled"), record("cancel")).await.unwrap();
    assert_eq!(place.open(about("newer", "s", 2)).await.superseded, [id("superseded")]);
    for name in ["claimed", "answered", "cancelled", "superseded"] {
        assert_eq!(place.head(name).await.waiting, None, "{name}");
    }
    assert!(names(place, filter(&WaitingFor::ALL)).await.is_empty());
    // Nor does one whose append says that it runs on, or has ended.
    for status in [RunStatus::Running, RunStatus::Completed] {
        let lease = place.hold(status.as_str()).await;
        let head = HeadChange { status, waiting: Some(asking()), ..change() };
        place.store.append(Append { head, ..append(&lease, 1, &[]) }).await.unwrap();
        assert_eq!(place.head(status.as_str()).await.waiting, None);
    }
}

/// A run whose worker stopped renewing waits for another, from the moment that the lease has ended.
pub async fn a_lapsed_lease_is_waited_for(place: &Place) {
    park(place, run("parked"), asking()).await;
    place.hold("held").await;
    let lease = filter(&[WaitingFor::Lease]);
    assert!(names(place, lease.clone()).await.is_empty());
    assert_eq!(place.head("held").await.waits(place.now()), None);
    place.pass(TTL).await;
    assert_eq!(names(place, lease.clone()).await, ["held"]);
    assert_eq!(place.head("held").await.waits(place.now()), Some(Waiting::Lease));
    let mut both = names(place, filter(&[WaitingFor::Lease, WaitingFor::Person])).await;
    both.sort_unstable();
    assert_eq!(both, ["held", "parked"]);
    yours(place.claim("held").await);
    assert!(names(place, lease).await.is_empty());
}

pub async fn is_listed_in_pages_and_with_every_other_filter(place: &Place) {
    for n in 0..12 {
        let waiting = if n % 3 == 0 { for_time() } else { asking() };
        let new = about(&n.to_string(), &format!("s{}", n % 2), 1 + n);
        let workflow = if n < 6 { "flow" } else { "other" };
        // Runs of one subject supersede each other but for these.
        let subject = new.subject.filter(|_| n >= 10);
        park(place, NewRun { workflow: workflow.into(), subject, ..new }, waiting).await;
        if n % 4 == 0 {
            place.pass(SECOND).await;
        }
    }
    let person = || filter(&[WaitingFor::Person]);
    let mut seen: Vec<RunId> = Vec::new();
    let mut page = RunFilter { limit: 3, ..person() };
    loop {
        let heads = place.store.list(&page).await.unwrap();
        let Some(last) = heads.last() else { break };
        page.after = Some((last.created_at, last.id.clone()));
        seen.extend(heads.into_iter().map(|head| head.id));
    }
    let heads = place.store.list(&person()).await.unwrap();
    assert_eq!(seen, heads.iter().map(|head| head.id.clone()).collect::<Vec<_>>());
    assert_eq!(seen.len(), 8);
    assert!(heads.is_sorted_by(|a, b| (a.created_at, &a.id) > (b.created_at, &b.id)));

    let other = RunFilter { workflow: Some("other".into()), ..person() };
    assert_eq!(names(place, other).await.len(), 4);
    let subject = RunFilter { subject: Some("s0".into()), ..person() };
    assert_eq!(names(place, subject.clone()).await, ["10"]);
    assert!(
        names(place, RunFilter { waiting: vec![WaitingFor::Time], ..subject }).await.is_empty()
    );
    let prefix = RunFilter { id_prefix: Some(id("11").as_str()[..12].into()), ..person() };
    assert_eq!(names(place, prefix).await, ["11"]);
    let parked = RunFilter { statuses: vec![RunStatus::Parked], ..person() };
    assert_eq!(names(place, parked).await.len(), 8);
    let queued = RunFilter { statuses: vec![RunStatus::Queued, RunStatus::Failed], ..person() };
    assert!(names(place, queued).await.is_empty());
}

//! Listing runs.

use std::collections::HashSet;

use verdict::graph::store::{NewRun, RunFilter, RunId, RunStatus};

use super::harness::*;

async fn names(place: &Place, filter: RunFilter) -> Vec<String> {
    place.store.list(&filter).await.unwrap().into_iter().map(|head| head.key).collect()
}

pub async fn narrows_by_each_field(place: &Place) {
    place.open(about("a", "s", 1)).await;
    place.pass(SECOND).await;
    place.run_in(about("b", "t", 1), RunStatus::Parked).await;
    place.pass(SECOND).await;
    place.open(NewRun { workflow: "other".into(), ..run("c") }).await;
    let all = || RunFilter::default();
    assert_eq!(names(place, all()).await, ["c", "b", "a"]);
    assert_eq!(names(place, RunFilter { limit: 2, ..all() }).await, ["c", "b"]);
    let statuses = |list: &[RunStatus]| RunFilter { statuses: list.to_vec(), ..all() };
    assert_eq!(names(place, statuses(&[RunStatus::Parked])).await, ["b"]);
    let two = [RunStatus::Queued, RunStatus::Parked];
    assert_eq!(names(place, statuses(&two)).await, ["c", "b", "a"]);
    assert!(names(place, statuses(&[RunStatus::Failed])).await.is_empty());
    assert_eq!(names(place, RunFilter { workflow: Some("other".into()), ..all() }).await, ["c"]);
    assert_eq!(names(place, RunFilter { subject: Some("s".into()), ..all() }).await, ["a"]);
    let prefix = |len: usize| Some(id("b").as_str()[..len].to_owned());
    assert_eq!(names(place, RunFilter { id_prefix: prefix(12), ..all() }).await, ["b"]);
    assert_eq!(names(place, RunFilter { id_prefix: prefix(32), ..all() }).await, ["b"]);
    assert_eq!(names(place, RunFilter { id_prefix: prefix(0), ..all() }).await.len(), 3);
    for odd in ["%", "zz", "ABCDEF"] {
        let filter = RunFilter { id_prefix: Some(odd.into()), ..all() };
        assert!(names(place, filter).await.is_empty(), "{odd}");
    }
    let mixed = RunFilter { subject: Some("t".into()), ..statuses(&[RunStatus::Queued]) };
    assert!(names(place, mixed).await.is_empty());
    let heads = place.store.list(&all()).await.unwrap();
    assert_eq!(heads[1], place.head("b").await, "heads are whole");
}

pub async fn pages_through_runs_of_one_moment(place: &Place) {
    for n in 0..130 {
        let status = if n % 3 == 0 { RunStatus::Completed } else { RunStatus::Parked };
        place.run_in(run(&n.to_string()), status).await;
        if n == 100 {
            place.pass(SECOND).await;
        }
    }
    for (statuses, expected) in [(vec![], 130), (vec![RunStatus::Parked], 86)] {
        let mut seen: Vec<RunId> = Vec::new();
        let mut filter = RunFilter { statuses, limit: 7, ..RunFilter::default() };
        loop {
            let page = place.store.list(&filter).await.unwrap();
            assert!(page.len() <= 7);
            let Some(last) = page.last() else { break };
            filter.after = Some((last.created_at, last.id.clone()));
            seen.extend(page.into_iter().map(|head| head.id));
        }
        let whole = RunFilter { after: None, limit: 0, ..filter };
        let heads = place.store.list(&whole).await.unwrap();
        assert_eq!(seen, heads.iter().map(|head| head.id.clone()).collect::<Vec<_>>());
        assert_eq!(seen.iter().collect::<HashSet<_>>().len(), expected);
        assert!(heads.is_sorted_by(|a, b| (a.created_at, &a.id) > (b.created_at, &b.id)));
    }
}

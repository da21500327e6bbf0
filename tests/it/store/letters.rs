//! Dead letters.

use bytes::Bytes;
use verdict::graph::store::{
    Append, Letter, LetterFilter, LetterReason, LetterState, NewRun, RunStatus, StoreError,
};

use super::harness::*;

async fn get(place: &Place, name: &str) -> Letter {
    place.store.letter(name).await.unwrap().unwrap()
}

fn later(name: &str) -> Letter {
    Letter {
        last_at: START.plus(SECOND),
        first_at: START.plus(SECOND),
        error: "again".into(),
        executions: 2,
        confirmed: true,
        state: LetterState::Discarded,
        ..letter(name)
    }
}

pub async fn putting_one_twice_keeps_the_first(place: &Place) {
    let first = Letter {
        run: Some(id("a")),
        workflow: None,
        node: None,
        reason: LetterReason::Undecodable,
        ..letter("l")
    };
    assert!(place.store.letter("l").await.unwrap().is_none());
    place.store.put_letter(first.clone()).await.unwrap();
    assert_eq!(get(place, "l").await, first);
    place.store.put_letter(first.clone()).await.unwrap();
    assert_eq!(get(place, "l").await, first);
    assert!(place.store.confirm_letter("l").await.unwrap());
    place.store.put_letter(later("l")).await.unwrap();
    let merged = Letter {
        last_at: START.plus(SECOND),
        error: "again".into(),
        executions: 2,
        confirmed: true,
        ..first
    };
    assert_eq!(get(place, "l").await, merged);
}

pub async fn one_discarded_stays_discarded(place: &Place) {
    place.store.put_letter(letter("l")).await.unwrap();
    place.store.settle_letter("l", LetterState::Discarded, None).await.unwrap();
    place.store.put_letter(later("l")).await.unwrap();
    let found = get(place, "l").await;
    assert_eq!((found.state, found.executions), (LetterState::Discarded, 2));
}

pub async fn a_replayed_one_opens_again(place: &Place) {
    place.store.put_letter(letter("l")).await.unwrap();
    place.store.confirm_letter("l").await.unwrap();
    place.store.settle_letter("l", LetterState::Replayed, None).await.unwrap();
    place.store.put_letter(later("l")).await.unwrap();
    let found = get(place, "l").await;
    assert_eq!((found.state, found.confirmed), (LetterState::Open, false));
    assert_eq!((found.first_at, found.last_at), (START, START.plus(SECOND)));
}

pub async fn settle_once(place: &Place) {
    let settle = |state| place.store.settle_letter("l", state, None);
    assert_eq!(settle(LetterState::Replayed).await.unwrap(), None);
    assert!(!place.store.confirm_letter("l").await.unwrap());
    place.store.put_letter(letter("l")).await.unwrap();
    let open = Some((LetterState::Open, false));
    assert_eq!(settle(LetterState::Open).await.unwrap(), open, "which it was already");
    let replayed = LetterState::Replayed;
    assert_eq!(settle(replayed).await.unwrap(), Some((replayed, true)));
    assert_eq!(settle(replayed).await.unwrap(), Some((replayed, false)));
    assert_eq!(settle(LetterState::Discarded).await.unwrap(), Some((replayed, false)));
    assert_eq!(get(place, "l").await.state, replayed);
}

pub async fn one_given_up_again_is_not_settled_as_it_was(place: &Place) {
    place.store.put_letter(letter("l")).await.unwrap();
    place.store.put_letter(later("l")).await.unwrap();
    let settle = |at| place.store.settle_letter("l", LetterState::Replayed, Some(at));
    assert_eq!(settle(START).await.unwrap(), Some((LetterState::Open, false)));
    assert_eq!(get(place, "l").await.state, LetterState::Open);
    let now = START.plus(SECOND);
    assert_eq!(settle(now).await.unwrap(), Some((LetterState::Replayed, true)));
}

pub async fn are_filtered_the_newest_first(place: &Place) {
    for (n, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let last_at = START.plus(SECOND * u32::try_from(n / 2).unwrap());
        place.store.put_letter(Letter { last_at, ..letter(name) }).await.unwrap();
    }
    place.store.confirm_letter("a").await.unwrap();
    place.store.settle_letter("d", LetterState::Replayed, None).await.unwrap();
    let names = async |filter: LetterFilter| -> Vec<String> {
        let letters = place.store.letters(&filter).await.unwrap();
        assert!(letters.iter().all(|letter| letter.payload.is_empty()), "payloads are left out");
        letters.into_iter().map(|letter| letter.id).collect()
    };
    let all = LetterFilter::default;
    assert_eq!(names(all()).await, ["d", "c", "b", "a"]);
    assert_eq!(names(LetterFilter { limit: 3, ..all() }).await, ["d", "c", "b"]);
    let open = LetterFilter { state: Some(LetterState::Open), ..all() };
    assert_eq!(names(open.clone()).await, ["c", "b", "a"]);
    assert_eq!(names(LetterFilter { confirmed: Some(true), ..all() }).await, ["a"]);
    assert_eq!(names(LetterFilter { confirmed: Some(false), ..open }).await, ["c", "b"]);
    let whole = Letter { payload: Bytes::new(), ..get(place, "c").await };
    assert!(place.store.letters(&all()).await.unwrap().contains(&whole));
}

pub async fn are_written_with_the_append_or_not_at_all(place: &Place) {
    let lease = place.hold("a").await;
    let with = |name: &str, expected| Append {
        letter: Some(Box::new(Letter { run: Some(id("a")), ..letter(name) })),
        ..append(&lease, expected, &["letter"])
    };
    let refused = place.store.append(with("l", 9)).await;
    assert_eq!(refused.unwrap_err(), StoreError::Conflict { version: 1 });
    assert!(place.store.letter("l").await.unwrap().is_none());
    let op = with("l", 1);
    place.store.append(op.clone()).await.unwrap();
    assert_eq!(get(place, "l").await.run, Some(id("a")));
    // Replayed since, it is not opened again by an append whose answer was lost.
    place.store.settle_letter("l", LetterState::Replayed, None).await.unwrap();
    place.store.append(op).await.unwrap();
    assert_eq!(get(place, "l").await.state, LetterState::Replayed);
    place.store.append(with("l", 2)).await.unwrap();
    assert_eq!(get(place, "l").await.state, LetterState::Open);
    place.end(&lease, RunStatus::Failed).await;
    fenced(place.store.append(with("m", 4)).await);
    assert!(place.store.letter("m").await.unwrap().is_none());
}

/// E7: every text of a head and of a letter.
pub async fn odd_characters_survive_in_heads_and_letters(place: &Place) {
    let new = NewRun {
        workflow: ODD.into(),
        key: ODD.into(),
        subject: Some(ODD.into()),
        claim: Some(by(ODD)),
        asks: vec![(ODD.into(), Some(ODD.into()))],
        ..run("a")
    };
    let mut op = append(&place.open(new).await.lease.unwrap(), 1, &[ODD]);
    op.head.error = Some(ODD.into());
    let letter = Letter {
        id: ODD.into(),
        run: Some(id("a")),
        workflow: Some(ODD.into()),
        node: Some(ODD.into()),
        error: ODD.into(),
        headers: [(ODD.to_owned(), ODD.to_owned()), (String::new(), String::new())].into(),
        payload: ODD.into(),
        ..letter("l")
    };
    op.letter = Some(Box::new(letter.clone()));
    place.store.append(op).await.unwrap();
    let (head, records) = place.store.load(&id("a"), 0).await.unwrap().unwrap();
    assert_eq!((head.workflow.as_str(), head.key.as_str()), (ODD, ODD));
    assert_eq!((head.subject.as_deref(), head.error.as_deref()), (Some(ODD), Some(ODD)));
    assert_eq!(head.lease.unwrap().owner, ODD);
    assert_eq!(records, [record("started"), record(ODD)]);
    assert_eq!(place.store.letter(ODD).await.unwrap(), Some(letter));
}

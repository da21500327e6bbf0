//! The keyed side.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use verdict::base::keyed::{Budget, Spent};

use super::harness::*;

pub async fn keeps_a_value_for_its_life(place: &Place) {
    let get = |space, key| place.keyed.get(space, key);
    assert_eq!(get("s", "k").await.unwrap(), None);
    place.keyed.put("s", "k", "v\0\u{ff}".into(), TTL).await.unwrap();
    place.keyed.put("s", "empty", Bytes::new(), TTL).await.unwrap();
    assert_eq!(get("s", "k").await.unwrap(), Some("v\0\u{ff}".into()));
    assert_eq!(get("s", "empty").await.unwrap(), Some(Bytes::new()));
    assert_eq!(get("t", "k").await.unwrap(), None, "spaces are apart");
    place.pass(TTL - SECOND).await;
    place.keyed.put("s", "k", "w".into(), TTL).await.unwrap();
    place.pass(SECOND).await;
    assert_eq!(get("s", "k").await.unwrap(), Some("w".into()), "a later one lives anew");
    assert_eq!(get("s", "empty").await.unwrap(), None, "its life has ended");
    place.keyed.put("s", "ever", "x".into(), Duration::MAX).await.unwrap();
    place.pass(TTL * 1_000_000).await;
    assert_eq!(get("s", "ever").await.unwrap(), Some("x".into()));
}

pub async fn a_claim_has_one_winner(place: &Place) {
    let claims = (0..20).map(|n: u8| {
        let keyed = place.keyed.clone();
        tokio::spawn(async move { keyed.claim("s", "k", vec![n].into(), TTL).await.unwrap() })
    });
    let answers: Vec<Option<Bytes>> =
        join_all(claims).await.into_iter().map(Result::unwrap).collect();
    let winner = answers.iter().position(Option::is_none).unwrap();
    let won = Some(Bytes::from(vec![u8::try_from(winner).unwrap()]));
    assert_eq!(answers.iter().filter(|answer| answer.is_none()).count(), 1);
    assert!(answers.iter().enumerate().all(|(n, answer)| n == winner || *answer == won));
    assert_eq!(place.keyed.get("s", "k").await.unwrap(), won);
    place.pass(TTL).await;
    assert_eq!(place.keyed.claim("s", "k", "next".into(), TTL).await.unwrap(), None);
    assert_eq!(place.keyed.get("s", "k").await.unwrap(), Some("next".into()));
}

pub async fn a_budget_is_shared(place: &Place) {
    let budget = Budget { capacity: 10.0, per_second: 2.0 };
    let spendings = (0..20).map(|_| {
        let keyed = place.keyed.clone();
        tokio::spawn(async move { keyed.spend("s", "k", 1.0, budget).await.unwrap() })
    });
    let answers = join_all(spendings).await;
    let granted = answers.into_iter().filter(|spent| matches!(spent, Ok(Spent::Granted))).count();
    assert_eq!(granted, 10);
    let spend = |amount| place.keyed.spend("s", "k", amount, budget);
    assert_eq!(spend(3.0).await.unwrap(), Spent::Wait(Duration::from_millis(1500)));
    place.pass(Duration::from_millis(1499)).await;
    assert_eq!(spend(3.0).await.unwrap(), Spent::Wait(Duration::from_millis(1)));
    place.pass(Duration::from_millis(1)).await;
    assert_eq!(spend(3.0).await.unwrap(), Spent::Granted, "a refusal takes nothing");
    place.pass(TTL).await;
    assert_eq!(spend(10.0).await.unwrap(), Spent::Granted, "it holds no more than its capacity");
    assert_eq!(spend(1.0).await.unwrap(), Spent::Wait(Duration::from_millis(500)));
}

pub async fn a_budget_refuses_what_it_can_never_grant(place: &Place) {
    let budget = Budget { capacity: 1.0, per_second: 1.0 };
    let refused = place.keyed.spend("s", "k", 1.5, budget).await.unwrap_err();
    assert!(!refused.is_transient() && refused.message.contains("1.5"), "{refused}");
    assert_eq!(place.keyed.spend("s", "k", 1.0, budget).await.unwrap(), Spent::Granted);
}

pub async fn refuses_large_values(place: &Place) {
    let most = Bytes::from(vec![7; 1 << 20]);
    place.keyed.put("s", "k", most.clone(), TTL).await.unwrap();
    assert_eq!(place.keyed.get("s", "k").await.unwrap(), Some(most));
    let more = Bytes::from(vec![7; (1 << 20) + 1]);
    assert!(!place.keyed.put("s", "k", more.clone(), TTL).await.unwrap_err().is_transient());
    assert!(!place.keyed.claim("s", "l", more, TTL).await.unwrap_err().is_transient());
}

pub async fn sweeps_what_has_ended(place: &Place) {
    place.keyed.put("s", "short", "v".into(), SECOND).await.unwrap();
    place.keyed.claim("s", "short too", "v".into(), SECOND).await.unwrap();
    place.keyed.put("s", "long", "v".into(), TTL).await.unwrap();
    assert_eq!(place.keyed.sweep().await.unwrap(), 0);
    place.pass(SECOND).await;
    assert_eq!(place.keyed.sweep().await.unwrap(), 2);
    assert_eq!(place.keyed.sweep().await.unwrap(), 0);
    assert_eq!(place.keyed.get("s", "long").await.unwrap(), Some("v".into()));
}

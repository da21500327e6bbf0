//! The key-value store, and the rate limiter on top of it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use tempfile::TempDir;
use verdict::{
    app::{App, Trust},
    base::{
        Acquired, Clock, RateLimit, RateLimiter,
        key_value::{Expect, KeyValueStore, MAX_VALUE_BYTES, Write},
    },
    checkpoint::{KeyRing, Memory, SealedKeyValues, SqliteStore},
    config::Settings,
    db::{Sqlite, SqliteOptions},
};

use super::harness::*;

pub async fn keeps_a_value_until_it_expires(place: &Place) {
    let get = |space, key| place.key_values.get(space, key);
    assert_eq!(get("s", "k").await.unwrap(), None);
    place.key_values.put("s", "k", "v\0\u{ff}".into(), TTL).await.unwrap();
    place.key_values.put("s", "empty", Bytes::new(), TTL).await.unwrap();
    assert_eq!(get("s", "k").await.unwrap(), Some("v\0\u{ff}".into()));
    assert_eq!(get("s", "empty").await.unwrap(), Some(Bytes::new()));
    assert_eq!(get("t", "k").await.unwrap(), None, "spaces are apart");
    place.key_values.put(ODD, ODD, ODD.into(), TTL).await.unwrap();
    assert_eq!(get(ODD, ODD).await.unwrap(), Some(ODD.into()));
    place.pass(TTL - SECOND).await;
    place.key_values.put("s", "k", "w".into(), TTL).await.unwrap();
    place.pass(SECOND).await;
    assert_eq!(get("s", "k").await.unwrap(), Some("w".into()), "a later one lives anew");
    assert_eq!(get("s", "empty").await.unwrap(), None, "it has expired");
    place.key_values.put("s", "ever", "x".into(), Duration::MAX).await.unwrap();
    place.pass(TTL * 1_000_000).await;
    assert_eq!(get("s", "ever").await.unwrap(), Some("x".into()));
}

pub async fn of_those_who_put_if_absent_one_wins(place: &Place) {
    let puts = (0..20).map(|n: u8| {
        let store = place.key_values.clone();
        tokio::spawn(async move { store.put_if_absent("s", "k", vec![n].into(), TTL).await })
    });
    let answers: Vec<Option<Bytes>> =
        join_all(puts).await.into_iter().map(|answer| answer.unwrap().unwrap()).collect();
    let winner = answers.iter().position(Option::is_none).unwrap();
    let won = Some(Bytes::from(vec![u8::try_from(winner).unwrap()]));
    assert_eq!(answers.iter().filter(|answer| answer.is_none()).count(), 1);
    assert!(answers.iter().enumerate().all(|(n, answer)| n == winner || *answer == won));
    assert_eq!(place.key_values.get("s", "k").await.unwrap(), won);
    place.pass(TTL).await;
    assert_eq!(place.key_values.put_if_absent("s", "k", "next".into(), TTL).await.unwrap(), None);
    assert_eq!(place.key_values.get("s", "k").await.unwrap(), Some("next".into()));
}

/// A write that expects what was read is done once, whatever came between.
pub async fn a_write_is_done_only_over_what_it_expects(place: &Place) {
    let store = &place.key_values;
    let write = async |value: &str, expect| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        store.write(Write::new(("s", "k"), value, TTL, expect).unwrap()).await.unwrap()
    };
    let revision = async || store.read("s", "k").await.unwrap().entry.unwrap().revision;
    assert!(write("a", Expect::Nothing).await);
    assert!(!write("b", Expect::Nothing).await, "there is one");
    let first = revision().await;
    assert!(write("c", Expect::Revision(first)).await);
    assert!(!write("d", Expect::Revision(first)).await, "that one is gone");
    assert!(write("c", Expect::Anything).await);
    assert_ne!(revision().await, first, "the same value is another revision");
    assert_eq!(store.get("s", "k").await.unwrap(), Some("c".into()));
    place.pass(TTL).await;
    assert_eq!(store.get("s", "k").await.unwrap(), None);
    assert!(write("e", Expect::Revision(first)).await, "what has expired is in nobody's way");
}

fn limiter(place: &Place, limit: RateLimit) -> RateLimiter {
    RateLimiter::new(place.key_values.clone(), "s", limit)
}

pub async fn a_rate_limit_is_shared(place: &Place) {
    let limit = RateLimit { capacity: 10.0, per_second: 2.0 };
    let acquirings = (0..20).map(|_| {
        let limiter = limiter(place, limit);
        tokio::spawn(async move { limiter.acquire("k", 1.0).await.unwrap() })
    });
    let answers = join_all(acquirings).await;
    let granted = answers.into_iter().filter(|one| matches!(one, Ok(Acquired::Granted))).count();
    assert_eq!(granted, 10);
    let limiter = limiter(place, limit);
    let acquire = |tokens| limiter.acquire("k", tokens);
    assert_eq!(acquire(3.0).await.unwrap(), Acquired::Wait(Duration::from_millis(1500)));
    place.pass(Duration::from_millis(1499)).await;
    assert_eq!(acquire(3.0).await.unwrap(), Acquired::Wait(Duration::from_millis(1)));
    place.pass(Duration::from_millis(1)).await;
    assert_eq!(acquire(3.0).await.unwrap(), Acquired::Granted, "a refusal takes nothing");
    assert_eq!(limiter.acquire("other", 10.0).await.unwrap(), Acquired::Granted);
    place.pass(TTL).await;
    assert_eq!(acquire(10.0).await.unwrap(), Acquired::Granted, "it holds at most its capacity");
    assert_eq!(acquire(1.0).await.unwrap(), Acquired::Wait(Duration::from_millis(500)));
}

pub async fn a_rate_limit_refuses_what_it_can_never_grant(place: &Place) {
    let limiter = limiter(place, RateLimit { capacity: 1.0, per_second: 1.0 });
    let refused = limiter.acquire("k", 1.5).await.unwrap_err();
    assert!(!refused.is_transient() && refused.message.contains("1.5"), "{refused}");
    assert_eq!(limiter.acquire("k", 1.0).await.unwrap(), Acquired::Granted);
}

pub async fn refuses_large_values(place: &Place) {
    let most = Bytes::from(vec![7; MAX_VALUE_BYTES]);
    place.key_values.put("s", "k", most.clone(), TTL).await.unwrap();
    assert_eq!(place.key_values.get("s", "k").await.unwrap(), Some(most));
    let more = Bytes::from(vec![7; MAX_VALUE_BYTES + 1]);
    let put = place.key_values.put("s", "k", more.clone(), TTL).await;
    assert!(!put.unwrap_err().is_transient());
    let put = place.key_values.put_if_absent("s", "l", more, TTL).await;
    assert!(!put.unwrap_err().is_transient());
}

pub async fn sweeps_what_has_expired(place: &Place) {
    let store = &place.key_values;
    store.put("s", "short", "v".into(), SECOND).await.unwrap();
    store.put_if_absent("s", "short too", "v".into(), SECOND).await.unwrap();
    store.put("s", "long", "v".into(), TTL).await.unwrap();
    let limiter = limiter(place, RateLimit { capacity: 1.0, per_second: 1.0 });
    assert_eq!(limiter.acquire("bucket", 1.0).await.unwrap(), Acquired::Granted);
    assert_eq!(store.sweep().await.unwrap(), 0);
    place.pass(SECOND).await;
    assert_eq!(store.sweep().await.unwrap(), 3, "a bucket that is full again too");
    assert_eq!(store.sweep().await.unwrap(), 0);
    assert_eq!(store.get("s", "long").await.unwrap(), Some("v".into()));
}

const KEY: &str = "k:1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f";

/// Values are sealed to their place: the store has none of their bytes, another key's value does not
/// open, and neither does any without its key.
#[tokio::test]
async fn values_are_sealed_to_their_place() {
    let bare = Arc::new(Memory::new(Clock::manual(START).0));
    let sealed = SealedKeyValues::new(bare.clone(), KeyRing::parse(KEY).unwrap());
    sealed.put("s", "k", "s3cret".into(), TTL).await.unwrap();
    assert_eq!(sealed.get("s", "k").await.unwrap(), Some("s3cret".into()));
    let stored = bare.get("s", "k").await.unwrap().unwrap();
    assert!(!stored.windows(6).any(|bytes| bytes == b"s3cret"));
    for (space, key) in [("s", "other"), ("other", "k")] {
        bare.put(space, key, stored.clone(), TTL).await.unwrap();
        let refused = sealed.get(space, key).await.unwrap_err();
        assert!(!refused.is_transient(), "{refused}");
        assert!(refused.message.starts_with("the value `"), "{refused}");
    }
    let without = SealedKeyValues::new(bare.clone(), KeyRing::default());
    let refused = without.get("s", "k").await.unwrap_err();
    assert!(refused.is_transient() && refused.message.contains("store.encryption.keys"));
    bare.put("s", "older", "plain".into(), TTL).await.unwrap();
    assert_eq!(sealed.get("s", "older").await.unwrap(), Some("plain".into()), "put before the key");
}

/// It is opened from the settings beside the runs: in the same file, behind the same keys.
#[tokio::test]
async fn the_app_opens_it_beside_the_runs() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("verdict.db");
    let env = [
        ("HOME", folder.path().display().to_string()),
        ("VERDICT__STORE__URL", format!("sqlite:{}", file.display())),
        ("VERDICT__STORE__ENCRYPTION__KEYS", KEY.to_owned()),
    ];
    let env = env.map(|(name, value)| (name.to_owned(), value));
    let settings = Settings::load(None, env, folder.path()).unwrap();
    let app = App::open(settings.clone(), Trust::Owner).await.unwrap();
    app.key_values.put("s", "k", "s3cret".into(), TTL).await.unwrap();
    app.close().await;

    let db = Sqlite::open(&file, SqliteOptions::default()).await.unwrap();
    let bare = Arc::new(SqliteStore::new(db.clone()));
    let stored = bare.get("s", "k").await.unwrap().unwrap();
    assert!(!stored.windows(6).any(|bytes| bytes == b"s3cret"));
    let sealed = SealedKeyValues::new(bare, KeyRing::parse(KEY).unwrap());
    assert_eq!(sealed.get("s", "k").await.unwrap(), Some("s3cret".into()));
    db.close().await.unwrap();

    let app = App::open(settings, Trust::Owner).await.unwrap();
    assert_eq!(app.key_values.get("s", "k").await.unwrap(), Some("s3cret".into()));
    app.close().await;
}

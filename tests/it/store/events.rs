//! Events from outside, and notes of who waits for them.

use std::time::Duration;

use verdict::graph::store::{EventWait, ExternalEvent, MAX_EVENT_BYTES, MAX_EVENT_NAME_BYTES};

use super::harness::*;

fn event(key: &str, id: &str, payload: &str) -> ExternalEvent {
    ExternalEvent { key: key.into(), id: id.into(), payload: payload.to_owned().into() }
}

fn wait(key: &str, run: &str) -> EventWait {
    EventWait { key: key.into(), run: id(run), interrupt: format!("2.0.event:{key}") }
}

async fn put(place: &Place, event: ExternalEvent) {
    place.store.put_event(event, TTL).await.unwrap();
}

async fn found(place: &Place, key: &str, except: &[&str]) -> Option<ExternalEvent> {
    let except: Vec<String> = except.iter().map(|id| (*id).to_owned()).collect();
    place.store.find_event(key, &except).await.unwrap()
}

pub async fn are_kept_once_by_key_and_id_and_for_a_time(place: &Place) {
    put(place, event("k", "a", "1")).await;
    put(place, event("k", "a", "2")).await;
    put(place, event("other", "a", "3")).await;
    assert_eq!(found(place, "k", &[]).await, Some(event("k", "a", "1")), "the first one counts");
    assert_eq!(found(place, "k", &["a"]).await, None);
    assert_eq!(found(place, "other", &[]).await, Some(event("other", "a", "3")));
    assert_eq!(found(place, "nobody", &[]).await, None);
    place.pass(TTL).await;
    assert_eq!(found(place, "k", &[]).await, None);
    put(place, event("k", "a", "4")).await;
    assert_eq!(found(place, "k", &[]).await, Some(event("k", "a", "4")), "a new one");
    assert_eq!(place.store.sweep_events().await, Ok(1), "the other key's");
    assert_eq!(found(place, "k", &[]).await, Some(event("k", "a", "4")));
}

pub async fn are_found_the_oldest_first(place: &Place) {
    let ids: Vec<String> = (0..20).map(|n| format!("{:02}", (n * 7) % 20)).collect();
    for id in &ids {
        put(place, event("k", id, "{}")).await;
        place.pass(Duration::from_millis(5)).await;
    }
    let mut received: Vec<&str> = Vec::new();
    for id in &ids {
        let next = found(place, "k", &received).await;
        assert_eq!(next, Some(event("k", id, "{}")));
        received.push(id);
    }
    assert_eq!(found(place, "k", &received).await, None);
}

pub async fn waits_are_noted_once_and_dropped(place: &Place) {
    let note = async |wait: EventWait, ttl| place.store.note_event_wait(wait, ttl).await.unwrap();
    let noted = async |key: &str| {
        let mut waits = place.store.event_waits(key).await.unwrap();
        waits.sort_by_key(|wait| (wait.run.clone(), wait.interrupt.clone()));
        waits
    };
    let second = EventWait { interrupt: "7.1.event:k".into(), ..wait("k", "a") };
    for wait in [wait("k", "a"), wait("k", "a"), second.clone(), wait("other", "b")] {
        note(wait, TTL).await;
    }
    assert_eq!(noted("k").await, [wait("k", "a"), second.clone()]);
    assert_eq!(noted("other").await, [wait("other", "b")]);
    assert_eq!(noted("nobody").await, []);
    for _ in 0..2 {
        place.store.drop_event_wait(&second).await.unwrap();
        assert_eq!(noted("k").await, [wait("k", "a")]);
    }
    // The longer time counts.
    note(wait("k", "a"), TTL * 2).await;
    note(wait("k", "a"), TTL).await;
    place.pass(TTL).await;
    assert_eq!(place.store.sweep_events().await, Ok(1));
    assert_eq!((noted("k").await.len(), noted("other").await.len()), (1, 0));
    place.pass(TTL).await;
    assert_eq!(place.store.sweep_events().await, Ok(1));
    assert_eq!(noted("k").await, []);
}

pub async fn odd_and_large_ones_come_back_as_they_were(place: &Place) {
    let long = "ü".repeat(MAX_EVENT_NAME_BYTES / 2);
    let large = format!("\"{}\"", "x".repeat(MAX_EVENT_BYTES - 2));
    // Control characters are in no key.
    let printable = ODD.replace(char::is_control, "");
    for name in [&printable, &long] {
        let odd = event(name, name, &large);
        put(place, odd.clone()).await;
        assert_eq!(found(place, name, &[]).await, Some(odd));
        assert_eq!(found(place, name, &[name.as_str()]).await, None);
        let wait = EventWait { interrupt: name.clone(), ..wait(name, "a") };
        place.store.note_event_wait(wait.clone(), TTL).await.unwrap();
        assert_eq!(place.store.event_waits(name).await.unwrap(), [wait]);
    }
}

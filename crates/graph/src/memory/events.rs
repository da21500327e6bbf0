//! Events from outside, in memory.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;

use super::{Memory, lock};
use crate::{
    base::Timestamp,
    store::{EventStore, EventWait, ExternalEvent, StoreError},
};

/// What is kept, and until when, by key and the rest of the name.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Beside each event, when it came.
    events: BTreeMap<(String, String), (ExternalEvent, Timestamp, Timestamp)>,
    waits: BTreeMap<(String, String, String), (EventWait, Timestamp)>,
}

fn named(wait: &EventWait) -> (String, String, String) {
    (wait.key.clone(), wait.run.to_string(), wait.interrupt.clone())
}

#[async_trait]
impl EventStore for Memory {
    async fn put_event(&self, event: ExternalEvent, ttl: Duration) -> Result<(), StoreError> {
        let now = self.0.clock.now();
        let name = (event.key.clone(), event.id.clone());
        let events = &mut lock(&self.0.events).events;
        if events.get(&name).is_none_or(|(.., expires)| *expires <= now) {
            events.insert(name, (event, now, now.plus(ttl)));
        }
        Ok(())
    }

    async fn find_event(
        &self,
        key: &str,
        except: &[String],
    ) -> Result<Option<ExternalEvent>, StoreError> {
        let now = self.0.clock.now();
        let held = lock(&self.0.events);
        let of_key = held.events.range((key.to_owned(), String::new())..);
        let of_key = of_key.map(|(_, kept)| kept).take_while(|(event, ..)| event.key == key);
        let events =
            of_key.filter(|(event, _, expires)| *expires > now && !except.contains(&event.id));
        let oldest = events.min_by_key(|(event, at, _)| (*at, &event.id));
        Ok(oldest.map(|(event, ..)| event.clone()))
    }

    async fn note_event_wait(&self, wait: EventWait, ttl: Duration) -> Result<(), StoreError> {
        let until = self.0.clock.now().plus(ttl);
        let waits = &mut lock(&self.0.events).waits;
        let noted = waits.entry(named(&wait)).or_insert((wait, until));
        noted.1 = noted.1.max(until);
        Ok(())
    }

    async fn event_waits(&self, key: &str) -> Result<Vec<EventWait>, StoreError> {
        let held = lock(&self.0.events);
        let waits = held.waits.range((key.to_owned(), String::new(), String::new())..);
        let waits = waits.map(|(_, (wait, _))| wait).take_while(|wait| wait.key == key);
        Ok(waits.cloned().collect())
    }

    async fn drop_event_wait(&self, wait: &EventWait) -> Result<(), StoreError> {
        lock(&self.0.events).waits.remove(&named(wait));
        Ok(())
    }

    async fn sweep_events(&self) -> Result<u64, StoreError> {
        let now = self.0.clock.now();
        let mut held = lock(&self.0.events);
        let before = held.events.len() + held.waits.len();
        held.events.retain(|_, (.., expires)| *expires > now);
        held.waits.retain(|_, (_, until)| *until > now);
        Ok((before - held.events.len() - held.waits.len()) as u64)
    }
}

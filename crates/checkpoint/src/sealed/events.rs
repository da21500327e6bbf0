//! The same layer before events from outside: payloads are sealed, keys and ids are not.

use std::time::Duration;

use async_trait::async_trait;

use super::{Sealed, frame::What};
use verdict_graph::store::{EventStore, EventWait, ExternalEvent, StoreError};

#[async_trait]
impl EventStore for Sealed {
    async fn put_event(&self, event: ExternalEvent, ttl: Duration) -> Result<(), StoreError> {
        let what = What::Event { key: &event.key, id: &event.id };
        let payload = self.keys.seal(event.payload.clone(), &what)?;
        self.store.put_event(ExternalEvent { payload, ..event }, ttl).await
    }

    async fn find_event(
        &self,
        key: &str,
        except: &[String],
    ) -> Result<Option<ExternalEvent>, StoreError> {
        let Some(event) = self.store.find_event(key, except).await? else { return Ok(None) };
        let what = What::Event { key, id: &event.id };
        let payload = self.keys.open(event.payload.clone(), &what)?;
        Ok(Some(ExternalEvent { payload, ..event }))
    }

    async fn note_event_wait(&self, wait: EventWait, ttl: Duration) -> Result<(), StoreError> {
        self.store.note_event_wait(wait, ttl).await
    }

    async fn event_waits(&self, key: &str) -> Result<Vec<EventWait>, StoreError> {
        self.store.event_waits(key).await
    }

    async fn drop_event_wait(&self, wait: &EventWait) -> Result<(), StoreError> {
        self.store.drop_event_wait(wait).await
    }

    async fn sweep_events(&self) -> Result<u64, StoreError> {
        self.store.sweep_events().await
    }
}

//! Events from outside, each a document, and notes of who waits for them. Firestore may delete by
//! itself what has expired, a day later.

use std::time::Duration;

use async_trait::async_trait;

use super::{
    FirestoreStore,
    client::Guard,
    error::Failure,
    fields::{Doc, Fields},
    paths, queries,
};
use verdict_graph::{
    base::Timestamp,
    store::{EventStore, EventWait, ExternalEvent, StoreError},
};

pub(super) fn event_fields(event: &ExternalEvent, at: Timestamp, ends: Timestamp) -> Fields {
    Fields::default()
        .text("key", &event.key)
        .text("id", &event.id)
        .bytes("data", event.payload.clone())
        .int("at", at.0)
        .int("ends", ends.0)
        .goes_after(ends)
}

pub(super) fn wait_fields(wait: &EventWait, ends: Timestamp) -> Fields {
    Fields::default()
        .text("key", &wait.key)
        .text("run", wait.run.as_str())
        .text("interrupt", &wait.interrupt)
        .int("ends", ends.0)
        .goes_after(ends)
}

fn read_wait(doc: &Doc) -> Result<EventWait, Failure> {
    Ok(EventWait {
        key: doc.text("key")?,
        run: doc.parse("run")?,
        interrupt: doc.text("interrupt")?,
    })
}

impl FirestoreStore {
    async fn try_put_event(&self, event: &ExternalEvent, ttl: Duration) -> Result<(), Failure> {
        let (client, path) = (&self.client, paths::event(&event.key, &event.id));
        let now = client.now().await?;
        let put = async |guard| {
            let fields = event_fields(event, now, now.plus(ttl));
            client.commit(vec![client.set(&path, fields, guard)]).await
        };
        match put(Guard::New).await {
            Err(Failure::Stale) => {}
            done => return done.map(drop),
        }
        let Some(doc) = client.one(&path).await? else { return Err(Failure::Stale) };
        if doc.int::<i64>("ends")? > now.0 {
            return Ok(());
        }
        put(doc.updated.map_or(Guard::Any, Guard::Since)).await.map(drop)
    }

    /// Looks through the events in pieces: few come before the one that is wanted.
    async fn try_find_event(
        &self,
        key: &str,
        except: &[String],
    ) -> Result<Option<ExternalEvent>, Failure> {
        const AT_ONCE: usize = 8;
        let now = self.client.now().await?;
        let mut query = queries::events(key).limit(AT_ONCE);
        loop {
            let docs = self.client.query(&query, None).await?;
            for doc in &docs {
                let id = doc.text("id")?;
                if doc.int::<i64>("ends")? > now.0 && !except.contains(&id) {
                    let payload = doc.clone().bytes("data")?;
                    return Ok(Some(ExternalEvent { key: key.to_owned(), id, payload }));
                }
            }
            let Some(last) = docs.last().filter(|_| docs.len() == AT_ONCE) else { return Ok(None) };
            query = queries::events(key).limit(AT_ONCE).behind(last.some_int("at"), &last.path);
        }
    }

    async fn try_note_wait(&self, wait: &EventWait, ttl: Duration) -> Result<(), Failure> {
        let (client, path) = (&self.client, paths::event_wait(wait));
        let ends = client.now().await?.plus(ttl);
        let known = client.one(&path).await?.and_then(|doc| doc.some_int("ends"));
        let ends = known.map_or(ends, |known| ends.max(Timestamp(known)));
        client.commit(vec![client.set(&path, wait_fields(wait, ends), Guard::Any)]).await.map(drop)
    }

    async fn sweep_some_events(&self, of: &'static str) -> Result<(u64, bool), Failure> {
        const AT_ONCE: usize = 300;
        let (client, over) = (&self.client, queries::over(of, self.client.now().await?));
        let docs = client.query(&over.limit(AT_ONCE), None).await?;
        if docs.is_empty() {
            return Ok((0, false));
        }
        let guard = |doc: &Doc| doc.updated.map_or(Guard::Any, Guard::Since);
        let gone = docs.iter().map(|doc| client.delete(&doc.path, guard(doc))).collect();
        let gone = client.each(gone).await?.into_iter().filter(|done| *done).count() as u64;
        Ok((gone, docs.len() == AT_ONCE))
    }
}

#[async_trait]
impl EventStore for FirestoreStore {
    async fn put_event(&self, event: ExternalEvent, ttl: Duration) -> Result<(), StoreError> {
        Ok(self.client.with_retry(|| self.try_put_event(&event, ttl)).await?)
    }

    async fn find_event(
        &self,
        key: &str,
        except: &[String],
    ) -> Result<Option<ExternalEvent>, StoreError> {
        Ok(self.client.with_retry(|| self.try_find_event(key, except)).await?)
    }

    async fn note_event_wait(&self, wait: EventWait, ttl: Duration) -> Result<(), StoreError> {
        Ok(self.client.with_retry(|| self.try_note_wait(&wait, ttl)).await?)
    }

    async fn event_waits(&self, key: &str) -> Result<Vec<EventWait>, StoreError> {
        let waits = queries::event_waits(key);
        let read = async || self.client.query(&waits, None).await?.iter().map(read_wait).collect();
        Ok(self.client.with_retry(read).await?)
    }

    async fn drop_event_wait(&self, wait: &EventWait) -> Result<(), StoreError> {
        let path = paths::event_wait(wait);
        let remove = async || self.client.commit(vec![self.client.delete(&path, Guard::Any)]).await;
        Ok(self.client.with_retry(remove).await.map(drop)?)
    }

    async fn sweep_events(&self) -> Result<u64, StoreError> {
        let mut swept = 0;
        for of in [paths::EVENTS, paths::EVENT_WAITS] {
            let mut more = true;
            while more {
                let (gone, rest) = self.client.with_retry(|| self.sweep_some_events(of)).await?;
                swept += gone;
                more = rest && gone > 0;
            }
        }
        Ok(swept)
    }
}

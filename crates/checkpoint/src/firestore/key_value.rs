//! The key-value store in the same database. The revision of an entry is when its document was
//! written. Firestore may delete by itself what has expired, a day later.

use async_trait::async_trait;
use bytes::Bytes;
use firestore::gcloud_sdk::prost_types::Timestamp as Moment;

use super::{
    FirestoreStore,
    client::Guard,
    error::Failure,
    fields::{Doc, Fields},
    paths, queries,
    row::{hex, token},
};
use verdict_graph::base::{
    Result, Timestamp,
    key_value::{Entry, Expect, Found, KeyValueStore, Write},
};

/// `by` tells the write whose answer was lost from another.
pub(super) fn entry_fields(data: Bytes, ends: Timestamp, by: &str) -> Fields {
    Fields::default().bytes("data", data).int("ends", ends.0).goes_after(ends).text("by", by)
}

fn revision(written: Moment) -> u128 {
    u128::from(written.seconds.cast_unsigned()) << 32 | u128::from(written.nanos.cast_unsigned())
}

fn moment(revision: u128) -> Moment {
    let (seconds, nanos) = ((revision >> 32) as u64, revision as u32);
    Moment { seconds: seconds.cast_signed(), nanos: nanos.cast_signed() }
}

fn guard(doc: Option<&Doc>) -> Guard {
    doc.and_then(|doc| doc.updated).map_or(Guard::New, Guard::Since)
}

impl FirestoreStore {
    async fn try_read(&self, path: &str) -> Result<Found, Failure> {
        let doc = self.client.one(path).await?;
        let now = self.client.now().await?;
        let Some(mut doc) = doc else { return Ok(Found { entry: None, now }) };
        let expires = Timestamp(doc.int("ends")?);
        let revision = doc.updated.map(revision).unwrap_or_default();
        let entry = Some(Entry { value: doc.bytes("data")?, expires, revision });
        Ok(Found { entry, now })
    }

    async fn try_write(&self, path: &str, write: &Write, by: &str) -> Result<bool, Failure> {
        let now = self.client.now().await?;
        let put = async |guard| {
            let fields = entry_fields(write.value.clone(), now.plus(write.ttl), by);
            self.client.commit(vec![self.client.set(path, fields, guard)]).await
        };
        let expected = match write.expect {
            Expect::Anything => Guard::Any,
            Expect::Nothing => Guard::New,
            Expect::Revision(revision) => Guard::Since(moment(revision)),
        };
        match put(expected).await {
            Err(Failure::Stale) => {}
            done => return done.map(|_| true),
        }
        let doc = self.client.one(path).await?;
        if let Some(doc) = &doc {
            if doc.some_text("by").as_deref() == Some(by) {
                // An earlier try was done, and its answer was lost.
                return Ok(true);
            }
            if doc.int::<i64>("ends")? > now.0 {
                return Ok(false);
            }
        }
        put(guard(doc.as_ref())).await.map(|_| true)
    }

    async fn sweep_some(&self) -> Result<(u64, bool), Failure> {
        const AT_ONCE: usize = 300;
        let expired = queries::over(paths::KEY_VALUES, self.client.now().await?);
        let docs = self.client.query(&expired.limit(AT_ONCE), None).await?;
        if docs.is_empty() {
            return Ok((0, false));
        }
        let deletes = docs.iter().map(|doc| self.client.delete(&doc.path, guard(Some(doc))));
        let done = self.client.each(deletes.collect()).await?;
        let gone = done.into_iter().filter(|done| *done).count() as u64;
        Ok((gone, docs.len() == AT_ONCE))
    }
}

#[async_trait]
impl KeyValueStore for FirestoreStore {
    async fn read(&self, space: &str, key: &str) -> Result<Found> {
        let path = paths::key_value(space, key);
        Ok(self.client.with_retry(|| self.try_read(&path)).await?)
    }

    async fn write(&self, write: Write) -> Result<bool> {
        let (path, by) = (paths::key_value(&write.space, &write.key), hex(token()));
        Ok(self.client.with_retry(|| self.try_write(&path, &write, &by)).await?)
    }

    async fn sweep(&self) -> Result<u64> {
        let (mut swept, mut more) = (0, true);
        while more {
            let (gone, rest) = self.client.with_retry(|| self.sweep_some()).await?;
            swept += gone;
            more = rest && gone > 0;
        }
        Ok(swept)
    }
}

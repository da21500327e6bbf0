//! The keyed side in the same database. Firestore may delete by itself what has ended, a day later.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use firestore::gcloud_sdk::google::firestore::v1::Write;

use super::{
    FirestoreStore,
    body::PART,
    client::Guard,
    error::Failure,
    fields::{Doc, Fields},
    paths, queries,
    row::{hex, token},
};
use verdict_graph::{
    base::{
        Result, Timestamp,
        keyed::{Budget, Keyed, Spent},
    },
    budget::{self, Bucket},
};

/// A value, or the part of one that did not fit. `by` tells which parts belong together.
pub(super) fn value_fields(data: Bytes, ends: Timestamp, by: &str, split: bool) -> Fields {
    let fields = Fields::default().bytes("data", data).int("ends", ends.0).goes_after(ends);
    fields.text("by", by).mark("split", split)
}

pub(super) fn bucket_fields(bucket: Bucket, by: &str) -> Fields {
    Fields::default()
        .real("units", bucket.units)
        .int("as_of", bucket.as_of.0)
        .int("ends", bucket.full_at.0)
        .goes_after(bucket.full_at)
        .text("by", by)
}

fn read_bucket(doc: &Doc) -> Result<Bucket, Failure> {
    let (units, as_of) = (doc.real("units")?, Timestamp(doc.int("as_of")?));
    Ok(Bucket { units, as_of, full_at: Timestamp(doc.int("ends")?) })
}

fn guard(doc: Option<&Doc>) -> Guard {
    doc.and_then(|doc| doc.updated).map_or(Guard::New, Guard::Since)
}

impl FirestoreStore {
    fn value_writes(
        &self,
        path: &str,
        value: &Bytes,
        ends: Timestamp,
        by: &str,
        guard: Guard,
    ) -> Vec<Write> {
        let (first, rest) = (value.slice(..value.len().min(PART)), value.get(PART..));
        let first = value_fields(first, ends, by, rest.is_some_and(|rest| !rest.is_empty()));
        let rest = rest.filter(|rest| !rest.is_empty()).map(|rest| {
            let rest = value_fields(Bytes::copy_from_slice(rest), ends, by, false);
            self.client.set(&paths::tail(path), rest, Guard::Any)
        });
        [self.client.set(path, first, guard)].into_iter().chain(rest).collect()
    }

    /// The whole value, if it lives.
    async fn living(&self, path: &str, doc: Option<&Doc>) -> Result<Option<Bytes>, Failure> {
        let Some(doc) = doc else { return Ok(None) };
        let now = self.client.now().await?;
        if doc.int::<i64>("ends")? <= now.0 {
            return Ok(None);
        }
        let first = doc.clone().bytes("data")?;
        if !doc.flag("split") {
            return Ok(Some(first));
        }
        // Written in one step, read in two: another value may have come in between.
        let tail = self.client.one(&paths::tail(path)).await?;
        let tail = tail.filter(|tail| tail.some_text("by") == doc.some_text("by"));
        let rest = tail.ok_or(Failure::Stale)?.bytes("data")?;
        Ok(Some([first, rest].concat().into()))
    }

    async fn try_get(&self, path: &str) -> Result<Option<Bytes>, Failure> {
        let doc = self.client.one(path).await?;
        self.living(path, doc.as_ref()).await
    }

    async fn try_put(
        &self,
        path: &str,
        value: &Bytes,
        life: Duration,
        by: &str,
    ) -> Result<(), Failure> {
        let ends = self.client.now().await?.plus(life);
        self.client.commit(self.value_writes(path, value, ends, by, Guard::Any)).await.map(drop)
    }

    async fn try_take(
        &self,
        path: &str,
        value: &Bytes,
        life: Duration,
        by: &str,
    ) -> Result<Option<Bytes>, Failure> {
        let doc = self.client.one(path).await?;
        if doc.as_ref().is_some_and(|doc| doc.some_text("by").as_deref() == Some(by)) {
            // An earlier try was done, and its answer was lost.
            return Ok(None);
        }
        if let Some(there) = self.living(path, doc.as_ref()).await? {
            return Ok(Some(there));
        }
        let ends = self.client.now().await?.plus(life);
        let writes = self.value_writes(path, value, ends, by, guard(doc.as_ref()));
        self.client.commit(writes).await.map(|_| None)
    }

    async fn try_spend(
        &self,
        path: &str,
        amount: f64,
        budget: Budget,
        by: &str,
    ) -> Result<Spent, Failure> {
        let doc = self.client.one(path).await?;
        if doc.as_ref().is_some_and(|doc| doc.some_text("by").as_deref() == Some(by)) {
            // An earlier try was done, and its answer was lost.
            return Ok(Spent::Granted);
        }
        let before = doc.as_ref().map(read_bucket).transpose()?;
        let now = self.client.now().await?;
        let (spent, after) = budget::spend(before, amount, budget, now);
        if let Some(after) = after {
            let write = self.client.set(path, bucket_fields(after, by), guard(doc.as_ref()));
            self.client.commit(vec![write]).await?;
        }
        Ok(spent)
    }

    async fn sweep_some(&self, collection: &'static str) -> Result<(u64, bool), Failure> {
        const AT_ONCE: usize = 300;
        let now = self.client.now().await?;
        let ended = self.client.query(&queries::over(collection, now).limit(AT_ONCE), None).await?;
        if ended.is_empty() {
            return Ok((0, false));
        }
        let deletes = ended.iter().map(|doc| self.client.delete(&doc.path, guard(Some(doc))));
        let done = self.client.each(deletes.collect()).await?;
        let whole = ended.iter().zip(done).filter(|(doc, done)| *done && !is_tail(doc));
        Ok((whole.count() as u64, ended.len() == AT_ONCE))
    }
}

fn is_tail(doc: &Doc) -> bool {
    doc.id().ends_with("-tail")
}

#[async_trait]
impl Keyed for FirestoreStore {
    async fn get(&self, space: &str, key: &str) -> Result<Option<Bytes>> {
        let path = paths::keyed(space, key);
        Ok(self.client.patiently(|| self.try_get(&path)).await?)
    }

    async fn put(&self, space: &str, key: &str, value: Bytes, life: Duration) -> Result<()> {
        budget::check_value(space, &value)?;
        let (path, by) = (paths::keyed(space, key), hex(token()));
        Ok(self.client.patiently(|| self.try_put(&path, &value, life, &by)).await?)
    }

    async fn claim(
        &self,
        space: &str,
        key: &str,
        value: Bytes,
        life: Duration,
    ) -> Result<Option<Bytes>> {
        budget::check_value(space, &value)?;
        let (path, by) = (paths::keyed(space, key), hex(token()));
        Ok(self.client.patiently(|| self.try_take(&path, &value, life, &by)).await?)
    }

    async fn spend(&self, space: &str, key: &str, amount: f64, budget: Budget) -> Result<Spent> {
        budget::check_amount(space, amount, budget)?;
        let (path, by) = (paths::bucket(space, key), hex(token()));
        Ok(self.client.patiently(|| self.try_spend(&path, amount, budget, &by)).await?)
    }

    async fn sweep(&self) -> Result<u64> {
        let mut swept = 0;
        for collection in ["keyed", "buckets"] {
            let mut more = true;
            while more {
                let (gone, rest) = self.client.patiently(|| self.sweep_some(collection)).await?;
                swept += gone;
                more = rest && gone > 0;
            }
        }
        Ok(swept)
    }
}

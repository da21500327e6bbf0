//! Deletion and retention.

use std::time::Duration;

use firestore::gcloud_sdk::google::firestore::v1::Write;
use futures_util::future::try_join_all;

use super::{
    FirestoreStore, body,
    client::Guard,
    error::{Failed, Failure, Tries},
    paths, queries,
    row::Row,
};
use crate::{
    checkpoint::rules,
    graph::store::{Head, RunId},
};

/// How many documents one commit may delete.
const AT_ONCE: usize = 20_000;
/// How many runs are deleted side by side.
const SIDE_BY_SIDE: usize = 8;

impl FirestoreStore {
    /// Deletes the run if, as it stands then, it is to go.
    pub(super) async fn delete_run(
        &self,
        run: &RunId,
        goes: impl Fn(&Head) -> bool,
    ) -> Result<bool, Failed> {
        let mut tries = self.client.tries();
        loop {
            match self.try_delete(run, &goes, &tries).await {
                Ok(gone) => return Ok(gone),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    async fn try_delete(
        &self,
        run: &RunId,
        goes: impl Fn(&Head) -> bool,
        tries: &Tries,
    ) -> Result<bool, Failure> {
        let path = paths::run(run);
        // A run that is not there any more may have gone by an earlier try.
        let Some(row) = self.row(run).await? else { return Ok(tries.in_doubt()) };
        if !goes(&row.head) {
            return Ok(false);
        }
        let collections = ["records", "asks", "parts"].map(|name| queries::below(&path, name));
        let found = try_join_all(collections.iter().map(|one| self.client.query(one, None)));
        let found = found.await?;
        let delete = |path: &str| self.client.delete(path, Guard::Any);
        let mut writes: Vec<Write> = found.iter().flatten().map(|doc| delete(&doc.path)).collect();
        while writes.len() >= AT_ONCE {
            // Far beyond any run: the head goes last, so that what is left can be deleted again.
            let rest = writes.split_off(writes.len() - AT_ONCE);
            self.client.commit(rest).await?;
        }
        writes.push(self.client.delete(&path, guard(&row)));
        self.client.commit(writes).await?;
        self.forget(run);
        Ok(true)
    }

    pub(super) async fn expire_runs(&self, age: Duration, limit: usize) -> Result<u64, Failed> {
        self.client.patiently(|| body::sweep(&self.client)).await?;
        self.client.patiently(|| self.expire_letters(age, limit)).await?;
        let picked = self.client.patiently(|| self.outlived(age, limit)).await?;
        let now = self.client.patiently(|| self.client.now()).await?;
        let still = |head: &Head| rules::outlived(head, now, age);
        let mut gone = 0;
        for runs in picked.chunks(SIDE_BY_SIDE) {
            let deleted = try_join_all(runs.iter().map(|run| self.delete_run(run, still))).await?;
            gone += deleted.into_iter().filter(|gone| *gone).count() as u64;
        }
        Ok(gone)
    }

    async fn expire_letters(&self, age: Duration, limit: usize) -> Result<(), Failure> {
        if limit == 0 {
            return Ok(());
        }
        let by = self.client.now().await?.minus(age);
        let old = self.client.query(&queries::settled(by).limit(limit), None).await?;
        let mut writes = Vec::new();
        for doc in &old {
            let guard = doc.updated.map_or(Guard::Any, Guard::Since);
            if doc.some_int::<usize>("parts").is_some() {
                let parts = self.client.query(&queries::below(&doc.path, "parts"), None).await?;
                let mut all = vec![self.client.delete(&doc.path, guard)];
                all.extend(parts.iter().map(|part| self.client.delete(&part.path, Guard::Any)));
                self.client.commit(all).await?;
            } else {
                writes.push(self.client.delete(&doc.path, guard));
            }
        }
        if writes.is_empty() { Ok(()) } else { self.client.each(writes).await.map(drop) }
    }
}

fn guard(row: &Row) -> Guard {
    row.updated.map_or(Guard::Any, Guard::Since)
}

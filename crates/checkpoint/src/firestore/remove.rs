//! Deletion and retention.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::try_join_all;

use super::{
    FirestoreStore,
    client::Guard,
    error::{Failed, Failure, Tries},
    leftovers, paths, queries,
    row::hex,
};
use verdict_graph::{
    rules,
    store::{Deleted, Head, RunId},
};

/// How many runs or letters are deleted side by side.
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

    /// Deletes the run if it has ended and nobody holds it.
    pub(super) async fn delete_ended_run(&self, run: &RunId) -> Result<Deleted, Failed> {
        let now = self.client.patiently(|| self.client.now()).await?;
        let spared = Mutex::new(None);
        let goes = |head: &Head| {
            let found = rules::spared(head, now);
            let goes = found.is_none();
            *spared.lock().unwrap_or_else(PoisonError::into_inner) = found;
            goes
        };
        if self.delete_run(run, goes).await? {
            return Ok(Deleted::Done);
        }
        let spared = spared.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(spared.unwrap_or(Deleted::Missing))
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
        let (client, life) = (&self.client, hex(row.born));
        let guard = row.updated.map_or(Guard::Any, Guard::Since);
        let left = leftovers::leave_run(client, run, &life, client.now().await?);
        client.commit(vec![client.delete(&path, guard), left]).await?;
        self.forget(run);
        leftovers::try_remove(client, &paths::leftover(&life)).await;
        Ok(true)
    }

    pub(super) async fn expire_runs(&self, age: Duration, limit: usize) -> Result<u64, Failed> {
        self.client.patiently(|| leftovers::sweep(&self.client)).await?;
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
        let (client, now) = (&self.client, self.client.now().await?);
        let old = client.query(&queries::settled(now.minus(age)).limit(limit), None).await?;
        let delete = async |doc| {
            let left = leftovers::leave_parts(client, doc, now);
            let guard = doc.updated.map_or(Guard::Any, Guard::Since);
            let (note, write) = left.unzip();
            let writes = [client.delete(&doc.path, guard)].into_iter().chain(write).collect();
            match client.commit(writes).await {
                // It has changed since, and is looked at next time.
                Err(Failure::Stale) => return Ok(()),
                done => done?,
            };
            if let Some(note) = note {
                leftovers::try_remove(client, &note).await;
            }
            Ok(())
        };
        for docs in old.chunks(SIDE_BY_SIDE) {
            try_join_all(docs.iter().map(delete)).await?;
        }
        Ok(())
    }
}

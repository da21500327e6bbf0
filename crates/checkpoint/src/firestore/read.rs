//! Reading heads and records.

use std::time::Duration;

use super::{
    FirestoreStore, body,
    error::Failure,
    fields::Doc,
    paths, queries,
    query::Query,
    row::{Row, hex},
};
use crate::pack::Pack;
use verdict_graph::{
    base::Timestamp,
    rules,
    store::{Head, RunFilter, RunId, RunStatus, StoredRecord, WaitingFor},
};

/// How many documents one request is asked for.
const PAGE: usize = 300;
/// And how many that may be large.
const LARGE: usize = 32;

impl FirestoreStore {
    pub(super) async fn read_run(
        &self,
        run: &RunId,
        after: u64,
    ) -> Result<Option<(Head, Vec<StoredRecord>)>, Failure> {
        let path = paths::run(run);
        let (docs, read) = self.client.get(std::slice::from_ref(&path), None).await?;
        let Some(doc) = docs.get(&path) else { return Ok(None) };
        let row = Row::read(doc)?;
        let (head, incarnation) = (row.head, hex(row.born));
        let mut records = Vec::new();
        let mut last = after;
        while last < head.version {
            // All of the same moment as the head.
            let query = queries::records(run, &incarnation, last).limit(LARGE);
            let packs = self.client.query(&query, read).await?;
            if packs.is_empty() {
                return Err(Failure::unreadable(&path, format!("no record {}", last + 1)));
            }
            for mut doc in packs {
                let bytes = body::read(&self.client, &mut doc, read).await?;
                last = unpack(&doc, bytes, last, &mut records)?;
            }
        }
        // Of one moment to the microsecond: a record that was written within it is not the head's yet.
        let known = head.version.saturating_sub(after);
        records.truncate(usize::try_from(known).unwrap_or(usize::MAX));
        Ok(Some((head, records)))
    }

    /// Reads on while `wants` says so; it is told each head.
    async fn pages(
        &self,
        query: Query,
        order: Option<&str>,
        mut wants: impl FnMut(Head) -> bool,
    ) -> Result<(), Failure> {
        let mut page = query.clone().limit(PAGE);
        loop {
            let docs = self.client.query(&page, None).await?;
            for doc in &docs {
                if !wants(Row::read(doc)?.head) {
                    return Ok(());
                }
            }
            match docs.last() {
                Some(last) if docs.len() == PAGE => {
                    let at = order.and_then(|name| last.some_int(name));
                    page = query.clone().limit(PAGE).behind(at, &last.path);
                }
                _ => return Ok(()),
            }
        }
    }

    pub(super) async fn list_runs(&self, filter: &RunFilter) -> Result<Vec<Head>, Failure> {
        let few = if let Some(subject) = &filter.subject {
            queries::about(&paths::hash_of(subject))
        } else if let Some(prefix) = filter.id_prefix.as_ref().filter(|prefix| !prefix.is_empty()) {
            if !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Ok(Vec::new());
            }
            queries::named(prefix)
        } else {
            return self.newest_runs(filter).await;
        };
        let (mut heads, now) = (Vec::new(), self.now_for(filter).await?);
        let keep = |head: Head| {
            heads.extend(rules::listed(&head, filter, now).then_some(head));
            true
        };
        self.pages(few, None, keep).await?;
        heads.sort_unstable_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        if filter.limit > 0 {
            heads.truncate(filter.limit);
        }
        Ok(heads)
    }

    /// The time, where the filter depends on it: it may take a read.
    async fn now_for(&self, filter: &RunFilter) -> Result<Timestamp, Failure> {
        if filter.waiting.is_empty() { Ok(Timestamp::default()) } else { self.client.now().await }
    }

    async fn newest_runs(&self, filter: &RunFilter) -> Result<Vec<Head>, Failure> {
        let kinds = &filter.waiting;
        let mut query = if kinds.is_empty() {
            queries::newest(&filter.statuses, filter.workflow.as_deref())
        } else if kinds.contains(&WaitingFor::Lease) {
            let unfinished = RunStatus::ALL.into_iter().filter(|status| !status.is_final());
            queries::newest(&Vec::from_iter(unfinished), filter.workflow.as_deref())
        } else {
            queries::waiting(kinds)
        };
        if let Some((at, id)) = &filter.after {
            query = query.behind(Some(at.0), &paths::run(id));
        }
        if kinds.is_empty() && filter.limit > 0 && filter.limit <= PAGE {
            let docs = self.client.query(&query.limit(filter.limit), None).await?;
            return docs.iter().map(|doc| Ok(Row::read(doc)?.head)).collect();
        }
        let (mut heads, now) = (Vec::new(), self.now_for(filter).await?);
        let keep = |head: Head| {
            heads.extend(rules::listed(&head, filter, now).then_some(head));
            filter.limit == 0 || heads.len() < filter.limit
        };
        self.pages(query, Some("created_at"), keep).await?;
        Ok(heads)
    }

    pub(super) async fn due_runs(
        &self,
        margin: Duration,
        limit: usize,
    ) -> Result<Vec<Head>, Failure> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let now = self.client.now().await?;
        let mut heads = Vec::new();
        // A run whose lease lives may be among them.
        let keep = |head: Head| {
            heads.extend(rules::due_since(&head, now, margin).map(|_| head));
            heads.len() < limit
        };
        self.pages(queries::due(now.minus(margin)), Some("due_at"), keep).await?;
        Ok(heads)
    }

    /// Runs that have outlived that age and whose letters are settled, those longest unchanged first.
    pub(super) async fn outlived(
        &self,
        age: Duration,
        limit: usize,
    ) -> Result<Vec<RunId>, Failure> {
        let now = self.client.now().await?;
        let mut picked = Vec::new();
        let mut place: Option<(Option<i64>, String)> = None;
        while picked.len() < limit {
            let mut query = queries::ended(now.minus(age)).limit(limit.min(PAGE));
            if let Some((at, path)) = place.take() {
                query = query.behind(at, &path);
            }
            let docs = self.client.query(&query, None).await?;
            let Some(last) = docs.last() else { break };
            place = Some((last.some_int("ended_at"), last.path.clone()));
            for doc in &docs {
                let run = Row::read(doc)?.head.id;
                let open = self.client.query(&queries::open_dead_letters(&run), None).await?;
                if open.is_empty() && picked.len() < limit {
                    picked.push(run);
                }
            }
        }
        Ok(picked)
    }
}

/// Adds the records of a pack behind number `after`; answers the number of its last.
fn unpack(
    doc: &Doc,
    bytes: bytes::Bytes,
    after: u64,
    records: &mut Vec<StoredRecord>,
) -> Result<u64, Failure> {
    let number = doc.id().rsplit('-').next().and_then(|number| number.parse().ok());
    let last: u64 = number.ok_or_else(|| Failure::unreadable(&doc.path, "its name"))?;
    let pack = Pack::decode(bytes);
    let pack = pack.ok_or_else(|| Failure::unreadable(&doc.path, "it holds no records"))?;
    let first = last + 1 - (pack.records.len() as u64).min(last);
    if first > after + 1 {
        return Err(Failure::unreadable(&doc.path, format!("no record {} before it", after + 1)));
    }
    let known = usize::try_from(after + 1 - first).unwrap_or(usize::MAX);
    records.extend(pack.records.into_iter().skip(known));
    Ok(last)
}

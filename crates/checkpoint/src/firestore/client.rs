//! Requests to one database: bounded in time, classified, counted.

use std::{
    collections::HashMap,
    future::Future,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use firestore::{
    FirestoreDb,
    gcloud_sdk::{
        google::firestore::v1::{
            BatchGetDocumentsRequest, BatchWriteRequest, CommitRequest, Document, DocumentMask,
            Precondition, RunQueryRequest, Write, batch_get_documents_request as get_request,
            batch_get_documents_response::Result as Got, precondition::ConditionType,
            run_query_request as query_request, write::Operation,
        },
        prost_types::Timestamp as Moment,
        tonic::{Code, Response, Status, Streaming},
    },
};

use super::{
    Options,
    error::{Failed, Failure, Tries},
    fields::{Doc, Fields},
    link::Link,
    queries::Query,
    time::ServerClock,
};
use verdict_graph::base::{Fault, Timestamp};

/// What a write relies on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Guard {
    /// Nothing.
    Any,
    /// That the document is not there.
    New,
    /// That it is.
    There,
    /// That it has not been written since.
    Since(Moment),
}

/// What requests came to, as Firestore bills them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Documents read; one for a document that is not there, and for a query without results.
    pub reads: u64,
    /// Documents written.
    pub writes: u64,
    /// Documents deleted.
    pub deletes: u64,
}

#[derive(Debug, Default)]
struct Counts {
    reads: AtomicU64,
    writes: AtomicU64,
    deletes: AtomicU64,
}

pub(super) struct Client {
    link: Link,
    /// `projects/P/databases/D`
    database: String,
    /// `projects/P/databases/D/documents/`
    prefix: String,
    /// `firestore://P/D`, for messages.
    place: String,
    timeout: Duration,
    clock: ServerClock,
    counts: Counts,
}

impl Client {
    pub(super) async fn connect(options: Options) -> Result<Self, Fault> {
        let Options { project, database, timeout, .. } = &options;
        let (place, timeout) = (format!("firestore://{project}/{database}"), *timeout);
        let database = format!("projects/{project}/databases/{database}");
        let link = Link::connect(&options, &place).await?;
        let prefix = format!("{database}/documents/");
        let clock = ServerClock::new(options.clock);
        Ok(Self { link, database, prefix, place, timeout, clock, counts: Counts::default() })
    }

    pub(super) fn usage(&self) -> Usage {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { reads, writes, deletes } = &self.counts;
        Usage { reads: read(reads), writes: read(writes), deletes: read(deletes) }
    }

    /// A new operation, which goes on trying for twice as long as a request may take.
    pub(super) fn tries(&self) -> Tries {
        Tries::new(self.timeout * 2)
    }

    /// Does what is as good twice as once, a read above all; tries again.
    pub(super) async fn patiently<T, F>(&self, mut does: impl FnMut() -> F) -> Result<T, Failed>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut tries = self.tries();
        loop {
            match does().await {
                Ok(done) => return Ok(done),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    /// The server's time.
    pub(super) async fn now(&self) -> Result<Timestamp, Failure> {
        if let Some(now) = self.clock.fresh() {
            return Ok(now);
        }
        self.one("clock/now").await?;
        self.clock.fresh().ok_or_else(|| Failure::Unknown(format!("{}: no time told", self.place)))
    }

    /// An answer, or the first part of one that comes in parts; and over which connection.
    async fn ask<T>(
        &self,
        request: impl AsyncFnOnce(FirestoreDb) -> Result<Response<T>, Status>,
    ) -> Result<(u64, T), Status> {
        let mut used = 0;
        let asked = async {
            let (number, db) = self.link.get().await?;
            used = number;
            request(db).await
        };
        let answer = tokio::time::timeout(self.timeout, asked).await;
        let answer = answer.unwrap_or_else(|_| Err(self.silent(used)))?;
        Ok((used, answer.into_inner()))
    }

    /// The next part.
    async fn next<T>(&self, used: u64, parts: &mut Streaming<T>) -> Result<Option<T>, Status> {
        let next = tokio::time::timeout(self.timeout, parts.message()).await;
        next.unwrap_or_else(|_| Err(self.silent(used)))
    }

    fn silent(&self, used: u64) -> Status {
        self.link.doubt(used);
        Status::new(Code::DeadlineExceeded, format!("no answer in {:?}", self.timeout))
    }

    fn count_reads(&self, documents: usize) {
        self.counts.reads.fetch_add(documents.max(1) as u64, Ordering::Relaxed);
    }

    pub(super) fn full(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    pub(super) async fn one(&self, path: &str) -> Result<Option<Doc>, Failure> {
        let (mut docs, _) = self.get(&[path.to_owned()], None).await?;
        Ok(docs.remove(path))
    }

    /// The documents that are there, by path, as of the moment told or of now; and that moment.
    pub(super) async fn get(
        &self,
        paths: &[String],
        at: Option<Moment>,
    ) -> Result<(HashMap<String, Doc>, Option<Moment>), Failure> {
        let request = BatchGetDocumentsRequest {
            database: self.database.clone(),
            documents: paths.iter().map(|path| self.full(path)).collect(),
            consistency_selector: at.map(get_request::ConsistencySelector::ReadTime),
            ..BatchGetDocumentsRequest::default()
        };
        let failed = |status| Failure::of_read(&self.place, &status);
        let ask = async |db: FirestoreDb| db.client().get().batch_get_documents(request).await;
        let (used, mut answers) = self.ask(ask).await.map_err(failed)?;
        let (mut docs, mut read) = (HashMap::with_capacity(paths.len()), None);
        while let Some(answer) = self.next(used, &mut answers).await.map_err(failed)? {
            read = answer.read_time.or(read);
            if let Some(Got::Found(document)) = answer.result {
                let doc = Doc::new(document, &self.prefix);
                docs.insert(doc.path.clone(), doc);
            }
        }
        self.count_reads(paths.len());
        if at.is_none() {
            self.clock.observe(read.as_ref());
        }
        Ok((docs, read))
    }

    /// What the query finds, as of the moment told or of now.
    pub(super) async fn query(
        &self,
        query: &Query,
        at: Option<Moment>,
    ) -> Result<Vec<Doc>, Failure> {
        let request = RunQueryRequest {
            parent: self.full(&query.parent).trim_end_matches('/').to_owned(),
            query_type: Some(query_request::QueryType::StructuredQuery(query.ask(&self.prefix))),
            consistency_selector: at.map(query_request::ConsistencySelector::ReadTime),
            ..RunQueryRequest::default()
        };
        let failed = |status| Failure::of_read(&self.place, &status);
        let ask = async |db: FirestoreDb| db.client().get().run_query(request).await;
        let (used, mut answers) = self.ask(ask).await.map_err(failed)?;
        let mut docs = Vec::new();
        while let Some(answer) = self.next(used, &mut answers).await.map_err(failed)? {
            if at.is_none() {
                self.clock.observe(answer.read_time.as_ref());
            }
            docs.extend(answer.document.map(|document| Doc::new(document, &self.prefix)));
        }
        self.count_reads(docs.len());
        Ok(docs)
    }

    fn count_writes(&self, all: usize, deletes: usize) {
        self.counts.deletes.fetch_add(deletes as u64, Ordering::Relaxed);
        self.counts.writes.fetch_add((all - deletes) as u64, Ordering::Relaxed);
    }

    /// Does all of it or nothing. Answers when each document was last changed.
    pub(super) async fn commit(&self, writes: Vec<Write>) -> Result<Vec<Option<Moment>>, Failure> {
        let done = self.send(writes).await;
        done.map_err(|status| Failure::of_commit(&self.place, &status))
    }

    /// Does what relies on a document being there. Answers whether it is. Done twice it must be as
    /// good as once. It takes the right to write even when there is nothing to write to.
    pub(super) async fn where_there(&self, write: Write) -> Result<bool, Failure> {
        match self.send(vec![write]).await {
            Ok(_) => Ok(true),
            Err(status) if status.code() == Code::NotFound => Ok(false),
            Err(status) => Err(Failure::of_commit(&self.place, &status)),
        }
    }

    async fn send(&self, writes: Vec<Write>) -> Result<Vec<Option<Moment>>, Status> {
        let (all, deletes) = (writes.len(), writes.iter().filter(|one| is_delete(one)).count());
        let database = self.database.clone();
        let request = CommitRequest { database, writes, ..CommitRequest::default() };
        let (_, answer) =
            self.ask(async |db: FirestoreDb| db.client().get().commit(request).await).await?;
        self.count_writes(all, deletes);
        self.clock.observe(answer.commit_time.as_ref());
        Ok(answer.write_results.into_iter().map(|result| result.update_time).collect())
    }

    /// Does each of it or not, whatever becomes of the others. Answers which were done.
    pub(super) async fn each(&self, writes: Vec<Write>) -> Result<Vec<bool>, Failure> {
        let (all, deletes) = (writes.len(), writes.iter().filter(|one| is_delete(one)).count());
        let database = self.database.clone();
        let request = BatchWriteRequest { database, writes, ..BatchWriteRequest::default() };
        let answer =
            self.ask(async |db: FirestoreDb| db.client().get().batch_write(request).await).await;
        let (_, answer) = answer.map_err(|status| Failure::of_commit(&self.place, &status))?;
        self.count_writes(all, deletes);
        Ok(answer.status.into_iter().map(|status| status.code == 0).collect())
    }

    /// Writes the whole document.
    pub(super) fn set(&self, path: &str, fields: Fields, guard: Guard) -> Write {
        let document = Document { name: self.full(path), fields: fields.0, ..Document::default() };
        write(Operation::Update(document), guard)
    }

    /// Writes these fields of a document and leaves the others.
    pub(super) fn patch(&self, path: &str, fields: Fields, guard: Guard) -> Write {
        let field_paths = fields.0.keys().cloned().collect();
        let update_mask = Some(DocumentMask { field_paths });
        Write { update_mask, ..self.set(path, fields, guard) }
    }

    pub(super) fn delete(&self, path: &str, guard: Guard) -> Write {
        write(Operation::Delete(self.full(path)), guard)
    }
}

fn is_delete(write: &Write) -> bool {
    matches!(write.operation, Some(Operation::Delete(_)))
}

fn write(operation: Operation, guard: Guard) -> Write {
    let condition = match guard {
        Guard::Any => None,
        Guard::New => Some(ConditionType::Exists(false)),
        Guard::There => Some(ConditionType::Exists(true)),
        Guard::Since(moment) => Some(ConditionType::UpdateTime(moment)),
    };
    let current_document =
        condition.map(|condition| Precondition { condition_type: Some(condition) });
    Write { operation: Some(operation), current_document, ..Write::default() }
}

//! A run's head and what the store keeps beside it: `runs/ID`.

use std::time::Duration;

use firestore::gcloud_sdk::prost_types::Timestamp as Moment;

use super::{
    error::Failure,
    fields::{Doc, Fields, brief},
    paths,
    queries::SHARDS,
};
use verdict_graph::{
    base::Timestamp,
    rules::{self, LastBatch},
    store::{Head, Holder, RunStatus, Waiting, WaitingFor},
};

/// What an operation is recognised by when its answer was lost.
pub(super) type Token = u128;

pub(super) fn token() -> Token {
    fastrand::u128(..)
}

pub(super) fn hex(token: Token) -> String {
    format!("{token:032x}")
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    pub head: Head,
    pub last: LastBatch,
    /// Who made it; names all that belongs to it.
    pub born: Token,
    /// Who claimed it last, and who stopped it.
    pub claimed: Option<Token>,
    pub stopped: Option<Token>,
    /// When the document was last written; none before it was.
    pub updated: Option<Moment>,
}

fn parse_token(doc: &Doc, name: &str) -> Option<Token> {
    doc.some_text(name).and_then(|text| Token::from_str_radix(&text, 16).ok())
}

impl Row {
    /// Where the records are of which `last` is the last.
    pub(super) fn pack(&self, last: u64) -> String {
        paths::pack(&self.head.id, &hex(self.born), last)
    }

    pub(super) fn ask(&self, interrupt: &str) -> String {
        paths::ask(&self.head.id, &hex(self.born), interrupt)
    }

    pub(super) fn new(head: Head, born: Token) -> Self {
        Self { head, last: None, born, claimed: None, stopped: None, updated: None }
    }

    pub(super) fn fields(&self) -> Fields {
        let head = &self.head;
        let lease = head.lease.as_ref();
        let superseded = head.status == RunStatus::Superseded;
        let ended =
            (head.status.is_final() && head.not_before.is_none()).then_some(head.updated_at);
        // Since when somebody may have to look after it, once no lease lives.
        let due_at = rules::due_since(head, Timestamp(i64::MAX), Duration::ZERO);
        let (batch, batch_version) = self.last.unzip();
        Fields::default()
            .text("status", head.status.as_str())
            .text("workflow", &head.workflow)
            .int("created_at", head.created_at.0)
            .some_text("about", head.subject.as_deref().map(paths::hash_of))
            .mark("live", !head.status.is_final())
            .some_int("rank", (!superseded).then_some(head.order))
            .int("shard", shard(head))
            .some_int("due_at", due_at.map(|at| at.0))
            .some_int("ended_at", ended.map(|at| at.0))
            .int("workflow_version", head.workflow_version)
            .int("format", head.format)
            .text("key", &head.key)
            .some_text("subject", head.subject.as_deref())
            .int("order", head.order)
            .int("version", head.version)
            .int("epoch", head.epoch)
            .some_text("owner", lease.map(|holder| &holder.owner))
            .some_int("expires", lease.map(|holder| holder.expires.0))
            .some_int("not_before", head.not_before.map(|at| at.0))
            .some_text("waiting", head.waiting.as_ref().map(|one| one.kind().as_str()))
            .some_text("waiting_text", head.waiting.as_ref().map(Waiting::to_text))
            .int("executions", head.executions)
            .int("lost_claims", head.lost_claims)
            .int("active", head.active.as_nanos())
            .some_text("error", head.error.as_deref().map(brief))
            .int("updated_at", head.updated_at.0)
            .some_text("batch", batch.map(hex))
            .some_int("batch_version", batch_version)
            .text("born", hex(self.born))
            .some_text("claimed", self.claimed.map(hex))
            .some_text("stopped", self.stopped.map(hex))
    }

    pub(super) fn read(doc: &Doc) -> Result<Self, Failure> {
        let time = |name: &str| doc.some_int(name).map(Timestamp);
        let lease = match (doc.some_text("owner"), time("expires")) {
            (Some(owner), Some(expires)) => Some(Holder { owner, expires }),
            _ => None,
        };
        let (status, not_before) = (doc.parse("status")?, time("not_before"));
        let head = Head {
            id: doc.id().parse().map_err(|why| Failure::unreadable(&doc.path, why))?,
            workflow: doc.text("workflow")?,
            workflow_version: doc.int("workflow_version")?,
            format: doc.int("format")?,
            key: doc.text("key")?,
            subject: doc.some_text("subject"),
            order: doc.int("order")?,
            status,
            version: doc.int("version")?,
            epoch: doc.int("epoch")?,
            lease,
            not_before,
            waiting: waiting(doc, status, not_before),
            executions: doc.int("executions")?,
            lost_claims: doc.some_int("lost_claims").unwrap_or_default(),
            active: Duration::from_nanos(doc.int("active")?),
            error: doc.some_text("error"),
            created_at: Timestamp(doc.int("created_at")?),
            updated_at: Timestamp(doc.int("updated_at")?),
        };
        Ok(Self {
            head,
            last: parse_token(doc, "batch").zip(doc.some_int("batch_version")),
            born: parse_token(doc, "born")
                .ok_or_else(|| Failure::unreadable(&doc.path, "the field `born`"))?,
            claimed: parse_token(doc, "claimed"),
            stopped: parse_token(doc, "stopped"),
            updated: doc.updated,
        })
    }
}

/// What a run waits for; of one that an older build parked, what follows from its time.
fn waiting(doc: &Doc, status: RunStatus, not_before: Option<Timestamp>) -> Option<Waiting> {
    let parked = match not_before {
        None => WaitingFor::Person,
        Some(_) => WaitingFor::Time,
    };
    let kind = match doc.some_text("waiting") {
        Some(word) => word.parse().ok(),
        None => (status == RunStatus::Parked).then_some(parked),
    };
    Some(Waiting::stored(kind?, doc.some_text("waiting_text").as_deref()))
}

fn shard(head: &Head) -> i64 {
    let digit = head.id.as_str().get(..1).and_then(|digit| i64::from_str_radix(digit, 16).ok());
    digit.unwrap_or_default() % SHARDS
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use bytes::Bytes;
    use firestore::gcloud_sdk::google::firestore::v1::Document;
    use verdict_graph::store::{NewRun, RunId, StoredRecord};

    use super::*;

    fn parked(not_before: Option<Timestamp>) -> Row {
        let new = NewRun {
            id: RunId::of("w", "k"),
            workflow: "w".to_owned(),
            workflow_version: 1,
            key: "k".to_owned(),
            subject: None,
            order: 0,
            not_before,
            records: Vec::new(),
            asks: Vec::new(),
            superseded: StoredRecord { meta: Bytes::new(), payload: None },
            claim: None,
        };
        let mut head = rules::born(&new, false, Timestamp(1)).0;
        head.status = RunStatus::Parked;
        head.waiting = Some(Waiting::Limit);
        Row::new(head, 7)
    }

    fn read(fields: HashMap<String, firestore::gcloud_sdk::google::firestore::v1::Value>) -> Head {
        let name = format!("p/runs/{}", RunId::of("w", "k"));
        let document = Document { name, fields, ..Document::default() };
        Row::read(&Doc::new(document, "p/")).unwrap().head
    }

    /// E7, E24: a document without what a run waits for, as builds before this one wrote it, reads.
    #[test]
    fn the_head_of_an_older_build_reads() {
        for (not_before, kind) in
            [(None, WaitingFor::Person), (Some(Timestamp(9)), WaitingFor::Time)]
        {
            let row = parked(not_before);
            assert_eq!(read(row.fields().0), row.head);
            let mut older = row.fields().0;
            older.retain(|name, _| !name.starts_with("waiting") && name != "lost_claims");
            let expected = Head { waiting: Some(Waiting::stored(kind, None)), ..row.head };
            assert_eq!(read(older), expected);
        }
    }
}

//! Appending: one commit of the head, the records as one document, interrupts and the letter. It
//! reads nothing while this store holds the run and nobody else writes to it.

use firestore::gcloud_sdk::google::firestore::v1::Write;

use super::{FirestoreStore, body::Body, client::Guard, error::Failure, resume, row::Row};
use crate::pack::Pack;
use verdict_graph::{
    rules,
    store::{Append, RunId, StoreError},
};

/// An append made ready: what depends on no head.
struct Ready {
    op: Append,
    records: Option<Body>,
    letter: Option<Body>,
}

impl Ready {
    fn new(op: Append) -> Self {
        let records = (!op.records.is_empty()).then(|| Pack::encode(&op.records, &[]));
        let letter = op.letter.as_ref().map(|letter| Body::beside_much(letter.payload.clone()));
        Self { records: records.map(Body::new), letter, op }
    }
}

impl FirestoreStore {
    pub(super) async fn append_batch(&self, op: Append) -> Result<u64, StoreError> {
        let mut ready = Ready::new(op);
        for body in ready.records.iter_mut().chain(&mut ready.letter) {
            body.stage(&self.client).await?;
        }
        let mut tries = self.client.tries();
        let mut known = self.held().get(&ready.op.lease.run).cloned();
        loop {
            let failure = match self.try_append(&ready, known.take()).await {
                Ok(answer) => {
                    // Unless this very append has taken them.
                    for body in ready.records.iter().chain(&ready.letter) {
                        body.give_up(&self.client).await;
                    }
                    return answer;
                }
                Err(failure) => failure,
            };
            self.forget(&ready.op.lease.run);
            tries.again(failure).await?;
        }
    }

    /// The run as it is known to be, if it takes this append; else as it is.
    async fn find(
        &self,
        op: &Append,
        known: Option<Row>,
    ) -> Result<Result<Row, StoreError>, Failure> {
        if let Some(row) = known
            && rules::settled(&row.head, row.last, op).is_none()
        {
            return Ok(Ok(row));
        }
        self.current(&op.lease.run).await
    }

    pub(super) async fn current(&self, run: &RunId) -> Result<Result<Row, StoreError>, Failure> {
        Ok(self.row(run).await?.ok_or_else(|| StoreError::Missing(run.clone())))
    }

    async fn try_append(
        &self,
        ready: &Ready,
        known: Option<Row>,
    ) -> Result<Result<u64, StoreError>, Failure> {
        let op = &ready.op;
        let mut row = match self.find(op, known).await? {
            Ok(row) => row,
            Err(missing) => return Ok(Err(missing)),
        };
        if let Some(answer) = rules::settled(&row.head, row.last, op) {
            return Ok(answer);
        }
        let now = self.client.now().await?;
        let version = rules::append(&mut row.head, op, now);
        row.last = Some((op.batch, version));
        let with = self.with_append(ready, &row).await?;
        self.save(&mut row, with).await?;
        self.remember(row);
        Ok(Ok(version))
    }

    /// What is written with the head.
    async fn with_append(&self, ready: &Ready, row: &Row) -> Result<Vec<Write>, Failure> {
        let (op, client) = (&ready.op, &self.client);
        let mut writes = Vec::new();
        if let Some(body) = &ready.records {
            writes.extend(self.pack_writes(row, body));
        }
        writes.extend(
            op.asks
                .iter()
                .map(|ask| client.set(&row.ask(ask), resume::ask_fields(None, ""), Guard::Any)),
        );
        if let (Some(letter), Some(body)) = (&op.letter, &ready.letter) {
            writes.extend(self.letter_writes(letter, body).await?);
        }
        Ok(writes)
    }

    /// Writes the records up to the run's version.
    pub(super) fn pack_writes(&self, row: &Row, body: &Body) -> Vec<Write> {
        let mut writes = body.writes(&self.client);
        writes.push(self.client.set(&row.pack(row.head.version), body.fields(), Guard::Any));
        writes
    }
}

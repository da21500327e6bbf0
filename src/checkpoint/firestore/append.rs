//! Appending: one commit of the head, the records as one document, interrupts and the letter. It
//! reads nothing while this store holds the run and nobody else writes to it.

use firestore::gcloud_sdk::google::firestore::v1::Write;

use super::{
    FirestoreStore, body::Bodies, client::Guard, error::Failure, fields::Fields, pack::Pack, paths,
    resume, row::Row,
};
use crate::{
    checkpoint::rules,
    graph::store::{Append, RunId, StoreError},
};

/// An append made ready: what depends on no head.
struct Ready {
    op: Append,
    bodies: Bodies,
    records: Option<Fields>,
    letter: Option<Fields>,
}

impl Ready {
    fn new(op: Append) -> Self {
        let mut bodies = Bodies::new();
        let records = (!op.records.is_empty())
            .then(|| bodies.add(&paths::run(&op.lease.run), Pack::encode(&op.records, &[])));
        let letter = op
            .letter
            .as_ref()
            .map(|letter| bodies.add(&paths::letter(&letter.id), letter.payload.to_vec()));
        Self { op, bodies, records, letter }
    }
}

impl FirestoreStore {
    pub(super) async fn append_batch(&self, op: Append) -> Result<u64, StoreError> {
        let mut ready = Ready::new(op);
        ready.bodies.stage(&self.client).await?;
        let mut tries = self.client.tries();
        let mut known = self.held().get(&ready.op.lease.run).cloned();
        loop {
            let failure = match self.try_append(&ready, known.take()).await {
                Ok(answer) => {
                    // Unless this very append has taken them.
                    ready.bodies.give_up(&self.client).await;
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
        let with = self.with_append(ready, version).await?;
        self.save(&mut row, with).await?;
        self.remember(row);
        Ok(Ok(version))
    }

    /// What is written with the head.
    async fn with_append(&self, ready: &Ready, version: u64) -> Result<Vec<Write>, Failure> {
        let (op, client) = (&ready.op, &self.client);
        let run = &op.lease.run;
        let mut writes = ready.bodies.writes(client);
        writes.extend(
            ready
                .records
                .iter()
                .map(|fields| client.set(&paths::pack(run, version), fields.clone(), Guard::Any)),
        );
        writes.extend(op.asks.iter().map(|ask| {
            client.set(&paths::ask(run, ask), resume::ask_fields(None, ""), Guard::Any)
        }));
        if let (Some(letter), Some(body)) = (&op.letter, &ready.letter) {
            writes.push(self.letter_write(letter, body).await?);
        }
        Ok(writes)
    }
}

//! What is written without a lease: answers to interrupts, and cancellations.

use bytes::Bytes;

use super::rows;
use crate::db::{DbError, Lane, Tx};
use verdict_graph::{
    rules,
    store::{Cancelled, Resumed, RunId, RunStatus, StoreError, StoredRecord},
};

pub(super) struct Answer {
    pub run: RunId,
    pub interrupt: String,
    pub value: Bytes,
    pub record: StoredRecord,
}

pub(super) struct Answers;

impl Lane for Answers {
    type Op = Answer;
    type Answer = Result<Resumed, StoreError>;

    async fn run(tx: &mut Tx<'_>, ops: &[Answer]) -> Result<Vec<Self::Answer>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for op in ops {
            answers.push(resume(tx, op).await?.ok_or_else(|| StoreError::Missing(op.run.clone())));
        }
        Ok(answers)
    }
}

async fn resume(tx: &mut Tx<'_>, op: &Answer) -> Result<Option<Resumed>, DbError> {
    let Some(mut row) = rows::find_one(tx, &op.run).await? else { return Ok(None) };
    let ask =
        sqlx::query_scalar::<_, Option<Vec<u8>>>("SELECT answer FROM ask WHERE run = ? AND id = ?");
    let ask = ask.bind(row.n).bind(&op.interrupt[..]).fetch_optional(tx.conn()).await?;
    if let Some(refused) = rules::refuse_answer(&row.head, ask.map(|a| a.map(Bytes::from))) {
        return Ok(Some(refused));
    }
    let mut records = Vec::new();
    rows::put(&mut records, row.n, row.head.version, [&op.record]);
    rows::insert(tx, &records).await?;
    rows::ask(tx, &[(row.n, &op.interrupt, Some(&op.value))]).await?;
    let number = rules::resume(&mut row.head, tx.now());
    rows::save(tx, &[row]).await?;
    Ok(Some(Resumed::Accepted(number)))
}

pub(super) struct Cancels;

impl Lane for Cancels {
    type Op = (RunId, StoredRecord);
    type Answer = Cancelled;

    async fn run(tx: &mut Tx<'_>, ops: &[Self::Op]) -> Result<Vec<Cancelled>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for (run, record) in ops {
            answers.push(cancel(tx, run, record).await?);
        }
        Ok(answers)
    }
}

async fn cancel(tx: &mut Tx<'_>, run: &RunId, record: &StoredRecord) -> Result<Cancelled, DbError> {
    let Some(mut row) = rows::find_one(tx, run).await? else { return Ok(Cancelled::Missing) };
    if row.head.status.is_final() {
        return Ok(Cancelled::Final(row.head.status));
    }
    let mut records = Vec::new();
    rows::put(&mut records, row.n, row.head.version, [record]);
    rows::insert(tx, &records).await?;
    rules::stop(&mut row.head, RunStatus::Cancelled, tx.now());
    rows::save(tx, &[row]).await?;
    Ok(Cancelled::Done)
}

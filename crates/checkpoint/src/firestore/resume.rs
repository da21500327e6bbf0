//! What is written without a lease: answers to interrupts, and cancellations.

use bytes::Bytes;

use super::{
    FirestoreStore, body,
    body::Body,
    client::Guard,
    error::Failure,
    fields::{Doc, Fields},
    row::{Row, Token, hex, token},
};
use crate::pack::Pack;
use verdict_graph::{
    rules,
    store::{Cancelled, Resumed, RunId, RunStatus, StoreError, StoredRecord},
};

/// An interrupt; with an answer, the number of the pack and the place in it where the answer is.
pub(super) fn ask_fields(answer: Option<(u64, usize)>, by: &str) -> Fields {
    let (pack, item) = answer.unzip();
    let by = (!by.is_empty()).then_some(by);
    Fields::default()
        .some_int("pack", pack)
        .some_int("item", item.map(|item| item as u64))
        .some_text("by", by)
}

/// What is written from outside, made ready.
struct Ready {
    token: Token,
    body: Body,
}

impl Ready {
    fn new(record: &StoredRecord, answers: &[&[u8]]) -> Self {
        let body = Body::new(Pack::encode(std::slice::from_ref(record), answers));
        Self { token: token(), body }
    }
}

impl FirestoreStore {
    pub(super) async fn answer(
        &self,
        run: &RunId,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
    ) -> Result<Resumed, StoreError> {
        let mut ready = Ready::new(&record, &[&value]);
        ready.body.stage(&self.client).await?;
        let mut tries = self.client.tries();
        loop {
            match self.try_answer(run, interrupt, &ready).await {
                Ok(answer) => {
                    // Unless this very answer has taken them.
                    ready.body.give_up(&self.client).await;
                    return answer.ok_or_else(|| StoreError::Missing(run.clone()));
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    async fn try_answer(
        &self,
        run: &RunId,
        interrupt: &str,
        ready: &Ready,
    ) -> Result<Option<Resumed>, Failure> {
        let Some(mut row) = self.row(run).await? else { return Ok(None) };
        // The head first: no answer comes in without changing it.
        let path = row.ask(interrupt);
        let ask = self.client.one(&path).await?;
        if let Some(ask) = ask.as_ref().filter(|ask| ask.some_text("by") == Some(hex(ready.token)))
        {
            // An earlier try was done, and its answer was lost.
            return Ok(Some(Resumed::Accepted(ask.int("pack")?)));
        }
        let given = match ask {
            None => None,
            Some(ask) => Some(self.given(&row, &ask).await?),
        };
        if let Some(refused) = rules::refuse_answer(&row.head, given) {
            return Ok(Some(refused));
        }
        let number = rules::resume(&mut row.head, self.client.now().await?);
        let mut with = self.pack_writes(&row, &ready.body);
        let answered = ask_fields(Some((number, 0)), &hex(ready.token));
        with.push(self.client.set(&path, answered, Guard::Any));
        self.save(&mut row, with).await?;
        Ok(Some(Resumed::Accepted(number)))
    }

    /// The answer an interrupt has.
    async fn given(&self, row: &Row, ask: &Doc) -> Result<Option<Bytes>, Failure> {
        let Some(number) = ask.some_int("pack") else { return Ok(None) };
        let item: usize = ask.int("item")?;
        let path = row.pack(number);
        // Gone when the run was deleted meanwhile.
        let mut doc = self.client.one(&path).await?.ok_or(Failure::Stale)?;
        let bytes = body::read(&self.client, &mut doc, None).await?;
        let answer = Pack::decode(bytes).and_then(|pack| pack.answers.into_iter().nth(item));
        answer.map(Some).ok_or_else(|| Failure::unreadable(&path, "no answer in it"))
    }

    pub(super) async fn cancel_run(
        &self,
        run: &RunId,
        record: StoredRecord,
    ) -> Result<Cancelled, StoreError> {
        let mut ready = Ready::new(&record, &[]);
        ready.body.stage(&self.client).await?;
        let mut tries = self.client.tries();
        loop {
            match self.try_cancel(run, &ready).await {
                Ok(cancelled) => {
                    // Unless this very cancellation has taken them.
                    ready.body.give_up(&self.client).await;
                    return Ok(cancelled);
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    async fn try_cancel(&self, run: &RunId, ready: &Ready) -> Result<Cancelled, Failure> {
        let Some(mut row) = self.row(run).await? else { return Ok(Cancelled::Missing) };
        if row.stopped == Some(ready.token) {
            // An earlier try was done, and its answer was lost.
            return Ok(Cancelled::Done);
        }
        if row.head.status.is_final() {
            return Ok(Cancelled::Final(row.head.status));
        }
        rules::stop(&mut row.head, RunStatus::Cancelled, self.client.now().await?);
        row.stopped = Some(ready.token);
        let with = self.pack_writes(&row, &ready.body);
        self.save(&mut row, with).await?;
        self.forget(run);
        Ok(Cancelled::Done)
    }
}

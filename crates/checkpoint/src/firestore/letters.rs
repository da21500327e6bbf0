//! Dead letters.

use bytes::Bytes;
use firestore::gcloud_sdk::google::firestore::v1::Write;

use super::{
    FirestoreStore, body,
    body::Body,
    client::Guard,
    error::{Failed, Failure},
    fields::{Doc, Fields, brief},
    paths, queries,
};
use verdict_graph::{
    base::Timestamp,
    rules,
    store::{Letter, LetterFilter, LetterState},
};

/// All but the payload.
pub(super) const BARE: &[&str] = &[
    "id",
    "reason",
    "state",
    "confirmed",
    "run",
    "workflow",
    "node",
    "error",
    "executions",
    "first_at",
    "last_at",
    "headers",
    "token",
    "parts",
];

/// What changes after a letter was first recorded.
fn changing(letter: &Letter) -> Fields {
    Fields::default()
        .text("state", letter.state.as_str())
        .flag("confirmed", letter.confirmed)
        .text("error", brief(&letter.error))
        .int("executions", letter.executions)
        .int("last_at", letter.last_at.0)
}

pub(super) fn fields(letter: &Letter) -> Fields {
    changing(letter)
        .text("id", &letter.id)
        .text("reason", letter.reason.as_str())
        .some_text("run", letter.run.as_ref().map(|run| run.as_str()))
        .some_text("workflow", letter.workflow.as_deref())
        .some_text("node", letter.node.as_deref())
        .int("first_at", letter.first_at.0)
        .bytes("headers", serde_json::to_vec(&letter.headers).unwrap_or_default())
}

fn parse(doc: &mut Doc) -> Result<Letter, Failure> {
    let headers = doc.bytes("headers")?;
    let headers = serde_json::from_slice(&headers);
    Ok(Letter {
        id: doc.text("id")?,
        reason: doc.parse("reason")?,
        state: doc.parse("state")?,
        run: doc.some_text("run").map(|_| doc.parse("run")).transpose()?,
        workflow: doc.some_text("workflow"),
        node: doc.some_text("node"),
        error: doc.text("error")?,
        executions: doc.int("executions")?,
        first_at: Timestamp(doc.int("first_at")?),
        last_at: Timestamp(doc.int("last_at")?),
        headers: headers.map_err(|why| Failure::unreadable(&doc.path, why))?,
        payload: Bytes::new(),
        confirmed: doc.flag("confirmed"),
    })
}

impl FirestoreStore {
    /// The writes that record a letter, with its payload, or that it came again.
    pub(super) async fn letter_writes(
        &self,
        letter: &Letter,
        payload: &Body,
    ) -> Result<Vec<Write>, Failure> {
        let path = paths::letter(&letter.id);
        let Some(mut doc) = self.client.one(&path).await? else {
            let mut all = fields(letter);
            all.0.extend(payload.fields().0);
            let mut writes = payload.writes(&self.client);
            writes.push(self.client.set(&path, all, Guard::New));
            return Ok(writes);
        };
        let mut known = parse(&mut doc)?;
        rules::again(&mut known, letter);
        Ok(vec![self.change(&path, &doc, &known)])
    }

    fn change(&self, path: &str, doc: &Doc, letter: &Letter) -> Write {
        self.client.patch(path, changing(letter), doc.updated.map_or(Guard::There, Guard::Since))
    }

    pub(super) async fn record_letter(&self, letter: Letter) -> Result<(), Failed> {
        let mut payload = Body::beside_much(letter.payload.clone());
        payload.stage(&self.client).await?;
        let record = async || {
            let writes = self.letter_writes(&letter, &payload).await?;
            self.client.commit(writes).await
        };
        let mut retries = self.client.retry_budget();
        while let Err(failure) = record().await {
            retries.again(failure).await?;
        }
        // Unless the letter has taken them.
        payload.give_up(&self.client).await;
        Ok(())
    }

    pub(super) async fn read_letter(&self, id: &str) -> Result<Option<Letter>, Failure> {
        let path = paths::letter(id);
        let (mut docs, read) = self.client.get(std::slice::from_ref(&path), None).await?;
        let Some(mut doc) = docs.remove(&path) else { return Ok(None) };
        let letter = parse(&mut doc)?;
        let payload = body::read(&self.client, &mut doc, read).await?;
        Ok(Some(Letter { payload, ..letter }))
    }

    pub(super) async fn list_letters(&self, filter: &LetterFilter) -> Result<Vec<Letter>, Failure> {
        let query = queries::letters(filter.state.map(LetterState::as_str), filter.confirmed);
        let mut docs = self.client.query(&query.limit(filter.limit), None).await?;
        docs.iter_mut().map(parse).collect()
    }

    /// One write, whatever is there: who asks about a letter that is not learns whether this process
    /// may write.
    pub(super) async fn confirm(&self, id: &str) -> Result<bool, Failed> {
        let path = paths::letter(id);
        let confirm = || {
            let fields = Fields::default().flag("confirmed", true);
            self.client.where_there(self.client.patch(&path, fields, Guard::There))
        };
        self.client.with_retry(confirm).await
    }

    pub(super) async fn settle(
        &self,
        id: &str,
        state: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Option<(LetterState, bool)>, Failed> {
        let change = |letter: &mut Letter| {
            let settles = rules::settles(letter, state, last_at);
            if settles {
                letter.state = state;
            }
            settles
        };
        Ok(self.modify(id, change).await?.map(|(letter, settled)| (letter.state, settled)))
    }

    /// Changes a letter as `change` says, which answers whether it did. A try that was done without
    /// an answer counts as a change.
    async fn modify(
        &self,
        id: &str,
        change: impl Fn(&mut Letter) -> bool,
    ) -> Result<Option<(Letter, bool)>, Failed> {
        let path = paths::letter(id);
        let (mut retries, mut wrote) = (self.client.retry_budget(), None);
        loop {
            let failure = match self.try_modify(&path, &change, &mut wrote).await {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            if !matches!(failure, Failure::Unknown(_)) {
                wrote = None;
            }
            retries.again(failure).await?;
        }
    }

    async fn try_modify(
        &self,
        path: &str,
        change: impl Fn(&mut Letter) -> bool,
        wrote: &mut Option<Letter>,
    ) -> Result<Option<(Letter, bool)>, Failure> {
        let Some(mut doc) = self.client.one(path).await? else { return Ok(None) };
        let mut letter = parse(&mut doc)?;
        if wrote.as_ref() == Some(&letter) {
            return Ok(Some((letter, true)));
        }
        if !change(&mut letter) {
            return Ok(Some((letter, false)));
        }
        *wrote = Some(letter.clone());
        self.client.commit(vec![self.change(path, &doc, &letter)]).await?;
        Ok(Some((letter, true)))
    }
}

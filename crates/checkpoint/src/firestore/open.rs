//! Opening. Runs without a subject are made by one commit. Of those about one subject, every opening
//! that changes something also writes the subject's document, so that of two at once one loses and
//! looks again.

use firestore::gcloud_sdk::google::firestore::v1::Write;

use super::{
    FirestoreStore,
    body::Body,
    client::Guard,
    error::Failure,
    fields::{Doc, Fields},
    paths, queries, resume,
    row::{Row, Token, hex, token},
};
use crate::pack::Pack;
use verdict_graph::{
    base::Timestamp,
    rules,
    store::{NewRun, Opened, RunId, RunStatus, StoreError},
};

/// The document is needed only while openings run.
pub(super) fn subject_fields(turn: &str, now: Timestamp) -> Fields {
    Fields::default().text("turn", turn).goes_after(now)
}

/// An opening made ready: what depends on nothing stored.
struct Ready {
    new: NewRun,
    token: Token,
    subject: Option<String>,
    records: Option<Body>,
}

impl Ready {
    fn new(new: NewRun) -> Self {
        let answers: Vec<&[u8]> = new.asks.iter().filter_map(|ask| ask.1.as_deref()).collect();
        let packed = !(new.records.is_empty() && answers.is_empty());
        let records = packed.then(|| Body::new(Pack::encode(&new.records, &answers)));
        let subject = new.subject.as_deref().map(paths::hash_of);
        Self { token: token(), subject, records, new }
    }
}

/// What is stored that an opening depends on.
struct Found {
    row: Option<Row>,
    turn: Option<Doc>,
    late: bool,
    unfinished: Vec<Row>,
}

impl FirestoreStore {
    pub(super) async fn open_run(&self, new: NewRun) -> Result<Opened, StoreError> {
        let mut ready = Ready::new(new);
        if let Some(body) = &mut ready.records {
            body.stage(&self.client).await?;
        }
        let mut tries = self.client.tries();
        let mut tried = None;
        loop {
            match self.try_open(&ready, &mut tried).await {
                Ok(opened) => {
                    // Unless this very opening has taken them.
                    if let Some(body) = &ready.records {
                        body.give_up(&self.client).await;
                    }
                    return Ok(opened);
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    async fn try_open(&self, ready: &Ready, tried: &mut Option<Opened>) -> Result<Opened, Failure> {
        let found = self.look(ready).await?;
        if let Some(opened) = tried.take().filter(|_| was_done(ready, &found)) {
            return Ok(opened);
        }
        let now = self.client.now().await?;
        let mut lease = None;
        let created = found.row.is_none();
        let (mut row, changed) = match found.row {
            Some(mut row) => {
                let raised = rules::found(&mut row.head, ready.new.order, now);
                (row, raised)
            }
            None => {
                let (head, taken) = rules::born(&ready.new, found.late, now);
                lease = taken;
                let claimed = lease.is_some().then_some(ready.token);
                (Row { claimed, ..Row::new(head, ready.token) }, true)
            }
        };
        let order = row.head.order;
        let mut stopped = found.unfinished;
        stopped.retain(|other| rules::is_superseded_by(&other.head, order));
        let superseded: Vec<RunId> = stopped.iter().map(|other| other.head.id.clone()).collect();
        let opened = Opened { head: row.head.clone(), created, lease, superseded };
        if !changed && stopped.is_empty() {
            return Ok(opened);
        }
        let mut with = if created { self.with_birth(ready, &row) } else { Vec::new() };
        with.extend(self.turn(ready, found.turn.as_ref(), now));
        with.extend(stopped.into_iter().flat_map(|other| self.supersede(ready, other, now)));
        *tried = Some(opened.clone());
        self.save(&mut row, with).await?;
        self.remembered(&opened, row);
        Ok(opened)
    }

    fn remembered(&self, opened: &Opened, row: Row) {
        opened.superseded.iter().for_each(|run| self.forget(run));
        if opened.lease.is_some() {
            self.remember(row);
        }
    }

    async fn look(&self, ready: &Ready) -> Result<Found, Failure> {
        let path = paths::run(&ready.new.id);
        let Some(subject) = &ready.subject else {
            let row = self.row(&ready.new.id).await?;
            return Ok(Found { row, turn: None, late: false, unfinished: Vec::new() });
        };
        let turn = paths::subject(subject);
        // First the turn, then what it guards: an opening in between is noticed.
        let (mut docs, _) = self.client.get(&[path.clone(), turn.clone()], None).await?;
        let row = docs.get(&path).map(Row::read).transpose()?;
        let unfinished = queries::unfinished(subject);
        let higher = queries::higher(subject, ready.new.order).limit(1);
        let (unfinished, higher) =
            futures_util::try_join!(self.client.query(&unfinished, None), async {
                // A run that is there is not born.
                if row.is_some() { Ok(Vec::new()) } else { self.client.query(&higher, None).await }
            })?;
        let mut unfinished: Vec<Row> =
            unfinished.iter().map(Row::read).collect::<Result<_, _>>()?;
        unfinished.retain(|other| other.head.id != ready.new.id);
        Ok(Found { row, turn: docs.remove(&turn), late: !higher.is_empty(), unfinished })
    }

    /// The new run's records and interrupts.
    fn with_birth(&self, ready: &Ready, row: &Row) -> Vec<Write> {
        let (new, client) = (&ready.new, &self.client);
        let number = row.head.version;
        let writes = ready.records.as_ref().map(|body| self.pack_writes(row, body));
        let mut writes = writes.unwrap_or_default();
        let mut answers = 0..;
        writes.extend(new.asks.iter().map(|(ask, answer)| {
            let answer = answer.as_ref().and_then(|_| answers.next());
            let fields = resume::ask_fields(answer.map(|item| (number, item)), "");
            client.set(&row.ask(ask), fields, Guard::Any)
        }));
        writes
    }

    fn turn(&self, ready: &Ready, turn: Option<&Doc>, now: Timestamp) -> Option<Write> {
        let subject = ready.subject.as_ref()?;
        let guard = turn.and_then(|doc| doc.updated).map_or(Guard::New, Guard::Since);
        let fields = subject_fields(&hex(ready.token), now);
        Some(self.client.set(&paths::subject(subject), fields, guard))
    }

    fn supersede(&self, ready: &Ready, mut other: Row, now: Timestamp) -> Vec<Write> {
        rules::stop(&mut other.head, RunStatus::Superseded, now);
        other.stopped = Some(ready.token);
        let record = std::slice::from_ref(&ready.new.superseded);
        let mut writes = self.pack_writes(&other, &Body::new(Pack::encode(record, &[])));
        writes.push(self.head_write(&other));
        writes
    }
}

/// Whether an earlier try was done although its answer was lost.
fn was_done(ready: &Ready, found: &Found) -> bool {
    let born = found.row.as_ref().is_some_and(|row| row.born == ready.token);
    let turn = found.turn.as_ref().and_then(|doc| doc.some_text("turn"));
    born || turn == Some(hex(ready.token))
}

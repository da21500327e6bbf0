//! Documents that nothing refers to, or soon will not: parts written ahead of their commit, what
//! belonged to a deleted run, the parts of a deleted letter.
//!
//! Firestore bounds what one commit may take away by its size, so a deletion takes away what is
//! looked at first, in one step with a note of what is left. The rest goes after it. A note that
//! stays, because somebody died over it, is found by [`sweep`].

use std::time::Duration;

use firestore::gcloud_sdk::{google::firestore::v1::Write, prost_types::Timestamp as Moment};

use super::{
    client::{Client, Guard},
    error::Failure,
    fields::{Doc, Fields},
    paths, queries,
};
use verdict_graph::{base::Timestamp, store::RunId};

/// When parts that nothing has come to refer to may go.
const STALE: Duration = Duration::from_secs(86_400);
/// How many documents one request may delete.
const AT_ONCE: usize = 300;

/// The note of a value's parts. It is over once nobody can be about to refer to them.
pub(super) fn parts_fields(parts: usize, ends: Timestamp, over: bool) -> Fields {
    Fields::default().int("parts", parts as u64).int("ends", ends.0).mark("over", over)
}

/// The note of what belonged to a run.
pub(super) fn run_fields(run: &RunId, ends: Timestamp) -> Fields {
    Fields::default().text("run", run.as_str()).int("ends", ends.0).mark("over", true)
}

/// Says that parts are about to be written. Answers the moment that whoever takes the note away
/// has to name.
pub(super) async fn announce(
    client: &Client,
    token: &str,
    parts: usize,
) -> Result<Moment, Failure> {
    let fields = parts_fields(parts, client.now().await?.plus(STALE), false);
    let note = client.set(&paths::leftover(token), fields, Guard::Any);
    let written = client.commit(vec![note]).await?.into_iter().next().flatten();
    written.ok_or_else(|| Failure::Unknown("Firestore told no time of a write".to_owned()))
}

/// The write with which a letter's parts are left over.
pub(super) fn leave_parts(client: &Client, doc: &Doc, now: Timestamp) -> Option<(String, Write)> {
    let (token, parts) = (doc.some_text("token")?, doc.some_int("parts")?);
    let note = paths::leftover(&token);
    let write = client.set(&note, parts_fields(parts, now, true), Guard::Any);
    Some((note, write))
}

/// The write with which all that belongs to a run is left over.
pub(super) fn leave_run(client: &Client, run: &RunId, incarnation: &str, now: Timestamp) -> Write {
    client.set(&paths::leftover(incarnation), run_fields(run, now), Guard::Any)
}

/// Removes what the note speaks of, if it can be done now.
pub(super) async fn try_remove(client: &Client, note: &str) {
    let remove = async {
        match client.one(note).await? {
            Some(doc) => remove(client, &doc).await,
            None => Ok(()),
        }
    };
    if let Err(why) = remove.await {
        tracing::debug!(error = %why, note, "what is left over in Firestore stays for a while");
    }
}

/// Removes what the note speaks of, and then the note.
async fn remove(client: &Client, note: &Doc) -> Result<(), Failure> {
    if !note.flag("over") {
        // From here on no commit can come to refer to the parts.
        let guard = note.updated.map_or(Guard::There, Guard::Since);
        let over = client.patch(&note.path, Fields::default().mark("over", true), guard);
        match client.commit(vec![over]).await {
            Err(Failure::Stale) => return Ok(()),
            done => done?,
        };
    }
    let mut gone = parts_of(client, note.id(), note.some_int("parts"));
    if note.some_text("run").is_some() {
        gone.extend(run_deletes(client, &note.parse("run")?, note.id()).await?);
    }
    for gone in gone.chunks(AT_ONCE) {
        if !client.each(gone.to_vec()).await?.into_iter().all(|done| done) {
            return Err(Failure::Unknown("Firestore deleted only some documents".to_owned()));
        }
    }
    client.commit(vec![client.delete(&note.path, Guard::Any)]).await.map(drop)
}

fn parts_of(client: &Client, token: &str, parts: Option<usize>) -> Vec<Write> {
    let parts = 0..parts.unwrap_or_default();
    parts.map(|n| client.delete(&paths::part(token, n), Guard::Any)).collect()
}

async fn run_deletes(
    client: &Client,
    run: &RunId,
    incarnation: &str,
) -> Result<Vec<Write>, Failure> {
    let (packs, asks) = (queries::packs(run, incarnation), queries::asks(run, incarnation));
    let (packs, asks) =
        futures_util::try_join!(client.query(&packs, None), client.query(&asks, None))?;
    let mut gone = Vec::new();
    for pack in &packs {
        if let Some(token) = pack.some_text("token") {
            gone.extend(parts_of(client, &token, pack.some_int("parts")));
        }
    }
    // The parts before the documents that name them: what is left can be found again.
    gone.extend(packs.iter().chain(&asks).map(|doc| client.delete(&doc.path, Guard::Any)));
    Ok(gone)
}

/// Removes what is left over.
pub(super) async fn sweep(client: &Client) -> Result<(), Failure> {
    const NOTES: usize = 50;
    let now = client.now().await?;
    for note in client.query(&queries::over("leftovers", now).limit(NOTES), None).await? {
        remove(client, &note).await?;
    }
    Ok(())
}

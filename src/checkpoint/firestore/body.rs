//! Bytes of any size beside a document. What fits stands in the document itself; the rest is cut
//! into parts, documents of their own below it, and the document names them.
//!
//! One commit takes only so much: where there is more, the parts are written before the commit that
//! refers to them, under a note that says so. The commit takes the note away. A note that stays has
//! parts nobody refers to: [`sweep`] removes both a day later, and a commit that comes as late
//! finds its note gone and writes nothing.

use std::time::Duration;

use bytes::Bytes;
use firestore::gcloud_sdk::{google::firestore::v1::Write, prost_types::Timestamp as Moment};

use super::{
    client::{Client, Guard},
    error::{Failed, Failure},
    fields::{Doc, Fields},
    paths, queries,
    row::{hex, token},
};
use crate::base::Timestamp;

/// The most bytes of one document: 1 MiB less what names and other fields take.
pub(super) const PART: usize = 900 << 10;
/// The most bytes of parts in one commit, which may have 10 MiB.
const COMMIT: usize = 6 << 20;
/// When parts that nothing refers to may go.
const STALE: Duration = Duration::from_secs(86_400);

pub(super) fn inline(bytes: Vec<u8>) -> Fields {
    Fields::default().bytes("data", bytes)
}

pub(super) fn apart(token: &str, parts: usize) -> Fields {
    Fields::default().text("token", token).int("parts", parts as u64)
}

pub(super) fn staged_fields(owner: &str, at: Timestamp) -> Fields {
    Fields::default().text("owner", owner).int("ends", at.plus(STALE).0)
}

/// The large values of one operation.
pub(super) struct Bodies {
    token: String,
    parts: Vec<Part>,
    /// Owners whose parts are written.
    staged: Vec<String>,
}

struct Part {
    owner: String,
    path: String,
    bytes: Vec<u8>,
}

impl Bodies {
    pub(super) fn new() -> Self {
        Self { token: hex(token()), parts: Vec::new(), staged: Vec::new() }
    }

    /// The fields that stand for the bytes in the document at `owner`'s side. An owner has one
    /// value per operation.
    pub(super) fn add(&mut self, owner: &str, bytes: Vec<u8>) -> Fields {
        if bytes.len() <= PART {
            return inline(bytes);
        }
        let before = self.parts.len();
        self.parts.extend(bytes.chunks(PART).enumerate().map(|(n, bytes)| Part {
            owner: owner.to_owned(),
            path: paths::part(owner, &self.token, n),
            bytes: bytes.to_vec(),
        }));
        apart(&self.token, self.parts.len() - before)
    }

    /// Writes the parts ahead if they are too much for the commit.
    pub(super) async fn stage(&mut self, client: &Client) -> Result<(), Failed> {
        let size: usize = self.parts.iter().map(|part| part.bytes.len()).sum();
        if size <= COMMIT {
            return Ok(());
        }
        let mut owners: Vec<String> = self.parts.iter().map(|part| part.owner.clone()).collect();
        owners.dedup();
        let mut tries = client.tries();
        while let Err(failure) = note(client, &self.token, &owners).await {
            tries.again(failure).await?;
        }
        for parts in self.parts.chunks(COMMIT / PART) {
            let mut tries = client.tries();
            let writes = || parts.iter().map(|part| part.write(client)).collect();
            while let Err(failure) = client.commit(writes()).await {
                tries.again(failure).await?;
            }
        }
        self.parts.clear();
        self.staged = owners;
        Ok(())
    }

    /// What goes into the commit beside the documents that refer to the bytes.
    pub(super) fn writes(&self, client: &Client) -> Vec<Write> {
        let parts = self.parts.iter().map(|part| part.write(client));
        let staged = (0..self.staged.len())
            .map(|n| client.delete(&paths::staged(&self.note(n)), Guard::There));
        parts.chain(staged).collect()
    }

    fn note(&self, n: usize) -> String {
        format!("{}-{n}", self.token)
    }

    /// Removes what was written ahead of a commit that will not come; a sweep does it later if this
    /// fails.
    pub(super) async fn give_up(&self, client: &Client) {
        for (n, owner) in self.staged.iter().enumerate() {
            if let Err(why) = remove(client, owner, &self.note(n)).await {
                tracing::debug!(?why, "parts of an append that was refused stay for a while");
            }
        }
    }
}

impl Part {
    fn write(&self, client: &Client) -> Write {
        client.set(&self.path, inline(self.bytes.clone()), Guard::Any)
    }
}

async fn note(client: &Client, token: &str, owners: &[String]) -> Result<(), Failure> {
    let now = client.now().await?;
    let note = |(n, owner): (usize, &String)| {
        let path = paths::staged(&format!("{token}-{n}"));
        client.set(&path, staged_fields(owner, now), Guard::Any)
    };
    client.commit(owners.iter().enumerate().map(note).collect()).await.map(drop)
}

/// Removes a note and the parts it speaks of, in one step: a commit that needs them comes before or
/// never.
async fn remove(client: &Client, owner: &str, note: &str) -> Result<(), Failure> {
    let token = note.split('-').next().unwrap_or(note);
    let begins = format!("{owner}/parts/{token}-");
    let parts = client.query(&queries::below(owner, "parts"), None).await?;
    let ours = parts.iter().filter(|part| part.path.starts_with(&begins));
    let ours = ours.map(|part| client.delete(&part.path, Guard::Any));
    let note = client.delete(&paths::staged(note), Guard::There);
    match client.commit([note].into_iter().chain(ours).collect()).await {
        Err(Failure::Stale) => Ok(()),
        done => done.map(drop),
    }
}

/// Removes parts that nothing has come to refer to.
pub(super) async fn sweep(client: &Client) -> Result<(), Failure> {
    const AT_ONCE: usize = 50;
    let now = client.now().await?;
    for note in client.query(&queries::over("staged", now).limit(AT_ONCE), None).await? {
        remove(client, &note.text("owner")?, note.id()).await?;
    }
    Ok(())
}

/// The bytes of a document, read at the same moment as the document.
pub(super) async fn read(
    client: &Client,
    owner: &str,
    doc: &mut Doc,
    at: Option<Moment>,
) -> Result<Bytes, Failure> {
    let Some(parts) = doc.some_int::<usize>("parts") else { return doc.bytes("data") };
    let token = doc.text("token")?;
    let names: Vec<String> = (0..parts).map(|n| paths::part(owner, &token, n)).collect();
    let mut whole = Vec::with_capacity(parts * PART);
    for names in names.chunks(8) {
        let (mut found, _) = client.get(names, at).await?;
        for name in names {
            let part = found.remove(name);
            let mut part = part.ok_or_else(|| Failure::unreadable(name, "it is not there"))?;
            whole.extend_from_slice(&part.bytes("data")?);
        }
    }
    Ok(whole.into())
}

//! Bytes of any size beside a document. What fits stands in the document itself; the rest is cut
//! into parts, documents of their own, and the document names them.
//!
//! One commit takes only so much: where there is more, the parts are written before the commit that
//! refers to them, under a note among the [`leftovers`](super::leftovers) that says so. That commit
//! takes the note away, and writes nothing when the note has been touched in between.

use bytes::Bytes;
use firestore::gcloud_sdk::{google::firestore::v1::Write, prost_types::Timestamp as Moment};

use super::{
    client::{Client, Guard},
    error::{Failed, Failure},
    fields::{Doc, Fields},
    leftovers, paths,
    row::{hex, token},
};

/// The most bytes of one document: 1 MiB less what names and other fields take.
pub(super) const PART: usize = 900 << 10;
/// The most parts in one commit. Firestore takes 10 MiB, its emulator 4 MiB.
const AT_ONCE: usize = 4;
/// The most parts that go with the commit that refers to them; it has at most two such values.
const BESIDE: usize = 2;

pub(super) fn inline(bytes: Vec<u8>) -> Fields {
    Fields::default().bytes("data", bytes)
}

pub(super) fn apart(token: &str, parts: usize) -> Fields {
    Fields::default().text("token", token).int("parts", parts as u64)
}

/// Bytes to be written.
pub(super) struct Body {
    token: String,
    bytes: Bytes,
    /// How many bytes fit the document itself.
    room: usize,
    /// When the note was written, if the parts are there ahead of the commit.
    noted: Option<Moment>,
}

impl Body {
    pub(super) fn new(bytes: impl Into<Bytes>) -> Self {
        Self { token: hex(token()), bytes: bytes.into(), room: PART, noted: None }
    }

    /// Bytes for a document that has much else to hold.
    pub(super) fn beside_much(bytes: impl Into<Bytes>) -> Self {
        Self { room: PART / 2, ..Self::new(bytes) }
    }

    fn parts(&self) -> usize {
        if self.bytes.len() <= self.room { 0 } else { self.bytes.len().div_ceil(PART) }
    }

    /// What stands for the bytes in the document they belong to.
    pub(super) fn fields(&self) -> Fields {
        match self.parts() {
            0 => inline(self.bytes.to_vec()),
            parts => apart(&self.token, parts),
        }
    }

    /// Writes the parts ahead if they are too many for the commit.
    pub(super) async fn stage(&mut self, client: &Client) -> Result<(), Failed> {
        if self.parts() <= BESIDE {
            return Ok(());
        }
        let noted = client.patiently(|| leftovers::announce(client, &self.token, self.parts()));
        let noted = Some(noted.await?);
        let parts = self.part_writes(client);
        for parts in parts.chunks(AT_ONCE) {
            client.patiently(|| client.commit(parts.to_vec())).await?;
        }
        self.noted = noted;
        Ok(())
    }

    fn part_writes(&self, client: &Client) -> Vec<Write> {
        let parts = self.bytes.chunks(PART).take(self.parts()).enumerate();
        let write = |(n, bytes): (usize, &[u8])| {
            client.set(&paths::part(&self.token, n), inline(bytes.to_vec()), Guard::Any)
        };
        parts.map(write).collect()
    }

    /// What goes into the commit with the document that refers to the bytes.
    pub(super) fn writes(&self, client: &Client) -> Vec<Write> {
        match self.noted {
            None => self.part_writes(client),
            Some(at) => vec![client.delete(&paths::leftover(&self.token), Guard::Since(at))],
        }
    }

    /// Removes what was written ahead of a commit that will not come, unless it has come.
    pub(super) async fn give_up(&self, client: &Client) {
        if self.noted.is_some() {
            leftovers::try_remove(client, &paths::leftover(&self.token)).await;
        }
    }
}

/// The bytes of a document, read at the same moment as the document.
pub(super) async fn read(
    client: &Client,
    doc: &mut Doc,
    at: Option<Moment>,
) -> Result<Bytes, Failure> {
    let Some(parts) = doc.some_int::<usize>("parts") else { return doc.bytes("data") };
    let token = doc.text("token")?;
    let names: Vec<String> = (0..parts).map(|n| paths::part(&token, n)).collect();
    let mut whole = Vec::with_capacity(parts * PART);
    for names in names.chunks(8) {
        let (mut found, _) = client.get(names, at).await?;
        for name in names {
            let mut part = found.remove(name).ok_or_else(|| match at {
                Some(_) => Failure::unreadable(name, "it is not there"),
                // Deleted since its document was read.
                None => Failure::Stale,
            })?;
            whole.extend_from_slice(&part.bytes("data")?);
        }
    }
    Ok(whole.into())
}

//! How records are written down. See [`record`](super::record).

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    pack,
    path::Path,
    record::{Body, Meta, Record},
    store::StoredRecord,
};
use crate::base::{Fault, Timestamp};

/// The meta as it is written down.
#[derive(Serialize, Deserialize)]
struct Stamped<M> {
    #[serde(rename = "t")]
    at: Timestamp,
    #[serde(rename = "p", default, skip_serializing_if = "Path::is_empty")]
    path: Path,
    #[serde(flatten)]
    meta: M,
}

/// A record that cannot be written or read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CodecError {
    /// A value has no JSON form (a map with keys that are no strings, say).
    #[error("a {0} record cannot be written: {1}")]
    Write(&'static str, String),
    /// The bytes are not what this version writes.
    #[error("record {0} cannot be read: {1}")]
    Read(u64, String),
}

impl From<CodecError> for Fault {
    fn from(error: CodecError) -> Self {
        Fault::permanent(error.to_string())
    }
}

impl<U: Serialize> Body<U> {
    /// As it is written down; `None` if there is nothing to write.
    fn pack(&self, compress: bool) -> serde_json::Result<Option<Bytes>> {
        match self {
            Self::None => Ok(None),
            Self::Start(start) => pack::pack(start, compress).map(Some),
            Self::Command(command) => pack::pack(command, compress).map(Some),
            Self::Tasks(tasks) if tasks.is_empty() => Ok(None),
            Self::Tasks(tasks) => pack::pack(tasks, compress).map(Some),
            Self::Value(value) => pack::pack(value, compress).map(Some),
            Self::Raw(bytes) => Ok(Some(bytes.clone())),
        }
    }
}

impl<U: DeserializeOwned> Body<U> {
    fn unpack(meta: &Meta, bytes: &Bytes) -> Result<Self, String> {
        match meta {
            Meta::Started { .. } => pack::unpack(bytes).map(Self::Start),
            Meta::TaskFinished { .. } => pack::unpack(bytes).map(Self::Command),
            Meta::StepFinished { .. } => pack::unpack(bytes).map(Self::Tasks),
            _ => pack::unpack(bytes).map(Self::Value),
        }
    }
}

/// What only the types of its graph can read.
fn is_typed(meta: &Meta) -> bool {
    matches!(meta, Meta::Started { .. } | Meta::TaskFinished { .. } | Meta::StepFinished { .. })
}

impl<U: Serialize> Record<U> {
    /// Writes the record down; `compress` if its store is not in memory.
    ///
    /// # Errors
    /// If the body has no JSON form.
    pub fn encode(&self, compress: bool) -> Result<StoredRecord, CodecError> {
        let payload = self.packed(compress)?;
        Ok(StoredRecord { meta: encode_meta(self.at, &self.path, &self.meta)?, payload })
    }

    fn packed(&self, compress: bool) -> Result<Option<Bytes>, CodecError> {
        self.body.pack(compress).map_err(|e| CodecError::Write(self.meta.kind(), e.to_string()))
    }

    /// The same record of the graph around, in which the subgraph's task is at `path`.
    pub(super) fn seen_outside(
        &self,
        path: &Path,
        compress: bool,
    ) -> Result<Record<()>, CodecError> {
        let body = match &self.body {
            _ if is_typed(&self.meta) => self.packed(compress)?.map_or(Body::None, Body::Raw),
            Body::Value(value) => Body::Value(value.clone()),
            _ => Body::None,
        };
        Ok(Record { at: self.at, path: path.clone(), meta: self.meta.clone(), body })
    }
}

/// Writes down a record without a body.
pub(super) fn encode_meta(at: Timestamp, path: &Path, meta: &Meta) -> Result<Bytes, CodecError> {
    let stamped = Stamped { at, path: path.clone(), meta };
    let bytes =
        serde_json::to_vec(&stamped).map_err(|e| CodecError::Write(meta.kind(), e.to_string()))?;
    Ok(bytes.into())
}

/// A record without what may be large, as listings show it.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// Its number, from 1.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The subgraph it is of; empty in the workflow's own graph.
    pub path: Path,
    /// What happened.
    pub meta: Meta,
}

impl HistoryEntry {
    /// Reads record number `seq` of a run, its body aside.
    ///
    /// # Errors
    /// If the bytes are no meta.
    pub fn decode(seq: u64, stored: &StoredRecord) -> Result<Self, CodecError> {
        serde_json::from_slice::<Stamped<Meta>>(&stored.meta)
            .map(|Stamped { at, path, meta }| Self { seq, at, path, meta })
            .map_err(|e| CodecError::Read(seq, e.to_string()))
    }
}

impl<U: DeserializeOwned> Record<U> {
    /// Reads record number `seq` of a run.
    ///
    /// # Errors
    /// If the bytes are not what [`Record::encode`] writes.
    pub fn decode(seq: u64, stored: &StoredRecord) -> Result<Self, CodecError> {
        let HistoryEntry { at, path, meta, .. } = HistoryEntry::decode(seq, stored)?;
        let body = match &stored.payload {
            None => Ok(Body::nothing(&meta, &path)),
            Some(bytes) if !path.is_empty() && is_typed(&meta) => Ok(Body::Raw(bytes.clone())),
            Some(bytes) => Body::unpack(&meta, bytes),
        };
        let body = body.map_err(|e| CodecError::Read(seq, e))?;
        Ok(Self { at, path, meta, body })
    }

    /// The same, its body read also where it is a subgraph's: `U` must bear any type.
    pub(super) fn decode_all(seq: u64, stored: &StoredRecord) -> Result<Self, CodecError> {
        let HistoryEntry { at, path, meta, .. } = HistoryEntry::decode(seq, stored)?;
        let body = match &stored.payload {
            None => Ok(Body::nothing(&meta, &Path::default())),
            Some(bytes) => Body::unpack(&meta, bytes),
        };
        Ok(Self { at, path, meta, body: body.map_err(|e| CodecError::Read(seq, e))? })
    }

    /// The same record as the graph sees it whose own records have no path.
    pub(super) fn seen_inside(record: &Record<()>) -> Result<Self, CodecError> {
        let Record { at, path, meta, body } = record;
        let body = match body {
            Body::Raw(bytes) if path.is_empty() => {
                Body::unpack(meta, bytes).map_err(|e| CodecError::Read(0, e))?
            }
            Body::Raw(bytes) => Body::Raw(bytes.clone()),
            Body::Value(value) => Body::Value(value.clone()),
            _ => Body::nothing(meta, path),
        };
        Ok(Self { at: *at, path: path.clone(), meta: meta.clone(), body })
    }
}

impl<U> Body<U> {
    fn nothing(meta: &Meta, path: &Path) -> Self {
        match meta {
            Meta::StepFinished { .. } if path.is_empty() => Self::Tasks(Vec::new()),
            _ => Self::None,
        }
    }

    /// The same without its type, if it has none.
    pub(super) fn untyped<V>(self) -> Body<V> {
        match self {
            Self::Value(value) => Body::Value(value),
            Self::Raw(bytes) => Body::Raw(bytes),
            _ => Body::None,
        }
    }
}

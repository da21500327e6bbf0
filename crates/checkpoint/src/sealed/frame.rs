//! One sealed value as it is stored: a mark, how it is bound, which key sealed it, and the sealed
//! bytes.
//!
//! | bytes | are |
//! |---|---|
//! | 4 | the mark `E5 76 64 6B` |
//! | 1 | how: 0 is not sealed at all, 1 bound to its place, 2 bound to its run wherever in it |
//! | 4 | a fingerprint of the key |
//! | 1, and so many | the key's name |
//! | 16, 12 | the salt of this value's own key, the nonce |
//! | the rest | ciphertext, and its tag of 16 bytes |
//!
//! A plain value that happens to begin with the mark is stored behind a mark with 0, so that the two
//! cannot be taken for each other. The tag covers everything before the salt, and what the value is
//! (see [`What`]): a value put in another one's place does not open.

use std::fmt;

use bytes::Bytes;

use super::{
    KeyRing,
    keys::{FINGERPRINT, Key},
};
use verdict_graph::store::{RunId, StoreError};

const MARK: [u8; 4] = [0xE5, b'v', b'd', b'k'];

/// A record says which number it has; one that is written from outside does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Plain = 0,
    Placed = 1,
    Loose = 2,
}

/// What a value is, and where it belongs.
#[derive(Debug, Clone, Copy)]
pub(super) enum What<'a> {
    /// The small part of a record.
    Meta { run: &'a RunId, seq: Option<u64> },
    /// The large part of the record whose small part is stored as `meta`.
    Payload { run: &'a RunId, seq: Option<u64>, meta: &'a [u8] },
    /// An answer to an interrupt.
    Answer { run: &'a RunId, interrupt: &'a str },
    /// The last error of a run.
    Error { run: &'a RunId },
    /// The message of a dead letter.
    LetterBody { id: &'a str },
    /// The error of a dead letter.
    LetterError { id: &'a str },
    /// What a run waits for.
    Waiting { run: &'a RunId },
    /// The payload of an event from outside.
    Event { key: &'a str, id: &'a str },
    /// A value of the key-value store.
    Value { space: &'a str, key: &'a str },
}

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Meta { run, seq: Some(seq) } | Self::Payload { run, seq: Some(seq), .. } => {
                write!(f, "record {seq} of run {run}")
            }
            Self::Meta { run, .. } | Self::Payload { run, .. } => {
                write!(f, "a record of run {run}")
            }
            Self::Answer { run, interrupt } => {
                write!(f, "the answer to interrupt `{interrupt}` of run {run}")
            }
            Self::Error { run } => write!(f, "the error of run {run}"),
            Self::LetterBody { id } => write!(f, "the message of letter {id}"),
            Self::LetterError { id } => write!(f, "the error of letter {id}"),
            Self::Waiting { run } => write!(f, "what run {run} waits for"),
            Self::Event { key, id } => write!(f, "the event {id} of key `{key}`"),
            Self::Value { space, key } => write!(f, "the value `{key}` of the space `{space}`"),
        }
    }
}

impl What<'_> {
    fn how(&self) -> How {
        match self {
            Self::Meta { seq: None, .. } | Self::Payload { seq: None, .. } => How::Loose,
            _ => How::Placed,
        }
    }

    /// All of it as bytes that no other value has, bound as `how` says.
    fn bound(&self, how: How, head: &[u8]) -> Vec<u8> {
        let place = |seq: &Option<u64>| match how {
            How::Placed => seq.unwrap_or_default().to_be_bytes(),
            _ => 0_u64.to_be_bytes(),
        };
        let (word, name, place, beside): (&str, &str, [u8; 8], &[u8]) = match self {
            Self::Meta { run, seq } => ("meta", run.as_str(), place(seq), &[]),
            Self::Payload { run, seq, meta } => ("payload", run.as_str(), place(seq), meta),
            Self::Answer { run, interrupt } => {
                ("answer", run.as_str(), [0; 8], interrupt.as_bytes())
            }
            Self::Error { run } => ("error", run.as_str(), [0; 8], &[]),
            Self::LetterBody { id } => ("letter", id, [0; 8], &[]),
            Self::LetterError { id } => ("letter error", id, [0; 8], &[]),
            Self::Waiting { run } => ("waiting", run.as_str(), [0; 8], &[]),
            Self::Event { key, id } => ("event", key, [0; 8], id.as_bytes()),
            Self::Value { space, key } => ("value", space, [0; 8], key.as_bytes()),
        };
        let parts = [head, word.as_bytes(), name.as_bytes(), &place, beside];
        let mut bound = Vec::with_capacity(64 + head.len() + name.len() + beside.len());
        for part in parts {
            bound.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bound.extend_from_slice(part);
        }
        bound
    }
}

/// What stands before the salt.
fn head(how: How, key: &Key) -> Vec<u8> {
    let name = key.name.as_bytes();
    let mut head = MARK.to_vec();
    head.push(how as u8);
    head.extend_from_slice(&key.cipher.fingerprint());
    // Names are short.
    head.push(u8::try_from(name.len()).unwrap_or_default());
    head.extend_from_slice(name);
    head
}

/// A stored value taken apart.
struct Frame<'a> {
    how: How,
    fingerprint: &'a [u8],
    name: &'a str,
    head: &'a [u8],
    sealed: &'a [u8],
}

impl<'a> Frame<'a> {
    /// `None` when it is no frame that this version knows.
    fn read(stored: &'a [u8]) -> Option<Self> {
        let (how, rest) = stored.strip_prefix(&MARK)?.split_first()?;
        let how = match how {
            1 => How::Placed,
            2 => How::Loose,
            _ => return None,
        };
        let (fingerprint, rest) = rest.split_at_checked(FINGERPRINT)?;
        let (length, rest) = rest.split_first()?;
        let (name, sealed) = rest.split_at_checked(usize::from(*length))?;
        let head = stored.get(..stored.len() - sealed.len())?;
        Some(Self { how, fingerprint, name: std::str::from_utf8(name).ok()?, head, sealed })
    }
}

/// What begins a text that is sealed: its bytes follow in hexadecimal.
const TEXT: &str = "sealed:";
/// The longest text that is sealed: stores bound their texts, and cut what is longer.
const LONGEST: usize = 16 << 10;

impl KeyRing {
    /// The value as it is to be stored.
    pub(super) fn seal(&self, plain: Bytes, what: &What<'_>) -> Result<Bytes, StoreError> {
        let Some(key) = self.writer() else {
            if plain.starts_with(&MARK) {
                return Ok([&MARK, &[How::Plain as u8][..], &plain].concat().into());
            }
            return Ok(plain);
        };
        let how = what.how();
        let mut stored = head(how, key);
        let bound = what.bound(how, &stored);
        key.cipher
            .seal(&plain, &bound, &mut stored)
            .map_err(|why| StoreError::Unavailable(format!("{what} cannot be sealed: {why}")))?;
        Ok(stored.into())
    }

    /// The value as it was.
    pub(super) fn open(&self, stored: Bytes, what: &What<'_>) -> Result<Bytes, StoreError> {
        if !stored.starts_with(&MARK) {
            return Ok(stored);
        }
        if stored.get(MARK.len()) == Some(&(How::Plain as u8)) {
            return Ok(stored.slice(MARK.len() + 1..));
        }
        let frame = Frame::read(&stored).ok_or_else(|| {
            StoreError::Broken(format!("{what} is sealed in a way this version does not know"))
        })?;
        let key = self.named(frame.name, frame.fingerprint).map_err(|why| {
            StoreError::Sealed(format!("{what} is sealed with key `{}`, {why}", frame.name))
        })?;
        let opened = key.cipher.open(frame.sealed, &what.bound(frame.how, frame.head));
        opened.map(Bytes::from).ok_or_else(|| {
            StoreError::Broken(format!(
                "{what} does not open with its key `{}`: what is stored was changed, or belongs \
                 elsewhere; restore it from a backup",
                frame.name
            ))
        })
    }

    /// A text as it is to be stored; what is sealed already stays so.
    pub(super) fn seal_text(&self, text: String, what: &What<'_>) -> Result<String, StoreError> {
        if self.writer().is_none() || text_frame(&text).is_some() {
            return Ok(text);
        }
        let end = text.floor_char_boundary(LONGEST);
        let sealed = self.seal(Bytes::copy_from_slice(&text.as_bytes()[..end]), what)?;
        Ok(format!("{TEXT}{}", hex::encode(&sealed)))
    }

    /// Opens a text in place, if it opens.
    pub(super) fn open_text(&self, text: &mut String, what: &What<'_>) {
        let Some(stored) = text_frame(text) else { return };
        if let Ok(opened) = self.open(stored.into(), what)
            && let Ok(opened) = String::from_utf8(opened.to_vec())
        {
            *text = opened;
        }
    }
}

fn text_frame(text: &str) -> Option<Vec<u8>> {
    let stored = hex::decode(text.strip_prefix(TEXT)?).ok()?;
    Frame::read(&stored).is_some().then_some(stored)
}

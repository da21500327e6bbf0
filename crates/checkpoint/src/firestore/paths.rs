//! Where documents are, below the database's documents. Nothing is named in sequence but the
//! records of one run: names spread over the whole key space.

use verdict_graph::{
    base::hash_hex,
    store::{EventWait, RunId},
};

pub(super) fn run(run: &RunId) -> String {
    format!("runs/{run}")
}

/// The records of one append, named by the number of the last. `incarnation` is the token the run was born
/// with: it tells a run from one of the same id that was deleted, of which something may be left.
pub(super) fn pack(run: &RunId, incarnation: &str, last: u64) -> String {
    format!("runs/{run}/records/{incarnation}-{last:012}")
}

pub(super) fn ask(run: &RunId, incarnation: &str, interrupt: &str) -> String {
    format!("runs/{run}/asks/{incarnation}-{}", hash_hex(&[interrupt.as_bytes()]))
}

/// A part of what does not fit its document, which names the token.
pub(super) fn part(token: &str, n: usize) -> String {
    format!("parts/{token}-{n:05}")
}

/// The note of what may have to go: parts, by their token, or what one incarnation of a run had.
pub(super) fn leftover(token: &str) -> String {
    format!("leftovers/{token}")
}

/// Written by every opening of a run about the subject.
pub(super) fn subject(hash: &str) -> String {
    format!("subjects/{hash}")
}

pub(super) fn hash_of(subject: &str) -> String {
    hash_hex(&[subject.as_bytes()])
}

/// Letters are named by a hash already; any other name is hashed.
pub(super) fn letter(id: &str) -> String {
    let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if plain && (1..=200).contains(&id.len()) {
        format!("letters/{id}")
    } else {
        format!("letters/={}", hash_hex(&[id.as_bytes()]))
    }
}

/// The collection of events from outside.
pub(super) const EVENTS: &str = "events";

pub(super) fn event(key: &str, id: &str) -> String {
    format!("{EVENTS}/{}", hash_hex(&[key.as_bytes(), id.as_bytes()]))
}

/// The collection of the notes of who waits for an event.
pub(super) const EVENT_WAITS: &str = "event_waits";

pub(super) fn event_wait(wait: &EventWait) -> String {
    let name = [wait.key.as_bytes(), wait.run.as_str().as_bytes(), wait.interrupt.as_bytes()];
    format!("{EVENT_WAITS}/{}", hash_hex(&name))
}

/// The collection of the key-value store.
pub(super) const KEY_VALUES: &str = "key_values";

pub(super) fn key_value(space: &str, key: &str) -> String {
    format!("{KEY_VALUES}/{}", hash_hex(&[space.as_bytes(), key.as_bytes()]))
}

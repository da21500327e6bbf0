//! The queue as runs see it.

use std::{collections::HashSet, sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    base::{Result, TraceContext},
    graph::{RunId, store::Letter},
    queue::{DeadLetter, DeadVisitor, Decoded, Fate, Message, Queue, QueueError, header, note},
    runs::{Notifier, Settled},
};

/// The longest error that a broker's copy of a letter tells, in bytes: Pub/Sub takes 1,024.
const MAX_NOTE_BYTES: usize = 1000;

/// Wakes workers and shows dead letters by messages on a queue.
pub struct QueueNotifier(Arc<dyn Queue>);

impl QueueNotifier {
    /// On this queue.
    pub fn new(queue: Arc<dyn Queue>) -> Self {
        Self(queue)
    }
}

#[async_trait]
impl Notifier for QueueNotifier {
    async fn wake(&self, run: &RunId, after: Duration, trace: Option<&TraceContext>) -> Result<()> {
        let mut message = Decoded::wake_message(run.as_str());
        if let Some(trace) = trace {
            message = message.with(TraceContext::HEADER, trace.to_string());
        }
        Ok(self.0.publish(message, after).await?)
    }

    async fn resend(&self, letter: &Letter) -> Result<()> {
        let message = original(letter).with(header::REPLAY, &letter.id);
        Ok(self.0.publish(message, Duration::ZERO).await?)
    }

    async fn publish(&self, letter: &Letter) -> Result<()> {
        let dead = DeadLetter {
            id: letter.id.clone(),
            reason: letter.reason.to_string(),
            by_broker: false,
            notes: notes(letter),
            message: original(letter),
        };
        Ok(self.0.publish_dead(dead).await?)
    }

    async fn remove(&self, letters: &[String], settled: &dyn Settled) -> Result<()> {
        let letters = letters.iter().map(String::as_str).collect();
        Ok(self.0.visit_dead(&mut Removal { letters, settled }).await?)
    }
}

/// Takes away the copies of these letters, unless they are open again.
struct Removal<'a> {
    letters: HashSet<&'a str>,
    settled: &'a dyn Settled,
}

#[async_trait]
impl DeadVisitor for Removal<'_> {
    async fn visit(&mut self, letter: DeadLetter) -> Result<Fate, QueueError> {
        let named = self.letters.contains(&*letter.id);
        let gone = named && self.settled.is_settled(&letter.id).await?;
        Ok(if gone { Fate::Remove } else { Fate::Keep })
    }
}

fn original(letter: &Letter) -> Message {
    Message { headers: letter.headers.clone(), body: letter.payload.clone() }
}

/// What people who watch the broker's queue see of a letter.
fn notes(letter: &Letter) -> Vec<(&'static str, String)> {
    let error = letter.error.floor_char_boundary(MAX_NOTE_BYTES);
    let mut notes = vec![
        (note::ERROR, letter.error[..error].replace(char::is_control, " ")),
        (note::ATTEMPTS, letter.executions.to_string()),
        (note::FIRST_AT, letter.first_at.to_string()),
        (note::LAST_AT, letter.last_at.to_string()),
    ];
    let run = letter.run.as_ref().map(ToString::to_string);
    let known = [(note::WORKFLOW, &letter.workflow), (note::RUN, &run), (note::NODE, &letter.node)];
    notes.extend(known.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    notes
}

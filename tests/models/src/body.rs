//! Bodies that come in pieces, late, or not whole; their end is noted in the log.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::Stream;

use crate::{Outcome, reply::Delivery};

/// Notes how a call ended, once.
pub(crate) struct Ending(Option<Box<dyn FnOnce(Outcome) + Send>>);

impl Ending {
    pub(crate) fn new(note: impl FnOnce(Outcome) + Send + 'static) -> Self {
        Self(Some(Box::new(note)))
    }

    pub(crate) fn with(&mut self, outcome: Outcome) {
        if let Some(note) = self.0.take() {
            note(outcome);
        }
    }
}

impl Drop for Ending {
    /// Whoever drops it before the end has left.
    fn drop(&mut self) {
        self.with(Outcome::Abandoned);
    }
}

/// The rest of a body.
pub(crate) struct Pieces {
    rest: VecDeque<Bytes>,
    then: Delivery,
    ending: Ending,
}

impl Pieces {
    /// All of these, or the first half.
    pub(crate) fn new(pieces: Vec<Bytes>, then: Delivery, ending: Ending) -> Self {
        let half = pieces.len().div_ceil(2);
        let keep = if then == Delivery::Whole { pieces.len() } else { half };
        Self { rest: pieces.into_iter().take(keep).collect(), then, ending }
    }
}

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(piece) = self.rest.pop_front() {
            if self.rest.is_empty() && self.then == Delivery::Whole {
                self.ending.with(Outcome::Answered);
            }
            return Poll::Ready(Some(Ok(piece)));
        }
        match self.then {
            Delivery::Whole => Poll::Ready(None),
            Delivery::Cut => {
                self.ending.with(Outcome::BrokenOff);
                self.then = Delivery::Whole;
                Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into())))
            }
            // Nobody wakes this: the connection's end drops it.
            Delivery::Stalled => Poll::Pending,
        }
    }
}

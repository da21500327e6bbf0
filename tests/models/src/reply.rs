//! What is answered, and how it goes wrong.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use crate::{Call, call::tokens};

/// One answer of a script.
#[derive(Clone)]
pub struct Reply {
    pub(crate) kind: Kind,
    pub(crate) delivery: Delivery,
    pub(crate) after: Duration,
    pub(crate) held: bool,
    pub(crate) headers: Vec<(String, String)>,
    /// The tokens it claims to have read and written.
    pub(crate) claimed: Option<(u64, u64)>,
}

#[derive(Clone)]
pub(crate) enum Kind {
    /// This text, ended for this reason.
    Text(String, End),
    /// A status that is no success, and the words of its body.
    Error(u16, String),
    /// Whatever this answers.
    By(Arc<dyn Fn(&Call) -> Reply + Send + Sync>),
    /// Whatever the next script answers.
    NextScript,
}

/// Why a text ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    Length,
    Refusal,
}

/// How much of it arrives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// The first half, then the connection breaks.
    Cut,
    /// The first half, then nothing more until the client leaves.
    Stalled,
}

impl Reply {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            delivery: Delivery::Whole,
            after: Duration::ZERO,
            held: false,
            headers: Vec::new(),
            claimed: None,
        }
    }

    /// This text, whatever it is.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Kind::Text(text.into(), End::Whole))
    }

    /// This value as JSON.
    pub fn json(value: Value) -> Self {
        Self::text(value.to_string())
    }

    /// What the function answers to the call.
    pub fn by(answer: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Self {
        Self::new(Kind::By(Arc::new(answer)))
    }

    /// A status that is no success.
    pub fn status(status: u16) -> Self {
        Self::error(status, "scripted failure")
    }

    /// A status that is no success, and the words that its body gives as type, code and message of the error.
    pub fn error(status: u16, words: impl Into<String>) -> Self {
        Self::new(Kind::Error(status, words.into()))
    }

    /// The model refuses.
    pub fn refusal() -> Self {
        Self::new(Kind::Text(String::new(), End::Refusal))
    }

    /// Whatever the script before this one answers.
    pub fn next_script() -> Self {
        Self::new(Kind::NextScript)
    }

    /// The text ends because it reached the limit on its length.
    #[must_use]
    pub fn truncated(mut self) -> Self {
        if let Kind::Text(_, end) = &mut self.kind {
            *end = End::Length;
        }
        self
    }

    /// Half of it arrives, then the connection breaks.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.delivery = Delivery::Cut;
        self
    }

    /// Half of it arrives (of one that is not streamed: nothing), then nothing more until the client leaves.
    #[must_use]
    pub fn stalled(mut self) -> Self {
        self.delivery = Delivery::Stalled;
        self
    }

    /// It begins so much later.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.after = wait;
        self
    }

    /// It begins when [`ModelServer::release`](crate::ModelServer::release) is called.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.held = true;
        self
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// It claims to have read and written so many tokens.
    #[must_use]
    pub fn claiming(mut self, input: u64, output: u64) -> Self {
        self.claimed = Some((input, output));
        self
    }

    /// What `inner` answers, delivered as both say.
    pub(crate) fn around(mut self, inner: Self) -> Self {
        self.headers.extend(inner.headers);
        Self {
            kind: inner.kind,
            delivery: if inner.delivery == Delivery::Whole {
                self.delivery
            } else {
                inner.delivery
            },
            after: self.after + inner.after,
            held: self.held || inner.held,
            headers: self.headers,
            claimed: inner.claimed.or(self.claimed),
        }
    }

    /// Tokens that it read and wrote.
    pub(crate) fn tokens(&self, call: &Call) -> (u64, u64) {
        let written = match &self.kind {
            Kind::Text(text, _) => tokens(text),
            _ => 0,
        };
        self.claimed.unwrap_or_else(|| (tokens(&call.instructions) + tokens(&call.prompt), written))
    }
}

//! Why there is no answer.

use std::{fmt, time::Duration};

use super::request::Usage;
use crate::base::Fault;

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The provider limits requests or tokens, or our own limit is reached.
    RateLimited,
    /// The provider failed: 5xx, a connection refused or cut.
    Unavailable,
    /// No answer, or no further word of it, in time.
    TimedOut,
    /// The key is missing, wrong, or not allowed to do this.
    Unauthorized,
    /// The account has nothing left to spend at the provider.
    QuotaExhausted,
    /// The request is longer than the model reads.
    TooLong,
    /// The server read less of the prompt than was sent.
    PromptCut,
    /// The model refused to answer.
    Refused,
    /// The answer is no JSON, or not of the schema, and asking again did not help.
    Unreadable,
    /// The provider does not accept the request.
    Invalid,
    /// A budget of the settings is spent.
    OverBudget,
    /// Whoever asked does not want to know any more.
    Cancelled,
}

impl FailureKind {
    /// The word for logs and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed_out",
            Self::Unauthorized => "unauthorized",
            Self::QuotaExhausted => "quota_exhausted",
            Self::TooLong => "too_long",
            Self::PromptCut => "prompt_cut",
            Self::Refused => "refused",
            Self::Unreadable => "unreadable",
            Self::Invalid => "invalid",
            Self::OverBudget => "over_budget",
            Self::Cancelled => "cancelled",
        }
    }

    /// The same for people.
    pub fn words(self) -> String {
        self.word().replace('_', " ")
    }

    /// Whether asking the same model again at once may help.
    pub fn is_worth_retrying(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable | Self::TimedOut)
    }

    /// Whether asking later may help, though nothing about the request changes.
    pub fn may_pass(self) -> bool {
        self.is_worth_retrying() || matches!(self, Self::QuotaExhausted | Self::OverBudget)
    }
}

/// A request without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// What kind of failure it was.
    pub kind: FailureKind,
    /// The same for the engine; names model and purpose, and never a prompt or an answer.
    pub fault: Fault,
    /// What was paid all the same.
    pub usage: Usage,
}

impl ModelError {
    /// A failure that cost nothing.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let message = message.into();
        let fault = match kind {
            FailureKind::TimedOut => Fault::timeout(message),
            kind if kind.may_pass() || kind == FailureKind::Cancelled => Fault::transient(message),
            _ => Fault::permanent(message),
        };
        Self { kind, fault, usage: Usage::default() }
    }

    /// The same, with the wait that was asked for.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.fault.retry_after = Some(wait);
        self
    }

    /// The same, with more that was paid.
    #[must_use]
    pub fn having_paid(mut self, usage: Usage) -> Self {
        self.usage += usage;
        self
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for ModelError {}

impl From<ModelError> for Fault {
    fn from(error: ModelError) -> Self {
        error.fault
    }
}

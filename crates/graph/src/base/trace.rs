//! W3C trace context, carried with messages and runs.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A `traceparent` header (W3C Trace Context, version 00), checked when parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceContext(String);

impl TraceContext {
    /// The header's name.
    pub const HEADER: &str = "traceparent";

    /// A new trace with a new root span, sampled.
    pub fn generate() -> Self {
        let trace = fastrand::u128(1..);
        let span = fastrand::u64(1..);
        Self(format!("00-{trace:032x}-{span:016x}-01"))
    }

    /// The trace's id: 32 hex digits.
    pub fn trace_id(&self) -> &str {
        &self.0[3..35]
    }
}

/// The text is no version-00 `traceparent`.
#[derive(Debug, thiserror::Error)]
#[error("not a traceparent header (expected 00-<32 hex>-<16 hex>-<2 hex>)")]
pub struct InvalidTraceContext;

impl FromStr for TraceContext {
    type Err = InvalidTraceContext;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('-');
        let mut part = |len: usize| {
            let part = parts.next()?;
            let hex = part.len() == len
                && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
            hex.then_some(part)
        };
        let version = part(2).ok_or(InvalidTraceContext)?;
        let trace = part(32).ok_or(InvalidTraceContext)?;
        let span = part(16).ok_or(InvalidTraceContext)?;
        part(2).ok_or(InvalidTraceContext)?;
        let zero = |hex: &str| hex.bytes().all(|b| b == b'0');
        if version != "00" || zero(trace) || zero(span) || parts.next().is_some() {
            return Err(InvalidTraceContext);
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for TraceContext {
    type Error = InvalidTraceContext;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<TraceContext> for String {
    fn from(context: TraceContext) -> Self {
        context.0
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

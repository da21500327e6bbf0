//! The small head of a run: all that deciding about it and listing it need, without its log.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{run_id::RunId, waiting::Waiting};
use crate::base::Timestamp;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Waits for a worker.
    Queued,
    /// A worker holds it, or held it and died.
    Running,
    /// Waits for a person, an event or a time.
    Parked,
    /// Reached its end.
    Completed,
    /// Failed for good; its dead letter says why.
    Failed,
    /// A newer run of the same subject took its place.
    Superseded,
    /// Stopped from outside.
    Cancelled,
}

impl RunStatus {
    /// Every status, in the order a run usually meets them.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Parked,
        Self::Completed,
        Self::Failed,
        Self::Superseded,
        Self::Cancelled,
    ];

    /// Whether only a reopening can make it go on.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Superseded | Self::Cancelled)
    }

    /// The word used everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Parked => "parked",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Superseded => "superseded",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RunStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            let words = Self::ALL.map(Self::as_str).join(", ");
            format!("`{text}` is no run status (one of {words})")
        })
    }
}

/// The small head of a run: all that deciding and listing need.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// The run's id.
    pub id: RunId,
    /// Its workflow's name.
    pub workflow: String,
    /// Its workflow's version.
    pub workflow_version: u32,
    /// Its record format, see [`FORMAT`](super::store::FORMAT).
    pub format: u16,
    /// The key it was opened with.
    pub key: String,
    /// What it is about; at most one unfinished run per subject survives an [`Store::open`](super::store::Store::open).
    pub subject: Option<String>,
    /// Its place among the runs of its subject; a higher one supersedes.
    pub order: i64,
    /// Where it stands.
    pub status: RunStatus,
    /// How many records it has.
    pub version: u64,
    /// How often it was claimed; fences older holders.
    pub epoch: u64,
    /// Who holds it. May have expired.
    pub lease: Option<Holder>,
    /// No claim before this moment, and a sweep looks after it from then on.
    pub not_before: Option<Timestamp>,
    /// What it waits for; only ever of a `queued` or `parked` run.
    pub waiting: Option<Waiting>,
    /// Executions that ended in a counted failure.
    pub executions: u32,
    /// Claims in a row whose holder recorded nothing and neither gave the run up nor settled it: its
    /// process died, or stood still for longer than the lease.
    pub lost_claims: u32,
    /// Time spent working on it, over all processes.
    pub active: Duration,
    /// What went wrong last.
    pub error: Option<String>,
    /// When it was opened, by the store's clock.
    pub created_at: Timestamp,
    /// When its head changed last (renewals aside), by the store's clock.
    pub updated_at: Timestamp,
}

impl Head {
    /// What it waits for at this time of the store's clock, as listings show it: a run whose worker
    /// stopped renewing its lease waits for another to take it over.
    pub fn waits(&self, now: Timestamp) -> Option<Waiting> {
        let lapsed = self.status == RunStatus::Running
            && self.lease.as_ref().is_none_or(|holder| holder.expires <= now);
        if lapsed { Some(Waiting::Lease) } else { self.waiting.clone() }
    }

    /// Its [`lost_claims`](Self::lost_claims) once it is claimed again.
    pub fn lost_claims_after_claim(&self) -> u32 {
        self.lost_claims.saturating_add(u32::from(self.lease.is_some()))
    }

    /// Since when no worker knew its version; of one found just now, since its head changed last.
    pub fn unknown_since(&self) -> Timestamp {
        match self.waiting {
            Some(Waiting::Version { since }) => since,
            _ => self.updated_at,
        }
    }
}

/// Who holds a run, and until when by the store's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// A name for the process, for people.
    pub owner: String,
    /// When others may take over.
    pub expires: Timestamp,
}

/// The part of the head that an append sets.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadChange {
    /// The new status.
    pub status: RunStatus,
    /// The new `not_before`.
    pub not_before: Option<Timestamp>,
    /// What the run waits for from now on.
    pub waiting: Option<Waiting>,
    /// The new count of failed executions.
    pub executions: u32,
    /// The new sum of active time.
    pub active: Duration,
    /// The new error.
    pub error: Option<String>,
}

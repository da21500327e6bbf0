//! The state of the fake: people, Apps, repositories, pull requests, and what was written on them.
//!
//! Plain tables of plain values, keyed by id. All of it is behind one lock; a request is handled whole while it is held, so
//! requests never see each other half done.
//!
//! Laid out: `actors` (users, Apps, tokens) · `repositories` (and pull requests) · `reviews` (and comments) · `writing` (of both) · `checks` ·
//! `outbox` (webhooks and the delivery log) · `limits` (rate limits) · `faults` and `hits` · `log` (requests seen) · `events` (what
//! changes after a push, a merge, …) · `merge_queue`.

pub(crate) mod actors;
pub(crate) mod checks;
pub(crate) mod events;
pub(crate) mod faults;
pub(crate) mod hits;
pub(crate) mod limits;
pub(crate) mod log;
pub(crate) mod merge_queue;
pub(crate) mod outbox;
pub(crate) mod repositories;
pub(crate) mod reviews;
mod writing;

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
};

use aws_lc_rs::digest;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    clock::Clock,
    git::{Diff, Git},
};
use actors::{App, Installation, Token, User};
use checks::CheckRun;
use hits::Faults;
use limits::Limiter;
use log::RequestLog;
use outbox::{Delivery, RepositoryHook};
use repositories::{Pull, Repository};
use reviews::{IssueComment, Reaction, Review, ReviewComment};

/// A pull request: its repository's id and its number.
pub(crate) type PullKey = (u64, u64);

/// Everything the fake knows.
pub(crate) struct World {
    pub(crate) clock: Clock,
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    /// Where the bare repositories are.
    pub(crate) folder: PathBuf,
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) apps: BTreeMap<u64, App>,
    /// Settings handed in by the manifest form, by their code.
    pub(crate) manifests: BTreeMap<String, (Value, Timestamp)>,
    pub(crate) installations: BTreeMap<u64, Installation>,
    pub(crate) tokens: BTreeMap<String, Token>,
    pub(crate) repositories: BTreeMap<u64, Repository>,
    pub(crate) pulls: BTreeMap<PullKey, Pull>,
    pub(crate) reviews: BTreeMap<u64, Review>,
    pub(crate) review_comments: BTreeMap<u64, ReviewComment>,
    pub(crate) issue_comments: BTreeMap<u64, IssueComment>,
    pub(crate) reactions: BTreeMap<u64, Reaction>,
    pub(crate) checks: BTreeMap<u64, CheckRun>,
    pub(crate) hooks: BTreeMap<u64, RepositoryHook>,
    pub(crate) deliveries: BTreeMap<u64, Delivery>,
    pub(crate) limiter: Limiter,
    pub(crate) faults: Faults,
    pub(crate) log: RequestLog,
    /// Whether a force-push moves the `commit_id` of reviews to the new head.
    pub(crate) moves_reviews: bool,
    next_id: u64,
    outbox: UnboundedSender<u64>,
    diffs: HashMap<(u64, String, String), Arc<Diff>>,
}

impl World {
    /// An empty one.
    pub(crate) fn new(url: String, folder: PathBuf, outbox: UnboundedSender<u64>) -> Self {
        Self {
            clock: Clock::default(),
            url,
            folder,
            users: BTreeMap::new(),
            apps: BTreeMap::new(),
            manifests: BTreeMap::new(),
            installations: BTreeMap::new(),
            tokens: BTreeMap::new(),
            repositories: BTreeMap::new(),
            pulls: BTreeMap::new(),
            reviews: BTreeMap::new(),
            review_comments: BTreeMap::new(),
            issue_comments: BTreeMap::new(),
            reactions: BTreeMap::new(),
            checks: BTreeMap::new(),
            hooks: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            limiter: Limiter::default(),
            faults: Faults::default(),
            log: RequestLog::default(),
            moves_reviews: true,
            next_id: 1000,
            outbox,
            diffs: HashMap::new(),
        }
    }

    /// An id that nothing else has.
    pub(crate) fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The lowest id to be given out from now on.
    pub(crate) fn ids_from(&mut self, lowest: u64) {
        self.next_id = self.next_id.max(lowest);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Puts a delivery in line to be sent.
    pub(crate) fn send(&self, delivery: u64) {
        // Without a receiver the server is going down, and nobody waits for webhooks.
        let _ = self.outbox.send(delivery);
    }

    /// What changed between two commits of a repository.
    pub(crate) fn diff(&mut self, repository: u64, from: &str, to: &str) -> Arc<Diff> {
        let key = (repository, from.to_owned(), to.to_owned());
        if let Some(known) = self.diffs.get(&key) {
            return known.clone();
        }
        let diff = self.git(repository).diff(from, to).unwrap_or_default();
        let diff = Arc::new(diff);
        self.diffs.insert(key, diff.clone());
        diff
    }

    /// The git repository of a repository.
    pub(crate) fn git(&self, repository: u64) -> Git {
        self.repositories[&repository].git.clone()
    }
}

/// The opaque id that GraphQL knows a thing by, made from its kind and id.
pub(crate) fn node_id(kind: &str, id: u64) -> String {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    format!("{kind}_{}", URL_SAFE_NO_PAD.encode(id.to_be_bytes()))
}

/// The kind and id that [`node_id`] was made from.
pub(crate) fn from_node_id(node: &str) -> Option<(&str, u64)> {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let (kind, id) = node.split_once('_')?;
    let id = URL_SAFE_NO_PAD.decode(id).ok()?;
    Some((kind, u64::from_be_bytes(id.try_into().ok()?)))
}

/// Hex digits that look random and are the same for the same input.
pub(crate) fn digest(input: &str) -> String {
    hex::encode(digest::digest(&digest::SHA256, input.as_bytes()))
}

//! What operators paused: runs of a workflow, or about a repository. Runs in hand go on; others are
//! accepted, stored, and put off until nothing pauses them.
//!
//! The pauses of a store are one small value in its key-value store, changed conditionally, and read
//! again after a second.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{Error, Runs};
use crate::{
    base::{
        Fault, Result,
        key_value::{Expect, KeyValueStore, Write},
    },
    graph::Head,
};

const SPACE: &str = "pauses";
const KEY: &str = "all";

/// As good as for ever.
const TTL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// How long what was read counts: so long a pause may go unnoticed.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// How often a change is decided anew because somebody else's came first.
const MAX_ROUNDS: usize = 20;

/// What is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Paused {
    /// All runs of the workflow of this name.
    Workflow(String),
    /// All runs about this repository: `owner/repo`, with its host before it or not, or a folder.
    Repository(String),
}

/// A pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pause {
    /// What is paused.
    #[serde(flatten)]
    pub paused: Paused,
    /// Why, for people.
    pub reason: Option<String>,
    /// The process that was told so.
    pub by: String,
    /// Since when: RFC 3339.
    pub since: String,
}

impl Paused {
    /// Whether this is a run of the workflow, or about the repository; `about` is its subject, else
    /// its key.
    fn covers(&self, workflow: &str, about: &str) -> bool {
        match self {
            Self::Workflow(name) => name == workflow,
            Self::Repository(repository) => names(about, repository),
        }
    }
}

/// Whether `about` names the repository: between its beginning, `:` or `/` and its end, `:` or `#`.
fn names(about: &str, repository: &str) -> bool {
    let (about, repository) = (about.to_lowercase(), repository.to_lowercase());
    about.match_indices(&repository).any(|(at, _)| {
        let before = about[..at].chars().next_back();
        let after = about[at + repository.len()..].chars().next();
        before.is_none_or(|c| c == ':' || c == '/') && after.is_none_or(|c| c == ':' || c == '#')
    })
}

impl std::fmt::Display for Paused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Workflow(name) => write!(f, "workflow {name}"),
            Self::Repository(name) => write!(f, "repository {name}"),
        }
    }
}

impl std::fmt::Display for Pause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is paused", self.paused)?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

/// What was read last, and when.
type Read = (Instant, Arc<[Pause]>);

/// Where pauses are kept, and what was read last.
#[derive(Clone)]
pub(super) struct Pauses {
    store: Arc<dyn KeyValueStore>,
    read: Arc<Mutex<Option<Read>>>,
}

impl Pauses {
    pub(super) fn new(store: Arc<dyn KeyValueStore>) -> Self {
        Self { store, read: Arc::default() }
    }

    async fn now(&self) -> Result<Arc<[Pause]>> {
        let last = self.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, pauses)) = last.filter(|(at, _)| at.elapsed() < READ_INTERVAL) {
            return Ok(pauses);
        }
        let text = self.store.get(SPACE, KEY).await?;
        let pauses: Arc<[Pause]> = decode(text.as_ref())?.into();
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), pauses.clone()));
        Ok(pauses)
    }

    /// Changes them; answers what `change` did.
    async fn change<T>(&self, change: impl Fn(&mut Vec<Pause>) -> T) -> Result<T> {
        for _ in 0..MAX_ROUNDS {
            let found = self.store.read(SPACE, KEY).await?.live();
            let expect = found.as_ref().map_or(Expect::Nothing, |f| Expect::Revision(f.revision));
            let mut pauses = decode(found.as_ref().map(|found| &found.value))?;
            let answer = change(&mut pauses);
            let text = serde_json::to_vec(&pauses).unwrap_or_default();
            let write = Write::new((SPACE, KEY), text.into(), TTL, expect)?;
            if self.store.write(write).await? {
                *self.read.lock().unwrap_or_else(PoisonError::into_inner) = None;
                return Ok(answer);
            }
        }
        Err(Fault::outage("pauses changed each time they were about to be changed"))
    }
}

fn decode(text: Option<&Bytes>) -> Result<Vec<Pause>> {
    let Some(text) = text else { return Ok(Vec::new()) };
    // No job is at fault for it.
    serde_json::from_slice(text)
        .map_err(|error| Fault::outage(format!("the pauses in the store cannot be read: {error}")))
}

impl Runs {
    /// What is paused, the oldest first.
    pub async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        match &self.pauses {
            Some(pauses) => Ok(decode(pauses.store.get(SPACE, KEY).await?.as_ref())?),
            None => Ok(Vec::new()),
        }
    }

    /// Pauses these runs; what is paused already takes the new reason.
    pub async fn pause(&self, paused: Paused, reason: Option<String>) -> Result<Pause, Error> {
        if let Paused::Workflow(name) = &paused {
            self.workflow(name)?;
        }
        let (Paused::Workflow(name) | Paused::Repository(name)) = &paused;
        if name.trim().is_empty() {
            return Err(Error::Invalid("what is to be paused has no name".to_owned()));
        }
        let by = self.owner().to_owned();
        let pause = Pause { paused, reason, by, since: self.now().to_string() };
        let put = |pauses: &mut Vec<Pause>| {
            pauses.retain(|other| other.paused != pause.paused);
            pauses.push(pause.clone());
        };
        self.kept_pauses()?.change(put).await?;
        tracing::info!(paused = %pause.paused, reason = pause.reason, "paused");
        Ok(pause)
    }

    /// Ends a pause. Runs that were put off go on within half a minute.
    pub async fn unpause(&self, paused: &Paused) -> Result<(), Error> {
        let remove = |pauses: &mut Vec<Pause>| {
            let before = pauses.len();
            pauses.retain(|other| other.paused != *paused);
            pauses.len() < before
        };
        if !self.kept_pauses()?.change(remove).await? {
            return Err(Error::NotFound("that is not paused".to_owned()));
        }
        tracing::info!(%paused, "no longer paused");
        Ok(())
    }

    fn kept_pauses(&self) -> Result<&Pauses, Error> {
        let nowhere = || Error::Invalid("there is no key-value store to keep pauses in".to_owned());
        self.pauses.as_ref().ok_or_else(nowhere)
    }

    /// What pauses a run of this workflow and about this.
    pub(super) async fn paused(&self, workflow: &str, about: &str) -> Result<Option<Pause>> {
        let Some(pauses) = &self.pauses else { return Ok(None) };
        let pauses = pauses.now().await?;
        Ok(pauses.iter().find(|pause| pause.paused.covers(workflow, about)).cloned())
    }

    /// What pauses this run.
    pub(super) async fn paused_run(&self, head: &Head) -> Result<Option<Pause>> {
        self.paused(&head.workflow, head.subject.as_deref().unwrap_or(&head.key)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_named_by_its_whole_name() {
        for (about, named) in [
            ("github.com/owner/repo#7", true),
            ("ghe.example/Owner/Repo#7", true),
            ("owner/repo", true),
            ("github.com/owner/repo2#7", false),
            ("github.com/other-owner/repo#7", false),
            ("github.com/owner/repo/fork#7", false),
        ] {
            assert_eq!(names(about, "owner/repo"), named, "{about}");
        }
        assert!(names("github.com/owner/repo#7", "github.com/owner/repo"));
        assert!(names("local:/srv/repo:a..b@1", "/srv/repo"));
        assert!(!names("local:/srv/repo2:a..b@1", "/srv/repo"));
    }
}

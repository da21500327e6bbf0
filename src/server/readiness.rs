//! Whether work should come here: the checks parts report to, and their sum.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use tokio::sync::watch;

/// The state of named checks. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Readiness(Arc<watch::Sender<BTreeMap<String, Result<(), String>>>>);

/// What `/readyz` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether every check is fine.
    pub ready: bool,
    /// Each check: `ok`, or the reason it is not.
    pub checks: BTreeMap<String, String>,
}

impl Readiness {
    /// Checks that are not fine until they report that they are.
    pub fn new(checks: impl IntoIterator<Item = &'static str>) -> Self {
        let starting = |name: &str| (name.to_owned(), Err("starting".to_owned()));
        Self(Arc::new(watch::Sender::new(checks.into_iter().map(starting).collect())))
    }

    /// Reports a check, known or new: fine, or why it is not. The reason is shown to anyone who
    /// can reach `/readyz`: no secrets in it.
    pub fn set(&self, check: &str, state: Result<(), String>) {
        self.0.send_if_modified(|checks| {
            let before = checks.insert(check.to_owned(), state.clone());
            before != Some(state)
        });
    }

    /// How things stand.
    pub fn report(&self) -> Report {
        let checks = self.0.borrow();
        let shown = |state: &Result<(), String>| match state {
            Ok(()) => "ok".to_owned(),
            Err(reason) => reason.clone(),
        };
        Report {
            ready: checks.values().all(Result::is_ok),
            checks: checks.iter().map(|(name, state)| (name.clone(), shown(state))).collect(),
        }
    }

    /// Waits until every check is fine.
    pub async fn ready(&self) {
        let mut checks = self.0.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = checks.wait_for(|checks| checks.values().all(Result::is_ok)).await;
    }
}

//! Check runs.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{World, outbox::Event};
use crate::{clock::after, json as shape};

/// After this an incomplete check run is stale.
const STALE_AFTER: Duration = Duration::from_hours(14 * 24);

/// What a check run may end with. GitHub sets `stale` itself.
pub(crate) const CONCLUSIONS: [&str; 7] =
    ["action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"];

/// A check run.
#[derive(Clone, Debug)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    pub(crate) repository: u64,
    pub(crate) app: u64,
    pub(crate) suite: u64,
    pub(crate) name: String,
    pub(crate) head_sha: String,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) details_url: Option<String>,
    pub(crate) external_id: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) annotations: Vec<Value>,
    pub(crate) actions: Vec<Value>,
    pub(crate) started_at: Timestamp,
    pub(crate) completed_at: Option<Timestamp>,
}

impl World {
    /// The suite that an App's check runs on one commit are in.
    pub(crate) fn suite(&mut self, repository: u64, app: u64, head_sha: &str) -> u64 {
        let same = |run: &&CheckRun| {
            run.repository == repository && run.app == app && run.head_sha == head_sha
        };
        if let Some(run) = self.checks.values().find(same) {
            return run.suite;
        }
        self.id()
    }

    /// Ends check runs that were left incomplete for too long, as GitHub does.
    pub(crate) fn age_checks(&mut self) {
        let now = self.now();
        for run in self.checks.values_mut() {
            if run.status != "completed" && after(run.started_at, STALE_AFTER) <= now {
                run.status = "completed".to_owned();
                run.conclusion = Some("stale".to_owned());
                run.completed_at = Some(now);
            }
        }
    }

    /// Sends a `check_run` webhook; one that asks for something goes to the App of the run alone.
    pub(crate) fn emit_check_run(&mut self, run: &CheckRun, action: &'static str, more: Value) {
        let mut shown = shape::check_run(self, run);
        shape::add(&mut shown, "check_suite", shape::check_suite(self, run));
        let mut body = json!({"check_run": shown});
        if let Value::Object(more) = more {
            for (key, value) in more {
                shape::add(&mut body, &key, value);
            }
        }
        let asks = matches!(action, "rerequested" | "requested_action");
        let sender = if asks {
            self.repositories[&run.repository].owner.clone()
        } else {
            self.apps[&run.app].bot()
        };
        self.emit(Event {
            name: "check_run",
            action: Some(action),
            repository: Some(run.repository),
            sender,
            body,
            only_app: asks.then_some(run.app),
        });
    }
}

//! Faults put into an execution on purpose, for tests of a workflow.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::path::Path;
use crate::base::Fault;

/// Faults to put into one execution. The default puts none. Clones share their counts.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    plan: Option<Arc<Mutex<Plan>>>,
    /// Crash once the run has so many records.
    pub(super) crash_after: Option<u64>,
}

#[derive(Debug, Default)]
struct Plan {
    fail: HashMap<String, (usize, Fault)>,
    repeat: Vec<String>,
}

/// What to do at a node.
pub(super) enum Injected {
    Nothing,
    Failure(Fault),
    Repeat,
}

impl Faults {
    /// The node's (in a subgraph: `NODE/NODE`) next `times` tasks fail with this fault, without running. (A transient fault is
    /// then retried as the node's policy says.)
    #[must_use]
    pub fn fail(self, node: &str, times: usize, fault: Fault) -> Self {
        self.plan(|plan| {
            plan.fail.insert(node.to_owned(), (times, fault));
        })
    }

    /// Every task of the node runs twice, and the first answer is thrown away.
    #[must_use]
    pub fn repeat(self, node: &str) -> Self {
        self.plan(|plan| plan.repeat.push(node.to_owned()))
    }

    /// The process dies, as far as the run can tell, when the run has so many records.
    #[must_use]
    pub fn crash_after(mut self, records: u64) -> Self {
        self.crash_after = Some(records);
        self
    }

    fn plan(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        let plan = self.plan.get_or_insert_default();
        change(&mut plan.lock().unwrap_or_else(PoisonError::into_inner));
        self
    }

    pub(super) fn at(&self, path: &Path, node: &Arc<str>) -> Injected {
        let Some(plan) = &self.plan else { return Injected::Nothing };
        let node = &*path.name(node);
        let mut plan = plan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((left, fault)) = plan.fail.get_mut(node)
            && *left > 0
        {
            *left -= 1;
            return Injected::Failure(fault.clone());
        }
        let repeat = plan.repeat.iter().any(|name| name == node);
        if repeat { Injected::Repeat } else { Injected::Nothing }
    }
}

//! Faults on demand, and the three things every workflow must survive, one line each.
//!
//! This is public: whoever writes a workflow tests it with these. See [`Checks`].

use std::{fmt, sync::Arc};

use serde_json::Value;

pub use super::faults::Faults;
use super::{
    control::Stop,
    graph::Graph,
    runtime::Runtime,
    spec::{ClaimHow, Execute, NewSpec},
    state::State,
    store::{Claimed, RunId, Store},
};
use crate::base::{Clock, Fault};

/// What a check found wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken(pub String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

impl<E: Into<Fault>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self(error.into().to_string())
    }
}

/// The checks of one workflow, on one store, with one input. Each answers how many disturbed runs
/// it made. They compare final states as JSON, so what differs from run to run by nature (times,
/// random ids) must not be in the state.
pub struct Checks<S: State, D> {
    /// The graph.
    pub graph: Graph<S, D>,
    /// What its nodes need.
    pub deps: Arc<D>,
    /// The store; every run gets an id of its own.
    pub store: Arc<dyn Store>,
    /// The input, made anew for each run.
    pub input: fn() -> S::Input,
}

impl<S: State, D: Send + Sync + 'static> Checks<S, D> {
    /// Survives a crash after every record, each time with the state of an undisturbed run.
    ///
    /// # Errors
    /// With the first record after which it did not.
    pub async fn survives_every_crash(&self) -> Result<u64, Broken> {
        let (id, wanted) = self.undisturbed().await?;
        let records = self.store.head(&id).await?.map_or(0, |head| head.version);
        for record in 1..records {
            let (_, state) = self.to_the_end(Faults::default().crash_after(record)).await?;
            if state != wanted {
                return Err(Broken(format!(
                    "after a crash behind record {record} the run ended in another state:\n{state}\ninstead of\n{wanted}"
                )));
            }
        }
        Ok(records.saturating_sub(1))
    }

    /// Every node may run twice.
    ///
    /// # Errors
    /// With the first node that may not.
    pub async fn every_node_may_run_twice(&self) -> Result<u64, Broken> {
        let (_, wanted) = self.undisturbed().await?;
        for node in &self.graph.all_nodes() {
            let (_, state) = self.to_the_end(Faults::default().repeat(node)).await?;
            if state != wanted {
                return Err(Broken(format!("node `{node}`, run twice, changed the outcome")));
            }
        }
        Ok(self.graph.all_nodes().len() as u64)
    }

    /// Every node may fail for good: the run ends, one way or another, and tells the fault.
    ///
    /// # Errors
    /// With the first node whose failure is not found in the run afterwards.
    pub async fn every_node_may_fail(&self) -> Result<u64, Broken> {
        for node in &self.graph.all_nodes() {
            let faults = Faults::default().fail(node, 1, Fault::permanent("injected"));
            let id = self.open().await?;
            let ran = self.execute(&id, faults).await?;
            let mut told = ran.machine.history().iter().filter_map(|task| task.fault.as_ref());
            let reached =
                ran.machine.history().iter().any(|task| task.path.name(&task.node) == *node);
            if reached && !told.any(|fault| fault.message == "injected") {
                return Err(Broken(format!("the failure of node `{node}` left no trace")));
            }
            if !matches!(ran.stop, Stop::Completed | Stop::Failed(_) | Stop::Waiting(_)) {
                return Err(Broken(format!(
                    "node `{node}` failed and the run ended {:?}",
                    ran.stop
                )));
            }
        }
        Ok(self.graph.all_nodes().len() as u64)
    }

    async fn undisturbed(&self) -> Result<(RunId, Value), Broken> {
        self.to_the_end(Faults::default()).await
    }

    async fn to_the_end(&self, faults: Faults) -> Result<(RunId, Value), Broken> {
        let id = self.open().await?;
        let mut ran = self.execute(&id, faults).await?;
        if ran.stop == Stop::Crashed {
            ran = self.execute(&id, Faults::default()).await?;
        }
        if ran.stop != Stop::Completed && ran.stop != Stop::Ended {
            return Err(Broken(format!("the run did not complete: {:?}", ran.stop)));
        }
        let state = ran.machine.state().map(|state| serde_json::to_value(&**state));
        let state = state.transpose().map_err(|e| Broken(e.to_string()))?;
        Ok((id, state.unwrap_or_default()))
    }

    fn runtime(&self) -> Runtime {
        // Whoever crashed here is known to be dead: its lease is not waited for.
        Runtime::new(self.store.clone(), Clock::system(), "checks").with_known_dead(|_| true)
    }

    async fn open(&self) -> Result<RunId, Broken> {
        let id = RunId::random();
        let spec = NewSpec::new("checked", 1, (self.input)()).id(id.clone());
        self.runtime().open(&self.graph, spec).await?;
        Ok(id)
    }

    async fn execute(
        &self,
        id: &RunId,
        faults: Faults,
    ) -> Result<super::EndedExecution<S>, Broken> {
        let runtime = self.runtime();
        let how = ClaimHow { early: true, reopen: true };
        let Claimed::Yours(lease, _) = runtime.claim(id, how).await? else {
            return Err(Broken(format!("run {id} could not be claimed")));
        };
        let execute = Execute { faults, ..Execute::new(self.graph.clone(), self.deps.clone()) };
        Ok(runtime.execute(execute, lease).await?)
    }
}

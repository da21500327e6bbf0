//! The node `route_to_agent`, and where every node leads. Pure.

use serde::{Deserialize, Serialize};

use super::{
    APPROVAL, COMPLETE, ERROR, EXECUTE, ROUTE,
    state::{AgentOutput, OrchestratorState, Status},
};

/// Who is next, and who comes after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// Who is next; nobody when the work is done.
    pub agent: Option<String>,
    /// Who comes after, in order.
    pub queue: Vec<String>,
}

/// Whether a person has to approve before anybody goes on: the latest output asks for it, or it is the
/// last one of a task that has to be approved.
pub fn needs_approval(state: &OrchestratorState) -> bool {
    let asked = state.last_output().is_some_and(|last| {
        !last.failed() && (last.routing_hints.needs_approval || is_last(state, last))
    });
    asked && !state.is_decided()
}

fn is_last(state: &OrchestratorState, last: &AgentOutput) -> bool {
    let approved = state.analysis.as_ref().is_some_and(|analysis| analysis.requires_approval);
    approved && state.current_agent.is_none() && after(state, last).agent.is_none()
}

/// Who is next, by what the latest output says.
pub fn next_agent(state: &OrchestratorState) -> Next {
    let queue = state.agent_queue.clone();
    let Some(last) = state.last_output() else { return first_of(queue) };
    let rejected = state.is_decided()
        && state.approval_response.as_ref().is_some_and(|response| !response.approved);
    match rejected {
        true => Next { agent: Some(last.agent_id.clone()), queue },
        false => after(state, last),
    }
}

/// Who follows on an output that nobody rejected.
fn after(state: &OrchestratorState, last: &AgentOutput) -> Next {
    let hints = &last.routing_hints;
    let mut queue = state.agent_queue.clone();
    if last.failed() {
        return match hints.suggest_next.first().filter(|next| **next != last.agent_id) {
            // Once it is mended, whoever found the failure looks again.
            Some(mends) => {
                queue.insert(0, last.agent_id.clone());
                Next { agent: Some(mends.clone()), queue }
            }
            None => Next { agent: Some(last.agent_id.clone()), queue },
        };
    }
    if hints.is_complete {
        return Next { agent: None, queue: Vec::new() };
    }
    queue.retain(|agent| !hints.skip_agents.contains(agent));
    let done = |agent: &String| state.completed_agents.contains(agent);
    match hints.suggest_next.iter().find(|agent| !done(agent) && **agent != last.agent_id) {
        Some(next) => {
            queue.retain(|agent| agent != next);
            Next { agent: Some(next.clone()), queue }
        }
        None => first_of(queue),
    }
}

fn first_of(mut queue: Vec<String>) -> Next {
    let agent = (!queue.is_empty()).then(|| queue.remove(0));
    Next { agent, queue }
}

/// To the routing once there is an analysis.
pub fn route_after_analysis(state: &OrchestratorState) -> &'static str {
    if state.analysis.is_some() { ROUTE } else { ERROR }
}

/// To a person when one has to approve, else to the agent that is next; without one, to the end.
pub fn route_after_routing(state: &OrchestratorState) -> &'static str {
    match &state.current_agent {
        _ if needs_approval(state) => APPROVAL,
        Some(_) => EXECUTE,
        None => COMPLETE,
    }
}

/// To the error when there was no agent to run, or one failed too often; to a person when one has to
/// approve; else back to the routing.
pub fn route_after_execution(state: &OrchestratorState) -> &'static str {
    let failed = state.last_output().is_some_and(AgentOutput::failed);
    let too_often = failed && state.retry_count >= state.max_retries;
    match state.status {
        Status::Failed => ERROR,
        _ if too_often => ERROR,
        _ if needs_approval(state) => APPROVAL,
        _ => ROUTE,
    }
}

/// Back to the routing, whether the work goes on or is done again; to the error when the person ended
/// it.
pub fn route_after_approval(state: &OrchestratorState) -> &'static str {
    if state.status == Status::Aborted { ERROR } else { ROUTE }
}

/// Why the task ends in the node `error`.
pub(super) fn reason(state: &OrchestratorState) -> String {
    let known = state.error.clone();
    known.unwrap_or_else(|| match (state.status, state.last_output()) {
        (Status::Aborted, _) => "ended by the person who was asked to approve".to_owned(),
        (_, Some(last)) => {
            let (agent, times) = (&last.agent_id, state.retry_count);
            let why = last.error.as_deref().unwrap_or("it reported failures");
            format!("agent `{agent}` failed {times} times in a row: {why}")
        }
        (_, None) => "the task was not analysed".to_owned(),
    })
}

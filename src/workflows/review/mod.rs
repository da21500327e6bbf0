//! The review workflow: ingest → style, security, logic, pattern side by side → judge → publish.
//!
//! What it promises: every changed path is accounted for, per agent: done, skipped with the reason,
//! or failed; no secret is stored, logged or shown; nothing of the change is executed, and no
//! setting is taken from it. What it never does: hide that a part is missing.
//!
//! | file | is |
//! |---|---|
//! | `input.rs` | what a review is asked for, and its key |
//! | `settings.rs` | `.verdict.toml` of the base side |
//! | `own_rules.rs` | `.verdict/rules/*.yml` of the base side |
//! | `rule_book.rs` | every rule, for people who ask about them |
//! | `state.rs` | what is kept in the run |
//! | `plan.rs` | how a change is divided among tasks |
//! | `reader/` | texts read, masked and analysed once for all agents |
//! | `deps.rs` | what the nodes need from outside |
//! | `ingest.rs`, `agents/`, `judge.rs`, `publish.rs` | the nodes |
//! | `sided.rs` | what agents say about the change as a whole |
//! | `lock_files.rs` | lock files against their manifests, whichever of them changed |
//! | `report/` | the finished review, for people and for programs |

pub mod agents;
mod deps;
mod ingest;
mod input;
pub mod judge;
mod lock_files;
mod own_rules;
pub mod plan;
mod publish;
pub mod reader;
pub mod report;
mod rule_book;
pub mod settings;
mod sided;
mod state;

use std::collections::HashMap;

use async_trait::async_trait;

use self::{
    agents::{AGENTS, Agent},
    judge::Placed,
};
pub use self::{
    deps::ReviewDeps,
    ingest::ingest,
    input::{Ask, ReviewInput},
    judge::{Judgement, Verdict},
    own_rules::OwnRule,
    reader::Limits,
    report::Report,
    rule_book::{RuleBook, RuleInfo, Tried},
    state::{AgentReport, Ingested, Outcome, ReportKey, ReviewFile, ReviewState, ReviewUpdate},
};
use super::{Admission, Event, Start, Workflow, read_input};
use crate::{
    analysis::Finding,
    base::{Fault, Result},
    forge::{EventRequest, FileChange, Resolved, Target},
    graph::{Context, Dispatch, END, Graph, GraphBuilder, GraphError, NodeError},
};

/// The forge that dispatches webhooks.
const GITHUB: &str = "github";

type Ctx = Context<ReviewState, ReviewDeps>;

/// The review workflow.
#[derive(Debug, Clone, Copy)]
pub struct Review;

#[async_trait]
impl Workflow for Review {
    const NAME: &'static str = "review";
    const VERSION: u32 = 2;
    const CONTINUES: &'static [u32] = &[1];
    const EVENTS: &'static [&'static str] = &["pull_request"];

    type State = ReviewState;
    type Deps = ReviewDeps;

    fn graph() -> Result<Graph<ReviewState, ReviewDeps>, GraphError> {
        graph(AGENTS)
    }

    fn render(state: &ReviewState) -> Option<String> {
        Some(report::text(state, &report::ReportContext::default(), false))
    }

    async fn admit(deps: &ReviewDeps, event: &Event) -> Result<Admission<Target>> {
        match event {
            Event::Job { input, .. } => {
                let input: ReviewInput = read_input(Self::NAME, input)?;
                let Resolved { target, subject, order } = input.resolve(&deps.forges).await?;
                let key = input.key(&target);
                Ok(Admission::Start(Start { key, subject, order, input: target }))
            }
            Event::Webhook { event, body, .. } => {
                match deps.forges.event(GITHUB, event, body).await? {
                    Some(EventRequest::Review(locator)) => {
                        let Resolved { target, subject, order } =
                            deps.forges.resolve(&locator).await?;
                        let key = target.key();
                        Ok(Admission::Start(Start { key, subject, order, input: target }))
                    }
                    Some(EventRequest::Cancel { subject }) => Ok(Admission::Cancel { subject }),
                    Some(EventRequest::Ignore(reason)) => Ok(Admission::Ignore { reason }),
                    // A dead letter keeps the event until there is a forge to ask about it.
                    None => Err(Fault::permanent(format!(
                        "no forge is configured that a `{event}` event could be from: set \
                         github.app_id and github.private_key_path, or github.token"
                    ))),
                }
            }
        }
    }
}

/// The graph of a review by these agents.
///
/// # Errors
/// If two agents have one name, or there is none.
pub fn graph(
    agents: &'static [&'static dyn Agent],
) -> Result<Graph<ReviewState, ReviewDeps>, GraphError> {
    let mut graph = GraphBuilder::new();
    graph.node("ingest", move |ctx: Ctx| async move {
        let change = ingest(ctx.deps(), agents, &ctx.state().target).await?;
        ctx.progress("files", &change.files.len());
        Ok::<_, NodeError>(ReviewUpdate::Ingested(change))
    });
    graph.node("judge", |ctx: Ctx| async move {
        let judgement = judge_all(ctx.deps(), ctx.state()).await?;
        ctx.deps().forget(&ctx.state().target);
        Ok::<_, NodeError>(ReviewUpdate::Judged(judgement))
    });
    graph.node("publish", |ctx: Ctx| async move {
        let attempt = (ctx.idempotency_key(), ctx.attempt());
        let published =
            publish::publish(&ctx.deps().forges, ctx.run(), ctx.state(), attempt).await?;
        Ok::<_, NodeError>(ReviewUpdate::Published(published))
    });
    graph.entry("ingest").edge("judge", "publish").edge("publish", END);
    graph.fan_out("ingest", agents.iter().map(|agent| agent.id()), |state| tasks(agents, state));
    for agent in agents {
        add_agent(&mut graph, *agent);
    }
    graph.compile()
}

/// The tasks of all agents: a chunk each. The only task of an agent is sent no number.
fn tasks(agents: &[&dyn Agent], state: &ReviewState) -> Vec<Dispatch> {
    let of_agent = |agent: &&dyn Agent| -> Vec<Dispatch> {
        let whole = || Dispatch::to(agent.id());
        match chunk_count(state, agent.id()) {
            0 | 1 => vec![whole()],
            count => (0..count)
                .map(|number| Dispatch::with(agent.id(), &number).unwrap_or_else(|_| whole()))
                .collect(),
        }
    };
    agents.iter().flat_map(of_agent).collect()
}

fn chunk_count(state: &ReviewState, agent: &str) -> u32 {
    let count = state.ingested.as_ref().map_or(0, |change| change.plan.of(agent).len());
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// An agent's node: what goes wrong in a task of it never leaves it.
fn add_agent(graph: &mut GraphBuilder<ReviewState, ReviewDeps>, agent: &'static dyn Agent) {
    let name = agent.id();
    let node = graph.node(name, move |ctx: Ctx| async move {
        let state = ctx.state();
        let number = if chunk_count(state, name) > 1 { ctx.input()? } else { 0 };
        let change = ingested(state)?;
        let report = agents::run(ctx.deps(), &state.target, agent, change, number).await?;
        ctx.progress("findings", &report.findings.len());
        Ok::<_, NodeError>(ReviewUpdate::Agent(report))
    });
    node.timeout(agent.timeout()).on_task_error_continue(move |task, fault| {
        let number = task.input.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok());
        ReviewUpdate::Agent(agents::gave_up(agent, number.unwrap_or(0), fault))
    });
    graph.edge(name, "judge");
}

/// Reads what the findings quote, no more at a time than fits into memory, then judges.
///
/// # Errors
/// When the forge does not answer.
pub async fn judge_all(deps: &ReviewDeps, state: &ReviewState) -> Result<Judgement> {
    let change = ingested(state)?;
    let reports = || state.agents.values();
    let mut quoting: HashMap<&str, Vec<Finding>> = HashMap::new();
    for finding in judge::found(change, reports()) {
        quoting.entry(&finding.path).or_default().push(finding.clone());
    }
    let quotes = |f: &&FileChange| {
        quoting.get(f.path.as_str()).is_some_and(|all| all.iter().any(|f| !f.is_whole_file()))
    };
    let files: Vec<&FileChange> = change.files.iter().map(|f| &f.change).filter(quotes).collect();
    let mut placed = Placed::default();
    let reader = deps.open(&state.target).await?;
    for batch in reader.batches(&files) {
        let texts = reader.texts(batch).await?;
        let here = batch.iter().filter_map(|f| quoting.remove(f.path.as_str()));
        placed.place(here.flatten().collect(), &texts);
    }
    let no_texts: HashMap<String, String> = HashMap::new();
    placed.place(quoting.into_values().flatten().collect(), &no_texts);
    Ok(judge::judge(change, reports(), placed))
}

fn ingested(state: &ReviewState) -> Result<&Ingested> {
    state.ingested.as_ref().ok_or_else(|| Fault::permanent("the change was not ingested"))
}

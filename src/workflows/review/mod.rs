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
//! | `deps.rs` | what the nodes need from outside |
//! | `texts.rs` | texts read, masked and analysed once for all agents |
//! | `sided.rs` | the checks of both sides, settled over the whole change |
//! | `lock_files.rs` | lock files against their manifests, whichever of them changed |
//! | `ingest.rs`, `agents/`, `judge.rs`, `publish.rs` | the nodes |
//! | `report/` | the finished review, for people and for programs |

pub mod agents;
mod deps;
mod ingest;
mod input;
pub mod judge;
mod lock_files;
mod own_rules;
mod publish;
pub mod report;
mod rule_book;
pub mod settings;
mod sided;
mod state;
pub mod texts;

use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;

use self::{
    agents::{AGENTS, Agent},
    judge::Placed,
};
pub use self::{
    deps::{Limits, ReviewDeps},
    ingest::ingest,
    input::{Ask, ReviewInput, Target},
    judge::{Judgement, Verdict},
    own_rules::OwnRule,
    report::Report,
    rule_book::{RuleBook, RuleInfo, Tried},
    state::{AgentReport, Ingested, Outcome, Published, ReviewFile, ReviewState, ReviewUpdate},
};
use super::{Admission, Event, Start, Workflow, read_input};
use crate::{
    analysis::Finding,
    base::{Fault, Result},
    forge::FileChange,
    graph::{Context, END, Graph, GraphBuilder, GraphError, NodeError},
};

/// What one try of an agent may take.
const AGENT_TIMEOUT: Duration = Duration::from_secs(300);

type Ctx = Context<ReviewState, ReviewDeps>;

/// The review workflow.
#[derive(Debug, Clone, Copy)]
pub struct Review;

#[async_trait]
impl Workflow for Review {
    const NAME: &'static str = "review";
    const VERSION: u32 = 1;
    const EVENTS: &'static [&'static str] = &["pull_request"];

    type State = ReviewState;
    type Deps = ReviewDeps;

    fn graph() -> Result<Graph<ReviewState, ReviewDeps>, GraphError> {
        let mut graph = GraphBuilder::new();
        graph.node("ingest", |ctx: Ctx| async move {
            let change = ingest(ctx.deps(), &ctx.state().target).await?;
            ctx.progress("files", &change.files.len());
            Ok::<_, NodeError>(ReviewUpdate::Ingested(change))
        });
        graph.node("judge", |ctx: Ctx| async move {
            let judgement = judge_all(&ctx).await?;
            Ok::<_, NodeError>(ReviewUpdate::Judged(judgement))
        });
        graph.node("publish", |ctx: Ctx| async move {
            let published = publish::publish(ctx.state())?;
            Ok::<_, NodeError>(ReviewUpdate::Published(published))
        });
        graph.entry("ingest").edge("judge", "publish").edge("publish", END);
        for agent in AGENTS {
            add_agent(&mut graph, *agent);
        }
        graph.compile()
    }

    fn render(state: &ReviewState) -> Option<String> {
        Some(report::text(state, &report::About::default(), false))
    }

    async fn admit(deps: &ReviewDeps, event: &Event) -> Result<Admission<Target>> {
        match event {
            Event::Job { input, .. } => {
                let input: ReviewInput = read_input(Self::NAME, input)?;
                let target = input.resolve(&*deps.forge).await?;
                target.check_allowed(deps.allow.as_deref())?;
                let (key, subject) = (input.key(&target), None);
                Ok(Admission::Start(Start { key, subject, order: 0, input: target }))
            }
            // A dead letter keeps the event until there is a forge to ask about it.
            Event::Webhook { event, .. } => Err(Fault::permanent(format!(
                "no forge is configured that a `{event}` event could be from; this version reviews \
                 local repositories only"
            ))),
        }
    }
}

/// An agent's node: what goes wrong in it never leaves it.
fn add_agent(graph: &mut GraphBuilder<ReviewState, ReviewDeps>, agent: Agent) {
    let name = agent.category.word();
    let node = graph.node(name, move |ctx: Ctx| async move {
        let change = ingested(ctx.state())?;
        let report = agents::run(ctx.deps(), agent, change).await?;
        ctx.progress("findings", &report.findings.len());
        Ok::<_, NodeError>(ReviewUpdate::Agent(report))
    });
    node.timeout(AGENT_TIMEOUT)
        .on_error_continue(move |fault| ReviewUpdate::Agent(agents::gave_up(agent, fault)));
    graph.edge("ingest", name).edge(name, "judge");
}

/// Reads what the findings quote, no more at a time than fits into memory, then judges.
async fn judge_all(ctx: &Ctx) -> Result<Judgement> {
    let (deps, change) = (ctx.deps(), ingested(ctx.state())?);
    let reports = || ctx.state().agents.values();
    let mut quoting: HashMap<&str, Vec<Finding>> = HashMap::new();
    for finding in judge::found(change, reports()) {
        quoting.entry(&finding.path).or_default().push(finding.clone());
    }
    let quotes = |f: &&FileChange| {
        quoting.get(f.path.as_str()).is_some_and(|all| all.iter().any(|f| !f.is_whole_file()))
    };
    let files: Vec<&FileChange> = change.files.iter().map(|f| &f.change).filter(quotes).collect();
    let mut placed = Placed::default();
    for batch in texts::batches(&files, &deps.limits) {
        let texts = texts::masked(deps, &change.range, batch).await?;
        let here = batch.iter().filter_map(|f| quoting.remove(f.path.as_str()));
        placed.place(here.flatten().collect(), &texts);
    }
    placed.place(quoting.into_values().flatten().collect(), &HashMap::new());
    Ok(judge::judge(change, reports(), placed))
}

fn ingested(state: &ReviewState) -> Result<&Ingested> {
    state.ingested.as_ref().ok_or_else(|| Fault::permanent("the change was not ingested"))
}

//! The review workflow: ingest → style, security, logic, pattern side by side, what models say for each, and tools → judge →
//! publish.
//!
//! What it promises: every changed path is accounted for, per agent: done, skipped with the reason,
//! or failed; no secret is stored, logged or shown; nothing of the change is executed, and no
//! setting is taken from it. What it never does: hide that a part is missing.
//!
//! | file | is |
//! |---|---|
//! | `input.rs` | what a review is asked for, and its key |
//! | `admit.rs`, `triggers.rs` | which events start a review |
//! | `settings.rs`, `settings_file.rs` | `.verdict.toml` of the base side |
//! | `names.rs` | file names without the secrets in them |
//! | `own_rules.rs` | `.verdict/rules/*.yml` of the base side |
//! | `rule_book.rs` | every rule, for people who ask about them |
//! | `state.rs` | what is kept in the run |
//! | `settings.rs`, `overrides.rs` | what the repository, and who asks, says about its reviews |
//! | `plan.rs` | how a change is divided among tasks |
//! | `reader/` | texts read, masked and analysed once for all agents |
//! | `deps.rs` | what the nodes need from outside |
//! | `ingest.rs`, `agents/`, `judge.rs`, `publish.rs` | the nodes |
//! | `gather.rs` | what is told once of many places |
//! | `anchors.rs` | findings on the lines they quote |
//! | `moved.rs` | which of them are about code that came from another file |
//! | `suggestions.rs` | which suggestions may be made |
//! | `past.rs` | what earlier reviews mean for this one |
//! | `models/` | what agents ask language models, where one is configured |
//! | `tools/` | what other tools found: read from their logs, or run by the worker |
//! | `sided.rs` | what agents say about the change as a whole |
//! | `lock_files.rs` | lock files against their manifests, whichever of them changed |
//! | `score.rs` | how well a review found what was to be found |
//! | `golden.rs` | the same by what people said of the change |
//! | `report/` | the finished review, for people and for programs |

mod admit;
pub mod agents;
mod anchors;
mod deps;
mod gather;
mod golden;
mod ingest;
mod input;
pub mod judge;
mod lock_files;
pub mod models;
mod moved;
mod names;
mod overrides;
mod own_rules;
pub mod past;
pub mod plan;
mod publish;
pub mod reader;
pub mod report;
mod rule_book;
mod score;
pub mod settings;
mod settings_file;
mod sided;
mod state;
mod suggestions;
mod tools;
mod triggers;

use std::{collections::HashMap, pin::pin, sync::Arc, time::Duration};

use async_trait::async_trait;

use self::{
    agents::{AGENTS, Agent},
    judge::Placed,
    models::ModelDispatch,
    moved::Moved,
    reader::{Count, Work},
};
pub use self::{
    deps::ReviewDeps,
    golden::{GoldenComment, GoldenPull, Matcher},
    ingest::ingest,
    input::{Ask, NamedLog, ReviewInput},
    judge::{Judgement, Verdict},
    overrides::Overrides,
    own_rules::OwnRule,
    past::Past,
    reader::Limits,
    report::Report,
    rule_book::{RuleBook, RuleInfo, Tried},
    score::{Expected, Score},
    state::{
        AgentReport, Ingested, Outcome, ReportKey, ReviewFile, ReviewStart, ReviewState,
        ReviewUpdate,
    },
    tools::{ReviewOptions, ToolDispatch, ToolOptions, ToolReport, ToolRun, ToolTask, Tools},
    triggers::Triggers,
};
use super::{Admission, Event, Workflow};
use crate::{
    analysis::Finding,
    base::{Clock, Fault, Result},
    forge::{FileChange, Published, Standing},
    graph::{
        Command, Context, Dispatch, END, Graph, GraphBuilder, GraphError, NodeError, RetryPolicy,
        RunInfo, RunStatus,
    },
};

/// The forge that dispatches webhooks.
const GITHUB: &str = "github";

/// How often it is told how many files are done.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// The node of the tasks for models.
const MODELS: &str = "models";

/// The node of the tasks for tools.
const TOOLS: &str = "tools";

type Ctx = Context<ReviewState, ReviewDeps>;

/// The review workflow.
#[derive(Debug, Clone, Copy)]
pub struct Review;

#[async_trait]
impl Workflow for Review {
    const NAME: &'static str = "review";
    const VERSION: u32 = 4;
    const CONTINUES: &'static [u32] = &[3, 2, 1];
    const EVENTS: &'static [&'static str] = &[
        "pull_request",
        "issue_comment",
        "pull_request_review_comment",
        "check_run",
        "check_suite",
        "merge_group",
    ];

    type State = ReviewState;
    type Deps = ReviewDeps;

    fn graph() -> Result<Graph<ReviewState, ReviewDeps>, GraphError> {
        graph(AGENTS)
    }

    fn render(state: &ReviewState) -> Option<String> {
        Some(report::text(state, &report::ReportContext::default(), false))
    }

    fn overtaken(state: &ReviewState, another: bool) -> Option<&'static str> {
        let moved = state.published == Some(Published::HeadMoved);
        // One that was published elsewhere than on a forge replaces no other.
        let replaced = another && matches!(state.published, Some(Published::At(_)));
        (moved || replaced).then_some("publish")
    }

    async fn admit(deps: &ReviewDeps, event: &Event) -> Result<Admission<ReviewStart>> {
        admit::admit(deps, event).await
    }

    async fn show(
        deps: &ReviewDeps,
        run: &RunInfo,
        state: &ReviewState,
        (status, why): (RunStatus, &str),
    ) -> Result<()> {
        let why = || report::prose(why);
        let standing = match status {
            RunStatus::Superseded => Standing::Superseded,
            RunStatus::Cancelled => Standing::Cancelled,
            RunStatus::Failed => Standing::Failed(why()),
            _ => Standing::Waiting(why()),
        };
        publish::show(&deps.forges, run, &state.target, &standing).await
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
    let node = graph.node("ingest", move |ctx: Ctx| async move {
        let target = &ctx.state().target;
        let waits_for = agents.iter().map(|agent| agent.id().to_owned()).collect();
        let started = Standing::Started(waits_for);
        if let Err(fault) = publish::show(&ctx.deps().forges, ctx.run(), target, &started).await {
            // A review is not lost because nobody was told that it began.
            tracing::warn!(run = %ctx.run().id, error = %fault, "that the review began is not shown");
        }
        let work = ingest(ctx.deps(), agents, ctx.state());
        let change = counted(&ctx, Work::Reading, work).await?;
        ctx.progress("files", &change.files.len());
        Ok::<_, NodeError>(ReviewUpdate::Ingested(change))
    });
    node.retry(patient());
    let node = graph.node("judge", |ctx: Ctx| async move {
        let judgement = judge_all(ctx.deps(), ctx.state(), &session(&ctx)).await?;
        ctx.deps().forget(&ctx.state().target);
        Ok::<_, NodeError>(ReviewUpdate::Judged(judgement))
    });
    node.retry(patient());
    let node = graph.node("publish", |ctx: Ctx| async move {
        let attempt = (ctx.idempotency_key(), ctx.attempt());
        let published =
            publish::publish(&ctx.deps().forges, ctx.run(), ctx.state(), attempt).await?;
        Ok::<_, NodeError>(ReviewUpdate::Published(published))
    });
    node.retry(patient());
    // What nobody can cure by waiting fails the run once its findings are published; a replay goes
    // back to what failed.
    graph.node("conclude", |ctx: Ctx| async move {
        match ctx.state().refusal() {
            Some(why) => Err(NodeError::from(Fault::permanent(why))),
            None => Ok(Command::nothing()),
        }
    });
    graph.entry("ingest").edge("judge", "publish").edge("conclude", END);
    graph.branch("publish", ["conclude", END], |state| {
        if state.refusal().is_some() { "conclude" } else { END }
    });
    let targets = agents.iter().map(|agent| agent.id()).chain([MODELS, TOOLS]);
    graph.fan_out("ingest", targets, |state| tasks(agents, state));
    add_models(&mut graph);
    add_tools(&mut graph);
    for agent in agents {
        add_agent(&mut graph, *agent);
    }
    graph.compile()
}

/// How nodes that ask the forge are tried again. A limit that is not over in a moment parks the run.
fn patient() -> RetryPolicy {
    RetryPolicy { patience: Duration::from_secs(10), ..RetryPolicy::default() }
}

/// The tasks of all agents: a chunk each. The only task of an agent is sent no number.
fn tasks(agents: &[&dyn Agent], state: &ReviewState) -> Vec<Dispatch> {
    let of_agent = |agent: &&dyn Agent| -> Vec<Dispatch> {
        match chunk_count(state, agent.id()) {
            0 | 1 => vec![Dispatch::to(agent.id())],
            count => (0..count).map(|number| Dispatch::with(agent.id(), &number)).collect(),
        }
    };
    let models = state.ingested.iter().flat_map(|change| (0..).zip(&change.models));
    let of_models = models.map(|(task, asked)| {
        Dispatch::with(MODELS, &ModelDispatch { task, agent: asked.agent.clone() })
    });
    let tools = state.ingested.iter().flat_map(|change| (0..).zip(&change.tool_tasks));
    let of_tools = tools
        .map(|(task, run)| Dispatch::with(TOOLS, &ToolDispatch { task, tool: run.tool.clone() }));
    agents.iter().flat_map(of_agent).chain(of_models).chain(of_tools).collect()
}

/// The node of all tasks for tools: one that fails leaves everything else as it is.
fn add_tools(graph: &mut GraphBuilder<ReviewState, ReviewDeps>) {
    let node = graph.node(TOOLS, |ctx: Ctx| async move {
        let report = tools::run(ctx.deps(), ctx.state(), &ctx.input()?).await?;
        ctx.progress("findings", &report.findings.len());
        Ok::<_, NodeError>(ReviewUpdate::Tool(report))
    });
    // What took too long once will again.
    node.retry(RetryPolicy { timeouts: false, ..RetryPolicy::default() });
    node.on_task_error_continue(|task, fault| {
        let unknown = || ToolDispatch { task: u32::MAX, tool: TOOLS.to_owned() };
        ReviewUpdate::Tool(tools::gave_up(&task.read_input().unwrap_or_else(unknown), fault))
    });
    graph.edge(TOOLS, "judge");
}

/// The node of all tasks for models: one that fails leaves the others, and the analysis, as they are.
fn add_models(graph: &mut GraphBuilder<ReviewState, ReviewDeps>) {
    let node = graph.node(MODELS, |ctx: Ctx| async move {
        let dispatch: ModelDispatch = ctx.input()?;
        let session = session(&ctx);
        let report = models::run(ctx.deps(), ctx.state(), &dispatch, session).await;
        let report = report.map_err(|why| match why.closed_for {
            Some(wait) => ctx.park(Clock::system().now().plus(wait), why.fault.message),
            None => why.fault.into(),
        })?;
        ctx.progress("findings", &report.findings.len());
        Ok::<_, NodeError>(ReviewUpdate::Model(report))
    });
    // The chain of models has tried again by itself.
    node.retry(RetryPolicy::none()).timeout(models::TASK_TIMEOUT);
    node.on_task_error_continue(|task, fault| {
        let unknown = || ModelDispatch { task: u32::MAX, agent: MODELS.to_owned() };
        ReviewUpdate::Model(models::gave_up(&task.read_input().unwrap_or_else(unknown), fault))
    });
    graph.edge(MODELS, "judge");
}

fn chunk_count(state: &ReviewState, agent: &str) -> u32 {
    let count = state.ingested.as_ref().map_or(0, |change| change.plan.of(agent).len());
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Who asks models: the run, which hears how far they are.
fn session(ctx: &Ctx) -> models::Session {
    let watched = ctx.clone();
    models::Session {
        run: ctx.run().id.to_string(),
        cancel: ctx.cancelled().clone(),
        progress: Arc::new(move |progress| watched.progress("model", progress)),
    }
}

/// An agent's node: what goes wrong in a task of it never leaves it.
fn add_agent(graph: &mut GraphBuilder<ReviewState, ReviewDeps>, agent: &'static dyn Agent) {
    let name = agent.id();
    let node = graph.node(name, move |ctx: Ctx| async move {
        let state = ctx.state();
        let number = if chunk_count(state, name) > 1 { ctx.input()? } else { 0 };
        let change = ingested(state)?;
        let work = agents::run(ctx.deps(), &state.target, agent, change, number);
        let report = counted(&ctx, Work::Analysis, work).await?;
        ctx.progress("findings", &report.findings.len());
        Ok::<_, NodeError>(ReviewUpdate::Agent(report))
    });
    node.timeout(agent.timeout()).on_task_error_continue(move |task, fault| {
        ReviewUpdate::Agent(agents::gave_up(agent, task.read_input().unwrap_or(0), fault))
    });
    graph.edge(name, "judge");
}

/// Does `work`, and tells whoever watches the run how many files are done meanwhile.
async fn counted<T>(ctx: &Ctx, kind: Work, work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut work = pin!(work);
    let mut tick = tokio::time::interval(PROGRESS_INTERVAL);
    let mut last = Count::default();
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = tick.tick() => {
                let reader = ctx.deps().opened(&ctx.state().target);
                let now = reader.map(|reader| reader.counts().get(kind)).unwrap_or_default();
                if now != last {
                    ctx.progress(kind.word(), &now);
                    last = now;
                }
            }
        }
    }
}

/// Reads what the findings quote, no more at a time than fits into memory, has models' findings checked, judges, then tries
/// the suggestions.
///
/// # Errors
/// When the forge does not answer.
pub async fn judge_all(
    deps: &ReviewDeps,
    state: &ReviewState,
    session: &models::Session,
) -> Result<Judgement> {
    let change = ingested(state)?;
    let reports = || state.reports();
    let mut quoting: HashMap<&str, Vec<Finding>> = HashMap::new();
    for finding in judge::found(change, reports()) {
        quoting.entry(&finding.path).or_default().push(finding.clone());
    }
    let quotes = |f: &&FileChange| {
        quoting.get(f.path.as_str()).is_some_and(|all| all.iter().any(|f| !f.is_whole_file()))
    };
    let files: Vec<&FileChange> = change.files.iter().map(|f| &f.change).filter(quotes).collect();
    let (mut placed, mut moved) = (Placed::default(), Moved::default());
    let reader = deps.open(&state.target).await?;
    for batch in reader.batches(&files) {
        let texts = reader.texts(batch).await?;
        for file in batch {
            let here = quoting.remove(file.path.as_str()).unwrap_or_default();
            texts.get(&file.path).into_iter().for_each(|text| moved.add(&here, file, text));
            placed.place(here, &texts);
        }
    }
    let changes: Vec<&FileChange> = change.files.iter().map(|f| &f.change).collect();
    placed.soften(&moved.fingerprints(&reader, &change.rules, &changes).await?);
    let no_texts: HashMap<String, String> = HashMap::new();
    placed.place(quoting.into_values().flatten().collect(), &no_texts);
    let past = Past::of(deps, &state.target).await?;
    let (rulings, model) = models::refute(deps, state, session, &mut placed, &past).await?;
    let mut judgement = judge::judge(change, reports(), placed, &past);
    suggestions::keep_sound(&reader, &files, &mut judgement.findings).await?;
    Ok(Judgement { rulings, model, ..judgement })
}

fn ingested(state: &ReviewState) -> Result<&Ingested> {
    state.ingested.as_ref().ok_or_else(|| Fault::permanent("the change was not ingested"))
}

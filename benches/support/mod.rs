//! The measured workload: a run shaped like a review, and a wide fan-out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use verdict::graph::{Command, Context, Dispatch, END, Graph, GraphBuilder, NodeError, State};

/// Bytes of a review's diff.
pub const DIFF: usize = 64 * 1024;

/// A finding of ordinary size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub path: String,
    pub line: u32,
    pub rule: String,
    pub title: String,
    pub body: String,
}

/// A review: its diff, its findings, and what came of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Review {
    pub diff: String,
    pub findings: Vec<Finding>,
    pub kept: usize,
    pub published: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Update {
    Diff(String),
    Found(Vec<Finding>),
    Kept(usize),
    Published,
}

impl State for Review {
    type Input = u64;
    type Update = Update;

    fn new(_: u64) -> Self {
        Self::default()
    }

    fn merge(&mut self, update: Update) {
        match update {
            Update::Diff(diff) => self.diff = diff,
            Update::Found(findings) => self.findings.extend(findings),
            Update::Kept(kept) => self.kept = kept,
            Update::Published => self.published = true,
        }
    }
}

/// What the nodes do, engine or not: the same closures.
pub struct Work {
    /// A real diff, from this project's history, of ordinary density: zstd at level 3 leaves 0.254 of
    /// it. Of 639 diffs as long, taken at random from 61 public repositories, it left 0.246 of the
    /// median, 0.167 of one in ten or less, 0.318 of one in ten or more.
    pub diff: String,
}

impl Work {
    pub fn new() -> Self {
        let mut diff = include_str!("change.diff").to_owned();
        diff.truncate(diff.floor_char_boundary(DIFF));
        Self { diff }
    }

    pub fn ingest(&self) -> String {
        self.diff.clone()
    }

    pub fn agent(&self, name: &str, diff: &str) -> Vec<Finding> {
        let finding = |line: u32| Finding {
            path: "src/graph/executor.rs".to_owned(),
            line: line + diff.len() as u32 % 100,
            rule: format!("{name}/rule-{line}"),
            title: "a lock is held across an await".to_owned(),
            body: "Another task on this thread may want the same lock; release it before waiting."
                .to_owned(),
        };
        (0..5).map(finding).collect()
    }

    pub fn judge(&self, findings: &[Finding]) -> usize {
        findings.iter().filter(|finding| finding.line % 2 == 0).count()
    }
}

pub const AGENTS: [&str; 4] = ["style", "security", "logic", "pattern"];

type Ctx = Context<Review, Work>;

pub fn review() -> Graph<Review, Work> {
    let mut graph = GraphBuilder::new();
    graph.node("ingest", |ctx: Ctx| async move {
        Ok::<_, NodeError>(Update::Diff(ctx.deps().ingest()))
    });
    graph.node("judge", |ctx: Ctx| async move {
        Ok::<_, NodeError>(Update::Kept(ctx.deps().judge(&ctx.state().findings)))
    });
    graph.node("publish", |_: Ctx| async move { Ok::<_, NodeError>(Update::Published) });
    graph.entry("ingest").edge("judge", "publish").edge("publish", END);
    for agent in AGENTS {
        graph.node(agent, move |ctx: Ctx| async move {
            Ok::<_, NodeError>(Update::Found(ctx.deps().agent(agent, &ctx.state().diff)))
        });
        graph.edge("ingest", agent).edge(agent, "judge");
    }
    graph.compile().expect("the graph is well built")
}

/// The same closures, joined by hand.
pub async fn by_hand(work: &Work) -> Review {
    let ingest = async { work.ingest() };
    let diff = ingest.await;
    let agent = |name: &'static str| {
        let diff = &diff;
        async move { work.agent(name, diff) }
    };
    let (a, b, c, d) =
        tokio::join!(agent(AGENTS[0]), agent(AGENTS[1]), agent(AGENTS[2]), agent(AGENTS[3]));
    let mut review = Review { diff, ..Review::default() };
    for found in [a, b, c, d] {
        review.findings.extend(found);
    }
    review.kept = async { work.judge(&review.findings) }.await;
    review.published = async { true }.await;
    review
}

/// A step of `width` tasks, each with an input of its own.
pub fn wide(width: usize) -> Graph<Review, Work> {
    let mut graph = GraphBuilder::new();
    graph.node("plan", move |_: Ctx| async move {
        let dispatches = (0..width).map(|i| Dispatch::with("work", &i));
        Ok::<_, NodeError>(Command::<Update>::goto(dispatches))
    });
    graph.node("work", |ctx: Ctx| async move {
        Ok::<_, NodeError>(Update::Kept(ctx.input::<usize>()?))
    });
    graph.entry("plan").dispatches("plan", ["work"]).edge("work", END);
    graph.compile().expect("the graph is well built")
}

pub fn work() -> Arc<Work> {
    Arc::new(Work::new())
}

//! Agents: a fifth one, several tasks of one, what goes wrong in one, and what older versions of the
//! workflow left of theirs.

use std::{collections::BTreeMap, future::pending, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Value, json};
use verdict::{
    analysis::{Confidence, Finding, Severity, Side, Source},
    base::{Clock, Fault, Result},
    checkpoint::Memory,
    graph::{
        EndedExecution, Execute, Graph, NewSpec, RetryPolicy, Runtime, State, Stop, testing::Faults,
    },
    workflows::review::{
        self, Limits, ReviewDeps, ReviewStart, ReviewState, ReviewUpdate,
        agents::{AGENTS, Agent, AgentContext, ChunkReport},
        plan::Chunk,
        report::{Checked, ReportContext, coverage, json},
    },
};

use super::support::{Repo, deps, found};

/// A review of `target`, executed by the engine.
pub async fn executed(
    graph: Graph<ReviewState, ReviewDeps>,
    deps: ReviewDeps,
    start: impl Into<ReviewStart>,
    faults: Faults,
) -> EndedExecution<ReviewState> {
    let runtime = Runtime::new(Arc::new(Memory::new(Clock::system())), Clock::system(), "test");
    let spec = NewSpec::new("review", 2, start.into()).claim();
    let begun = runtime.open(&graph, spec).await.unwrap();
    let execute = Execute { faults, ..Execute::new(graph, Arc::new(deps)) };
    runtime.execute(execute, begun.held.unwrap()).await.unwrap()
}

async fn reviewed(
    agents: &'static [&'static dyn Agent],
    repo: &Repo,
    limits: Limits,
) -> EndedExecution<ReviewState> {
    let mut graph = review::graph(agents).unwrap();
    for agent in agents {
        graph = graph.tune(agent.id(), |node| _ = node.retry(RetryPolicy::none())).unwrap();
    }
    let target = repo.resolve("HEAD^!").await.unwrap();
    let ran = executed(graph, deps(limits), target, Faults::default()).await;
    assert_eq!(ran.stop, Stop::Completed);
    ran
}

fn state(ran: &EndedExecution<ReviewState>) -> &ReviewState {
    ran.machine.state().unwrap()
}

/// Finds the word `moot` on every line.
struct Words;

#[async_trait]
impl Agent for Words {
    fn id(&self) -> &'static str {
        "words"
    }

    async fn review(&self, ctx: &AgentContext<'_>, chunk: &Chunk) -> Result<ChunkReport> {
        let mut report = ChunkReport::default();
        let files = ctx.files(chunk);
        for batch in ctx.reader.batches(&files) {
            for (path, text) in ctx.reader.texts(batch).await? {
                assert!(!text.contains("AKIA"), "it is masked before any agent sees it");
                let lines = (1..).zip(text.lines()).filter(|(_, line)| line.contains("moot"));
                report.findings.extend(lines.map(|(number, line)| moot(&path, number, line)));
            }
        }
        Ok(report)
    }
}

fn moot(path: &str, line: u32, quote: &str) -> Finding {
    Finding {
        fingerprint: String::new(),
        agent: String::new(),
        rule: "moot-point".into(),
        path: path.into(),
        side: Side::Right,
        start_line: line,
        end_line: line,
        severity: Severity::Medium,
        confidence: Confidence::hundredths(90),
        title: "The point is moot".into(),
        body: "It no longer matters.".into(),
        suggestion: None,
        quote: quote.into(),
        source: Source::Model,
        flow: Vec::new(),
        unless: Default::default(),
    }
}

const FIVE: &[&dyn Agent] = &[AGENTS[0], AGENTS[1], AGENTS[2], AGENTS[3], &Words];

/// P4: a fifth agent is a type with the trait and a place in the list.
#[tokio::test]
async fn a_fifth_agent_takes_part() {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n").commit("base");
    repo.write("a.py", "x = 1\nbreakpoint()\n# moot\nkey = 'AKIAQ3EGRVLJ7QKX5T2M'\n");
    repo.write("logo.png", b"\x89PNG\0").commit("change");
    let ran = reviewed(FIVE, &repo, Limits::default()).await;
    let state = state(&ran);
    assert_eq!(
        found(state),
        ["secret-aws-access-key a.py:4-4", "py-debugger a.py:2-2", "moot-point a.py:3-3"]
    );
    let shown: Value = serde_json::from_str(&json(state, &ReportContext::default())).unwrap();
    assert_eq!(shown["findings"][2]["agent"], "words");
    assert_eq!(shown["findings"][2]["fingerprint"].as_str().unwrap().len(), 16);
    let agents = ["logic", "pattern", "security", "style", "words"];
    let row = |status: &str| agents.map(|agent| (agent.to_owned(), json!(status)));
    assert_eq!(shown["coverage"][0]["agents"], Value::from_iter(row("done")));
    assert_eq!(shown["coverage"][1]["agents"], Value::from_iter(row("skipped")));
    assert_eq!(nodes(&ran)["words"], 1);

    // The settings know it, too.
    repo.write(".verdict.toml", "[review]\nagents = [\"words\"]\n").commit("settings");
    repo.write("a.py", "x = 1\nbreakpoint()\n# moot\n# and more moot\n").commit("change");
    let ran = reviewed(FIVE, &repo, Limits::default()).await;
    assert_eq!(found(self::state(&ran)), ["moot-point a.py:3-3", "moot-point a.py:4-4"]);
}

/// How many tasks of each node there were.
fn nodes(ran: &EndedExecution<ReviewState>) -> BTreeMap<String, usize> {
    let mut nodes = BTreeMap::new();
    for task in ran.machine.history() {
        *nodes.entry(task.node.to_string()).or_default() += 1;
    }
    nodes
}

/// A repository of many files, with a call left behind in another file than what it calls.
fn many() -> Repo {
    let repo = Repo::new();
    let shapes = |parameters: &str| format!("def area({parameters}):\n    return width\n");
    repo.write("a/shapes.py", shapes("width"));
    repo.write("z/use.py", "from a.shapes import area\n\n\nx = area(1)\ny = 1\n").commit("base");
    repo.write("a/shapes.py", shapes("width, height"));
    repo.write("z/use.py", "from a.shapes import area\n\n\nx = area(1)\ny = 2\n");
    (0..5).for_each(|n| _ = repo.write(&format!("m/{n}.py"), format!("breakpoint()\nx{n} = 1\n")));
    repo.commit("change");
    repo
}

/// Many files are many tasks, and the same review.
#[tokio::test]
async fn a_large_change_is_reviewed_in_chunks() {
    let repo = many();
    let chunked = Limits { chunk_files: 3, batch_bytes: 40, cached_bytes: 30, ..Limits::default() };
    let one = reviewed(AGENTS, &repo, Limits::default()).await;
    let ran = reviewed(AGENTS, &repo, chunked).await;
    let counts = |counts: [(&str, usize); 4]| {
        let more = [("ingest", 1), ("judge", 1), ("publish", 1)];
        let all = counts.into_iter().chain(more);
        all.map(|(node, count)| (node.to_owned(), count)).collect::<BTreeMap<_, _>>()
    };
    let single = ["style", "security", "logic", "pattern"].map(|agent| (agent, 1));
    assert_eq!(nodes(&one), counts(single));
    // Seven files are three chunks; what takes the change as a whole is a task of its own, and
    // logic alone has that.
    let several = [("style", 3), ("security", 3), ("logic", 4), ("pattern", 3)];
    assert_eq!(nodes(&ran), counts(several));
    assert_eq!(state(&one).judgement, state(&ran).judgement);
    assert_eq!(coverage(state(&one)), coverage(state(&ran)));
    assert!(found(state(&ran)).contains(&"caller-left-behind z/use.py:4-4".to_owned()));
    // As a program reads it.
    let shown = serde_json::to_value(state(&ran)).unwrap();
    assert_eq!(shown["agents"]["style#2"]["outcome"], "done");
    assert_eq!(&serde_json::from_value::<ReviewState>(shown).unwrap(), state(&ran));
}

/// Fails in one chunk of three, by an error.
struct Halting;

#[async_trait]
impl Agent for Halting {
    fn id(&self) -> &'static str {
        "halting"
    }

    async fn review(&self, ctx: &AgentContext<'_>, chunk: &Chunk) -> Result<ChunkReport> {
        match ctx.files(chunk).iter().any(|file| file.path == "m/3.py") {
            true => Err(Fault::permanent("it had enough")),
            false => Ok(ChunkReport::default()),
        }
    }
}

/// Never ends.
struct Endless;

#[async_trait]
impl Agent for Endless {
    fn id(&self) -> &'static str {
        "endless"
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(20)
    }

    fn plan(&self, _: &[review::ReviewFile], _: &Limits) -> Vec<Chunk> {
        vec![Chunk::ALL]
    }

    async fn review(&self, _: &AgentContext<'_>, _: &Chunk) -> Result<ChunkReport> {
        pending().await
    }
}

/// Panics.
struct Panicking;

#[async_trait]
impl Agent for Panicking {
    fn id(&self) -> &'static str {
        "panicking"
    }

    fn plan(&self, _: &[review::ReviewFile], _: &Limits) -> Vec<Chunk> {
        vec![Chunk::ALL]
    }

    async fn review(&self, _: &AgentContext<'_>, _: &Chunk) -> Result<ChunkReport> {
        panic!("a bug")
    }
}

const WITH_BAD: &[&dyn Agent] =
    &[&Panicking, AGENTS[0], &Halting, AGENTS[1], AGENTS[2], &Endless, AGENTS[3]];

/// P4, R2: what goes wrong in a task of one agent is said, and hides nothing of the others.
#[tokio::test]
async fn errors_of_one_agent_hide_no_other() {
    let repo = many();
    let limits = || Limits { chunk_files: 3, ..Limits::default() };
    let good = reviewed(AGENTS, &repo, limits()).await;
    let bad = reviewed(WITH_BAD, &repo, limits()).await;
    let judgement = |ran: &EndedExecution<ReviewState>| state(ran).judgement.clone().unwrap();
    assert_eq!(judgement(&good).findings, judgement(&bad).findings);
    let told = judgement(&bad);
    assert_eq!(told.verdict.word(), "incomplete");
    let [endless, halting, panicking] = &told.missing[..] else { panic!("{:?}", told.missing) };
    assert!(endless.starts_with("endless: "), "{endless}");
    assert_eq!(halting, "halting, part 2 of 3: it had enough");
    assert!(panicking.starts_with("panicking: ") && panicking.contains("a bug"), "{panicking}");
    for row in coverage(state(&bad)) {
        let second = ["m/2.py", "m/3.py", "m/4.py"].contains(&row.path.as_str());
        let halting = if second { Checked::Failed } else { Checked::Done };
        assert_eq!(row.agents["halting"], halting, "{}", row.path);
        assert_eq!((row.agents["style"], row.agents["endless"]), (Checked::Done, Checked::Failed));
    }
}

/// A review that an older version of the workflow made: its state as it was told, and its report.
fn of_version(fixture: &str) -> (Value, Value) {
    let Value::Object(mut all) = serde_json::from_str(fixture).unwrap() else { panic!() };
    (all.remove("state").unwrap(), all.remove("report").unwrap())
}

/// E20: what older versions stored loads, and is told as it was.
#[test]
fn reviews_of_older_versions_load() {
    loads(include_str!("../../fixtures/review-run-1.json"));
    loads(include_str!("../../fixtures/review-run-2.json"));
    loads(include_str!("../../fixtures/review-run-3.json"));
}

fn loads(fixture: &str) {
    let (told, report) = of_version(fixture);
    let state: ReviewState = serde_json::from_value(told.clone()).unwrap();
    let run = report["run"].as_str().unwrap().to_owned();
    let timings = serde_json::from_value(report["timings"].clone()).unwrap();
    let context = ReportContext { run, timings, ..ReportContext::default() };
    assert_eq!(serde_json::from_str::<Value>(&json(&state, &context)).unwrap(), report);

    // Update by update, as the log holds them.
    let agents = ["style", "security", "logic", "pattern"].map(|id| ("agent", &told["agents"][id]));
    let ends = [("judged", &told["judgement"]), ("published", &told["published"])];
    let updates = [("ingested", &told["ingested"])].into_iter().chain(agents).chain(ends);
    let mut folded = ReviewState::new(serde_json::from_value(told["target"].clone()).unwrap());
    for (name, update) in updates {
        let update: ReviewUpdate = serde_json::from_value(json!({ name: update })).unwrap();
        folded.validate(&update).unwrap();
        folded.merge(update);
    }
    assert_eq!(folded, state);
}

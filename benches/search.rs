//! A search with a hundred candidates: what the engine adds to its nodes' time, and the memory of the
//! process, each beside what the specification allows. Ports that answer at once stand for the code
//! host and the model. Prints; never judges.
//!
//! `cargo bench --bench search` runs everything; `-- memory` is what it starts itself with to measure
//! memory in a process of its own.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs, reason = "a benchmark")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde_json::json;
use verdict::{
    base::{Clock, Result},
    checkpoint::{Memory, SqliteStore},
    db::{Sqlite, SqliteOptions},
    forge::{FoundRepository, RepositoryQuery, RepositorySearch},
    graph::{Stop, Store},
    model::{Answer, Finish, Model, ModelError, ModelInfo, Request, Usage},
    workflows::{
        InProcess,
        search::{Search, SearchDeps, SearchInput, SearchMode, SearchOptions},
    },
};

/// The most candidates of a search, and how many of them the model scores.
const CANDIDATES: usize = 100;
const SCORED: usize = 25;
const SAMPLES: usize = 50;

fn main() {
    let memory = std::env::args().any(|argument| argument == "memory");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async move { if memory { resident().await } else { all().await } });
}

async fn all() {
    println!("{CANDIDATES} candidates, {SCORED} of them scored; median of {SAMPLES} searches\n");
    println!("{:<10} {:>10} {:>12}   engine: budget < 100 ms", "store", "run, ms", "engine, ms");
    row("none", None).await;
    row("memory", Some(Arc::new(Memory::new(Clock::system())))).await;
    let folder = tempfile::tempdir().unwrap();
    let db =
        Sqlite::open(&folder.path().join("search.db"), SqliteOptions::default()).await.unwrap();
    row("SQLite", Some(Arc::new(SqliteStore::new(db.clone())))).await;
    db.close().await.unwrap();
    println!();
    // In a process of its own, so that nothing else counts.
    let own = std::env::current_exe().unwrap();
    let output = std::process::Command::new(own).arg("memory").output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
}

async fn row(name: &str, store: Option<Arc<dyn Store>>) {
    let search = searches(store);
    let mut times = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        times.push(once(&search).await);
    }
    times.sort();
    let (run, engine) = times[SAMPLES / 2];
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{name:<10} {:>10.3} {:>12.3}", ms(run), ms(engine));
}

fn searches(store: Option<Arc<dyn Store>>) -> InProcess<Search> {
    let deps = SearchDeps {
        repositories: Arc::new(Host),
        model: Some(Arc::new(AtOnce(ModelInfo {
            name: "at once".to_owned(),
            context_tokens: 1_000_000,
            max_output_tokens: 10_000,
        }))),
        clock: Clock::system(),
    };
    let search = InProcess::<Search>::new(deps).unwrap();
    match store {
        Some(store) => search.on(store),
        None => search,
    }
}

/// The time of a search from call to answer, and what is left of it without its nodes.
async fn once(search: &InProcess<Search>) -> (Duration, Duration) {
    let query = "animation library".to_owned();
    let config = SearchOptions::default();
    let began = Instant::now();
    let ended =
        search.run(SearchInput { query, mode: SearchMode::Balanced, config }).await.unwrap();
    let run = began.elapsed();
    assert_eq!(ended.stop, Stop::Completed);
    let state = ended.machine.state().unwrap();
    assert!(state.errors.is_empty(), "{:?}", state.errors);
    assert_eq!(state.candidate_repos.len(), CANDIDATES);
    assert_eq!(state.coarse_filtered_repos.len(), SCORED);
    let nodes: Duration = ended.machine.history().iter().map(|task| task.took).sum();
    (run, run.saturating_sub(nodes))
}

async fn resident() {
    let search = searches(Some(Arc::new(Memory::new(Clock::system()))));
    let before = peak();
    once(&search).await;
    let one = peak();
    for _ in 1..SAMPLES {
        once(&search).await;
    }
    println!("peak RSS {before:.1} MiB before, {one:.1} MiB after one search, budget < 500 MB");
    println!("         {:.1} MiB after {SAMPLES}, all kept in memory", peak());
}

/// The most memory so far, in MiB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 =
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
    kib / 1024.0
}

/// Has more than enough for each query.
struct Host;

#[async_trait]
impl RepositorySearch for Host {
    async fn search(&self, query: &RepositoryQuery) -> Result<Vec<FoundRepository>> {
        let now = Clock::system().now().to_string();
        let found = (0..query.limit).map(|number| FoundRepository {
            full_name: format!("octo/{:?}-{}-{number}", query.sort, query.any),
            url: format!("https://example.com/octo/{number}"),
            description: Some("animation for the web, ".repeat(8)),
            language: Some("TypeScript".to_owned()),
            stars: 1_000 + number as u64,
            forks: 10,
            open_issues: 3,
            topics: vec!["animation".to_owned(), "web".to_owned()],
            archived: false,
            created_at: "2020-01-01T00:00:00Z".to_owned(),
            updated_at: now.clone(),
        });
        Ok(found.collect())
    }
}

/// Answers at once.
struct AtOnce(ModelInfo);

#[async_trait]
impl Model for AtOnce {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    async fn answer(&self, request: &Request) -> Result<Answer, ModelError> {
        let value = match &*request.purpose {
            "search.query_translator" => json!({
                "keywords": ["animation"], "expanded_keywords": ["motion"], "topics": [],
            }),
            _ => json!({
                "scores": {
                    "relevance": 5, "maturity": 5, "activity": 5, "documentation": 5,
                    "community": 5,
                },
                "reason": "as it says",
            }),
        };
        let (text, model) = (value.to_string(), "bench::at-once".to_owned());
        Ok(Answer { text, usage: Usage::default(), model, finish: Finish::Whole })
    }
}

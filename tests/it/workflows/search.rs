//! X3: the search workflow (S3), over a fake of GitHub.

use std::sync::Arc;

use fake_github::{About, FakeGitHub, Fault, Limits};
use serde_json::{Value, json};
use verdict::{
    base::{Clock, ManualClock, Timestamp},
    checkpoint::Memory,
    forge::github::{GitHubSearch, GithubOptions},
    graph::{Drawing, EndedExecution, Node, NodeError, RetryPolicy, RunEvent, State, Stop},
    workflows::{
        InProcess, Workflow,
        search::{
            Search, SearchDeps, SearchInput, SearchMode, SearchOptions, SearchState, SearchUpdate,
            Strategy, call_tool, search_repositories, tool_definition,
        },
    },
};

use super::{
    from_everywhere, logged, machine,
    models::{Asked, Models, Reply},
    survives_everything,
};

/// What a search works with.
struct World {
    github: FakeGitHub,
    models: Models,
    deps: SearchDeps,
    _hand: ManualClock,
}

/// A library that fits the query, with so many stars.
fn library(name: &str, stars: u64) -> (String, About) {
    let description = Some(format!("animation for react, {name}"));
    let language = Some("TypeScript".to_owned());
    (format!("octo/{name}"), About { description, language, stars, ..About::default() })
}

impl World {
    async fn new(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let github = FakeGitHub::start().await;
        github.limit(Limits::none());
        let mut libraries = vec![library("small", 60), library("large", 9000), library("tiny", 3)];
        let (name, about) = library("old", 500);
        libraries.push((name, About { archived: true, ..about }));
        let motion = Some("motion for the web".to_owned());
        let about = About { description: motion, stars: 700, ..About::default() };
        libraries.push(("octo/related".to_owned(), about));
        for (name, about) in libraries {
            github.described_repository(&name, about);
        }
        Self::around(github, Models::start(script))
    }

    fn around(github: FakeGitHub, models: Models) -> Self {
        let options = GithubOptions { url: github.url(), ..GithubOptions::default() };
        // Nodes are timed by this clock: it stands still, so times are the same in every run.
        let now = jiff::Timestamp::from_second(github.now()).unwrap().as_millisecond();
        let (clock, hand) = Clock::manual(Timestamp(now));
        let limits = Arc::new(Memory::new(Clock::system()));
        let repositories = Arc::new(GitHubSearch::new(&options, limits).unwrap());
        let deps = SearchDeps { repositories, model: models.model(), clock };
        Self { github, models, deps, _hand: hand }
    }

    async fn run(&self) -> EndedExecution<SearchState> {
        self.run_with(SearchOptions::default()).await
    }

    async fn run_with(&self, config: SearchOptions) -> EndedExecution<SearchState> {
        let input = SearchInput { config, ..input() };
        InProcess::<Search>::new(self.deps.clone()).unwrap().run(input).await.unwrap()
    }

    /// What was asked of GitHub's search.
    fn queries(&self) -> Vec<String> {
        let all = self.github.requests().into_iter();
        all.filter(|request| request.path == "/search/repositories")
            .map(|request| request.query)
            .collect()
    }
}

fn input() -> SearchInput {
    let query = "React animation library".to_owned();
    SearchInput { query, mode: SearchMode::Balanced, config: SearchOptions::default() }
}

/// What the models answer when all is well.
fn answers(asked: &Asked) -> Value {
    match &*asked.schema {
        "SearchParams" => json!({
            "keywords": ["react", "animation"], "expanded_keywords": ["motion", "transition"],
            "topics": [],
        }),
        "RepositoryScore" => {
            let relevance = if asked.prompt.contains("octo/small") { 10 } else { 5 };
            json!({
                "scores": {
                    "relevance": relevance, "maturity": 5, "activity": 5, "documentation": 5,
                    "community": 5,
                },
                "reason": "as it says",
            })
        }
        other => panic!("{other}"),
    }
}

fn well(asked: &Asked) -> Reply {
    Reply::json(answers(asked))
}

fn names<'n>(all: impl IntoIterator<Item = &'n String>) -> Vec<&'n str> {
    all.into_iter().map(|name| name.strip_prefix("octo/").unwrap()).collect()
}

/// S3, "Sequential Pipeline Graph Structure".
#[test]
fn its_graph_is_a_line() {
    insta::assert_snapshot!(Drawing::of(&Search::graph().unwrap()).mermaid(), @r#"
    flowchart TD
      START((start))
      n_query_translator["query_translator"]
      n_scout["scout"]
      n_screener["screener"]
      END((end))
      START --> n_query_translator
      n_query_translator --> n_scout
      n_scout --> n_screener
      n_screener --> END
    "#);
}

/// S3, "Global State Schema": the specification's fields, all there from the start.
#[test]
fn a_search_starts_with_the_query_alone() {
    let state = serde_json::to_value(SearchState::new(input())).unwrap();
    let mut fields: Vec<_> = state.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    let wanted = [
        "aborted",
        "candidate_repos",
        "coarse_filtered_repos",
        "config",
        "errors",
        "execution_time",
        "search_mode",
        "search_params",
        "top_repos",
        "user_query",
    ];
    assert_eq!(fields, wanted);
}

/// S3, "Node Implementation Pattern", "Basic invocation", "Result structure": each node fills its own
/// fields, and keeps the others'.
#[tokio::test]
async fn a_search_translates_finds_and_ranks() {
    let world = World::new(well).await;
    let ended = world.run().await;
    assert_eq!(ended.stop, Stop::Completed);
    let state = ended.machine.state().unwrap();
    assert_eq!(state.search_params.as_ref().unwrap().keywords, ["react", "animation"]);
    let found = names(state.candidate_repos.iter().map(|found| &found.repository.full_name));
    assert_eq!(found.len(), 5, "{found:?}");
    let passed = names(state.coarse_filtered_repos.iter().map(|c| &c.repository.full_name));
    assert!(!passed.contains(&"tiny") && !passed.contains(&"old"), "{passed:?}");
    let top = names(state.top_repos.iter().map(|found| &found.repository.full_name));
    assert_eq!(top[0], "small");
    assert_eq!(top.len(), 3);
    let best = &state.top_repos[0];
    assert_eq!((best.score, best.reason.as_deref()), (Some(7.0), Some("as it says")));
    assert_eq!(state.errors, []);
    assert_eq!(state.execution_time.total, Some(0), "by a clock that stands still");
}

/// S3, "Scout parallel strategies": three at once, merged without doubles; each candidate says which
/// of them found it.
#[tokio::test]
async fn three_strategies_find_candidates() {
    let world = World::new(well).await;
    let ended = world.run().await;
    let mut queries = world.queries();
    queries.sort();
    assert_eq!(
        queries,
        [
            "q=motion+OR+transition&per_page=100",
            "q=react+animation&sort=stars&per_page=100",
            "q=react+animation&sort=updated&per_page=100",
        ]
    );
    let state = ended.machine.state().unwrap();
    let of = |name: &str| {
        let mut all = state.candidate_repos.iter();
        all.find(|found| found.repository.full_name == name).unwrap().found_by.clone()
    };
    assert_eq!(of("octo/large"), [Strategy::Stars, Strategy::Recency]);
    assert_eq!(of("octo/related"), [Strategy::Expanded]);
}

/// S3, "semantic expansion (based on searchMode)": how far a search looks; the source's other words for
/// it are understood.
#[tokio::test]
async fn the_mode_decides_how_far_a_search_looks() {
    let world = World::new(well).await;
    let search = InProcess::<Search>::new(world.deps.clone()).unwrap();
    let focused: SearchInput =
        serde_json::from_value(json!({"query": "x", "mode": "low"})).unwrap();
    assert_eq!(focused.mode, SearchMode::Focused);
    search.run(focused).await.unwrap();
    assert_eq!(world.queries().len(), 2, "there is nothing to expand");
    assert!(world.models.asked()[0].prompt.starts_with("Name no related keywords."));
    for (word, mode) in [("medium", SearchMode::Balanced), ("high", SearchMode::Exploratory)] {
        assert_eq!(serde_json::from_value::<SearchMode>(json!(word)).unwrap(), mode);
    }
}

/// S3, "Screener parallel LLM calls": up to 25 at once; none is answered before all are under way.
#[tokio::test]
async fn candidates_are_scored_side_by_side() {
    let script = |asked: &Asked| match &*asked.schema {
        "RepositoryScore" => Reply::json(answers(asked)).held(),
        _ => Reply::json(answers(asked)),
    };
    let github = FakeGitHub::start().await;
    github.limit(Limits::none());
    for number in 0..40 {
        let (name, about) = library(&format!("lib{number}"), 100 + number);
        github.described_repository(&name, about);
    }
    let world = World::around(github, Models::start(script));
    let (ended, ()) = tokio::join!(world.run(), world.models.release(25));
    let state = ended.machine.state().unwrap();
    assert_eq!((state.candidate_repos.len(), state.coarse_filtered_repos.len()), (40, 25));
    assert_eq!(state.top_repos.len(), 10);
    assert!(state.top_repos.iter().all(|found| found.score.is_some()));
}

/// S3, "Non-critical node error": a strategy that fails leaves fewer strategies, and an error with its
/// stage and time.
#[tokio::test]
async fn a_strategy_that_fails_is_told_and_done_without() {
    let world = World::new(well).await;
    world.github.fail(Fault::status(422).on("GET", "/search/repositories").times(1));
    let ended = world.run().await;
    assert_eq!(ended.stop, Stop::Completed);
    let state = ended.machine.state().unwrap();
    let [error] = &state.errors[..] else { panic!("{:?}", state.errors) };
    assert!(error.stage.starts_with("scout."), "{error:?}");
    assert!(error.error.contains("GitHub answered 422"), "{error:?}");
    assert!(error.timestamp.parse::<Timestamp>().is_ok(), "{error:?}");
    assert!(!state.top_repos.is_empty() && !state.aborted);
}

/// S3, "if Screener Stage 2 fails, use Stage 1 only"; one repository that cannot be scored comes last.
#[tokio::test]
async fn without_scores_the_first_stage_counts() {
    for (broken, scored) in [("", 0), ("octo/large", 2)] {
        let script = move |asked: &Asked| match &*asked.schema {
            "RepositoryScore" if asked.prompt.contains(broken) => Reply::status(400),
            _ => Reply::json(answers(asked)),
        };
        let world = World::new(script).await;
        let ended = world.run().await;
        assert_eq!(ended.stop, Stop::Completed);
        let state = ended.machine.state().unwrap();
        assert_eq!(state.top_repos.len(), 3);
        let scores = state.top_repos.iter().map(|found| found.score.is_some());
        assert_eq!(scores.collect::<Vec<_>>(), [scored > 0, scored > 1, false]);
        assert_eq!(state.errors.len(), 3 - scored);
        assert!(state.errors.iter().all(|error| error.stage == "screener"));
    }
}

/// Nobody waits here for a node to be tried again.
fn at_once(name: &str) -> verdict::graph::Graph<SearchState, SearchDeps> {
    let tune = |node: &mut Node<SearchState, SearchDeps>| {
        node.retry(RetryPolicy::none());
    };
    Search::graph().unwrap().tune(name, tune).unwrap()
}

/// S3, "Critical failure abortion", "Error state structure": a translator or scout that fails wholly
/// ends the search with what there is.
#[tokio::test]
async fn a_search_that_cannot_go_on_ends_with_what_there_is() {
    let world = World::new(|_| Reply::status(401)).await;
    let ended = world.run().await;
    let state = ended.machine.state().unwrap();
    assert_eq!(ended.stop, Stop::Completed);
    assert!(state.aborted && state.search_params.is_none());
    assert_eq!(state.errors[0].stage, "query_translator");
    assert_eq!(world.queries(), [""; 0]);

    let world = World::new(well).await;
    world.github.fail(Fault::status(500).on("GET", "/search/repositories").always());
    let search = InProcess::<Search>::new(world.deps.clone()).unwrap().with_graph(at_once("scout"));
    let ended = search.run(input()).await.unwrap();
    let state = ended.machine.state().unwrap();
    assert!(state.aborted && state.search_params.is_some(), "the translation is kept");
    assert_eq!(state.errors[0].stage, "scout");
    assert_eq!((state.candidate_repos.len(), state.top_repos.len()), (0, 0));
    assert_eq!(ended.machine.history().len(), 3, "every node runs, in fixed order");
}

/// S3, "Configuration Management": thresholds, weights and limits reach the nodes, and what cannot work
/// is refused by its field.
#[tokio::test]
async fn the_configuration_reaches_the_nodes() {
    let world = World::new(well).await;
    let config = json!({
        "scout": {"max_candidates": 4, "strategy_weights": {"stars": 1, "recency": 0, "expanded": 0}},
        "screener": {
            "coarse_filter_thresholds": {"min_stars": 0},
            "dimension_weights": {
                "relevance": 1, "maturity": 0, "activity": 0, "documentation": 0, "community": 0,
            },
            "max_results": 1,
        },
    });
    let ended = world.run_with(serde_json::from_value(config).unwrap()).await;
    let state = ended.machine.state().unwrap();
    let found = names(state.candidate_repos.iter().map(|found| &found.repository.full_name));
    assert_eq!(found, ["large", "old", "small", "tiny"], "by stars alone");
    let top = &state.top_repos[..];
    assert_eq!((top.len(), top[0].score), (1, Some(10.0)));
    for (config, field) in [
        (json!({"scout": {"max_candidates": 0}}), "config.scout.max_candidates"),
        (json!({"screener": {"max_scored": 26}}), "config.screener.max_scored"),
        (json!({"scout": {"strategy_weights": {"stars": -1}}}), "config.scout.strategy_weights"),
    ] {
        let input = json!({"query": "x", "config": config});
        let refused = serde_json::from_value::<SearchInput>(input).unwrap_err().to_string();
        assert!(refused.starts_with(field), "{refused}");
    }
}

/// S3, "Mock node injection", "State transition validation": nodes are replaced one by one, and what
/// they leave is checked.
#[tokio::test]
async fn nodes_can_be_replaced_and_are_checked() {
    let world = World::new(well).await;
    let nothing = |_| async {
        let search_params = serde_json::from_value(json!({"keywords": [" "]})).unwrap();
        Ok::<_, NodeError>(SearchUpdate { search_params, ..SearchUpdate::default() })
    };
    let graph = Search::graph().unwrap().replace("query_translator", nothing).unwrap();
    let search = InProcess::<Search>::new(world.deps.clone()).unwrap().with_graph(graph);
    let ended = search.run(input()).await.unwrap();
    let state = ended.machine.state().unwrap();
    assert_eq!(
        state.errors[0].error,
        "invalid update: field `search_params.keywords`: expected at least one word"
    );
    assert!(state.aborted && state.search_params.is_none());
}

/// S3, "Node-level streaming events".
#[tokio::test]
async fn a_search_tells_how_far_it_is() {
    let world = World::new(well).await;
    let search = InProcess::<Search>::new(world.deps.clone()).unwrap();
    let mut running = search.start(None, input()).await.unwrap();
    let mut told = Vec::new();
    loop {
        match running.events.recv().await.unwrap().event {
            RunEvent::Progress { name, value, .. } if name != "tokens" => {
                told.push(format!("{name} {value}"));
            }
            RunEvent::RunFinished { .. } => break,
            _ => {}
        }
    }
    let wanted = [
        r#"query translated ["react","animation"]"#,
        "candidates found 5",
        "repositories to score 3",
        "repositories ranked 3",
    ];
    assert_eq!(told, wanted);
}

/// S3, "Performance logging": one line with the time of each node.
#[tokio::test]
async fn the_timings_are_logged() {
    let world = World::new(well).await;
    let (_, log) = logged(world.run()).await;
    let line =
        log.lines().find(|line| line.contains("run completed")).unwrap_or_else(|| panic!("{log}"));
    for node in ["query_translator", "scout", "screener"] {
        assert!(line.contains(&format!("· {node} ")), "{line}");
    }
}

/// S3, "Export as function", "Tool wrapping readiness".
#[tokio::test]
async fn a_search_is_a_function_and_a_tool() {
    let world = World::new(well).await;
    let result =
        search_repositories(world.deps.clone(), "React animation library", SearchMode::Balanced);
    let result = result.await.unwrap();
    assert_eq!((result.top_repos.len(), result.errors.len()), (3, 0));
    let tool = tool_definition();
    assert_eq!(tool["name"], "search_repositories");
    assert_eq!(tool["parameters"]["required"], json!(["query"]));
    let arguments = json!({"query": "React animation library"});
    assert_eq!(call_tool(world.deps.clone(), arguments).await.unwrap(), result);
    let refused = call_tool(world.deps, json!({"question": "x"})).await.unwrap_err();
    assert!(refused.message.starts_with("search_repositories: "), "{refused}");
}

/// S3, "Memory efficiency": the state with a hundred candidates is small.
#[tokio::test]
async fn a_hundred_candidates_are_a_small_state() {
    let github = FakeGitHub::start().await;
    github.limit(Limits::none());
    for number in 0..150 {
        let (name, about) = library(&format!("lib{number}"), 100 + number);
        github.described_repository(&name, about);
    }
    let world = World::around(github, Models::start(well));
    let ended = world.run().await;
    let state = ended.machine.state().unwrap();
    assert_eq!(state.candidate_repos.len(), 100);
    let bytes = serde_json::to_vec(&**state).unwrap().len();
    assert!(bytes < 200_000, "{bytes} bytes");
}

/// N1.
#[tokio::test]
async fn a_search_survives_everything() {
    let world = World::new(well).await;
    survives_everything(at_once("scout"), world.deps.clone(), input).await;
}

/// X3: from the command line, from a message, over HTTP.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_starts_from_everywhere() {
    let world = World::new(well).await;
    let machine = machine(&world.models).set("github.url", &world.github.url());
    for state in from_everywhere(&machine, "search", &json!({"query": "React animation"})).await {
        assert_eq!(state["errors"], json!([]));
        assert_eq!(state["top_repos"][0]["full_name"], "octo/small");
    }
}

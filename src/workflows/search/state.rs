//! What a search knows, as it is kept in the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    SCOUT, SCREENER, TRANSLATOR,
    input::{SearchInput, SearchMode},
    options::SearchOptions,
    screener::Scores,
};
use crate::{
    forge::FoundRepository,
    graph::{Invalid, State},
};

/// The state of a search.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SearchState {
    /// What is looked for.
    pub user_query: String,
    /// How far it looks.
    pub search_mode: SearchMode,
    /// Thresholds, weights and limits.
    pub config: SearchOptions,
    /// What to search by; absent before the translation.
    pub search_params: Option<SearchParams>,
    /// What the scout found, the best first.
    pub candidate_repos: Vec<Candidate>,
    /// Those that passed the first stage of screening.
    pub coarse_filtered_repos: Vec<Candidate>,
    /// The result, the best first.
    pub top_repos: Vec<ScoredRepository>,
    /// How long each node took.
    pub execution_time: ExecutionTime,
    /// What went wrong.
    pub errors: Vec<SearchError>,
    /// Whether the search ended early, with what there was.
    pub aborted: bool,
}

/// What to search by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchParams {
    /// The one to four words that matter most.
    pub keywords: Vec<String>,
    /// Related words.
    #[serde(default)]
    pub expanded_keywords: Vec<String>,
    /// The programming language, if the query names one.
    #[serde(default)]
    pub language: Option<String>,
    /// How many stars, if the query says so.
    #[serde(default)]
    pub star_range: Option<StarRange>,
    /// The day after which it was created, as `YYYY-MM-DD`, if the query says so.
    #[serde(default)]
    pub created_after: Option<String>,
    /// Topics that the query names.
    #[serde(default)]
    pub topics: Vec<String>,
}

/// How many stars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StarRange {
    /// At least so many.
    pub min: u64,
    /// At most so many.
    #[serde(default)]
    pub max: Option<u64>,
}

/// A way to find candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The most starred.
    Stars,
    /// The most recently updated.
    Recency,
    /// The best matches of any related word.
    Expanded,
}

/// A repository that may be what is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The repository.
    #[serde(flatten)]
    pub repository: FoundRepository,
    /// The strategies that found it.
    pub found_by: Vec<Strategy>,
}

/// A repository of the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoredRepository {
    /// The repository.
    #[serde(flatten)]
    pub repository: FoundRepository,
    /// From 0 to 10, weighted; absent when the model did not score it.
    pub score: Option<f64>,
    /// What the score is made of.
    pub scores: Option<Scores>,
    /// Why, for people.
    pub reason: Option<String>,
}

/// How long each node took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecutionTime {
    /// The translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_translator: Option<u64>,
    /// The scout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scout: Option<u64>,
    /// The screening.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screener: Option<u64>,
    /// All of them so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchError {
    /// The node, and of the scout the strategy: `scout.recency`.
    pub stage: String,
    /// What happened.
    pub error: String,
    /// When: RFC 3339.
    pub timestamp: String,
}

/// What one node changes. What is absent stays as it was; errors are appended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchUpdate {
    /// From `query_translator`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_params: Option<SearchParams>,
    /// From `scout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_repos: Option<Vec<Candidate>>,
    /// From `screener`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarse_filtered_repos: Option<Vec<Candidate>>,
    /// From `screener`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_repos: Option<Vec<ScoredRepository>>,
    /// Of the node alone.
    pub execution_time: ExecutionTime,
    /// Appended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<SearchError>,
    /// Whether the search ends here.
    pub aborted: bool,
}

impl SearchUpdate {
    /// The same from a node that took so many milliseconds.
    pub(super) fn timed(mut self, node: &str, millis: u64) -> Self {
        let time = &mut self.execution_time;
        match node {
            TRANSLATOR => time.query_translator = Some(millis),
            SCOUT => time.scout = Some(millis),
            SCREENER => time.screener = Some(millis),
            _ => {}
        }
        self
    }
}

impl State for SearchState {
    type Input = SearchInput;
    type Update = SearchUpdate;

    fn new(input: SearchInput) -> Self {
        let SearchInput { query, mode, config } = input;
        Self { user_query: query, search_mode: mode, config, ..Self::default() }
    }

    fn validate(&self, update: &SearchUpdate) -> Result<(), Invalid> {
        if let Some(params) = &update.search_params
            && params.keywords.iter().all(|word| word.trim().is_empty())
        {
            return Err(Invalid::new("search_params.keywords", "at least one word"));
        }
        let found = update.candidate_repos.as_ref().map_or(0, Vec::len);
        if found > self.config.scout.max_candidates {
            return Err(Invalid::new("candidate_repos", "at most `config.scout.max_candidates`"));
        }
        let scores = update.top_repos.iter().flatten().filter_map(|repo| repo.score);
        if !scores.into_iter().all(|score| (0.0..=10.0).contains(&score)) {
            return Err(Invalid::new("top_repos.score", "a number from 0 to 10"));
        }
        Ok(())
    }

    fn merge(&mut self, update: SearchUpdate) {
        self.search_params = update.search_params.or(self.search_params.take());
        replace(&mut self.candidate_repos, update.candidate_repos);
        replace(&mut self.coarse_filtered_repos, update.coarse_filtered_repos);
        replace(&mut self.top_repos, update.top_repos);
        let (time, new) = (&mut self.execution_time, update.execution_time);
        time.query_translator = new.query_translator.or(time.query_translator);
        time.scout = new.scout.or(time.scout);
        time.screener = new.screener.or(time.screener);
        let parts = [time.query_translator, time.scout, time.screener];
        time.total = Some(parts.into_iter().flatten().sum());
        self.errors.extend(update.errors);
        self.aborted |= update.aborted;
    }
}

fn replace<T>(field: &mut Vec<T>, update: Option<Vec<T>>) {
    if let Some(update) = update {
        *field = update;
    }
}

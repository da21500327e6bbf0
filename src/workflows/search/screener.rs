//! The node `screener`: a coarse filter by numbers, then a model scores what passed.

use std::time::Duration;

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Ctx, SCREENER, failed,
    options::{CoarseFilterThresholds, DimensionWeights},
    state::{Candidate, ScoredRepository, SearchUpdate},
};
use crate::{
    base::{Fault, Result, Timestamp},
    workflows::ask::{Question, ask_model},
};

const INSTRUCTIONS: &str = "\
    You judge whether a source code repository is what somebody looks for. Score each dimension \
    from 0 to 10 by what you are shown and know, and give the reason in one or two sentences.";

/// A month of the coarse filter.
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What the model scores, each from 0 to 10.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scores {
    /// Whether it is what was looked for.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub relevance: f64,
    /// Whether it is complete and proven.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub maturity: f64,
    /// Whether it is worked on.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub activity: f64,
    /// Whether it is explained.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub documentation: f64,
    /// Whether others use it and help.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub community: f64,
}

/// What the model answers.
#[derive(Deserialize, JsonSchema)]
struct RepositoryScore {
    scores: Scores,
    /// Why.
    reason: String,
}

impl Scores {
    /// The one score they come to, from 0 to 10.
    fn weighted(&self, weights: &DimensionWeights) -> f64 {
        let parts = [
            (self.relevance, weights.relevance),
            (self.maturity, weights.maturity),
            (self.activity, weights.activity),
            (self.documentation, weights.documentation),
            (self.community, weights.community),
        ];
        let sum: f64 = parts.iter().map(|(score, weight)| score.clamp(0.0, 10.0) * weight).sum();
        let all: f64 = parts.iter().map(|(_, weight)| weight).sum();
        // Two digits are as exact as a model's judgement ever is.
        (sum / all * 100.0).round() / 100.0
    }
}

/// Filters, then has all that passed scored at once. What could not be scored comes after what was; if
/// nothing could be, the result is that of the first stage.
pub(super) async fn screen(ctx: &Ctx) -> Result<SearchUpdate> {
    let (state, deps) = (ctx.state(), ctx.deps());
    let options = &state.config.screener;
    let (thresholds, now) = (&options.coarse_filter_thresholds, deps.clock.now());
    let passes = |candidate: &&Candidate| passes(candidate, thresholds, now);
    let passed: Vec<Candidate> =
        state.candidate_repos.iter().filter(passes).take(options.max_scored).cloned().collect();
    ctx.progress("repositories to score", &passed.len());
    let scored = join_all(passed.iter().map(|candidate| score(ctx, candidate))).await;
    let mut errors = Vec::new();
    let mut top: Vec<ScoredRepository> = passed
        .iter()
        .zip(scored)
        .map(|(candidate, scored)| {
            let answer = scored.map_err(|fault| {
                let fault = fault.while_doing(&candidate.repository.full_name);
                errors.push(failed(SCREENER, &fault, deps.clock.now()));
            });
            let answer = answer.ok();
            let score = answer.as_ref().map(|a| a.scores.weighted(&options.dimension_weights));
            ScoredRepository {
                repository: candidate.repository.clone(),
                score,
                scores: answer.as_ref().map(|answer| answer.scores),
                reason: answer.map(|answer| answer.reason),
            }
        })
        .collect();
    // Stable: of equals the better candidate stays first.
    top.sort_by(|a, b| b.score.unwrap_or(-1.0).total_cmp(&a.score.unwrap_or(-1.0)));
    top.truncate(options.max_results);
    Ok(SearchUpdate {
        coarse_filtered_repos: Some(passed),
        top_repos: Some(top),
        errors,
        ..SearchUpdate::default()
    })
}

fn passes(candidate: &Candidate, thresholds: &CoarseFilterThresholds, now: Timestamp) -> bool {
    let repository = &candidate.repository;
    let oldest = now.minus(MONTH * thresholds.updated_within_months);
    !repository.archived
        && repository.stars >= thresholds.min_stars
        && repository.updated_at.parse::<Timestamp>().is_ok_and(|at| at >= oldest)
}

async fn score(ctx: &Ctx, candidate: &Candidate) -> Result<RepositoryScore> {
    let shown = serde_json::to_string_pretty(&candidate.repository)
        .map_err(|e| Fault::permanent(format!("the repository has no JSON form: {e}")))?;
    let query = &ctx.state().user_query;
    let question = Question {
        purpose: "search.screener",
        instructions: INSTRUCTIONS,
        prompt: format!("Looked for:\n\n{query}\n\nThe repository:\n\n{shown}"),
    };
    ask_model(ctx, ctx.deps().model.as_ref(), question).await
}

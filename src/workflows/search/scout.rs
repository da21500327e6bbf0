//! The node `scout`: candidates, by three strategies at once.

use std::collections::HashMap;

use futures_util::future::join_all;

use super::{
    Ctx, SCOUT, failed,
    options::StrategyWeights,
    state::{Candidate, SearchParams, SearchUpdate, Strategy},
};
use crate::{
    base::{Fault, Result},
    forge::{FoundRepository, RepositoryQuery, SortBy},
};

/// Added to each place, so that the first of one list does not outweigh being on two.
const RANK_OFFSET: f64 = 60.0;

/// Searches by every strategy. One that fails is an error in the state.
///
/// # Errors
/// When all failed: as the last one did.
pub(super) async fn scout(ctx: &Ctx) -> Result<SearchUpdate> {
    let (state, deps) = (ctx.state(), ctx.deps());
    let params = state.search_params.as_ref();
    let params = params.ok_or_else(|| Fault::permanent("the query was not translated"))?;
    let options = &state.config.scout;
    let strategies = strategies(params);
    let searches = strategies.iter().map(|strategy| {
        let query = query(*strategy, params, options.max_candidates);
        async move { deps.repositories.search(&query).await }
    });
    let (mut lists, mut errors, mut last) = (Vec::new(), Vec::new(), None);
    for (strategy, found) in strategies.iter().zip(join_all(searches).await) {
        match found {
            Ok(found) => lists.push((*strategy, found)),
            Err(fault) => {
                let stage = format!("{SCOUT}.{}", name(*strategy));
                errors.push(failed(&stage, &fault, deps.clock.now()));
                last = Some(fault);
            }
        }
    }
    match last.filter(|_| lists.is_empty()) {
        Some(fault) => Err(fault),
        None => {
            let found = merge(lists, &options.strategy_weights, options.max_candidates);
            let candidate_repos = Some(found);
            Ok(SearchUpdate { candidate_repos, errors, ..SearchUpdate::default() })
        }
    }
}

/// Without related words the third would find what the first did.
fn strategies(params: &SearchParams) -> Vec<Strategy> {
    let mut all = vec![Strategy::Stars, Strategy::Recency];
    if !params.expanded_keywords.is_empty() {
        all.push(Strategy::Expanded);
    }
    all
}

fn name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Stars => "stars",
        Strategy::Recency => "recency",
        Strategy::Expanded => "expanded",
    }
}

fn query(strategy: Strategy, params: &SearchParams, limit: usize) -> RepositoryQuery {
    let (mut words, mut any, mut sort) = (params.keywords.clone(), false, SortBy::Stars);
    match strategy {
        Strategy::Stars => {}
        Strategy::Recency => sort = SortBy::Updated,
        Strategy::Expanded => {
            words = params.expanded_keywords.clone();
            (any, sort) = (true, SortBy::BestMatch);
        }
    }
    RepositoryQuery {
        words,
        any,
        language: params.language.clone(),
        stars: params.star_range.map(|range| (range.min, range.max)),
        created_after: params.created_after.clone(),
        topics: params.topics.clone(),
        sort,
        limit,
    }
}

/// All of them, each once, the one first that stands highest in the most lists (reciprocal rank
/// fusion).
fn merge(
    lists: Vec<(Strategy, Vec<FoundRepository>)>,
    weights: &StrategyWeights,
    limit: usize,
) -> Vec<Candidate> {
    let mut merged: Vec<(f64, Candidate)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (strategy, found) in lists {
        let weight = match strategy {
            Strategy::Stars => weights.stars,
            Strategy::Recency => weights.recency,
            Strategy::Expanded => weights.expanded,
        };
        for (rank, repository) in found.into_iter().enumerate() {
            let worth = weight / (RANK_OFFSET + rank as f64);
            let at = *places.entry(repository.full_name.clone()).or_insert_with(|| {
                merged.push((0.0, Candidate { repository, found_by: Vec::new() }));
                merged.len() - 1
            });
            let (sum, candidate) = &mut merged[at];
            *sum += worth;
            candidate.found_by.push(strategy);
        }
    }
    // Stable: of equals the one found first stays first.
    merged.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    merged.into_iter().take(limit).map(|(_, candidate)| candidate).collect()
}

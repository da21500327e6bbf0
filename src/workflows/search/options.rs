//! The configuration of a search. It is part of the input, so a run keeps to the one it began with.

use serde::{Deserialize, Serialize};

/// The most candidates: what one page of a search holds.
const MAX_CANDIDATES: usize = 100;

/// The configuration of a search; what is left out keeps its default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchOptions {
    /// Of the node `scout`.
    pub scout: ScoutOptions,
    /// Of the node `screener`.
    pub screener: ScreenerOptions,
}

/// How candidates are found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScoutOptions {
    /// The most candidates.
    pub max_candidates: usize,
    /// What a place in each strategy's list is worth.
    pub strategy_weights: StrategyWeights,
}

/// What a place in each strategy's list is worth, against the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StrategyWeights {
    /// The most starred.
    pub stars: f64,
    /// The most recently updated.
    pub recency: f64,
    /// The best matches of any related word.
    pub expanded: f64,
}

/// How candidates are screened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScreenerOptions {
    /// What a candidate must have to be looked at.
    pub coarse_filter_thresholds: CoarseFilterThresholds,
    /// What each score of the model counts.
    pub dimension_weights: DimensionWeights,
    /// The most candidates the model scores, all at once.
    pub max_scored: usize,
    /// The most repositories in the result.
    pub max_results: usize,
}

/// What a candidate must have to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CoarseFilterThresholds {
    /// At least so many stars.
    pub min_stars: u64,
    /// An update within so many months of 30 days.
    pub updated_within_months: u32,
}

/// What each score of the model counts, against the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DimensionWeights {
    /// Whether it is what was looked for.
    pub relevance: f64,
    /// Whether it is complete and proven.
    pub maturity: f64,
    /// Whether it is worked on.
    pub activity: f64,
    /// Whether it is explained.
    pub documentation: f64,
    /// Whether others use it and help.
    pub community: f64,
}

impl Default for ScoutOptions {
    fn default() -> Self {
        Self { max_candidates: MAX_CANDIDATES, strategy_weights: StrategyWeights::default() }
    }
}

impl Default for StrategyWeights {
    fn default() -> Self {
        Self { stars: 0.4, recency: 0.3, expanded: 0.3 }
    }
}

impl Default for ScreenerOptions {
    fn default() -> Self {
        Self {
            coarse_filter_thresholds: CoarseFilterThresholds::default(),
            dimension_weights: DimensionWeights::default(),
            max_scored: 25,
            max_results: 10,
        }
    }
}

impl Default for CoarseFilterThresholds {
    fn default() -> Self {
        Self { min_stars: 50, updated_within_months: 24 }
    }
}

impl Default for DimensionWeights {
    fn default() -> Self {
        Self { relevance: 0.4, maturity: 0.2, activity: 0.2, documentation: 0.1, community: 0.1 }
    }
}

impl SearchOptions {
    /// What cannot work, by its field.
    pub(super) fn fault(&self) -> Option<String> {
        let StrategyWeights { stars, recency, expanded } = self.scout.strategy_weights;
        let DimensionWeights { relevance, maturity, activity, documentation, community } =
            self.screener.dimension_weights;
        let weighs = |all: &[f64]| {
            all.iter().all(|w| w.is_finite() && *w >= 0.0) && all.iter().sum::<f64>() > 0.0
        };
        let counts = |count: usize, most: usize| (1..=most).contains(&count);
        let weights = "expected numbers of at least 0, not all 0";
        let rules = [
            (weighs(&[stars, recency, expanded]), "scout.strategy_weights", weights),
            (
                weighs(&[relevance, maturity, activity, documentation, community]),
                "screener.dimension_weights",
                weights,
            ),
            (
                counts(self.scout.max_candidates, MAX_CANDIDATES),
                "scout.max_candidates",
                "expected a whole number from 1 to 100",
            ),
            (
                counts(self.screener.max_scored, 25),
                "screener.max_scored",
                "expected a whole number from 1 to 25",
            ),
            (
                counts(self.screener.max_results, MAX_CANDIDATES),
                "screener.max_results",
                "expected a whole number from 1 to 100",
            ),
        ];
        let broken = rules.into_iter().find(|(holds, ..)| !holds);
        broken.map(|(_, field, why)| format!("config.{field}: {why}"))
    }
}

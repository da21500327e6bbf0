//! What a search is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::options::SearchOptions;
use crate::workflows::non_blank;

/// A job's input: `{"query": TEXT, "mode"?: MODE, "config"?: {…}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    /// What is looked for, in plain words.
    #[serde(deserialize_with = "non_blank")]
    pub query: String,
    /// How far it looks.
    #[serde(default)]
    pub mode: SearchMode,
    /// Thresholds, weights and limits.
    #[serde(default, deserialize_with = "checked")]
    pub config: SearchOptions,
}

/// How far a search looks beyond the words of its query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// The query's own words only. Also `low`.
    #[serde(alias = "low")]
    Focused,
    /// A few related words. Also `medium`.
    #[default]
    #[serde(alias = "medium")]
    Balanced,
    /// Many related words. Also `high`.
    #[serde(alias = "high")]
    Exploratory,
}

impl SearchMode {
    /// The most related words.
    pub(super) fn max_expanded_keywords(self) -> usize {
        match self {
            Self::Focused => 0,
            Self::Balanced => 3,
            Self::Exploratory => 5,
        }
    }
}

fn checked<'de, D: Deserializer<'de>>(from: D) -> Result<SearchOptions, D::Error> {
    let options = SearchOptions::deserialize(from)?;
    options.fault().map_or(Ok(options), |why| Err(D::Error::custom(why)))
}

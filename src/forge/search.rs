//! The port that finds repositories.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::base::Result;

/// Finds repositories on a code host.
#[async_trait]
pub trait RepositorySearch: Send + Sync + 'static {
    /// What fits the query, in its order.
    ///
    /// # Errors
    /// When the host does not answer, or refuses the query.
    async fn search(&self, query: &RepositoryQuery) -> Result<Vec<FoundRepository>>;
}

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepositoryQuery {
    /// Words of the name, the description or the topics. Those beyond what a host takes are left out.
    pub words: Vec<String>,
    /// Whether any of the words will do; otherwise all must be found.
    pub any: bool,
    /// The main programming language.
    pub language: Option<String>,
    /// At least so many stars, and at most.
    pub stars: Option<(u64, Option<u64>)>,
    /// Created after this day, `YYYY-MM-DD`.
    pub created_after: Option<String>,
    /// Topics it must have.
    pub topics: Vec<String>,
    /// What comes first.
    pub sort: SortBy,
    /// The most that are answered, up to 100.
    pub limit: usize,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortBy {
    /// What fits best, as the host sees it.
    #[default]
    BestMatch,
    /// The most starred.
    Stars,
    /// The most recently updated.
    Updated,
}

/// A repository that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FoundRepository {
    /// `owner/name`.
    pub full_name: String,
    /// Where people look at it.
    pub url: String,
    /// One sentence about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The main programming language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// How many people starred it.
    pub stars: u64,
    /// How many forks it has.
    pub forks: u64,
    /// How many issues are open.
    pub open_issues: u64,
    /// Its topics.
    pub topics: Vec<String>,
    /// Whether it is read-only.
    pub archived: bool,
    /// When it was made: RFC 3339.
    pub created_at: String,
    /// When it was last pushed to: RFC 3339.
    pub updated_at: String,
}

//! What a review is asked for, and what names it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::forge::{Forge, Range, Result, Selection};

/// The input of a review job: a local repository and the two revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewInput {
    /// A folder in the repository.
    pub repo: PathBuf,
    /// Compared from; its merge base with `head` is what counts.
    pub base: String,
    /// Compared to.
    pub head: String,
    /// Anything here makes it another review of the same commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<String>,
}

impl ReviewInput {
    /// The repository and the two object ids this stands for now.
    ///
    /// # Errors
    /// When the folder is no repository, a revision is unknown, or nothing lies between them.
    pub async fn resolve(&self, forge: &dyn Forge) -> Result<Range> {
        let ends = Selection::Ends { base: self.base.clone(), head: self.head.clone() };
        forge.resolve(&self.repo, &ends).await
    }
}

impl From<Range> for ReviewInput {
    fn from(range: Range) -> Self {
        Self {
            repo: Path::new(&range.repo).to_owned(),
            base: range.base,
            head: range.head,
            fresh: None,
        }
    }
}

/// The key of a local review: the same repository and commits are the same review, unless it was
/// asked to be a fresh one.
pub fn key(range: &Range, fresh: Option<&str>) -> String {
    let again = fresh.map(|fresh| format!("#{fresh}")).unwrap_or_default();
    format!("local:{}:{}..{}{again}", range.repo, range.base, range.head)
}

//! What a review is asked for, and what names it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::forge::{
    Range, Result,
    local::{GitOptions, Selection, resolve},
};

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
}

impl ReviewInput {
    /// The repository and the two object ids this stands for now.
    ///
    /// # Errors
    /// When the folder is no repository, a revision is unknown, or nothing lies between them.
    pub async fn resolve(&self, git: &GitOptions) -> Result<Range> {
        let ends = Selection::Ends { base: self.base.clone(), head: self.head.clone() };
        resolve(git, &self.repo, &ends).await
    }
}

impl From<Range> for ReviewInput {
    fn from(range: Range) -> Self {
        Self { repo: Path::new(&range.repo).to_owned(), base: range.base, head: range.head }
    }
}

/// The key of a local review: the same repository and commits are the same review.
pub fn key(range: &Range) -> String {
    format!("local:{}:{}..{}", range.repo, range.base, range.head)
}

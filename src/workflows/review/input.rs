//! What a review is asked for, what it starts from, and what names it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    base::{Fault, Result},
    forge::{Forge, Range, Selection},
};

/// A review job's input: a local repository and two revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewInput {
    /// A folder in the repository.
    pub repo: PathBuf,
    /// Compared from; its merge base with `head` is what counts.
    pub base: String,
    /// Compared to.
    pub head: String,
    /// Sets this review apart from others of the same commits; without it, asking again finds
    /// the review there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<String>,
}

impl From<Range> for ReviewInput {
    fn from(range: Range) -> Self {
        Self { repo: range.repo.into(), base: range.base, head: range.head, fresh: None }
    }
}

/// A review asked for by a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// A folder in the repository.
    pub repo: PathBuf,
    /// As written: `A..B`, `A...B`, `A`.
    pub range: Option<String>,
    /// Both ends, in place of a range.
    pub ends: Option<(String, String)>,
    /// Whether to review again what was reviewed before.
    pub fresh: bool,
}

impl Ask {
    /// The job's input, its ends resolved.
    ///
    /// # Errors
    /// When the folder is no repository, a revision is unknown, or nothing lies between them.
    pub async fn input(self, forge: &dyn Forge) -> Result<ReviewInput> {
        let selection = match (self.range, self.ends) {
            (Some(range), _) => Selection::Range(range),
            (None, Some((base, head))) => Selection::Ends { base, head },
            (None, None) => Selection::Default,
        };
        let range = forge.resolve(&self.repo, &selection).await?;
        let fresh = self.fresh.then(|| format!("{:032x}", fastrand::u128(..)));
        Ok(ReviewInput { fresh, ..range.into() })
    }
}

/// What a review starts from: names that no longer move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "forge", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Target {
    /// A repository on this machine.
    Local(Range),
}

impl ReviewInput {
    /// What this stands for now.
    ///
    /// # Errors
    /// When the folder is no repository, a revision is unknown, or nothing lies between them.
    pub async fn resolve(&self, forge: &dyn Forge) -> Result<Target> {
        let ends = Selection::Ends { base: self.base.clone(), head: self.head.clone() };
        Ok(Target::Local(forge.resolve(&self.repo, &ends).await?))
    }

    /// The run's key: the same repository and commits are the same review, unless asked afresh.
    pub fn key(&self, target: &Target) -> String {
        let key = target.key();
        self.fresh.as_ref().map_or(key.clone(), |fresh| format!("{key}#{fresh}"))
    }
}

impl Target {
    /// The two ends.
    pub fn range(&self) -> &Range {
        match self {
            Self::Local(range) => range,
        }
    }

    /// What is reviewed, in one line.
    pub fn key(&self) -> String {
        match self {
            Self::Local(Range { repo, base, head }) => format!("local:{repo}:{base}..{head}"),
        }
    }

    /// Refuses a repository outside the folders (canonical paths) a job may name; `None` allows
    /// any.
    ///
    /// # Errors
    /// Permanent, with the setting that would allow it.
    pub fn check_allowed(&self, allowed: Option<&[PathBuf]>) -> Result<()> {
        let Self::Local(range) = self;
        let repo = Path::new(&range.repo);
        match allowed {
            Some(folders) if !folders.iter().any(|f| repo.starts_with(f)) => {
                Err(Fault::permanent(format!(
                    "jobs may not name `{}`; allow its folder in forge.local.allow",
                    range.repo
                )))
            }
            _ => Ok(()),
        }
    }
}

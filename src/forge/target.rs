//! What is asked for, in the words of one forge, and what it stands for.

use serde::{Deserialize, Serialize};

/// What somebody asks to have reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locator {
    /// The forge's kind.
    pub forge: String,
    /// The place, as that forge writes it: a folder for local git, `owner/repo#7` for GitHub.
    pub place: String,
    /// Which revisions of it.
    pub selection: Selection,
}

/// Which revisions to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Those the place itself stands for: what a branch adds, or a pull request's ends.
    Default,
    /// As written by a person.
    Range(String),
    /// Two revisions.
    Ends {
        /// Compared from (its merge base with `head`).
        base: String,
        /// Compared to.
        head: String,
    },
    /// What is staged, compared with the last commit. Only for repositories on this machine.
    Staged,
    /// Every change that is not committed, files that git does not know yet included. Only for
    /// repositories on this machine.
    WorkTree,
}

/// What a review starts from: names that no longer move. Only the forge of its kind reads the
/// place; everybody else passes it on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The forge's kind.
    pub forge: String,
    /// The place: a canonical path for local git, `owner/repo#7` for GitHub.
    pub repo: String,
    /// The full object id compared from: a commit, or the empty tree for a first commit.
    pub base: String,
    /// The full commit id compared to.
    pub head: String,
}

impl Target {
    /// Names what is reviewed, in one line: equal targets are the same review.
    pub fn key(&self) -> String {
        let Self { forge, repo, base, head } = self;
        format!("{forge}:{repo}:{base}..{head}")
    }
}

/// What a locator stands for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What to review.
    pub target: Target,
    /// What the review is about, where a newer one replaces an older one: a pull request.
    pub subject: Option<String>,
    /// Its place among the reviews of the subject; later ones are higher.
    pub order: i64,
    /// How its author describes it, where a forge keeps that.
    pub introduction: Option<Introduction>,
}

/// How the author of a change describes it on its forge. Anybody may have written it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Introduction {
    /// In one line.
    pub title: String,
    /// At length; empty when there is no more to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Whether the author is nobody of the repository's: has no part in it, as far as the forge says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_outsider: bool,
}

//! What a webhook of a forge asks for, in words that are the same for every forge.

use super::Locator;

/// What an event asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventRequest {
    /// A review, if the repository's settings want one.
    Review(ReviewRequest),
    /// The end of reviews of a subject: nobody needs them any more.
    Cancel {
        /// As in [`Resolved::subject`](super::Resolved::subject).
        subject: String,
    },
    /// An answer, to be given by [`Forge::answer`](super::Forge::answer).
    Explain(Question),
    /// Nothing, for this reason; or nothing more, since the forge did it itself.
    Ignore(String),
}

/// A review that an event asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRequest {
    /// Of what.
    pub locator: Locator,
    /// Why now.
    pub occasion: Occasion,
    /// What is reviewed, as it is now.
    pub proposal: Proposal,
}

/// What made an event ask for a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
    /// It was opened, or is ready for review, or goes into another branch.
    Opened,
    /// It has new commits; more may follow soon.
    Pushed,
    /// It was given this label.
    Labelled(String),
    /// Somebody who may asked for it: whatever was reviewed before is reviewed again.
    Asked,
}

/// What a forge knows of a change that somebody proposes, as far as it decides about reviews.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The author's name on the forge; empty when the account is gone.
    pub author: String,
    /// Whether the author is a program.
    pub by_bot: bool,
    /// Whether the author is the account that reviews.
    pub own: bool,
    /// Whether its author says that it is not ready.
    pub draft: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// The branch it goes into.
    pub base_branch: String,
}

/// A question somebody asked in a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What it was asked on.
    pub locator: Locator,
    /// What it is about: a rule's name, or a text that holds one.
    pub topic: String,
    /// Where to answer, as the forge writes it.
    pub thread: String,
}

//! The fields of a webhook's body that are used. Lenient: any of them may be absent.

use serde::{Deserialize, Serialize};

use super::{PullPlace, command};
use crate::base::{Fault, Result};

/// A webhook's body. Written again, it is the trimmed body.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pull_request: Option<Numbered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) issue: Option<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) comment: Option<Comment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requested_reviewer: Option<Sender>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) check_run: Option<Check>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) check_suite: Option<Check>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requested_action: Option<Button>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) merge_group: Option<MergeGroup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repository: Option<Repository>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sender: Option<Sender>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) changes: Option<Changes>,
}

/// Something with a number.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Numbered {
    pub(super) number: Option<u64>,
}

/// An issue; a pull request if it says so.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Issue {
    pub(super) number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pull_request: Option<Marked>,
}

/// Something that is there, whatever it holds.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct Marked {}

/// A comment, below a pull request or on its lines.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) in_reply_to_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) created_at: Option<String>,
    pub(super) user: Option<Sender>,
}

/// Something with a name.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Named {
    pub(super) name: Option<String>,
}

/// An account.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Sender {
    pub(super) login: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
}

impl Sender {
    /// Whether it is a program.
    pub(super) fn is_bot(&self) -> bool {
        self.kind.as_deref() == Some("Bot")
    }
}

/// A check run, or a check suite.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Check {
    /// Suites have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) head_sha: Option<String>,
    /// Empty for pull requests from forks.
    pub(super) pull_requests: Vec<Numbered>,
}

/// A button of a check run.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Button {
    pub(super) identifier: Option<String>,
}

/// A group in the merge queue.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct MergeGroup {
    pub(super) head_sha: Option<String>,
    pub(super) head_ref: Option<String>,
}

/// A repository.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Repository {
    pub(super) full_name: Option<String>,
}

/// What an `edited` event says has changed.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Changes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<Marked>,
}

/// The body with nothing but the fields that are used, for the queue. Of a comment only the line
/// with a command is kept.
///
/// # Errors
/// When it is no JSON object of a known shape.
pub fn trimmed(body: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let mut body: Body = serde_json::from_slice(body)?;
    if let Some(comment) = &mut body.comment {
        let text = comment.body.take().unwrap_or_default();
        comment.body = command::line(&text).map(str::to_owned);
    }
    serde_json::to_vec(&body)
}

impl Body {
    pub(super) fn read(body: &[u8]) -> Result<Self> {
        serde_json::from_slice(body)
            .map_err(|error| Fault::permanent(format!("the event cannot be read: {error}")))
    }

    /// What happened, in one word.
    pub(super) fn action(&self) -> &str {
        self.action.as_deref().unwrap_or_default()
    }

    /// The pull request of this number in the event's repository.
    ///
    /// # Errors
    /// Permanent when the event names none.
    pub(super) fn place(&self, number: Option<u64>) -> Result<PullPlace> {
        let repository = self.repository.as_ref().and_then(|found| found.full_name.as_ref());
        let (Some(number), Some(repository)) = (number, repository) else {
            return Err(Fault::permanent("the event names no pull request of a repository"));
        };
        super::place_of(&format!("{repository}#{number}"))
    }

    /// The number of the pull request that the event is about.
    pub(super) fn pull_number(&self) -> Option<u64> {
        let pull = self.pull_request.as_ref().and_then(|pull| pull.number);
        self.number.or(pull).or(self.issue.as_ref().and_then(|issue| issue.number))
    }
}

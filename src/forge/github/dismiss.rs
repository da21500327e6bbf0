//! Findings that somebody dismisses by a command: our comment says who did, and its thread is resolved where we may.

use serde_json::json;

use super::{
    GitHub, PullPlace,
    client::Call,
    compose::{self, bounded},
    history::{self, Thread},
    model::ReviewComment,
    notes::PublishingRight,
};
use crate::base::Result;

/// What a comment about something that was dismissed says first, or behind that it was fixed.
fn dismissed_line(login: &str) -> String {
    format!("**Dismissed by `{login}`.**\n\n")
}

/// Whether one of our comments says that its finding was dismissed.
pub(super) fn says_dismissed(body: &str) -> bool {
    let rest = body.split_once('\n').map_or("", |(_, rest)| rest);
    let fixed = history::says_fixed(body, None);
    let behind =
        if fixed { rest.split_once("\n\n").map_or("", |(_, behind)| behind) } else { rest };
    behind.starts_with("**Dismissed by `")
}

/// Whether a comment is about something critical to security, which nobody dismisses.
fn is_critical(body: &str) -> bool {
    let security =
        compose::read_marker(body).is_some_and(|marker| marker.agent == Some("security"));
    security && body.lines().nth(1).is_some_and(|title| title.starts_with("**critical · "))
}

/// Dismisses the finding of a comment, or all that have one. Answers how many those are. Idempotent.
pub(super) async fn dismiss(
    github: &GitHub,
    place: &PullPlace,
    comment: Option<u64>,
    login: &str,
) -> Result<usize> {
    // Whoever publishes may be about to write to the same comments.
    let subject = github.subject(place);
    let right = PublishingRight::acquire(&github.store, &subject, github.right_ttl).await?;
    let dismissing = Dismissing { github, place, right: &right, login };
    let done = right.during(Box::pin(dismissing.dismiss(comment))).await;
    right.release().await;
    done
}

struct Dismissing<'a> {
    github: &'a GitHub,
    place: &'a PullPlace,
    right: &'a PublishingRight,
    /// Who dismisses.
    login: &'a str,
}

impl Dismissing<'_> {
    async fn dismiss(&self, comment: Option<u64>) -> Result<usize> {
        let (client, access) = (&self.github.client, self.github.access(self.place));
        let PullPlace { owner, repo, number } = self.place;
        let path = format!("/repos/{owner}/{repo}/pulls/{number}/comments");
        let ours = client.login().await?;
        let mut comments: Vec<ReviewComment> = client.pages(&access, &path).await?;
        comments.retain(|one| {
            let wanted = comment.is_none_or(|id| id == one.id) && one.is_by(&ours);
            wanted && compose::read_marker(&one.body).is_some() && !is_critical(&one.body)
        });
        let found = comments.len();
        comments.retain(|one| !says_dismissed(&one.body) && !history::says_fixed(&one.body, None));
        if comments.is_empty() {
            return Ok(found);
        }
        let threads = match history::threads(self.github, &access, self.place).await {
            Err(fault) if !fault.is_transient() => Vec::new(),
            threads => threads?,
        };
        let mut may_resolve = true;
        for comment in &comments {
            let open: Option<&Thread> =
                threads.iter().find(|thread| thread.comment == comment.id && !thread.resolved);
            if let Some(thread) = open.filter(|_| may_resolve) {
                may_resolve = history::resolve(self.github, &access, self.right, thread).await?;
            }
            self.write(comment).await?;
        }
        Ok(found)
    }

    async fn write(&self, comment: &ReviewComment) -> Result<()> {
        let PullPlace { owner, repo, .. } = self.place;
        let (marker, rest) = comment.body.split_once('\n').unwrap_or((&comment.body, ""));
        let body = bounded(format!("{marker}\n{}{rest}", dismissed_line(self.login)));
        let path = format!("/repos/{owner}/{repo}/pulls/comments/{}", comment.id);
        self.right.keep().await?;
        let call = Call::patch(path, json!({ "body": body }));
        // Deleted just now, there is nothing to dismiss any more.
        let access = self.github.access(self.place);
        let _: Option<ReviewComment> = self.github.client.find(&access, call).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_critical_to_security_is_not_dismissed() {
        let cases = [
            ("<!-- verdict finding 00ff security -->\n**critical · A title**", true),
            ("<!-- verdict finding 00ff security model -->\n**critical · A title**", true),
            ("<!-- verdict finding 00ff security -->\n**high · A title**\n**critical · x**", false),
            ("<!-- verdict finding 00ff logic -->\n**critical · A title**", false),
        ];
        for (body, critical) in cases {
            assert_eq!(is_critical(body), critical, "{body}");
        }
    }

    #[test]
    fn only_what_stands_first_says_that_it_was_dismissed() {
        let marker = "<!-- verdict finding 00ff logic -->\n";
        let line = dismissed_line("octo-cat");
        let cases = [
            (format!("{marker}{line}**high · A title**"), true),
            (format!("{marker}**Fixed in 0123456789ab.**\n\n{line}**high · A title**"), true),
            (format!("{marker}**high · A title**\n\n{line}"), false),
            (format!("{marker}**Fixed in 0123456789ab.**\n\n**high · A title**\n\n{line}"), false),
            (line.clone(), false),
        ];
        for (body, says) in cases {
            assert_eq!(says_dismissed(&body), says, "{body}");
        }
    }
}

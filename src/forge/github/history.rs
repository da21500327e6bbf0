//! What verdict said about a pull request before, what people made of it, and what became of it.
//!
//! Everything is read from the pull request itself: comments on lines name their finding in a marker,
//! the summary names the head that was reviewed last and what was found there. So any process knows,
//! whatever store it has.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::{
    GitHub,
    auth::Access,
    client::Call,
    compose::{self, bounded},
    dismiss::says_dismissed,
    model::{IssueComment, Permission, Reaction, Review, ReviewComment},
    notes::PublishingRight,
    place::PullPlace,
    publish::Publishing,
};
use crate::{
    base::{Fault, Result},
    forge::{History, Publication, Published, Target},
};

/// Most fingerprints that a summary names.
const MAX_KNOWN: usize = 500;

/// Threads, a page at a time.
const THREADS: &str = "query($owner:String!,$name:String!,$number:Int!,$after:String){\
    repository(owner:$owner,name:$name){pullRequest(number:$number){\
    reviewThreads(first:100,after:$after){pageInfo{hasNextPage endCursor}\
    nodes{id isResolved resolvedBy{login} comments(first:1){nodes{databaseId}}}}}}}";

const RESOLVE: &str = "mutation($id:ID!){resolveReviewThread(input:{threadId:$id}){thread{id}}}";

/// A conversation about lines.
pub(super) struct Thread {
    id: String,
    /// Its first comment.
    pub(super) comment: u64,
    pub(super) resolved: bool,
    /// GraphQL writes a bot's login without `[bot]`.
    resolved_by: Option<String>,
}

/// The second line of a summary: the head, and what was found there.
pub(super) fn known_line(review: &Publication) -> String {
    let known: Vec<&str> = review.found.iter().take(MAX_KNOWN).map(String::as_str).collect();
    format!("<!-- reviewed {}: {} -->\n", review.target.head, known.join(" "))
}

/// Reads it.
fn read_known(summary: &str) -> Option<(&str, BTreeSet<String>)> {
    let line = summary.lines().nth(1)?.strip_prefix("<!-- reviewed ")?.strip_suffix(" -->")?;
    let (head, known) = line.split_once(':')?;
    Some((head, known.split_whitespace().map(str::to_owned).collect()))
}

/// What was said before about the pull request of this target.
pub(super) async fn read(github: &GitHub, target: &Target) -> Result<History> {
    let place = super::place_of(&target.repo)?;
    let reading = Reading { github, access: github.access(&place), place: &place };
    let mut history = History::default();
    let summaries = reading.summaries().await?;
    let bodies = summaries.iter().filter_map(|comment| comment.body.as_deref());
    if let Some((head, known)) = bodies.filter_map(read_known).next() {
        history.last_head = Some(head.to_owned()).filter(|head| *head != target.head);
        history.known = known;
    }
    let comments = reading.comments().await?;
    let login = github.client.login().await?;
    let said: Vec<(&ReviewComment, &str)> = comments
        .iter()
        .filter(|comment| comment.is_by(&login))
        .filter_map(|comment| Some((comment, compose::fingerprint_of(&comment.body)?)))
        .collect();
    history.known.extend(said.iter().map(|(_, fingerprint)| (*fingerprint).to_owned()));
    if !said.is_empty() {
        history.dismissed = reading.dismissed(&comments, &said).await?;
    }
    Ok(history)
}

struct Reading<'a> {
    github: &'a GitHub,
    access: Access,
    place: &'a PullPlace,
}

impl Reading<'_> {
    fn path(&self, rest: &str) -> String {
        let PullPlace { owner, repo, .. } = self.place;
        format!("/repos/{owner}/{repo}{rest}")
    }

    async fn summaries(&self) -> Result<Vec<IssueComment>> {
        let client = &self.github.client;
        let marker = compose::summary_marker(&self.github.subject(self.place));
        let path = self.path(&format!("/issues/{}/comments", self.place.number));
        let login = client.login().await?;
        let mut comments: Vec<IssueComment> = client.pages(&self.access, &path).await?;
        comments.retain(|comment| comment.is_ours(&login, &marker));
        Ok(comments)
    }

    async fn comments(&self) -> Result<Vec<ReviewComment>> {
        let path = self.path(&format!("/pulls/{}/comments", self.place.number));
        self.github.client.pages(&self.access, &path).await
    }

    /// The findings of these comments that people dismissed: by a command, by resolving the thread, by a
    /// thumb down, or in words. Only those count who may write.
    async fn dismissed(
        &self,
        all: &[ReviewComment],
        said: &[(&ReviewComment, &str)],
    ) -> Result<BTreeSet<String>> {
        let login = self.github.client.login().await?;
        let login = login.trim_end_matches("[bot]");
        let threads = threads(self.github, &self.access, self.place).await?;
        let resolved: HashMap<u64, String> = threads
            .into_iter()
            .filter(|thread| thread.resolved)
            .filter_map(|thread| Some((thread.comment, thread.resolved_by?)))
            .collect();
        let (mut dismissed, mut writers) = (BTreeSet::new(), HashMap::new());
        for (comment, fingerprint) in said {
            // Who may write was asked when the command was given.
            if says_dismissed(&comment.body) {
                dismissed.insert((*fingerprint).to_owned());
                continue;
            }
            let mut people: Vec<String> = resolved.get(&comment.id).cloned().into_iter().collect();
            let answers = all.iter().filter(|answer| answer.in_reply_to_id == Some(comment.id));
            let refuses = answers.filter(|answer| says_no(&answer.body));
            people.extend(refuses.filter_map(|answer| Some(answer.user.as_ref()?.login.clone())));
            if comment.reactions.as_ref().is_some_and(|reactions| reactions.down > 0) {
                people.extend(self.thumbs_down(comment.id).await?);
            }
            for person in people.iter().filter(|person| *person != login) {
                if self.may_write(person, &mut writers).await? {
                    dismissed.insert((*fingerprint).to_owned());
                    break;
                }
            }
        }
        Ok(dismissed)
    }

    async fn thumbs_down(&self, comment: u64) -> Result<Vec<String>> {
        let path = self.path(&format!("/pulls/comments/{comment}/reactions?content=-1"));
        let reactions: Vec<Reaction> = self.github.client.pages(&self.access, &path).await?;
        let down = reactions.into_iter().filter(|reaction| reaction.content == "-1");
        Ok(down.filter_map(|reaction| Some(reaction.user?.login)).collect())
    }

    async fn may_write(&self, login: &str, known: &mut HashMap<String, bool>) -> Result<bool> {
        if let Some(may) = known.get(login) {
            return Ok(*may);
        }
        let path = self.path(&format!("/collaborators/{login}/permission"));
        let found: Result<Permission> =
            self.github.client.json(&self.access, Call::get(path)).await;
        let may = match found {
            Ok(found) => matches!(found.permission.as_str(), "admin" | "maintain" | "write"),
            // Somebody who is gone.
            Err(fault) if !fault.is_transient() => false,
            Err(fault) => return Err(fault),
        };
        known.insert(login.to_owned(), may);
        Ok(may)
    }
}

/// Whether an answer turns a finding down.
fn says_no(body: &str) -> bool {
    let words = body.to_lowercase().replace('\u{2019}', "'");
    ["won't fix", "wont fix", "wontfix", "won't-fix", "will not fix"]
        .iter()
        .any(|no| words.contains(no))
}

/// The conversations about lines of a pull request.
pub(super) async fn threads(
    github: &GitHub,
    access: &Access,
    place: &PullPlace,
) -> Result<Vec<Thread>> {
    let (mut threads, mut after) = (Vec::new(), Value::Null);
    loop {
        let PullPlace { owner, repo, number } = place;
        let variables = json!({ "owner": owner, "name": repo, "number": number, "after": after });
        let data = github.client.graphql(access, THREADS, variables, false).await?;
        let page = &data["repository"]["pullRequest"]["reviewThreads"];
        for node in page["nodes"].as_array().into_iter().flatten() {
            let id = node["id"].as_str().unwrap_or_default().to_owned();
            let Some(comment) = node["comments"]["nodes"][0]["databaseId"].as_u64() else {
                continue;
            };
            let resolved_by = node["resolvedBy"]["login"].as_str().map(str::to_owned);
            let resolved = node["isResolved"].as_bool().unwrap_or_default();
            threads.push(Thread { id, comment, resolved, resolved_by });
        }
        if page["pageInfo"]["hasNextPage"] != true {
            return Ok(threads);
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

/// What a comment about something that was fixed says first.
fn fixed_line(head: &str) -> String {
    format!("**Fixed in {}.**\n\n", head.get(..12).unwrap_or(head))
}

/// Whether a comment says that its finding was fixed; in this head, if one is given.
pub(super) fn says_fixed(body: &str, head: Option<&str>) -> bool {
    let rest = body.split_once('\n').map_or("", |(_, rest)| rest);
    match head {
        Some(head) => rest.starts_with(&fixed_line(head)),
        None => rest.starts_with("**Fixed in "),
    }
}

/// Of our comments those whose findings are no longer there. What is unsteady is fixed only if its line changed
/// and all that was to look at the file did.
pub(super) fn fixed<'c>(
    review: &Publication,
    comments: &'c [ReviewComment],
) -> Vec<&'c ReviewComment> {
    let gone = |comment: &&ReviewComment| {
        let Some(marker) = compose::read_marker(&comment.body) else { return false };
        let looked_for = review.unsettled.get(&comment.path).is_none_or(|left| {
            !marker.unsteady && marker.agent.is_some_and(|agent| !left.contains(agent))
        });
        looked_for
            && !review.found.contains(marker.fingerprint)
            && (!marker.unsteady || comment.line.is_none())
            && comment.original_commit_id.as_ref() != Some(&review.target.head)
            && !says_fixed(&comment.body, None)
    };
    comments.iter().filter(gone).collect()
}

/// Marks comments as fixed in the head, and resolves their threads where we may.
pub(super) async fn mark_fixed(of: &Publishing<'_>, fixed: &[&ReviewComment]) -> Result<()> {
    if fixed.is_empty() {
        return Ok(());
    }
    let threads = match threads(of.github, &of.access, of.place).await {
        Err(fault) if !fault.is_transient() => Vec::new(),
        threads => threads?,
    };
    let mut may_resolve = true;
    for comment in fixed {
        let open = threads.iter().find(|thread| thread.comment == comment.id && !thread.resolved);
        if let Some(thread) = open.filter(|_| may_resolve) {
            may_resolve = resolve(of.github, &of.access, of.right, thread).await?;
        }
        let (marker, rest) = comment.body.split_once('\n').unwrap_or((&comment.body, ""));
        let line = fixed_line(&of.review.target.head);
        let body = bounded(format!("{marker}\n{line}{rest}"));
        let path = of.path(&format!("/pulls/comments/{}", comment.id));
        match of.write(Call::patch(path, json!({ "body": body }))).await {
            // The review stands, whatever became of an old comment: it may have been deleted just now.
            Err(fault) if !fault.is_transient() => {
                tracing::warn!(error = %fault, "a comment does not say that its finding was fixed");
            }
            written => drop(written?),
        }
    }
    Ok(())
}

/// What the review of an earlier head begins with, behind its marker.
const OUTDATED: &str = "**Outdated.** ";

/// Whether a review says that it is of an earlier head.
pub(super) fn says_outdated(body: &str) -> bool {
    body.split_once('\n').is_some_and(|(_, rest)| rest.starts_with(OUTDATED))
}

/// Says in reviews of earlier heads, also of one that moved while its review was posted, which review took their place.
pub(super) async fn mark_outdated(
    of: &Publishing<'_>,
    earlier: &[Review],
    by: &Published,
) -> Result<()> {
    let Published::At(url) = by else { return Ok(()) };
    let head = of.review.target.head.get(..12).unwrap_or(&of.review.target.head);
    for review in earlier {
        let (marker, rest) = review.body.split_once('\n').unwrap_or((&review.body, ""));
        let line = format!("{OUTDATED}[The review of {head}]({url}) took its place.\n\n");
        let body = bounded(format!("{marker}\n{line}{rest}"));
        let path = of.path(&format!("/pulls/{}/reviews/{}", of.place.number, review.id));
        match of.write(Call::put(path, json!({ "body": body }))).await {
            // The review stands, whatever became of an old one.
            Err(fault) if !fault.is_transient() => {
                tracing::warn!(error = %fault, "the review of an earlier head does not say so");
            }
            written => drop(written?),
        }
    }
    Ok(())
}

/// `false` when we may not: an App needs to be allowed to write contents for it.
pub(super) async fn resolve(
    github: &GitHub,
    access: &Access,
    right: &PublishingRight,
    thread: &Thread,
) -> Result<bool> {
    right.keep().await?;
    let variables = json!({ "id": thread.id });
    match github.client.graphql(access, RESOLVE, variables, true).await {
        Ok(_) => Ok(true),
        Err(Fault { kind: crate::base::FaultKind::Permanent, message, .. }) => {
            tracing::debug!(error = message, "threads of what was fixed stay open");
            Ok(false)
        }
        Err(fault) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_looked_for_and_is_gone_is_fixed() {
        let target = Target {
            forge: "github".to_owned(),
            repo: "o/r#1".to_owned(),
            base: "base".to_owned(),
            head: "head".to_owned(),
        };
        let review = Publication {
            target,
            run: "run".to_owned(),
            verdict: "comments",
            reviewed: true,
            opening: String::new(),
            closing: String::new(),
            comments: Vec::new(),
            found: BTreeSet::from(["found".to_owned()]),
            unsettled: [("off.py".to_owned(), BTreeSet::from(["style".to_owned()]))].into(),
        };
        let cases = [
            ("gone logic", "a.py", "old", Some(1), true),
            ("gone logic", "a.py", "old", None, true),
            ("found logic", "a.py", "old", None, false),
            ("gone logic", "a.py", "head", Some(1), false),
            ("gone logic", "off.py", "old", Some(1), true),
            ("gone style", "off.py", "old", None, false),
            // As earlier versions wrote them.
            ("gone", "a.py", "old", Some(1), true),
            ("gone", "off.py", "old", Some(1), false),
            ("gone logic model", "a.py", "old", Some(1), false),
            ("gone logic model", "a.py", "old", None, true),
        ];
        for (words, path, commit, line, is_fixed) in cases {
            let comment: ReviewComment = serde_json::from_value(json!({
                "id": 1,
                "body": format!("<!-- verdict finding {words} -->\n**high · Title**"),
                "path": path,
                "original_commit_id": commit,
                "line": line,
            }))
            .unwrap();
            let comments = [comment];
            assert_eq!(!fixed(&review, &comments).is_empty(), is_fixed, "{words} {path} {line:?}");
        }
    }
}

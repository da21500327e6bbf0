//! The check run of a head: there from the start of a review, ended on every path, green only when
//! everything was reviewed and nothing was found.
//!
//! A check run belongs to a pull request and a run: its external id names both. Heads whose check run
//! may be open are noted in the key-value store before it is made, so that whoever publishes next on
//! the pull request ends what a process left behind that died. Only Apps have check runs; for anybody
//! else there is nothing to do.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    GitHub,
    auth::Access,
    client::Call,
    compose::bounded,
    model::{Annotation, CheckRun, CheckRuns},
    place::PullPlace,
};
use crate::{
    base::{Fault, Result, key_value::KeyValueStore},
    forge::{Comment, Publication, Standing},
};

/// The check's name, as branch protection asks for it.
pub(super) const NAME: &str = "verdict";

/// Annotations that one request may carry.
const MAX_ANNOTATIONS_PER_REQUEST: usize = 50;

/// The longest title and message of an annotation, in characters.
const MAX_TITLE_CHARS: usize = 255;
const MAX_MESSAGE_CHARS: usize = 16_000;

/// Where the heads are noted whose check runs may be open, by pull request.
const SPACE: &str = "github-open-checks";

/// GitHub gives an open check run up after this time.
const NOTED_FOR: Duration = Duration::from_secs(14 * 24 * 3600);

/// The check runs of one head.
pub(super) struct Checks<'a> {
    github: &'a GitHub,
    access: Access,
    place: &'a PullPlace,
    head: &'a str,
    run: &'a str,
}

/// What a check run shows.
struct Shown {
    title: String,
    summary: String,
    /// `None` while it is open.
    conclusion: Option<&'static str>,
}

impl<'a> Checks<'a> {
    /// Of a head of a pull request; `run` is written on new ones.
    pub(super) fn of(
        github: &'a GitHub,
        place: &'a PullPlace,
        (head, run): (&'a str, &'a str),
    ) -> Option<Self> {
        let access = github.access(place);
        github.client.app().map(|_| Self { github, access, place, head, run })
    }

    /// Shows where a review stands that is not published.
    pub(super) async fn show(&self, standing: &Standing) -> Result<()> {
        let shown = of_standing(standing);
        if matches!(standing, Standing::Started(_)) {
            self.note().await?;
            self.end_others().await?;
            let there = self.ours(self.head).await?;
            return match there.iter().find(|check| is_open(check)) {
                Some(open) => self.change(open, &shown, &[]).await,
                None => self.create(&shown, &[]).await.map(drop),
            };
        }
        // What has ended says more about the head than that a later try failed.
        for open in self.ours(self.head).await?.iter().filter(|check| is_open(check)) {
            self.change(open, &shown, &[]).await?;
        }
        Ok(())
    }

    /// Ends the head's check run with the review's outcome, or changes the one that ended.
    pub(super) async fn conclude(&self, review: &Publication) -> Result<()> {
        let shown = outcome(review);
        let all: Vec<Annotation> = review.comments.iter().filter_map(annotation).collect();
        let there = self.ours(self.head).await?;
        let (first, earlier) = match there.split_first() {
            Some((newest, earlier)) => (newest.clone(), earlier),
            None if all.len() <= MAX_ANNOTATIONS_PER_REQUEST => {
                self.create(&shown, &all).await?;
                return self.end_others().await;
            }
            None => {
                (self.create(&Shown { conclusion: None, ..outcome(review) }, &[]).await?, &[][..])
            }
        };
        // Annotations are only ever added: what an attempt before this one sent is there.
        let sent = self.sent(&first).await?;
        let missing: Vec<Annotation> = all.into_iter().filter(|one| !sent.contains(one)).collect();
        let (before, last) = missing.split_at(match missing.len() {
            0 => 0,
            count => (count - 1) / MAX_ANNOTATIONS_PER_REQUEST * MAX_ANNOTATIONS_PER_REQUEST,
        });
        for batch in before.chunks(MAX_ANNOTATIONS_PER_REQUEST) {
            let open = Shown { conclusion: None, ..outcome(review) };
            let open = if is_open(&first) { &open } else { &shown };
            self.change(&first, open, batch).await?;
        }
        self.change(&first, &shown, last).await?;
        // Answers that were lost may have left several.
        for open in earlier.iter().filter(|check| is_open(check)) {
            self.change(open, &shown, &[]).await?;
        }
        self.end_others().await
    }

    /// Ends the check runs that reviews of earlier heads left open, if this head is the current one.
    async fn end_others(&self) -> Result<()> {
        let (heads, _) = self.noted().await?;
        let others: Vec<&String> = heads.keys().filter(|head| **head != self.head).collect();
        if others.is_empty() || self.github.pull(self.place).await?.head.sha != self.head {
            return Ok(());
        }
        let mut ended = Vec::new();
        for head in others {
            let checks = match self.ours(head).await {
                Ok(checks) => checks,
                // A commit that a force-push took away has no check runs any more.
                Err(fault) if !fault.is_transient() => Vec::new(),
                Err(fault) => return Err(fault),
            };
            for open in checks.iter().filter(|check| is_open(check)) {
                self.change(open, &of_standing(&Standing::Superseded), &[]).await?;
            }
            // One that is not there may be about to land.
            if !checks.is_empty() {
                ended.push(head.clone());
            }
        }
        if ended.is_empty() {
            Ok(())
        } else {
            self.renote(|heads| {
                heads.retain(|head, _| !ended.contains(head));
            })
            .await
        }
    }

    /// The check runs of this pull request on a head, the newest first.
    async fn ours(&self, head: &str) -> Result<Vec<CheckRun>> {
        let mut checks = all(self.github, &self.access, head).await?;
        let prefix = format!("{} ", self.name());
        checks.retain(|check| check.external_id.as_ref().is_some_and(|id| id.starts_with(&prefix)));
        Ok(checks)
    }

    /// The pull request, as external ids begin.
    fn name(&self) -> String {
        self.place.to_string().to_ascii_lowercase()
    }

    fn path(&self, rest: &str) -> String {
        let Access { owner, repo } = &self.access;
        format!("/repos/{owner}/{repo}/check-runs{rest}")
    }

    async fn create(&self, shown: &Shown, annotations: &[Annotation]) -> Result<CheckRun> {
        let mut body = shown.body(annotations);
        body["name"] = NAME.into();
        body["head_sha"] = self.head.into();
        body["external_id"] = format!("{} {}", self.name(), self.run).into();
        self.github.client.json(&self.access, Call::post(self.path(""), body)).await
    }

    async fn change(&self, check: &CheckRun, shown: &Shown, more: &[Annotation]) -> Result<()> {
        if more.is_empty() && shown.is_shown_by(check) {
            return Ok(());
        }
        let call = Call::patch(self.path(&format!("/{}", check.id)), shown.body(more));
        self.github.client.call(&self.access, call).await.map(drop)
    }

    async fn sent(&self, check: &CheckRun) -> Result<Vec<Annotation>> {
        if check.output.annotations_count == 0 {
            return Ok(Vec::new());
        }
        let path = self.path(&format!("/{}/annotations", check.id));
        self.github.client.pages(&self.access, &path).await
    }

    /// Notes that this head may have an open check run.
    async fn note(&self) -> Result<()> {
        self.renote(|heads| {
            heads.insert(self.head.to_owned(), self.run.to_owned());
        })
        .await
    }

    /// The noted heads, each with its run, and what was read.
    async fn noted(&self) -> Result<(BTreeMap<String, String>, Option<u128>)> {
        let entry = self.store().read(SPACE, &self.github.subject(self.place)).await?.live();
        let heads = entry.as_ref().and_then(|entry| serde_json::from_slice(&entry.value).ok());
        Ok((heads.unwrap_or_default(), entry.map(|entry| entry.revision)))
    }

    async fn renote(&self, change: impl Fn(&mut BTreeMap<String, String>)) -> Result<()> {
        super::notes::update(
            self.store(),
            (SPACE, &self.github.subject(self.place)),
            NOTED_FOR,
            |old| {
                let mut heads: BTreeMap<String, String> =
                    old.and_then(|old| serde_json::from_slice(old).ok()).unwrap_or_default();
                change(&mut heads);
                serde_json::to_vec(&heads)
                    .map(Bytes::from)
                    .map_err(|e| Fault::permanent(e.to_string()))
            },
        )
        .await
    }

    fn store(&self) -> &Arc<dyn KeyValueStore> {
        &self.github.store
    }
}

/// Our newest check run on a commit.
pub(super) async fn ours(github: &GitHub, access: &Access, head: &str) -> Result<Option<CheckRun>> {
    Ok(all(github, access, head).await?.into_iter().next())
}

/// All of ours on a commit, the newest first.
async fn all(github: &GitHub, access: &Access, head: &str) -> Result<Vec<CheckRun>> {
    let Access { owner, repo } = access;
    let app = github.client.app().unwrap_or_default();
    let path = format!(
        "/repos/{owner}/{repo}/commits/{head}/check-runs\
         ?check_name={NAME}&filter=all&app_id={app}&per_page=100"
    );
    let mut found: CheckRuns = github.client.json(access, Call::get(path)).await?;
    found.check_runs.sort_by_key(|check| std::cmp::Reverse(check.id));
    Ok(found.check_runs)
}

fn is_open(check: &CheckRun) -> bool {
    check.status != "completed"
}

impl Shown {
    fn body(&self, annotations: &[Annotation]) -> Value {
        let mut body = json!({ "output": { "title": self.title, "summary": self.summary } });
        if !annotations.is_empty() {
            body["output"]["annotations"] = json!(annotations);
        }
        match self.conclusion {
            Some(conclusion) => {
                body["status"] = "completed".into();
                body["conclusion"] = conclusion.into();
            }
            None => body["status"] = "in_progress".into(),
        }
        body
    }

    fn is_shown_by(&self, check: &CheckRun) -> bool {
        check.conclusion.as_deref() == self.conclusion
            && check.output.title.as_ref() == Some(&self.title)
            && check.output.summary.as_ref() == Some(&self.summary)
    }
}

fn of_standing(standing: &Standing) -> Shown {
    let shown = |title: &str, summary: String, conclusion| Shown {
        title: title.to_owned(),
        summary: bounded(summary),
        conclusion,
    };
    match standing {
        Standing::Started(waits_for) => {
            let list: Vec<String> = waits_for.iter().map(|one| format!("- {one}\n")).collect();
            let summary = format!("The review waits for:\n\n{}", list.concat());
            shown("Review in progress", summary, None)
        }
        Standing::Waiting(why) => {
            shown("The review waits", format!("Nothing happens for now: {why}\n"), None)
        }
        Standing::Superseded => {
            let summary = "A newer head of the pull request is reviewed in place of this one.\n";
            shown("Superseded", summary.to_owned(), Some("cancelled"))
        }
        Standing::Cancelled => {
            shown("Cancelled", "The review was stopped.\n".to_owned(), Some("cancelled"))
        }
        Standing::Failed(why) => {
            let summary = format!("Nothing was published: {why}\n\nThe review can be replayed.\n");
            shown("The review failed", summary, Some("neutral"))
        }
    }
}

fn outcome(review: &Publication) -> Shown {
    let (conclusion, title) = match review.verdict {
        "clean" if !review.reviewed => ("neutral", "Nothing of the change was reviewed"),
        "clean" => ("success", "Nothing to say"),
        "changes_requested" => ("failure", "Changes requested"),
        "comments" => ("neutral", "Comments"),
        _ => ("neutral", "Incomplete: part of the change was not reviewed"),
    };
    Shown {
        title: title.to_owned(),
        summary: bounded(format!("{}{}", review.opening, review.closing)),
        conclusion: Some(conclusion),
    }
}

/// A finding on lines of the head as a remark beside them.
fn annotation(comment: &Comment) -> Option<Annotation> {
    let (start_line, end_line) = comment.lines.filter(|_| !comment.on_base)?;
    let level = match comment.severity {
        "critical" | "high" => "failure",
        "medium" => "warning",
        _ => "notice",
    };
    let cut = |text: &str, limit: usize| text.chars().take(limit).collect::<String>();
    Some(Annotation {
        path: comment.path.clone(),
        start_line,
        end_line,
        annotation_level: level.to_owned(),
        title: Some(cut(&comment.title, MAX_TITLE_CHARS)),
        message: cut(&comment.text, MAX_MESSAGE_CHARS),
    })
}

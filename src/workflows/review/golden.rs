//! How well a review says what people said of the same change: golden comments, in the form that the offline set of Martian's code
//! review benchmark has. They name no line, so a model compares them with the findings.

use std::{fmt::Write, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    report::{self, Report, tame},
    score::Score,
};
use crate::{
    base::Result,
    model::{Model, Request, complete},
};

/// What the model is told that compares.
const INSTRUCTIONS: &str = include_str!("golden.md");

/// Categories that people may leave unsaid: whoever says it is neither right nor wrong.
const NOT_COUNTED: [&str; 2] = ["style", "speculative"];

/// A pull request with what should be said of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GoldenPull {
    /// Its address, `https://HOST/OWNER/REPO/pull/NUMBER`.
    pub url: String,
    /// What should be said.
    pub comments: Vec<GoldenComment>,
}

/// What should be said of a change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GoldenComment {
    /// What it says.
    pub comment: String,
    /// What it is about: `bug`, `security`, …
    #[serde(default)]
    pub category: Option<String>,
}

impl GoldenPull {
    /// As a review is asked for: `OWNER/REPO#NUMBER`.
    pub fn place(&self) -> Option<String> {
        let mut parts = self.url.trim_end_matches('/').rsplit('/');
        let (number, pull) = (parts.next()?, parts.next()?);
        let (repo, owner) = (parts.next()?, parts.next()?);
        let right = pull == "pull" && number.parse::<u64>().is_ok();
        (right && !repo.is_empty() && !owner.is_empty()).then(|| format!("{owner}/{repo}#{number}"))
    }
}

impl GoldenComment {
    fn counts(&self) -> bool {
        !self.category.as_deref().is_some_and(|category| NOT_COUNTED.contains(&category))
    }
}

/// The answer: which say the same.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct Matches {
    /// The pairs that describe the same issue; empty when there are none.
    pairs: Vec<Pair>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
struct Pair {
    /// The number of the comment.
    comment: u32,
    /// The number of the finding.
    finding: u32,
}

/// Compares findings with golden comments.
pub struct Matcher(Arc<dyn Model>);

impl Matcher {
    /// By what this model says.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self(model)
    }

    /// The score of one review. What comparing costs is no part of it.
    ///
    /// # Errors
    /// When the model does not answer.
    pub async fn score(
        &self,
        report: &Report,
        wanted: &[GoldenComment],
        seconds: f64,
    ) -> Result<Score> {
        let found = report::findings(report.state()).len();
        let pairs = match found == 0 || wanted.is_empty() {
            true => Vec::new(),
            false => {
                let request = Request::new("eval.match", INSTRUCTIONS, prompt(report, wanted));
                complete::<Matches>(&*self.0, request).await?.value.pairs
            }
        };
        let (right, missed, extra) = count(wanted, found, &pairs);
        let noise = if wanted.is_empty() { extra } else { 0 };
        Ok(Score { right, missed, extra, noise, ..Score::unknown(report, seconds) })
    }
}

fn prompt(report: &Report, wanted: &[GoldenComment]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    for (number, golden) in (1..).zip(wanted) {
        let _ = writeln!(out, "COMMENT {number}\n{}\n", tame(&golden.comment.replace('\n', " ")));
    }
    for (number, finding) in (1..).zip(report::findings(report.state())) {
        let (path, body) = (tame(&finding.path), finding.body.replace('\n', " "));
        let place = format!("{path}, line {}", finding.start_line);
        let _ = writeln!(
            out,
            "FINDING {number} · {place}\n{}\n{}\n",
            tame(&finding.title),
            tame(&body)
        );
    }
    out
}

/// Of comments that count, how many were met and how many not; and the findings that meet no comment at all.
fn count(wanted: &[GoldenComment], found: usize, pairs: &[Pair]) -> (usize, usize, usize) {
    let place =
        |number: u32, of: usize| usize::try_from(number).ok()?.checked_sub(1).filter(|at| *at < of);
    let pairs: Vec<(usize, usize)> = pairs
        .iter()
        .filter_map(|pair| Some((place(pair.comment, wanted.len())?, place(pair.finding, found)?)))
        .collect();
    let met = |comment: usize| pairs.iter().any(|(met, _)| *met == comment);
    let (mut right, mut missed) = (0, 0);
    for (at, _) in wanted.iter().enumerate().filter(|(_, comment)| comment.counts()) {
        *(if met(at) { &mut right } else { &mut missed }) += 1;
    }
    let meets = |finding: &usize| pairs.iter().any(|(_, meets)| meets == finding);
    (right, missed, (0..found).filter(|finding| !meets(finding)).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden(category: Option<&str>) -> GoldenComment {
        GoldenComment { comment: "c".to_owned(), category: category.map(str::to_owned) }
    }

    /// P7: a comment counts once however often it is met, two findings of one comment are both right, a matter of taste counts for
    /// nobody, and numbers of nothing are nothing.
    #[test]
    fn each_comment_counts_once() {
        let wanted = [golden(Some("bug")), golden(None), golden(Some("style"))];
        let pair = |comment, finding| Pair { comment, finding };
        assert_eq!(count(&wanted, 3, &[]), (0, 2, 3));
        assert_eq!(count(&wanted, 3, &[pair(1, 1), pair(1, 2)]), (1, 1, 1));
        assert_eq!(count(&wanted, 3, &[pair(3, 1), pair(2, 3)]), (1, 1, 1));
        assert_eq!(count(&wanted, 1, &[pair(0, 1), pair(4, 1), pair(1, 2)]), (0, 2, 1));
        assert_eq!(count(&[], 2, &[pair(1, 1)]), (0, 0, 2));
    }

    #[test]
    fn a_pull_request_is_named_by_its_address() {
        let place = |url: &str| GoldenPull { url: url.to_owned(), comments: Vec::new() }.place();
        let right = Some("octo/demo#7".to_owned());
        assert_eq!(place("https://github.com/octo/demo/pull/7"), right);
        assert_eq!(place("https://github.example.org/octo/demo/pull/7/"), right);
        for url in ["", "octo/demo#7", "https://github.com/octo/demo/issues/7"] {
            assert_eq!(place(url), None, "{url}");
        }
    }
}

//! Commands in comments: `/verdict review`, `resolve`, `explain`, `help`.
//!
//! Only people who may write to the repository are obeyed; a reaction on the comment says that it
//! was seen. Both can be done twice: GitHub keeps one reaction of a kind, and an answer is found by
//! its marker.

use serde_json::json;

use super::{
    GitHub, PullPlace,
    auth::Access,
    body::{Body, Comment},
    client::Call,
    compose::bounded,
    dismiss::dismiss,
    model::{CollaboratorPermission, WrittenComment},
    notes::PublishingRight,
};
use crate::{
    base::{Fault, Result},
    forge::{EventRequest, Locator, Question},
};

/// What a command begins with, at the start of a line.
const PREFIX: &str = "/verdict";

/// What people are told.
const HELP: &str = "| comment | does |\n|---|---|\n\
    | `/verdict review` | reviews the current head again |\n\
    | `/verdict resolve` | dismisses all findings on lines; as a reply to one of them, that one |\n\
    | `/verdict explain RULE` | explains a rule; as a reply to a finding, its rule |\n\
    | `/verdict help` | this |\n\n\
    Commands are taken from people who may write to this repository.";

/// The answer where there is nothing to dismiss.
const NOTHING_TO_DISMISS: &str = "There is no finding on lines here to dismiss. What is critical to security cannot be dismissed.";

/// What somebody wants.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Command {
    Review,
    Resolve,
    Explain(String),
    Help,
    Unknown(String),
}

/// The line of a comment that holds a command: the first that begins with it, quotes and code
/// aside.
pub(super) fn line(text: &str) -> Option<&str> {
    let mut fenced = false;
    text.lines().map(str::trim_end).find(|line| {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            fenced = !fenced;
        }
        let rest = line.strip_prefix(PREFIX);
        !fenced && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    })
}

fn parse(text: &str) -> Option<Command> {
    let mut words = line(text)?.strip_prefix(PREFIX)?.split_whitespace();
    let word = words.next().unwrap_or("help").to_ascii_lowercase();
    Some(match word.as_str() {
        "review" => Command::Review,
        "resolve" => Command::Resolve,
        "explain" => Command::Explain(words.collect::<Vec<_>>().join(" ")),
        "help" => Command::Help,
        _ => Command::Unknown(word),
    })
}

/// Where a command was given, and where it is answered.
struct Thread<'a> {
    github: &'a GitHub,
    access: Access,
    place: PullPlace,
    comment: &'a Comment,
    /// Whether it is a comment on lines.
    on_lines: bool,
}

/// What a comment asks for. `None`: a review.
pub(super) async fn requested(
    github: &GitHub,
    body: &Body,
    locator: &Locator,
) -> Result<Option<EventRequest>> {
    let ignore = |reason: String| Ok(Some(EventRequest::Ignore(reason)));
    let Some(comment) = body.comment.as_ref().filter(|_| body.action() == "created") else {
        return ignore(format!("a comment that is {} asks for nothing", body.action()));
    };
    let Some(command) = parse(comment.body.as_deref().unwrap_or_default()) else {
        return ignore("the comment holds no command".to_owned());
    };
    let author = comment.user.as_ref();
    let login = author.and_then(|user| user.login.as_deref()).unwrap_or_default();
    if author.is_none_or(super::body::Sender::is_bot) {
        return ignore(format!("the command is of the bot `{login}`"));
    }
    let place = super::place_of(&locator.place)?;
    let access = github.access(&place);
    let on_lines = body.issue.is_none();
    let thread = Thread { github, access, place, comment, on_lines };
    if !thread.may_write(login).await? {
        thread.react("confused").await?;
        return ignore(format!("{login} may not write to {}", thread.place.repository()));
    }
    thread.react("eyes").await?;
    match command {
        Command::Review => Ok(None),
        Command::Resolve => {
            let one = thread.on_lines.then(|| thread.root());
            let found = dismiss(github, &thread.place, one, login).await?;
            if found == 0 {
                thread.answer(NOTHING_TO_DISMISS).await?;
            }
            ignore(format!("{login} dismissed findings: {found}"))
        }
        Command::Explain(topic) => {
            let topic = if topic.is_empty() { thread.parent().await? } else { topic };
            let place = json!([thread.on_lines, thread.root(), comment.id, comment.created_at]);
            let (locator, thread) = (locator.clone(), place.to_string());
            Ok(Some(EventRequest::Explain(Question { locator, topic, thread })))
        }
        Command::Help => {
            thread.answer(HELP).await?;
            ignore("the command was answered with help".to_owned())
        }
        Command::Unknown(word) => {
            let word: String = word.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
            thread.answer(&format!("There is no command `{word}`.\n\n{HELP}")).await?;
            ignore(format!("there is no command `{word}`"))
        }
    }
}

/// Answers a question where it was asked, once.
pub(super) async fn answer(github: &GitHub, question: &Question, text: &str) -> Result<()> {
    let read: (bool, u64, u64, Option<String>) = serde_json::from_str(&question.thread)
        .map_err(|error| Fault::permanent(format!("the question names no comment: {error}")))?;
    let (on_lines, root, id, created_at) = read;
    let place = super::place_of(&question.locator.place)?;
    let comment = Comment { id, in_reply_to_id: Some(root), created_at, ..Comment::default() };
    let access = github.access(&place);
    Thread { github, access, place, comment: &comment, on_lines }.answer(text).await
}

impl Thread<'_> {
    /// The comment that the thread begins with.
    fn root(&self) -> u64 {
        self.comment.in_reply_to_id.unwrap_or(self.comment.id)
    }

    /// The comments of this kind: `issues` or `pulls`.
    fn comments(&self) -> String {
        let kind = if self.on_lines { "pulls" } else { "issues" };
        format!("/repos/{}/{}/{kind}", self.place.owner, self.place.repo)
    }

    async fn may_write(&self, login: &str) -> Result<bool> {
        let PullPlace { owner, repo, .. } = &self.place;
        let path = format!("/repos/{owner}/{repo}/collaborators/{login}/permission");
        let found = self.github.client.find(&self.access, Call::get(path)).await?;
        let granted = found.map(|found: CollaboratorPermission| found.permission);
        Ok(granted.is_some_and(|granted| matches!(granted.as_str(), "admin" | "write")))
    }

    /// The same reaction given twice is one.
    async fn react(&self, content: &str) -> Result<()> {
        let path = format!("{}/comments/{}/reactions", self.comments(), self.comment.id);
        let call = Call::post(path, json!({ "content": content }));
        self.github.client.call(&self.access, call).await.map(drop)
    }

    /// The text of the comment that this one replies to; empty without one.
    async fn parent(&self) -> Result<String> {
        let Some(root) = self.comment.in_reply_to_id.filter(|_| self.on_lines) else {
            return Ok(String::new());
        };
        let path = format!("{}/comments/{root}", self.comments());
        let found: Option<WrittenComment> =
            self.github.client.find(&self.access, Call::get(path)).await?;
        Ok(found.map(|found| found.body).unwrap_or_default())
    }

    /// Answers once: one process at a time looks for an answer, and gives it if there is none.
    async fn answer(&self, text: &str) -> Result<()> {
        let (store, ttl) = (&self.github.store, self.github.right_ttl);
        let comment = format!("{} comment {}", self.place, self.comment.id);
        let right = PublishingRight::acquire(store, &comment, ttl).await?;
        let answered = right.during(Box::pin(self.answer_if_none(text))).await;
        right.release().await;
        answered
    }

    /// The answer begins with a marker of the comment.
    async fn answer_if_none(&self, text: &str) -> Result<()> {
        let marker = format!("<!-- verdict answer to {} -->", self.comment.id);
        let number = self.place.number;
        let here = format!("{}/{number}/comments", self.comments());
        let since = self.comment.created_at.as_deref().unwrap_or("1970-01-01T00:00:00Z");
        let list = format!("{here}?since={since}");
        let later: Vec<WrittenComment> = self.github.client.pages(&self.access, &list).await?;
        if later.iter().any(|comment| comment.body.starts_with(&marker)) {
            return Ok(());
        }
        let path = match self.on_lines {
            true => format!("{here}/{}/replies", self.root()),
            false => here,
        };
        let body = bounded(format!("{marker}\n{text}"));
        self.github.client.call(&self.access, Call::post(path, json!({ "body": body }))).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_line_of_its_own() {
        let cases = [
            ("/verdict review", Some(Command::Review)),
            ("thanks!\r\n/verdict  REVIEW please\r\nbye", Some(Command::Review)),
            ("/verdict", Some(Command::Help)),
            ("/verdict resolve", Some(Command::Resolve)),
            ("/verdict explain js-debugger", Some(Command::Explain("js-debugger".to_owned()))),
            ("/verdict dance", Some(Command::Unknown("dance".to_owned()))),
            ("/verdicts review", None),
            ("say /verdict review", None),
            ("> /verdict review", None),
            ("```\n/verdict review\n```", None),
            ("", None),
        ];
        for (text, command) in cases {
            assert_eq!(parse(text), command, "{text:?}");
        }
    }
}

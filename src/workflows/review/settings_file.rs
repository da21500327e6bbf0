//! The text of `.verdict.toml`: what it says, and everything that is wrong with it, each with its
//! line.

use std::{fmt, ops::Range};

use serde::{Deserialize, de::IntoDeserializer as _};
use serde_path_to_error::Segment;
use toml_edit::{ImDocument, InlineTable, Value};

use super::{settings::Settings, triggers::Triggers};

/// More problems than these are not looked for.
const MAX_PROBLEMS: usize = 20;

/// The sections of verdict's own settings, written here by mistake.
pub const SECTIONS_OF_VERDICT: [&str; 9] =
    ["forge", "github", "log", "model", "queue", "server", "store", "worker", "workflows"];

/// What a settings file says.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    pub(super) review: Settings,
    pub(super) triggers: Triggers,
}

/// Something in a settings file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, 0 when it is about the whole file.
    pub line: u32,
    /// The reason.
    pub cause: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.cause),
            line => write!(f, "line {line}: {}", self.cause),
        }
    }
}

/// What the file says without what is wrong in it, and that.
pub(super) fn read(text: &str) -> (File, Vec<Problem>) {
    let document = match ImDocument::parse(text) {
        Ok(document) => document,
        Err(error) => return (File::default(), vec![syntax(text, &error)]),
    };
    let mut table = document.as_table().clone().into_inline_table();
    let mut problems = Vec::new();
    loop {
        let value = Value::InlineTable(table.clone()).into_deserializer();
        let error = match serde_path_to_error::deserialize(value) {
            Ok(file) => return (file, problems),
            Err(error) => error,
        };
        let path: Vec<Segment> = error.path().iter().cloned().collect();
        problems.push(Problem {
            line: line_of(text, error.inner().span()),
            cause: cause(&path, error.inner().message().trim()),
        });
        // What is wrong is taken out, and the rest read again.
        if problems.len() == MAX_PROBLEMS || !remove(&mut table, &path) {
            return (File::default(), problems);
        }
    }
}

fn syntax(text: &str, error: &toml_edit::TomlError) -> Problem {
    let cause = match error.message().trim() {
        "" => "this is not TOML; a value may be missing".to_owned(),
        message => message.to_owned(),
    };
    Problem { line: line_of(text, error.span()), cause }
}

fn cause(path: &[Segment], message: &str) -> String {
    match path {
        [Segment::Map { key }] if SECTIONS_OF_VERDICT.contains(&key.as_str()) => format!(
            "`[{key}]` is a section of verdict's own settings: it belongs in `verdict.toml` where \
             verdict runs, not in the `.verdict.toml` of a repository"
        ),
        _ => format!("{message}{}", meant(message).unwrap_or_default()),
    }
}

/// What was probably meant, where the message says what is written and what could be.
fn meant(message: &str) -> Option<String> {
    let split = |words: &str| message.split_once(words);
    let (found, expected) = split("expected").or_else(|| split("is not one of"))?;
    let word = found.split('`').nth(1)?;
    let part = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
    Some(did_you_mean(word, expected.split(part)))
}

/// `; did you mean …?`, or nothing when no word is near.
pub(super) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let likeness = |known: &'a str| (strsim::jaro_winkler(word, known), known);
    let near = known.into_iter().map(likeness).filter(|(likeness, _)| *likeness > 0.8);
    let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map(|(_, known)| format!("; did you mean `{known}`?")).unwrap_or_default()
}

/// Takes out what is at a path; false when nothing is.
fn remove(table: &mut InlineTable, path: &[Segment]) -> bool {
    match path {
        [Segment::Map { key }] => table.remove(key).is_some(),
        [Segment::Map { key }, rest @ ..] => {
            table.get_mut(key).is_some_and(|value| remove_in(value, rest))
        }
        _ => false,
    }
}

fn remove_in(value: &mut Value, path: &[Segment]) -> bool {
    match (value, path) {
        (Value::InlineTable(table), path) => remove(table, path),
        (Value::Array(array), [Segment::Seq { index }]) if *index < array.len() => {
            array.remove(*index);
            true
        }
        (Value::Array(array), [Segment::Seq { index }, rest @ ..]) => {
            array.get_mut(*index).is_some_and(|value| remove_in(value, rest))
        }
        _ => false,
    }
}

/// The first line that holds `word`, 0 when none does.
pub(super) fn line_with(text: &str, word: &str) -> u32 {
    text.lines().position(|line| line.contains(word)).map_or(0, one_up)
}

fn line_of(text: &str, span: Option<Range<usize>>) -> u32 {
    let before = |span: Range<usize>| text.bytes().take(span.start).filter(|b| *b == b'\n').count();
    span.map_or(0, |span| one_up(before(span)))
}

fn one_up(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let (_, problems) = read(text);
        problems.iter().map(|problem| format!("{}: {}", problem.line, problem.cause)).collect()
    }

    /// Everything that is wrong is found at once, on its line, and the rest is read.
    #[test]
    fn every_problem_is_found() {
        let text = "[review]\nagnts = [\"style\"]\nmin_severity = \"hihg\"\nmax_findings = 3\n\
            [review.rules]\njs-empty-catch = \"offf\"\n\
            [[review.path]]\nmatch = [\"a/\"]\nmin_severty = \"low\"\n\
            [[review.instructions]]\npaths = [\"a/\"]\n[worker]\nlease = \"1s\"\n";
        let found = problems(text);
        let expected = [
            "2: unknown field `agnts`, expected one of `agents`",
            "3: unknown variant `hihg`, expected one of",
            "6: ",
            "9: unknown field `min_severty`",
            "missing field `text`",
            "12: `[worker]` is a section of verdict's own settings: it belongs in `verdict.toml`",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for words in expected {
            assert!(found.iter().any(|one| one.contains(words)), "{words}: {found:#?}");
        }
        for near in ["`agents`?", "`high`?", "`off`?", "`min_severity`?"] {
            assert!(found.iter().any(|one| one.ends_with(near)), "{near}: {found:#?}");
        }
        assert_eq!(read(text).0.review.max_findings, 3);
    }

    /// However much is wrong, it comes to an end.
    #[test]
    fn there_is_a_limit() {
        let text: String = (0..1000).map(|n| format!("key{n} = 1\n")).collect();
        assert_eq!(problems(&text).len(), MAX_PROBLEMS);
        assert_eq!(problems("review = 3\n").len(), 1);
        assert_eq!(problems("= 3\n").len(), 1);
    }
}

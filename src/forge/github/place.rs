//! How pull requests are written: `owner/repo#7`, or their address on the web.

use std::{fmt, str::FromStr};

/// A pull request's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PullPlace {
    /// The account of the repository.
    pub owner: String,
    /// The repository's name.
    pub repo: String,
    /// The pull request's number.
    pub number: u64,
}

/// Why a text names no pull request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no pull request; write owner/repo#7, or its address")]
pub struct InvalidPullPlace(String);

impl PullPlace {
    /// The repository as `owner/repo`.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.owner, self.repo)
    }
}

impl FromStr for PullPlace {
    type Err = InvalidPullPlace;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| InvalidPullPlace(text.to_owned()))
    }
}

impl fmt::Display for PullPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}#{}", self.owner, self.repo, self.number)
    }
}

fn parse(text: &str) -> Option<PullPlace> {
    let (repository, number) = match text.trim().split_once('#') {
        Some((repository, number)) => (repository, number),
        None => {
            let (_, path) = text.trim().split_once("://")?;
            let (_, path) = path.split_once('/')?;
            let (repository, rest) = path.split_once("/pull/")?;
            (repository, rest.split('/').next()?)
        }
    };
    let (owner, repo) = repository.split_once('/')?;
    let named = |name: &str| {
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !name.is_empty()
            && name.len() <= 100
            && name.chars().all(part)
            && !matches!(name, "." | "..")
    };
    let number = number.parse().ok().filter(|number| *number > 0)?;
    (named(owner) && named(repo)).then(|| PullPlace {
        owner: owner.to_owned(),
        repo: repo.to_owned(),
        number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_one_are_read() {
        for text in [
            "octo/demo#7",
            " octo/demo#7 ",
            "https://github.com/octo/demo/pull/7",
            "https://ghe.example/octo/demo/pull/7/files",
        ] {
            assert_eq!(text.parse::<PullPlace>().unwrap().to_string(), "octo/demo#7", "{text}");
        }
        for text in [
            "",
            "octo/demo",
            "octo#7",
            "octo/demo#0",
            "octo/demo#x",
            "octo/../x#1",
            "a/b/c#1",
            "octo/d emo#1",
            "../..#1",
        ] {
            assert!(text.parse::<PullPlace>().is_err(), "{text}");
        }
    }
}

//! Which agent asks a model about which files: decided by ingest and kept in the run. Pure.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    analysis::globs,
    model::ModelInfo,
    workflows::review::{settings::Settings, state::ReviewFile},
};

/// About how many tokens of files one request holds at most, however much a model could read: attention thins out.
const MAX_PART_TOKENS: u64 = 14_000;

/// What instructions, rules of the repository and frames take of a request.
const FRAME_TOKENS: u64 = 7_000;

/// The agents that ask about a small change.
const OF_SMALL_CHANGES: [&str; 2] = ["logic", "security"];

/// How large changes are of which less is asked, in changed lines; 0 for none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// About one of at most so many lines not every agent asks.
    pub(super) small: u64,
    /// Of one of more lines than these no tests and no prose are shown.
    pub(super) large: u64,
}

/// How much is asked about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tier {
    Small,
    Usual,
    Large,
}

impl Tier {
    /// That of a change of files. A small one of a file where a defect opens a door is like any other.
    fn of(sizes: Sizes, files: &[Shown<'_>]) -> Self {
        let lines: u64 = files.iter().map(|file| file.lines).sum();
        if lines <= sizes.small && !files.iter().any(|file| file.sensitive) {
            Self::Small
        } else if sizes.large > 0 && lines > sizes.large {
            Self::Large
        } else {
            Self::Usual
        }
    }

    fn wants(self, agent: &str) -> bool {
        self != Self::Small || OF_SMALL_CHANGES.contains(&agent)
    }

    fn shows(self, file: &Shown<'_>) -> bool {
        self != Self::Large || file.kind == Kind::Source || file.sensitive
    }
}

/// One task: an agent, and places in the list of changed files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(String, Vec<u32>)", into = "(String, Vec<u32>)")]
pub struct ModelTask {
    /// The agent's id.
    pub agent: String,
    /// The files, by their place in the change.
    pub files: Vec<u32>,
}

impl From<(String, Vec<u32>)> for ModelTask {
    fn from((agent, files): (String, Vec<u32>)) -> Self {
        Self { agent, files }
    }
}

impl From<ModelTask> for (String, Vec<u32>) {
    fn from(task: ModelTask) -> Self {
        (task.agent, task.files)
    }
}

/// What a file is there for; those first that matter most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Source,
    Test,
    Prose,
}

impl Kind {
    fn of(path: &str) -> Self {
        if globs::is_prose(path) || globs::is_translation(path) {
            Self::Prose
        } else if globs::is_test(path) {
            Self::Test
        } else {
            Self::Source
        }
    }

    /// Whether an agent asks a model about such files.
    fn is_read_by(self, agent: &str) -> bool {
        match self {
            Self::Source => true,
            Self::Test => agent != "security",
            Self::Prose => agent == "style",
        }
    }
}

/// How many tokens of files a request may hold.
pub(super) fn part_tokens(info: &ModelInfo) -> u64 {
    let room = info.context_tokens.saturating_sub(u64::from(info.max_output_tokens));
    (room * 10 / 13).saturating_sub(FRAME_TOKENS).clamp(1_000, MAX_PART_TOKENS)
}

/// A file that models are shown. In order: those first that matter most, then as in the change.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shown<'f> {
    kind: Kind,
    /// In the change.
    place: u32,
    path: &'f str,
    /// About how many it has.
    tokens: u64,
    /// How many changed, of both sides.
    lines: u64,
    sensitive: bool,
}

impl<'f> Shown<'f> {
    fn of(place: usize, file: &'f ReviewFile, tokens: u64) -> Self {
        let path = file.change.path.as_str();
        let removed: u64 = file.change.removed().map(|r| u64::from(r.end() - r.start()) + 1).sum();
        Self {
            kind: Kind::of(path),
            place: u32::try_from(place).unwrap_or(u32::MAX),
            path,
            tokens,
            lines: file.touched() + removed,
            sensitive: globs::is_sensitive(path),
        }
    }
}

/// Whether models are shown a file, if it is one for them.
pub(super) fn is_shown(file: &ReviewFile) -> bool {
    file.is_readable() && !file.change.hunks.is_empty()
}

/// The tasks of all agents. `tokens`: about how many each file has, by path; those that are not there are not shown to models.
pub(super) fn plan<'a>(
    agents: impl Iterator<Item = &'a str>,
    settings: &Settings,
    (files, tokens): (&[ReviewFile], &HashMap<String, u64>),
    (most, sizes): (u64, Sizes),
) -> Vec<ModelTask> {
    let mut shown: Vec<Shown<'_>> = files
        .iter()
        .enumerate()
        .filter(|(_, file)| is_shown(file))
        .filter_map(|(at, file)| Some(Shown::of(at, file, *tokens.get(&file.change.path)?)))
        .collect();
    shown.sort();
    let tier = Tier::of(sizes, &shown);
    let of_agent = |agent: &'a str| {
        let read = shown.iter().filter(|file| tier.shows(file) && file.kind.is_read_by(agent));
        groups(read, most)
            .into_iter()
            .map(move |files| ModelTask { agent: agent.to_owned(), files })
    };
    agents
        .filter(|agent| settings.wants(agent) && tier.wants(agent))
        .filter(|agent| super::prompts::instructions(agent).is_some())
        .flat_map(of_agent)
        .collect()
}

/// Groups of files of at most so many tokens. Where it can, a group ends behind a file whose path says so, so that a change of
/// one file moves few others into another group.
fn groups<'f>(files: impl Iterator<Item = &'f Shown<'f>>, most: u64) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let (mut size, mut closed) = (0, true);
    for file in files {
        if closed || size + file.tokens > most {
            groups.push(Vec::new());
            size = 0;
        }
        size += file.tokens;
        closed = size > most / 2 && ends_group(file.path);
        if let Some(group) = groups.last_mut() {
            group.push(file.place);
        }
    }
    groups
}

/// Whether a group may end behind this path: one in four.
fn ends_group(path: &str) -> bool {
    Sha256::digest(path)[0] % 4 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(context_tokens: u64) -> ModelInfo {
        ModelInfo { name: "m".to_owned(), context_tokens, max_output_tokens: 2_000 }
    }

    /// P4: requests stay within what a model reads, and within what it reads well.
    #[test]
    fn a_part_fits_the_context() {
        assert_eq!(part_tokens(&info(8_000)), 1_000);
        assert_eq!(part_tokens(&info(16_000)), 14_000 * 10 / 13 - FRAME_TOKENS);
        assert_eq!(part_tokens(&info(1_000_000)), MAX_PART_TOKENS);
    }

    fn shown(path: &str, place: u32, lines: u64) -> Shown<'_> {
        let sensitive = globs::is_sensitive(path);
        Shown { kind: Kind::of(path), place, path, tokens: 100, lines, sensitive }
    }

    /// P4: of a small change two agents ask, of a large one the source is shown; never less where a defect opens a door.
    #[test]
    fn how_much_is_asked_depends_on_size_and_path() {
        let sizes = Sizes { small: 10, large: 1_000 };
        let tier = |sizes, files: &[(&'static str, u64)]| {
            let files: Vec<_> = files.iter().map(|(path, lines)| shown(path, 0, *lines)).collect();
            Tier::of(sizes, &files)
        };
        assert_eq!(tier(sizes, &[("a.py", 4), ("b.py", 6)]), Tier::Small);
        assert_eq!(tier(sizes, &[("a.py", 5), ("b.py", 6)]), Tier::Usual);
        assert_eq!(tier(sizes, &[("a.py", 1), ("src/LoginForm.java", 1)]), Tier::Usual);
        assert_eq!(tier(sizes, &[("a.py", 1_000)]), Tier::Usual);
        assert_eq!(tier(sizes, &[("a.py", 1_000), ("b.py", 1)]), Tier::Large);
        let off = Sizes { small: 0, large: 0 };
        assert_eq!(tier(off, &[("a.py", 1)]), Tier::Usual);
        assert_eq!(tier(off, &[("a.py", 100_000)]), Tier::Usual);
        let wanted = |tier: Tier| ["logic", "pattern"].map(|agent| tier.wants(agent));
        assert_eq!(wanted(Tier::Small), [true, false]);
        assert_eq!(wanted(Tier::Large), [true, true]);
        let of_large = |path| Tier::Large.shows(&shown(path, 0, 1));
        let paths = ["src/a.py", "tests/test_a.py", "README.md", "tests/test_session.py"];
        assert_eq!(paths.map(of_large), [true, false, false, true]);
        assert!(Tier::Small.shows(&shown("README.md", 0, 1)));
    }

    /// P3: a file that grows moves few others into another group; every file is in one group.
    #[test]
    fn groups_are_stable() {
        let paths: Vec<String> = (0..200).map(|n| format!("src/{n:03}.rs")).collect();
        let grouped = |first: u64| {
            let files: Vec<_> = paths
                .iter()
                .enumerate()
                .map(|(at, path)| Shown {
                    tokens: if at == 0 { first } else { 900 },
                    ..shown(path, at as u32, 1)
                })
                .collect();
            groups(files.iter(), 10_000)
        };
        let (before, after) = (grouped(100), grouped(8_000));
        assert_eq!(after.concat(), (0..200).collect::<Vec<u32>>());
        assert!(after.iter().all(|group| group.len() <= 12));
        let kept = after.iter().filter(|group| before.contains(group)).count();
        assert!(kept * 4 > after.len() * 3, "{kept} of {}", after.len());
    }
}

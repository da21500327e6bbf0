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
const FRAME_TOKENS: u64 = 6_000;

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

/// The tasks of all agents. `tokens`: about how many each file has, by path; those that are not there are not shown to models.
pub(super) fn plan<'a>(
    agents: impl Iterator<Item = &'a str>,
    settings: &Settings,
    (files, tokens): (&[ReviewFile], &HashMap<String, u64>),
    most: u64,
) -> Vec<ModelTask> {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let mut shown: Vec<(Kind, u32, &str, u64)> = files
        .iter()
        .enumerate()
        .filter(|(_, file)| file.is_readable() && !file.change.hunks.is_empty())
        .filter_map(|(at, file)| {
            let path = file.change.path.as_str();
            Some((Kind::of(path), place(at), path, *tokens.get(path)?))
        })
        .collect();
    shown.sort();
    let of_agent = |agent: &'a str| {
        let read = shown.iter().filter(move |(kind, ..)| kind.is_read_by(agent));
        groups(read, most)
            .into_iter()
            .map(move |files| ModelTask { agent: agent.to_owned(), files })
    };
    agents
        .filter(|agent| settings.wants(agent) && super::prompts::instructions(agent).is_some())
        .flat_map(of_agent)
        .collect()
}

/// Groups of files of at most so many tokens. Where it can, a group ends behind a file whose path says so, so that a change of
/// one file moves few others into another group.
fn groups<'f>(
    files: impl Iterator<Item = &'f (Kind, u32, &'f str, u64)>,
    most: u64,
) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let (mut size, mut closed) = (0, true);
    for (_, at, path, tokens) in files {
        if closed || size + tokens > most {
            groups.push(Vec::new());
            size = 0;
        }
        size += tokens;
        closed = size > most / 2 && ends_group(path);
        if let Some(group) = groups.last_mut() {
            group.push(*at);
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

    /// P3: a file that grows moves few others into another group; every file is in one group.
    #[test]
    fn groups_are_stable() {
        let paths: Vec<String> = (0..200).map(|n| format!("src/{n:03}.rs")).collect();
        let grouped = |first: u64| {
            let files: Vec<_> = paths
                .iter()
                .enumerate()
                .map(|(at, path)| {
                    (Kind::Source, at as u32, &**path, if at == 0 { first } else { 900 })
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

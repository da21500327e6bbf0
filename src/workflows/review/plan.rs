//! How a change is divided among the tasks of its agents. Decided by ingest and kept in the run,
//! so that a worker that takes over finds the same tasks.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize};

use super::{reader::Limits, state::ReviewFile};

/// What one task of an agent reviews.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, bool)", into = "(u32, u32, bool)")]
pub struct Chunk {
    /// Places in the list of changed files, the end excluded; it may lie beyond the last.
    pub files: Range<u32>,
    /// Whether the task also checks what takes the change as a whole.
    pub whole: bool,
}

impl Chunk {
    /// The whole change.
    pub const ALL: Self = Self { files: 0..u32::MAX, whole: true };

    /// The files of it that are to be read, of all files of the change.
    pub fn of<'f>(
        &self,
        files: &'f [ReviewFile],
    ) -> impl Iterator<Item = &'f ReviewFile> + use<'f> {
        let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX).min(files.len());
        let (start, end) = (place(self.files.start), place(self.files.end));
        files[start..end.max(start)].iter().filter(|file| file.is_readable())
    }
}

impl From<(u32, u32, bool)> for Chunk {
    fn from((start, end, whole): (u32, u32, bool)) -> Self {
        Self { files: start..end, whole }
    }
}

impl From<Chunk> for (u32, u32, bool) {
    fn from(chunk: Chunk) -> Self {
        (chunk.files.start, chunk.files.end, chunk.whole)
    }
}

/// The chunks of each agent, by its id: one task each, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plan(pub BTreeMap<String, Vec<Chunk>>);

impl Default for Plan {
    /// That of runs from before there was one: four agents, and one task each.
    fn default() -> Self {
        let agents = ["style", "security", "logic", "pattern"];
        Self(agents.map(|agent| (agent.to_owned(), vec![Chunk::ALL])).into())
    }
}

impl Plan {
    /// The chunks of an agent.
    pub fn of(&self, agent: &str) -> &[Chunk] {
        self.0.get(agent).map_or(&[], Vec::as_slice)
    }

    /// The ids of all agents, in order.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Chunks of about the same cost, one for a change of usual size. If `whole`, one of them also takes
/// the change as a whole: the only one, or one more, which waits for no other.
pub fn chunks(files: &[ReviewFile], limits: &Limits, whole: bool) -> Vec<Chunk> {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let (mut starts, mut count, mut bytes) = (vec![0], 0, 0);
    for (at, file) in files.iter().enumerate().filter(|(_, file)| file.is_readable()) {
        let size = file.change.size.unwrap_or(0).min(limits.file_bytes);
        if count > 0 && (count == limits.chunk_files || bytes + size > limits.chunk_bytes) {
            starts.push(place(at));
            (count, bytes) = (0, 0);
        }
        count += 1;
        bytes += size;
    }
    if starts.len() == 1 {
        return vec![Chunk { whole, ..Chunk::ALL }];
    }
    let ends = starts.iter().skip(1).copied().chain([u32::MAX]);
    let files =
        starts.iter().zip(ends).map(|(start, end)| Chunk { files: *start..end, whole: false });
    files.chain(whole.then_some(Chunk { files: 0..0, whole: true })).collect()
}

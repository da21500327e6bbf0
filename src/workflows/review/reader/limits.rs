//! How much a review reads, and how much of it at once.

use crate::forge::FileChange;

/// How much a review reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Files above this many bytes are not read.
    pub file_bytes: u64,
    /// Texts with a line longer than this are taken for minified and not read.
    pub line_bytes: usize,
    /// About how many bytes of text are held at once while analysing.
    pub batch_bytes: u64,
    /// How many bytes of masked text are kept of a change between its tasks.
    pub cached_bytes: usize,
    /// About how many bytes one task of an agent reviews.
    pub chunk_bytes: u64,
    /// How many files one task of an agent reviews.
    pub chunk_files: usize,
    /// How many changes are remembered between the tasks of their runs.
    pub remembered: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 1024 * 1024,
            line_bytes: 20_000,
            batch_bytes: 8 * 1024 * 1024,
            cached_bytes: 8 * 1024 * 1024,
            chunk_bytes: 64 * 1024 * 1024,
            chunk_files: 2_000,
            remembered: 16,
        }
    }
}

/// Runs of files whose texts fit into memory together.
pub(super) fn batches<'f, 'c>(
    files: &'f [&'c FileChange],
    limits: &Limits,
) -> Vec<&'f [&'c FileChange]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, file) in files.iter().enumerate() {
        let size = file.size.filter(|s| *s <= limits.file_bytes).unwrap_or(0) + base_bytes(file);
        if bytes > 0 && bytes + size > limits.batch_bytes {
            batches.push(&files[start..index]);
            (start, bytes) = (index, 0);
        }
        bytes += size;
    }
    if start < files.len() {
        batches.push(&files[start..]);
    }
    batches
}

/// About how many bytes the base side has beyond the head's, when it is read, too.
fn base_bytes(file: &FileChange) -> u64 {
    let lines: u64 = file.removed().map(|r| u64::from(r.end() - r.start()) + 1).sum();
    if lines == 0 { 0 } else { file.size.unwrap_or(0) + lines * 40 }
}

//! What changed between two commits: files, their patches, and the lines that a comment can be on.

use serde::{Deserialize, Serialize};

use super::{Git, GitError, text};

const OPTIONS: [&str; 6] =
    ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--full-index"];

/// Which side of a diff a line is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Side {
    /// The file before the change.
    Left,
    /// The file after the change.
    Right,
}

impl Side {
    /// As the API writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }
}

/// The files that differ, in git's order.
#[derive(Debug, Default)]
pub(crate) struct Diff {
    pub(crate) files: Vec<FileDiff>,
}

/// One file that differs.
#[derive(Debug)]
pub(crate) struct FileDiff {
    pub(crate) path: String,
    /// The path before a rename or copy.
    pub(crate) previous: Option<String>,
    /// `added`, `removed`, `modified`, `renamed`, `copied` or `changed`.
    pub(crate) status: &'static str,
    /// The blob after the change, or before it for a removed file.
    pub(crate) sha: String,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
    /// From the first `@@` on; nothing where no line differs, or where git takes the file as binary.
    pub(crate) patch: Option<String>,
    hunks: Vec<Hunk>,
}

#[derive(Debug)]
struct Hunk {
    /// The row of its `@@` in the patch.
    row: usize,
    lines: Vec<Line>,
}

/// A line of a hunk with its number on each side.
#[derive(Clone, Copy, Debug)]
struct Line {
    old: Option<u64>,
    new: Option<u64>,
}

/// Where in a patch a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) hunk: usize,
    /// Rows below the first `@@` of the file: GitHub's `position`.
    pub(crate) position: usize,
}

impl Git {
    /// What changed from one commit to another.
    pub(crate) fn diff(&self, from: &str, to: &str) -> Result<Diff, GitError> {
        let mut raw: Vec<&str> = OPTIONS.to_vec();
        raw.extend(["--raw", "-z", "--abbrev=40", from, to]);
        let rows = self.run(&raw)?;
        let patches = text(&self.patch(from, to)?);
        Ok(assemble(&text(&rows), &patches))
    }

    /// The diff as text, as the diff media type gives it.
    pub(crate) fn patch(&self, from: &str, to: &str) -> Result<Vec<u8>, GitError> {
        let mut arguments: Vec<&str> = OPTIONS.to_vec();
        arguments.extend(["--patch", from, to]);
        self.run(&arguments)
    }
}

fn assemble(rows: &str, patches: &str) -> Diff {
    let mut blocks = blocks(patches).into_iter();
    let mut fields = rows.split('\0').filter(|field| !field.is_empty());
    let mut files = Vec::new();
    while let Some(header) = fields.next() {
        let header: Vec<_> = header.trim_start_matches(':').split(' ').collect();
        let [_, _, before, after, letter, ..] = header[..] else { break };
        let first = fields.next().unwrap_or_default().to_owned();
        let (path, previous) = match letter.as_bytes().first() {
            Some(b'R' | b'C') => (fields.next().unwrap_or_default().to_owned(), Some(first)),
            _ => (first, None),
        };
        let sha = if letter == "D" { before } else { after }.to_owned();
        let block = blocks.next().unwrap_or_default();
        // A file that became a link, say, is removed and added in git's text.
        let replaced = letter == "T" && blocks.next().is_some();
        files.push(file(path, previous, status(letter), sha, if replaced { "" } else { block }));
    }
    Diff { files }
}

fn status(letter: &str) -> &'static str {
    match letter.as_bytes().first() {
        Some(b'A') => "added",
        Some(b'D') => "removed",
        Some(b'R') => "renamed",
        Some(b'C') => "copied",
        Some(b'T') => "changed",
        _ => "modified",
    }
}

/// The text of each file. Inside a hunk every line starts with a sign, so that `diff --git` starts a file.
fn blocks(patches: &str) -> Vec<&str> {
    let mut starts: Vec<_> = patches.match_indices("\ndiff --git ").map(|(at, _)| at + 1).collect();
    if patches.starts_with("diff --git ") {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([patches.len()]);
    starts.iter().zip(ends).map(|(start, end)| &patches[*start..end]).collect()
}

fn file(
    path: String,
    previous: Option<String>,
    status: &'static str,
    sha: String,
    block: &str,
) -> FileDiff {
    let patch = block.find("\n@@ ").map(|at| block[at + 1..].trim_end_matches('\n').to_owned());
    let hunks = patch.as_deref().map(hunks).unwrap_or_default();
    let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
    let additions = lines().filter(|line| line.old.is_none() && line.new.is_some()).count() as u64;
    let deletions = lines().filter(|line| line.new.is_none() && line.old.is_some()).count() as u64;
    FileDiff { path, previous, status, sha, additions, deletions, patch, hunks }
}

fn hunks(patch: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut old, mut new) = (0, 0);
    for (row, text) in patch.split('\n').enumerate() {
        if let Some(starts) = text.strip_prefix("@@ ").and_then(starts) {
            (old, new) = starts;
            hunks.push(Hunk { row, lines: Vec::new() });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let sign = text.as_bytes().first();
        let line = match sign {
            Some(b'+') => Line { old: None, new: Some(new) },
            Some(b'-') => Line { old: Some(old), new: None },
            Some(b'\\') => Line { old: None, new: None },
            _ => Line { old: Some(old), new: Some(new) },
        };
        old += u64::from(line.old.is_some());
        new += u64::from(line.new.is_some());
        hunk.lines.push(line);
    }
    hunks
}

/// The first line numbers of `-3,4 +5 @@ …`.
fn starts(header: &str) -> Option<(u64, u64)> {
    let mut parts = header.split(' ');
    let first = |part: &str, sign| part.strip_prefix(sign)?.split(',').next()?.parse().ok();
    Some((first(parts.next()?, '-')?, first(parts.next()?, '+')?))
}

impl FileDiff {
    /// Lines added and removed.
    pub(crate) fn changes(&self) -> u64 {
        self.additions + self.deletions
    }

    /// Where a line is that a comment can be on: on the left a removed line, on the right an added or unchanged one.
    pub(crate) fn place(&self, side: Side, number: u64) -> Option<Place> {
        self.find(|line| match side {
            Side::Left => line.old == Some(number) && line.new.is_none(),
            Side::Right => line.new == Some(number),
        })
    }

    fn find(&self, wanted: impl Fn(&Line) -> bool) -> Option<Place> {
        self.hunks.iter().enumerate().find_map(|(hunk, content)| {
            let at = content.lines.iter().position(&wanted)?;
            Some(Place { hunk, position: content.row + 1 + at })
        })
    }

    /// The side and number of the line at a position.
    pub(crate) fn at_position(&self, position: usize) -> Option<(Side, u64)> {
        let hunk = self.hunks.iter().rev().find(|hunk| hunk.row < position)?;
        let line = hunk.lines.get(position - hunk.row - 1)?;
        line.new.map(|new| (Side::Right, new)).or(line.old.map(|old| (Side::Left, old)))
    }

    /// The hunk's text from its `@@` to a place: GitHub's `diff_hunk`.
    pub(crate) fn hunk_until(&self, place: Place) -> String {
        let (Some(hunk), Some(patch)) = (self.hunks.get(place.hunk), &self.patch) else {
            return String::new();
        };
        let rows: Vec<_> =
            patch.split('\n').skip(hunk.row).take(place.position - hunk.row + 1).collect();
        rows.join("\n")
    }

    /// The number that a line of the old side has on the new one; nothing if it was changed or removed.
    pub(crate) fn moved(&self, number: u64) -> Option<u64> {
        let mut shift = 0_i64;
        for hunk in &self.hunks {
            for line in &hunk.lines {
                match (line.old, line.new) {
                    (Some(old), new) if old == number => return new,
                    (Some(old), _) if old > number => return number.checked_add_signed(shift),
                    (Some(_), None) => shift -= 1,
                    (None, Some(_)) => shift += 1,
                    _ => {}
                }
            }
        }
        number.checked_add_signed(shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(patch: &str) -> FileDiff {
        file("a".into(), None, "modified", "0".into(), &format!("diff --git a/a b/a\n{patch}\n"))
    }

    #[test]
    fn omitted_counts_mean_one() {
        let diff = of("@@ -1 +1 @@\n-a\n+b");
        assert_eq!((diff.additions, diff.deletions), (1, 1));
        assert_eq!(diff.place(Side::Left, 1), Some(Place { hunk: 0, position: 1 }));
        assert_eq!(diff.place(Side::Right, 1), Some(Place { hunk: 0, position: 2 }));
    }

    #[test]
    fn positions_count_later_headers() {
        let diff = of("@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -9,2 +10,1 @@ fn x\n d\n-e");
        assert_eq!(diff.place(Side::Right, 10), Some(Place { hunk: 1, position: 5 }));
        assert_eq!(diff.at_position(6), Some((Side::Left, 10)));
        assert_eq!(diff.place(Side::Left, 9), None, "an unchanged line is on the right");
        assert_eq!(diff.hunk_until(Place { hunk: 1, position: 5 }), "@@ -9,2 +10,1 @@ fn x\n d");
    }

    #[test]
    fn the_mark_of_a_missing_newline_has_no_number() {
        let diff =
            of("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file");
        assert_eq!((diff.additions, diff.deletions), (1, 1));
        assert_eq!(diff.place(Side::Right, 1), Some(Place { hunk: 0, position: 3 }));
    }

    #[test]
    fn lines_move_with_what_is_added_above() {
        let diff = of("@@ -2,3 +2,4 @@\n b\n+new\n c\n-d\n+D");
        assert_eq!(diff.moved(1), Some(1));
        assert_eq!(diff.moved(3), Some(4));
        assert_eq!(diff.moved(4), None);
        assert_eq!(diff.moved(9), Some(10));
    }

    #[test]
    fn a_line_that_reads_like_a_header_starts_no_file() {
        let patches = "diff --git a/a b/a\n@@ -1 +1 @@\n-diff --git a/x b/x\n+diff --git a/y b/y\ndiff --git a/b b/b\n";
        assert_eq!(blocks(patches).len(), 2);
    }
}

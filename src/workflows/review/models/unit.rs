//! What a model reads of a file: the changed lines with what stands around them. Pure.
//!
//! A unit is named by its rows without their numbers, so a file that moved within itself, or came back in a later commit, is the
//! same one.

use std::{fmt::Write, ops::RangeInclusive};

use sha2::{Digest, Sha256};

use crate::{
    analysis::{LineSet, Lines, MaskedText, Surroundings, surroundings},
    forge::{FileChange, Hunk, Status},
    model::estimate,
    workflows::review::report::tame,
};

/// How many unchanged lines are shown before and after a change.
const CONTEXT_LINES: u32 = 6;

/// A function of so many lines is shown whole when a line of it changed; of a longer one, its first line.
const MAX_FUNCTION_LINES: u32 = 80;

/// So many lines that changed functions are named in, and beginnings of functions that changed lines name, are shown of a file.
const MAX_RELATED_LINES: usize = 40;

/// Longer lines are cut.
const MAX_LINE_CHARS: usize = 600;

/// What happened to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Same,
    Added,
    Removed,
}

/// A line of either side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) mark: Mark,
    /// On its side, from 1.
    pub(super) number: u32,
    /// Secrets masked, otherwise as it stands there.
    pub(super) text: String,
}

/// A file, or a part of a large one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) path: String,
    status: Status,
    pub(super) rows: Vec<Row>,
}

impl Unit {
    /// The unit of a file whose sides read so; without a base no removed line is shown.
    pub(super) fn of(file: &FileChange, head: &MaskedText, base: Option<&MaskedText>) -> Self {
        let around = surroundings(&file.path, head, &changed(file));
        let (head, base) = (Lines::new(head), base.map(|base| Lines::new(base)));
        let added: LineSet = file.added().collect();
        let mut rows = Vec::new();
        for range in shown(&file.hunks, &around, head.count()) {
            // One more than there are: what was removed at the end stands behind the last line.
            for number in *range.start()..=range.end().saturating_add(1) {
                for hunk in file.hunks.iter().filter(|hunk| goes_before(hunk) == number) {
                    let removed = hunk.removed().into_iter().flatten();
                    let text = |n| base.as_ref().and_then(|base| base.get(n));
                    rows.extend(removed.filter_map(|n| Some(row(Mark::Removed, n, text(n)?))));
                }
                if let Some(text) = head.get(number).filter(|_| number <= *range.end()) {
                    let mark = if added.contains(number) { Mark::Added } else { Mark::Same };
                    rows.push(row(mark, number, text));
                }
            }
        }
        Self { path: file.path.clone(), status: file.status, rows }
    }

    /// About how many tokens it has.
    pub(super) fn tokens(&self) -> u64 {
        self.rows.iter().map(Row::tokens).sum::<u64>() + 40
    }

    /// Parts of at most about so many tokens.
    pub(super) fn split(self, most: u64) -> Vec<Self> {
        if self.tokens() <= most {
            return vec![self];
        }
        let mut parts = vec![Vec::new()];
        let mut size = 0;
        for row in self.rows {
            let tokens = row.tokens();
            if size > 0 && size + tokens + 40 > most {
                parts.push(Vec::new());
                size = 0;
            }
            size += tokens;
            if let Some(part) = parts.last_mut() {
                part.push(row);
            }
        }
        let part = |rows| Self { path: self.path.clone(), status: self.status, rows };
        parts.into_iter().map(part).collect()
    }

    /// Names it by path and content.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(&self.path);
        for row in &self.rows {
            hash.update([0, row.mark as u8]);
            hash.update(&row.text);
        }
        hash.finalize().into()
    }

    /// A word that nobody knows who has not read the unit, derived from all of it.
    fn word(&self, of: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(of);
        hash.update(self.digest());
        hex::encode(&hash.finalize()[..4])
    }

    /// What a reader says to show that it came to the end.
    pub(super) fn proof(&self) -> String {
        self.word("proof")
    }

    /// Writes it as the file of this number. Nothing in it can look like its end, since nobody can write down a digest of what
    /// they are writing.
    pub(super) fn write(&self, number: usize, out: &mut String) {
        let boundary = self.word("boundary");
        let status = match self.status {
            Status::Added => "added",
            Status::Deleted => "deleted",
            Status::Renamed => "renamed",
            Status::Copied => "copied",
            Status::Modified | Status::TypeChanged => "modified",
        };
        // Writing to a string cannot fail.
        let path = tame(&self.path);
        let _ = writeln!(out, "<<< FILE {number} · {path} · {status} · {boundary} >>>");
        let mut last: Option<u32> = None;
        for row in &self.rows {
            if row.mark != Mark::Removed {
                if last.is_some_and(|last| row.number > last + 1) {
                    out.push_str("      …\n");
                }
                last = Some(row.number);
            }
            let mark = match row.mark {
                Mark::Same => ' ',
                Mark::Added => '+',
                Mark::Removed => '-',
            };
            let _ = writeln!(out, "{:>5} {mark} {}", row.number, row.shown());
        }
        let proof = self.proof();
        let _ = writeln!(out, "<<< END OF FILE {number} · {boundary} · proof word {proof} >>>\n");
    }
}

impl Row {
    /// As a model sees it: what cannot be seen is written out.
    pub(super) fn shown(&self) -> String {
        let mut text = tame(&self.text).to_string();
        if let Some((at, _)) = text.char_indices().nth(MAX_LINE_CHARS) {
            text.truncate(at);
            text.push('…');
        }
        text
    }

    fn tokens(&self) -> u64 {
        estimate::tokens(&self.text).min(MAX_LINE_CHARS as u64) + 4
    }
}

fn row(mark: Mark, number: u32, text: &str) -> Row {
    Row { mark, number, text: text.to_owned() }
}

/// The lines of the head that changed; where lines were only removed, the one behind them.
pub(super) fn changed(file: &FileChange) -> LineSet {
    let lines = |hunk: &Hunk| hunk.added().unwrap_or(goes_before(hunk)..=goes_before(hunk));
    file.hunks.iter().map(lines).collect()
}

/// The line of the head that stands behind what a hunk removed.
fn goes_before(hunk: &Hunk) -> u32 {
    if hunk.new_lines == 0 { hunk.new_start.saturating_add(1) } else { hunk.new_start }
}

/// The lines of the head that are shown, in order.
fn shown(
    hunks: &[Hunk],
    Surroundings { functions, related }: &Surroundings,
    count: u32,
) -> Vec<RangeInclusive<u32>> {
    let around = |hunk: &Hunk| {
        let first = goes_before(hunk);
        let last = hunk.added().map_or(first, |added| *added.end());
        let wide = first.saturating_sub(CONTEXT_LINES).max(1)
            ..=last.saturating_add(CONTEXT_LINES).min(count);
        let holds = |f: &&RangeInclusive<u32>| *f.start() <= last && first <= *f.end();
        let short = |f: &&RangeInclusive<u32>| f.end() - f.start() < MAX_FUNCTION_LINES;
        let whole = functions.iter().filter(holds).find(short).cloned();
        let heads = functions.iter().filter(holds).map(|f| *f.start()..=*f.start());
        heads.chain(whole).chain([wide]).collect::<Vec<_>>()
    };
    let related = related.iter().take(MAX_RELATED_LINES).map(|line| *line..=*line);
    let all: LineSet = hunks.iter().flat_map(around).chain(related).collect();
    all.ranges().collect()
}

/// About how many tokens the unit of a file will have, from its head alone.
pub(in crate::workflows::review) fn estimated_tokens(file: &FileChange, head: &str) -> u64 {
    let lines = Lines::new(head);
    let ranges = shown(&file.hunks, &Surroundings::default(), lines.count());
    let text = |range: &RangeInclusive<u32>| {
        let bytes = lines.range(*range.start(), *range.end())?;
        Some(estimate::tokens(&head[bytes]) + 4 * u64::from(range.end() - range.start() + 1))
    };
    let removed: u64 = file.removed().map(|r| u64::from(r.end() - r.start()) + 1).sum();
    ranges.iter().filter_map(text).sum::<u64>() + removed * 14 + 40
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::{Entry, EntryKind};

    fn file(path: &str, hunks: &[(u32, u32, u32, u32)]) -> FileChange {
        let entry = || Entry { kind: EntryKind::File, blob: "0".repeat(40) };
        FileChange {
            path: path.to_owned(),
            old_path: None,
            status: Status::Modified,
            base: entry(),
            head: entry(),
            binary: false,
            unavailable: false,
            size: None,
            hunks: hunks.iter().map(|hunk| Hunk::from(*hunk)).collect(),
        }
    }

    /// P4: rows hold both sides in reading order, with the function around them; a word at the end proves that it was read.
    #[test]
    fn a_unit_reads_like_a_diff() {
        let head = "import os\n\n\n\n\n\n\n\n\n\ndef f(a):\n    b = a + 1\n    return b\n";
        let base = "import os\n\n\n\n\n\n\n\n\n\ndef f(a):\n    return a\n    # gone\n";
        let unit = Unit::of(&file("a.py", &[(12, 2, 12, 2)]), &head.into(), Some(&base.into()));
        let mut text = String::new();
        unit.write(1, &mut text);
        let rows: Vec<&str> = text.lines().skip(5).collect();
        let end = format!("proof word {} >>>", unit.proof());
        assert_eq!(
            &rows[..6],
            [
                "   10   ",
                "   11   def f(a):",
                "   12 -     return a",
                "   13 -     # gone",
                "   12 +     b = a + 1",
                "   13 +     return b",
            ],
            "{text}"
        );
        assert!(rows[6].ends_with(&end), "{text}");
    }

    /// P3: where a text stands in its file does not change its name, what it says does.
    #[test]
    fn a_unit_is_named_by_what_it_says() {
        let head = "a\n\n\n\n\n\n\nx\n";
        let (one, moved) = (format!("{head}y\n"), format!("\n\n\n{head}y\n"));
        let a = Unit::of(&file("a.txt", &[(8, 0, 9, 1)]), &one.as_str().into(), None);
        let b = Unit::of(&file("a.txt", &[(11, 0, 12, 1)]), &moved.into(), None);
        assert_ne!(a.rows, b.rows);
        let tail = |unit: &Unit| unit.rows[unit.rows.len() - 5..].to_vec();
        let named = |unit: Unit| Unit { rows: tail(&unit), ..unit }.digest();
        assert_eq!(named(a.clone()), named(b));
        let other = Unit::of(&file("b.txt", &[(8, 0, 9, 1)]), &one.as_str().into(), None);
        assert_ne!(a.digest(), other.digest());
    }

    /// P4: a large file comes in parts that hold every row once.
    #[test]
    fn a_large_file_is_split() {
        let head = "let value = compute(another, value);\n".repeat(2_000);
        let unit = Unit::of(&file("a.rs", &[(0, 0, 1, 2_000)]), &head.into(), None);
        let (rows, most) = (unit.rows.clone(), 3_000);
        let parts = unit.split(most);
        assert!(parts.len() > 5 && parts.iter().all(|part| part.tokens() <= most));
        assert_eq!(parts.into_iter().flat_map(|part| part.rows).collect::<Vec<_>>(), rows);
    }
}

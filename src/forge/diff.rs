//! Hunks, the lines they touch, and a parser that reads a patch of any size in constant memory.
//!
//! Only positions are kept: content is read from the two sides when it is needed, so that no
//! stored diff can carry a secret. The parser counts each hunk's lines by its header, so no
//! content of a file can pass for a header.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// An inclusive range of line numbers, from 1.
pub type LineRange = RangeInclusive<u32>;

/// One changed place: `old_lines` lines from `old_start` became `new_lines` lines from
/// `new_start`. Lines count from 1; with no lines on a side, its start is the line before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u32, u32)", into = "(u32, u32, u32, u32)")]
pub struct Hunk {
    /// First line in the base.
    pub old_start: u32,
    /// How many lines of the base.
    pub old_lines: u32,
    /// First line in the head.
    pub new_start: u32,
    /// How many lines of the head.
    pub new_lines: u32,
}

impl Hunk {
    /// The lines of the head that are new, if any.
    pub fn added(&self) -> Option<LineRange> {
        span(self.new_start, self.new_lines)
    }

    /// The lines of the base that are gone, if any.
    pub fn removed(&self) -> Option<LineRange> {
        span(self.old_start, self.old_lines)
    }

    /// Reads `@@ -a,b +c,d @@ …`.
    pub fn parse_header(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix(b"@@ -")?;
        let end = line.windows(3).position(|w| w == b" @@")?;
        let text = std::str::from_utf8(&line[..end]).ok()?;
        let (old, new) = text.split_once(" +")?;
        let (old_start, old_lines) = pair(old)?;
        let (new_start, new_lines) = pair(new)?;
        Some(Self { old_start, old_lines, new_start, new_lines })
    }
}

fn span(start: u32, lines: u32) -> Option<LineRange> {
    (lines > 0).then(|| start..=start.saturating_add(lines - 1))
}

fn pair(text: &str) -> Option<(u32, u32)> {
    match text.split_once(',') {
        Some((start, lines)) => Some((start.parse().ok()?, lines.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

impl From<(u32, u32, u32, u32)> for Hunk {
    fn from((old_start, old_lines, new_start, new_lines): (u32, u32, u32, u32)) -> Self {
        Self { old_start, old_lines, new_start, new_lines }
    }
}

impl From<Hunk> for (u32, u32, u32, u32) {
    fn from(hunk: Hunk) -> Self {
        (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines)
    }
}

/// The line of the head that `line` of the base became, `None` when it was removed.
/// `hunks` are in order and without context.
pub fn old_to_new(hunks: &[Hunk], line: u32) -> Option<u32> {
    let mut shift = 0_i64;
    for hunk in hunks {
        let first = if hunk.old_lines == 0 { hunk.old_start + 1 } else { hunk.old_start };
        if line < first {
            break;
        }
        if hunk.removed().is_some_and(|gone| gone.contains(&line)) {
            return None;
        }
        shift += i64::from(hunk.new_lines) - i64::from(hunk.old_lines);
    }
    u32::try_from(i64::from(line) + shift).ok()
}

/// The line of the base that `line` of the head was, `None` when it is new.
pub fn new_to_old(hunks: &[Hunk], line: u32) -> Option<u32> {
    let turned: Vec<Hunk> = hunks
        .iter()
        .map(|h| Hunk {
            old_start: h.new_start,
            old_lines: h.new_lines,
            new_start: h.old_start,
            new_lines: h.old_lines,
        })
        .collect();
    old_to_new(&turned, line)
}

/// One file's part of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// The changed places, context left out.
    pub hunks: Vec<Hunk>,
    /// Whether git showed it as binary.
    pub binary: bool,
    /// The `old..new` object ids of its `index` line, when it has one.
    pub index: Option<(String, String)>,
}

/// Reads a git patch line by line, content or context of any amount.
#[derive(Debug, Default)]
pub struct PatchParser {
    files: Vec<FilePatch>,
    body: Option<Body>,
}

/// Where in a hunk's body the parser stands.
#[derive(Debug)]
struct Body {
    old: u32,
    new: u32,
    old_left: u32,
    new_left: u32,
    open: Option<Hunk>,
}

/// The patch is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a git patch: {0}")]
pub struct InvalidPatch(pub &'static str);

impl PatchParser {
    /// How much of each line [`PatchParser::line`] needs to see.
    pub const PREFIX: usize = 512;

    /// A parser for a patch of one file that has hunks only, as code hosts send them.
    pub fn bare() -> Self {
        Self { files: vec![FilePatch::default()], body: None }
    }

    /// Reads a whole patch at hand.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse(mut self, patch: &[u8]) -> Result<Vec<FilePatch>, InvalidPatch> {
        let patch = patch.strip_suffix(b"\n").unwrap_or(patch);
        if !patch.is_empty() {
            for line in patch.split(|b| *b == b'\n') {
                self.line(line)?;
            }
        }
        self.finish()
    }

    /// Takes the next line, without its newline; at least its first [`PatchParser::PREFIX`] bytes.
    ///
    /// # Errors
    /// When a hunk's body does not hold what its header says.
    pub fn line(&mut self, line: &[u8]) -> Result<(), InvalidPatch> {
        if let Some(body) = &mut self.body {
            if body.old_left > 0 || body.new_left > 0 {
                let file = self.files.last_mut().ok_or(InvalidPatch("a hunk without a file"))?;
                return body.take(line, &mut file.hunks);
            }
            if line.starts_with(b"\\") {
                return Ok(());
            }
            self.close();
        }
        self.header(line)
    }

    /// The files, in order.
    ///
    /// # Errors
    /// When the patch ended inside a hunk.
    pub fn finish(mut self) -> Result<Vec<FilePatch>, InvalidPatch> {
        if self.body.as_ref().is_some_and(|b| b.old_left > 0 || b.new_left > 0) {
            return Err(InvalidPatch("it ends inside a hunk"));
        }
        self.close();
        Ok(self.files)
    }

    fn header(&mut self, line: &[u8]) -> Result<(), InvalidPatch> {
        if line.starts_with(b"diff --git ") {
            self.files.push(FilePatch::default());
        } else if line.starts_with(b"@@ ") {
            let hunk = Hunk::parse_header(line).ok_or(InvalidPatch("a bad hunk header"))?;
            if self.files.is_empty() {
                return Err(InvalidPatch("a hunk without a file"));
            }
            self.body = Some(Body::new(hunk));
        } else if let Some(file) = self.files.last_mut() {
            if line.starts_with(b"Binary files ") || line == b"GIT binary patch" {
                file.binary = true;
            } else if let Some(ids) = line.strip_prefix(b"index ") {
                file.index = index_line(ids);
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        if let (Some(mut body), Some(file)) = (self.body.take(), self.files.last_mut()) {
            body.flush(&mut file.hunks);
        }
    }
}

fn index_line(ids: &[u8]) -> Option<(String, String)> {
    let text = std::str::from_utf8(ids).ok()?;
    let (old, new) = text.split(' ').next()?.split_once("..")?;
    Some((old.to_owned(), new.to_owned()))
}

impl Body {
    fn new(header: Hunk) -> Self {
        // A side without lines names the line before it.
        let first =
            |start: u32, lines: u32| if lines == 0 { start.saturating_add(1) } else { start };
        Self {
            old: first(header.old_start, header.old_lines),
            new: first(header.new_start, header.new_lines),
            old_left: header.old_lines,
            new_left: header.new_lines,
            open: None,
        }
    }

    fn take(&mut self, line: &[u8], hunks: &mut Vec<Hunk>) -> Result<(), InvalidPatch> {
        const SHORT: InvalidPatch = InvalidPatch("a hunk's lines do not add up");
        match line.first() {
            Some(b'-') => {
                self.old_left = self.old_left.checked_sub(1).ok_or(SHORT)?;
                self.open().old_lines += 1;
                self.old = self.old.saturating_add(1);
            }
            Some(b'+') => {
                self.new_left = self.new_left.checked_sub(1).ok_or(SHORT)?;
                self.open().new_lines += 1;
                self.new = self.new.saturating_add(1);
            }
            // Some tools drop the blank of an empty context line.
            Some(b' ') | None => {
                self.old_left = self.old_left.checked_sub(1).ok_or(SHORT)?;
                self.new_left = self.new_left.checked_sub(1).ok_or(SHORT)?;
                self.flush(hunks);
                self.old = self.old.saturating_add(1);
                self.new = self.new.saturating_add(1);
            }
            Some(b'\\') => {}
            Some(_) => return Err(InvalidPatch("a line that is neither kept, added nor removed")),
        }
        Ok(())
    }

    fn open(&mut self) -> &mut Hunk {
        let (old_start, new_start) = (self.old, self.new);
        self.open.get_or_insert(Hunk { old_start, old_lines: 0, new_start, new_lines: 0 })
    }

    fn flush(&mut self, hunks: &mut Vec<Hunk>) {
        if let Some(mut hunk) = self.open.take() {
            if hunk.old_lines == 0 {
                hunk.old_start = hunk.old_start.saturating_sub(1);
            }
            if hunk.new_lines == 0 {
                hunk.new_start = hunk.new_start.saturating_sub(1);
            }
            hunks.push(hunk);
        }
    }
}

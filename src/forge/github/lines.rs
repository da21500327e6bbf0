//! Which lines GitHub takes comments on: those its own patch of the file shows.

use std::collections::HashMap;

use super::model::ChangedFile;

/// The commentable lines of a pull request, by path.
#[derive(Debug, Default)]
pub(super) struct CommentableLines(HashMap<String, Vec<HunkLines>>);

/// The lines of one hunk.
#[derive(Debug, Default)]
struct HunkLines {
    left: Vec<u32>,
    right: Vec<u32>,
    /// The lines of the head before which lines are gone.
    gaps: Vec<u32>,
}

impl CommentableLines {
    /// Of these files. Without a patch a file has no such line.
    pub(super) fn of(files: &[ChangedFile]) -> Self {
        let lines = |file: &ChangedFile| Some((file.filename.clone(), hunks(file.patch.as_ref()?)));
        Self(files.iter().filter_map(lines).collect())
    }

    /// Whether a comment on these lines is taken: both ends in one hunk of that side.
    pub(super) fn takes(&self, path: &str, on_base: bool, (first, last): (u32, u32)) -> bool {
        let Some(hunks) = self.0.get(path) else { return false };
        hunks.iter().any(|hunk| {
            let side = if on_base { &hunk.left } else { &hunk.right };
            side.binary_search(&first).is_ok() && side.binary_search(&last).is_ok()
        })
    }

    /// Whether a deleted line stands among these lines of the head: then GitHub applies no suggestion.
    pub(super) fn hold_deleted(&self, path: &str, (first, last): (u32, u32)) -> bool {
        let mut hunks = self.0.get(path).into_iter().flatten();
        hunks.any(|hunk| hunk.gaps.iter().any(|gap| first < *gap && *gap <= last))
    }
}

/// Reads a patch as the API gives it: hunks without a file header.
fn hunks(patch: &str) -> Vec<HunkLines> {
    let mut all: Vec<HunkLines> = Vec::new();
    let (mut left, mut right) = (0, 0);
    for line in patch.split('\n') {
        if let Some(starts) = line.strip_prefix("@@ -").and_then(starts) {
            (left, right) = starts;
            all.push(HunkLines::default());
            continue;
        }
        let Some(hunk) = all.last_mut() else { continue };
        match line.bytes().next() {
            Some(b'+') => {
                hunk.right.push(right);
                right += 1;
            }
            Some(b'-') => {
                hunk.left.push(left);
                hunk.gaps.push(right);
                left += 1;
            }
            Some(b' ') => {
                hunk.left.push(left);
                hunk.right.push(right);
                left += 1;
                right += 1;
            }
            // `\ No newline at end of file`, and the end of the text.
            _ => {}
        }
    }
    all
}

/// The first lines of `12,3 +14,5 @@ …`; an omitted count means one line.
fn starts(header: &str) -> Option<(u32, u32)> {
    let (left, rest) = header.split_once(" +")?;
    let (right, _) = rest.split_once(" @@")?;
    let first = |range: &str| range.split(',').next()?.parse().ok();
    Some((first(left)?, first(right)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_one_hunk_and_side_are_taken() {
        let patch = "@@ -1,3 +1,4 @@ fn f\n a\n-b\n+c\n+d\n e\n@@ -20 +21 @@\n-x\n+y\n\\ No newline at end of file";
        let file = ChangedFile { filename: "a.rs".to_owned(), patch: Some(patch.to_owned()) };
        let binary = ChangedFile { filename: "b.png".to_owned(), patch: None };
        let lines = CommentableLines::of(&[file, binary]);
        let right = |range| lines.takes("a.rs", false, range);
        assert!(right((1, 4)) && right((2, 3)) && right((21, 21)));
        assert!(!right((4, 21)) && !right((5, 5)) && !right((0, 1)));
        assert!(lines.takes("a.rs", true, (2, 3)) && lines.takes("a.rs", true, (20, 20)));
        assert!(!lines.takes("a.rs", true, (4, 4)));
        let gone = |range| lines.hold_deleted("a.rs", range);
        assert!(gone((1, 2)) && gone((1, 4)) && !gone((2, 4)) && !gone((1, 1)) && !gone((21, 21)));
        assert!(!lines.takes("b.png", false, (1, 1)) && !lines.takes("c.rs", false, (1, 1)));
    }
}

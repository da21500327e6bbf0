//! The head side of one file: its text, masked, or why it has none.

use std::collections::HashSet;

use super::Limits;
use crate::{
    analysis::{Finding, LineSet, MaskedText, checks, globs, secrets},
    base::Result,
    forge::{Change, Content, EntryKind, FileChange, Status},
};

/// What reading the head side of a file came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Head {
    /// Its text, where it has one.
    pub text: Option<MaskedText>,
    /// Why it is not analysed, when it is the file's own doing.
    pub skipped: Option<String>,
    /// Why it is not analysed, when something went wrong.
    pub failed: Option<String>,
    /// Something a reader should know.
    pub note: Option<String>,
    /// The secrets on its touched lines; fingerprints not yet set.
    pub secrets: Vec<Finding>,
}

impl Head {
    pub(super) fn new(file: &FileChange, content: Content, limits: &Limits) -> Self {
        let skipped = |why: String| Self { skipped: Some(why), ..Self::default() };
        let gone = || Self::failed("its content is not in the repository");
        let (text, lossy) = match content {
            _ if file.unavailable => return gone(),
            Content::Text { text, lossy } => (text, lossy),
            Content::Binary => return skipped("binary".into()),
            Content::TooLarge(size) => {
                return skipped(format!("too large ({size} bytes, limit {})", limits.file_bytes));
            }
            Content::Missing => return gone(),
        };
        let touched: LineSet = file.added().collect();
        let masked = secrets::mask(text);
        Self {
            secrets: masked.findings(&file.path, &touched),
            skipped: unreadable(&file.path, &masked.text, limits),
            failed: None,
            note: lossy.then(|| "not valid UTF-8; the invalid bytes were replaced".to_owned()),
            text: Some(masked.text),
        }
    }

    pub(super) fn crashed() -> Self {
        Self::failed("the analysis crashed")
    }

    fn failed(why: &str) -> Self {
        Self { failed: Some(why.to_owned()), ..Self::default() }
    }
}

/// Why a text is not worth reading.
pub(super) fn unreadable(path: &str, text: &str, limits: &Limits) -> Option<String> {
    if text.split('\n').any(|line| line.len() > limits.line_bytes) {
        return Some("minified (a line is too long to be read)".into());
    }
    if is_minified(path, text) {
        return Some("minified (most of it is on long lines)".into());
    }
    if is_library(path, text) {
        return Some("vendored (a library's notice is at its top)".into());
    }
    globs::says_generated(text).then(|| "generated (it says so)".into())
}

/// Whether a script among what a site serves begins with the notice that minifiers keep, in which libraries say what
/// their licence is and where they come from.
fn is_library(path: &str, text: &str) -> bool {
    const SERVED: [&str; 6] = ["public", "static", "assets", "webapp", "wwwroot", "www"];
    const LICENSED: [&str; 5] =
        ["license:", "licence:", "@license", "licensed under", "released under"];
    let served = path.ends_with(".js") && path.split('/').any(|folder| SERVED.contains(&folder));
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let Some(notice) = text.strip_prefix("/*!").filter(|_| served) else { return false };
    let notice = notice.split("*/").next().unwrap_or_default().to_ascii_lowercase();
    notice.contains("://") && LICENSED.iter().any(|words| notice.contains(words))
}

/// Whether a script or a style sheet has more than half of its text on lines that nobody writes by hand.
fn is_minified(path: &str, text: &str) -> bool {
    const LONG_LINE_BYTES: usize = 500;
    let long =
        || text.split('\n').map(str::len).filter(|len| *len > LONG_LINE_BYTES).sum::<usize>();
    let script = [".js", ".mjs", ".cjs", ".css"].iter().any(|end| path.ends_with(end));
    script && long() * 2 > text.len()
}

/// One in so many files that nobody runs is executable: then nobody minds one more.
const A_HABIT: usize = 20;

/// Which files were executable before the change.
#[derive(Default)]
pub struct ExecutableBefore {
    /// Of the changed ones: names, and endings by folder.
    names: HashSet<String>,
    folders: HashSet<String>,
    /// Whether the repository has many that nobody runs.
    habit: bool,
}

impl ExecutableBefore {
    /// Of all files of a change.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn of(change: &dyn Change, files: &[&FileChange]) -> Result<Self> {
        let mut before = Self::default();
        for file in files.iter().filter(|file| file.base.kind == EntryKind::Executable) {
            let path = file.old_path.as_deref().unwrap_or(&file.path);
            before.names.insert(name_of(path).to_owned());
            before.folders.insert(kind_of(path));
        }
        let asks = |file: &&FileChange| became_executable(file) && checks::is_never_run(&file.path);
        if files.iter().any(asks) {
            let there = change.base_files().await?;
            let never_run = || there.iter().filter(|(path, _)| checks::is_never_run(path));
            let executable = never_run().filter(|(_, it)| it.kind == EntryKind::Executable).count();
            before.habit = executable * A_HABIT > never_run().count();
        }
        Ok(before)
    }

    /// Whether the repository has many like it; or a new file was moved here from where it was executable, or stands among
    /// others that are.
    fn explains(&self, file: &FileChange) -> bool {
        let known = self.names.contains(name_of(&file.path));
        self.habit
            || file.base.kind == EntryKind::Absent
                && (known || self.folders.contains(&kind_of(&file.path)))
    }
}

fn became_executable(file: &FileChange) -> bool {
    file.head.kind == EntryKind::Executable && file.base.kind != EntryKind::Executable
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// All files of its folder with its ending.
fn kind_of(path: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{folder}/*.{}", name_of(path).rsplit('.').next().unwrap_or_default())
}

/// What `checks` wants to know about a change.
pub fn facts<'a>(
    file: &'a FileChange,
    text: Option<&'a str>,
    before: &ExecutableBefore,
) -> checks::FileFacts<'a> {
    checks::FileFacts {
        path: &file.path,
        binary: file.binary,
        content_changed: file.base.blob != file.head.blob && file.status != Status::Deleted,
        size: file.size,
        became_executable: became_executable(file) && !before.explains(file),
        text,
    }
}

//! Texts of a change: read by object id, masked, and analysed once for all agents.
//!
//! The agents of a run stand in one process or in several. In one, the first to ask has the whole
//! change read and analysed and the others share the result; in another, it is done again. Nothing
//! of it is ever stored: what is remembered here dies with the process.

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::join_all;
use tokio::sync::OnceCell;

use super::{
    deps::{Limits, ReviewDeps},
    own_rules::{self, OwnRule},
};
use crate::{
    analysis::{
        Finding, LineSet, Lines, Ruleset, SourceText, changes, checks, examine, globs, secrets,
        sides::{self, Looked, Pair},
    },
    base::Result,
    forge::{Content, EntryKind, FileChange, Range, Status},
};

/// What came of reading one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Why its text was not analysed, when it is the file's own doing.
    pub skipped: Option<String>,
    /// Why its text was not analysed, when something went wrong.
    pub failed: Option<String>,
    /// Something a reader should know.
    pub note: Option<String>,
    /// The secrets in it.
    pub secrets: Vec<Finding>,
    /// What the analysers of every category found.
    pub findings: Vec<Finding>,
    /// The lock files one of which should change with this manifest.
    pub locks: Vec<String>,
    /// What the checks of both sides would say, and what they need of this file for others.
    pub looked: Looked,
}

/// How many findings of one rule are kept of one change.
const MOST_OF_A_RULE: usize = 500;

type Cell = Arc<OnceCell<Arc<Vec<Reading>>>>;
type Key = (Range, u64);

/// Readings of recent changes. Cheap to clone.
#[derive(Clone)]
pub(super) struct Texts {
    recent: Arc<Mutex<VecDeque<(Key, Cell)>>>,
    keep: usize,
}

impl Texts {
    pub(super) fn new(keep: usize) -> Self {
        Self { recent: Arc::default(), keep: keep.max(1) }
    }

    fn cell(&self, key: Key) -> Cell {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cell)) = recent.iter().find(|(k, _)| *k == key) {
            return cell.clone();
        }
        let cell = Cell::default();
        recent.push_back((key, cell.clone()));
        while recent.len() > self.keep {
            recent.pop_front();
        }
        cell
    }
}

/// What came of reading `files`, in their order. Asked again, it answers from memory.
///
/// # Errors
/// When the forge does not answer.
pub async fn readings(
    deps: &ReviewDeps,
    range: &Range,
    own: &[OwnRule],
    files: &[&FileChange],
) -> Result<Arc<Vec<Reading>>> {
    let mut hash = DefaultHasher::new();
    for file in files {
        (&file.path, &file.head.blob, &file.hunks).hash(&mut hash);
    }
    let cell = deps.texts.cell((range.clone(), hash.finish()));
    cell.get_or_try_init(|| async { Ok(Arc::new(read_all(deps, range, own, files).await?)) })
        .await
        .cloned()
}

/// The masked head texts of `files` that have one, by path.
///
/// # Errors
/// When the forge does not answer.
pub async fn masked(
    deps: &ReviewDeps,
    range: &Range,
    files: &[&FileChange],
) -> Result<HashMap<String, String>> {
    let mut texts = HashMap::new();
    for batch in batches(files, &deps.limits) {
        let blobs: Vec<String> = batch.iter().map(|f| f.head.blob.clone()).collect();
        let contents = deps.forge.contents(range, &blobs, deps.limits.file_bytes).await?;
        for (file, content) in batch.iter().zip(contents) {
            if let Content::Text { text, .. } = content {
                texts.insert(file.path.clone(), secrets::mask(text).text);
            }
        }
    }
    Ok(texts)
}

async fn read_all(
    deps: &ReviewDeps,
    range: &Range,
    own: &[OwnRule],
    files: &[&FileChange],
) -> Result<Vec<Reading>> {
    let rules = Arc::new(own_rules::compile(own)?);
    let mut readings = Vec::with_capacity(files.len());
    let mut kept = HashMap::new();
    for batch in batches(files, &deps.limits) {
        let blobs: Vec<String> = batch.iter().map(|f| f.head.blob.clone()).collect();
        let contents = deps.forge.contents(range, &blobs, deps.limits.file_bytes).await?;
        let bases = bases(deps, range, batch).await?;
        let work = batch.iter().zip(contents).map(|(file, head)| {
            // Not taken out: two files may have been copies of each other.
            let base = bases.get(&file.base.blob).cloned();
            one(deps, &rules, file, Sides { head, base })
        });
        let read = join_all(work).await;
        readings.extend(read.into_iter().map(|reading| thinned(reading, &mut kept)));
    }
    Ok(readings)
}

/// Keeps the first findings of each rule, and says how many it left out.
fn thinned(mut reading: Reading, kept: &mut HashMap<String, usize>) -> Reading {
    let mut beyond = 0;
    let mut keeps = |finding: &Finding| {
        let count = kept.entry(finding.rule.clone()).or_default();
        *count += 1;
        beyond += usize::from(*count > MOST_OF_A_RULE);
        *count <= MOST_OF_A_RULE
    };
    reading.secrets.retain(&mut keeps);
    reading.findings.retain(keeps);
    if beyond > 0 {
        let more = format!("{beyond} more findings of rules that found {MOST_OF_A_RULE} before");
        reading.note = Some(reading.note.map_or(more.clone(), |note| format!("{note}; {more}")));
    }
    reading
}

/// The base sides of those files that something is compared with: programs that lost a line, and
/// whatever lost one of its first lines.
async fn bases(
    deps: &ReviewDeps,
    range: &Range,
    files: &[&FileChange],
) -> Result<HashMap<String, Content>> {
    let wanted = |file: &&&FileChange| {
        let first = file.removed().next();
        first.is_some_and(|r| *r.start() <= 5 || sides::wants_base(&file.path))
    };
    let blobs: Vec<String> = files.iter().filter(wanted).map(|f| f.base.blob.clone()).collect();
    if blobs.is_empty() {
        return Ok(HashMap::new());
    }
    let contents = deps.forge.contents(range, &blobs, deps.limits.file_bytes).await?;
    Ok(blobs.into_iter().zip(contents).collect())
}

/// What stands on both sides; the base only where it is looked at.
struct Sides {
    head: Content,
    base: Option<Content>,
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

/// Analyses one content off the async threads; a crash of a parser is that file's failure.
async fn one(deps: &ReviewDeps, rules: &Arc<Ruleset>, file: &FileChange, sides: Sides) -> Reading {
    let failed = |why: &str| Reading { failed: Some(why.to_owned()), ..Reading::default() };
    let Ok(_permit) = deps.processors.acquire().await else { return failed("shutting down") };
    let (file, limits, rules) = (file.clone(), deps.limits.clone(), rules.clone());
    let work = tokio::task::spawn_blocking(move || read(&file, sides, &limits, &rules));
    work.await.unwrap_or_else(|_| failed("the analysis crashed"))
}

fn read(file: &FileChange, sides: Sides, limits: &Limits, rules: &Ruleset) -> Reading {
    let skipped = |why: String| Reading { skipped: Some(why), ..Reading::default() };
    let gone = Some("its content is not in the repository".to_owned());
    let (text, lossy) = match sides.head {
        _ if file.unavailable => return Reading { failed: gone, ..Reading::default() },
        Content::Text { text, lossy } => (text, lossy),
        Content::Binary => return skipped("binary".into()),
        Content::TooLarge(size) => {
            return skipped(format!("too large ({size} bytes, limit {})", limits.file_bytes));
        }
        Content::Missing => return Reading { failed: gone, ..Reading::default() },
    };
    let touched: LineSet = file.added().collect();
    let masked = secrets::mask(text);
    let mut reading =
        Reading { secrets: masked.findings(&file.path, &touched), ..Reading::default() };
    reading.skipped = unreadable(&masked.text, limits);
    reading.note = lossy.then(|| "not valid UTF-8; the invalid bytes were replaced".to_owned());
    reading.findings = checks::file(facts(file, Some(&masked.text)));
    if reading.skipped.is_none() {
        let source = SourceText { path: &file.path, text: &masked.text, touched: &touched };
        let examined = examine(rules, source);
        reading.findings.extend(examined.findings);
        reading.skipped = examined.skipped;
        reading.note = reading.note.or(examined.cut_off);
        reading.locks = changes::locks_of(source, &Lines::new(source.text));
        let base = match sides.base {
            Some(Content::Text { text, .. }) => secrets::mask(text).text,
            _ => String::new(),
        };
        reading.findings.extend(changes::header_dropped(&file.path, &base, source.text));
        if reading.skipped.is_none() {
            let grew = file.base.kind != EntryKind::Absent && file.removed().next().is_none();
            let without = || sides::base_without(&file.path, source.text, source.touched);
            let base = grew.then(without).flatten().unwrap_or(base);
            reading.looked = look(file, &base, source, limits);
        }
    }
    reading
}

/// What both sides say. A base that is not to be read is no reason to say nothing about the head.
fn look(file: &FileChange, base: &str, source: SourceText<'_>, limits: &Limits) -> Looked {
    let comparable = !base.is_empty() && unreadable(base, limits).is_none();
    // Of what is no program only the number of lines counts.
    let counted = comparable || !sides::wants_base(&file.path);
    let removed: LineSet = if counted { file.removed().collect() } else { LineSet::default() };
    sides::look(Pair {
        path: &file.path,
        old_path: file.old_path.as_deref().unwrap_or(&file.path),
        base: if comparable { base } else { "" },
        head: source.text,
        removed: &removed,
        added: source.touched,
    })
}

/// Why a text is not worth reading.
fn unreadable(text: &str, limits: &Limits) -> Option<String> {
    if text.split('\n').any(|line| line.len() > limits.line_bytes) {
        return Some("minified (a line is too long to be read)".into());
    }
    globs::says_generated(text).then(|| "generated (it says so)".into())
}

/// What `checks` wants to know about a change.
pub(super) fn facts<'a>(file: &'a FileChange, text: Option<&'a str>) -> checks::FileFacts<'a> {
    let executable = |kind| kind == EntryKind::Executable;
    checks::FileFacts {
        path: &file.path,
        binary: file.binary,
        content_changed: file.base.blob != file.head.blob && file.status != Status::Deleted,
        size: file.size,
        became_executable: executable(file.head.kind) && !executable(file.base.kind),
        text,
    }
}

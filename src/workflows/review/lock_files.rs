//! Lock files that contradict their manifests: changed without them, or left behind by them.
//!
//! What it promises: one lock file's text is held at a time, with that of one manifest; a
//! contradiction that the base had, too, is not this change's.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    analysis::{
        Finding, globs,
        sides::lock_file::{Format, locks_for},
    },
    base::Result,
    forge::{Change, Content, Entry, EntryKind, FileChange},
};

/// Lock files larger than this are not read.
const MAX_LOCK_BYTES: u64 = 16 * 1024 * 1024;

/// Of more changed manifests than these the lock files are not looked for.
const MAX_MANIFESTS: usize = 60;

/// A finding for each lock file of the change that contradicts a manifest, and for each manifest of
/// the change that a lock file contradicts which was left as it was.
///
/// # Errors
/// When the forge does not answer.
pub(super) async fn lock_files(
    change: &dyn Change,
    changes: &[&FileChange],
) -> Result<Vec<Finding>> {
    let by_path = changes.iter().map(|c| (c.path.as_str(), *c)).collect();
    let mut repository = Repository { change, changes: by_path, there: HashMap::new() };
    let mut findings = Vec::new();
    for (lock, manifests) in repository.pairs(changes).await? {
        let Some(format) = Format::of(&lock) else { continue };
        let Some(locks) = repository.sides(&lock).await? else { continue };
        for manifest in manifests {
            let Some(how) = repository.how(format, &lock, &locks, &manifest).await? else {
                continue;
            };
            if repository.is_any_there(&format.rivals(&lock)).await? {
                break;
            }
            let changed = repository.changes.contains_key(lock.as_str());
            findings.push(format.finding(&manifest, &lock, changed, &how));
        }
    }
    Ok(findings)
}

/// Leaves out what is said less surely of a manifest that is known to be contradicted.
pub(super) fn without_lesser(findings: &mut Vec<Finding>) {
    let certain = findings.iter().filter(|f| f.rule == "lock-contradicts-manifest");
    let certain: HashSet<String> = certain.map(|f| f.path.clone()).collect();
    findings.retain(|f| f.rule != "lock-not-updated" || !certain.contains(&f.path));
}

/// A text in the head, and in the base where it is there.
struct Sides {
    head: String,
    base: Option<String>,
}

/// The repository after the change.
struct Repository<'c> {
    change: &'c dyn Change,
    changes: HashMap<&'c str, &'c FileChange>,
    there: HashMap<String, bool>,
}

fn is_file(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::File | EntryKind::Executable)
}

/// Whether it is there to be installed: samples contradict each other on purpose.
fn is_used(path: &str) -> bool {
    let samples = ["fixture", "testdata", "/test/", "/tests/", "__tests__", "/mock"];
    let path = format!("/{path}");
    !globs::is_vendored(&path[1..]) && !samples.iter().any(|word| path.contains(word))
}

impl Repository<'_> {
    /// Lock files of which the change touches either side, each with its manifests.
    async fn pairs(&mut self, changes: &[&FileChange]) -> Result<BTreeMap<String, Vec<String>>> {
        let mut pairs: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let changed = changes.iter().filter(|c| is_file(&c.head) && is_used(&c.path));
        let changed: Vec<&str> = changed.map(|c| c.path.as_str()).collect();
        for lock in &changed {
            if let Some(format) = Format::of(lock) {
                pairs.entry((*lock).to_owned()).or_default().push(format.manifest_beside(lock));
            }
        }
        let manifests = changed.iter().filter(|path| !locks_for(path).is_empty());
        let manifests: Vec<&&str> = manifests.take(MAX_MANIFESTS + 1).collect();
        if manifests.len() > MAX_MANIFESTS {
            return Ok(pairs);
        }
        let candidates = manifests.iter().flat_map(|manifest| locks_for(manifest)).flatten();
        let candidates: Vec<String> = candidates.map(|(lock, _)| lock).collect();
        self.look_up(&candidates).await?;
        for manifest in manifests {
            for lock in self.locks_of(manifest) {
                let own = pairs.entry(lock).or_default();
                if !own.iter().any(|m| m == *manifest) {
                    own.push((*manifest).to_owned());
                }
            }
        }
        Ok(pairs)
    }

    /// The lock files that a manifest is held to: the nearest. Of several, those that changed; which
    /// of the others counts is not known.
    fn locks_of(&self, manifest: &str) -> Vec<String> {
        for folder in locks_for(manifest) {
            let locks = folder.into_iter().map(|(lock, _)| lock);
            let mut found: Vec<String> = locks.filter(|lock| self.is_there(lock)).collect();
            if found.len() > 1 {
                found.retain(|lock| self.changes.contains_key(lock.as_str()));
                return found;
            }
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// Finds out where files stand, for [`is_there`](Self::is_there).
    async fn look_up(&mut self, paths: &[String]) -> Result<()> {
        let known = |path: &str| self.changes.contains_key(path) || self.there.contains_key(path);
        let unknown: Vec<String> = paths.iter().filter(|path| !known(path)).cloned().collect();
        if !unknown.is_empty() {
            let there = self.change.exists(&unknown).await?;
            self.there.extend(unknown.into_iter().zip(there));
        }
        Ok(())
    }

    fn is_there(&self, path: &str) -> bool {
        match self.changes.get(path) {
            Some(change) => is_file(&change.head),
            None => self.there.get(path).is_some_and(|there| *there),
        }
    }

    async fn is_any_there(&mut self, paths: &[String]) -> Result<bool> {
        self.look_up(paths).await?;
        Ok(paths.iter().any(|path| self.is_there(path)))
    }

    /// Both sides of a file; `None` when it cannot be read in the head.
    async fn sides(&self, path: &str) -> Result<Option<Sides>> {
        let Some(change) = self.changes.get(path) else {
            let found = self.change.base_file(path, MAX_LOCK_BYTES).await?;
            let head = found.and_then(text);
            return Ok(head.map(|head| Sides { base: Some(head.clone()), head }));
        };
        if change.unavailable || !is_file(&change.head) {
            return Ok(None);
        }
        let Some(head) = self.blob(&change.head).await? else { return Ok(None) };
        let base = if is_file(&change.base) { self.blob(&change.base).await? } else { None };
        Ok(Some(Sides { head, base }))
    }

    async fn blob(&self, entry: &Entry) -> Result<Option<String>> {
        let blobs = [entry.blob.clone()];
        let contents = self.change.contents(&blobs, MAX_LOCK_BYTES).await?;
        Ok(contents.into_iter().next().and_then(text))
    }

    /// How a lock file contradicts a manifest since this change.
    async fn how(
        &self,
        format: &'static Format,
        lock: &str,
        locks: &Sides,
        manifest: &str,
    ) -> Result<Option<String>> {
        let Some(manifests) = self.sides(manifest).await? else { return Ok(None) };
        let compared = |manifest_text: &str, lock_text: &str| {
            format.contradictions((manifest, manifest_text), (lock, lock_text))
        };
        let now = compared(&manifests.head, &locks.head);
        if now.is_empty() {
            return Ok(None);
        }
        let before = manifests.base.as_deref().zip(locks.base.as_deref());
        let before = before.map(|(m, l)| compared(m, l)).unwrap_or_default();
        Ok(now.into_iter().find(|how| !before.contains(how)))
    }
}

fn text(content: Content) -> Option<String> {
    match content {
        Content::Text { text, .. } => Some(text),
        _ => None,
    }
}

//! The checks of the change as a whole: lock files, manifests and calls left behind. They are part
//! of one task of the agent that their findings belong to.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures_util::future::join_all;

use super::{agents::AgentContext, lock_files::lock_files, reader::Analysed};
use crate::{
    analysis::{
        Finding, MaskedText, changes,
        sides::cross_file::{Callees, Suspect},
    },
    base::{Fault, Result},
    forge::{EntryKind, FileChange},
};

/// A change with the analysis of all its files.
pub(super) struct WholeChange<'a> {
    ctx: &'a AgentContext<'a>,
    /// Every changed file.
    changes: Vec<&'a FileChange>,
    /// Those that were to be analysed.
    analysed: Vec<(&'a FileChange, Arc<Analysed>)>,
}

impl<'a> WholeChange<'a> {
    /// Waits for the analysis of all files, which the other tasks share.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub(super) async fn of(ctx: &'a AgentContext<'a>) -> Result<Self> {
        let mut analysed = Vec::new();
        for chunk in ctx.change.plan.of(ctx.agent) {
            analysed.extend(ctx.analysed(chunk).await?);
        }
        let changes = ctx.change.files.iter().map(|f| &f.change).collect();
        Ok(Self { ctx, changes, analysed })
    }

    /// Of these findings those that this agent is to report.
    ///
    /// # Errors
    /// When the settings cannot be used.
    pub(super) fn own(&self, mut findings: Vec<Finding>) -> Result<Vec<Finding>> {
        let paths = self.ctx.change.settings.paths().map_err(Fault::permanent)?;
        findings.retain(|f| f.agent == self.ctx.agent && paths(&f.path).is_ok());
        Ok(findings)
    }

    /// A finding for each manifest whose lock file stands on the base side and is not in the change.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub(super) async fn manifests_left_behind(&self) -> Result<Vec<Finding>> {
        let paths = |c: &&'a FileChange| [Some(c.path.as_str()), c.old_path.as_deref()];
        let changed: HashSet<&str> = self.changes.iter().flat_map(paths).flatten().collect();
        let left = |locks: &Vec<String>| !locks.iter().any(|lock| changed.contains(lock.as_str()));
        let manifests = self.analysed.iter().map(|(file, analysed)| (&file.path, &analysed.locks));
        let manifests: Vec<(&String, &Vec<String>)> =
            manifests.filter(|(_, locks)| !locks.is_empty() && left(locks)).collect();
        let there = self.base_has(manifests.iter().flat_map(|(_, locks)| locks.iter())).await?;
        let findings = manifests.iter().filter_map(|(manifest, locks)| {
            let lock = locks.iter().find(|lock| there.contains(*lock))?;
            Some(changes::lock_left_behind(manifest, lock))
        });
        Ok(findings.collect())
    }

    /// Those of `paths` at which a file stands on the base side.
    async fn base_has(&self, paths: impl Iterator<Item = &String>) -> Result<HashSet<String>> {
        let paths: Vec<String> = paths.cloned().collect();
        if paths.is_empty() {
            return Ok(HashSet::new());
        }
        let there = self.ctx.reader.change().exists(&paths).await?;
        Ok(paths.into_iter().zip(there).filter(|(_, there)| *there).map(|(path, _)| path).collect())
    }

    /// As [`lock_files`].
    ///
    /// # Errors
    /// When the forge does not answer.
    pub(super) async fn lock_files(&self) -> Result<Vec<Finding>> {
        lock_files(self.ctx.reader.change(), &self.changes).await
    }

    /// Calls left behind in other files than what they call. Only those that may hold one are read
    /// again, a few at a time.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub(super) async fn callers(&self) -> Result<Vec<Finding>> {
        let Some(callees) =
            Callees::of(self.analysed.iter().flat_map(|(_, a)| &a.changed)).map(Arc::new)
        else {
            return Ok(Vec::new());
        };
        let read = self.analysed.iter().filter(|(_, analysed)| analysed.skipped.is_none());
        let may = |c: &&FileChange| callees.may_be_called_in(&c.path);
        let wanted: Vec<&FileChange> = read.map(|(file, _)| *file).filter(may).collect();
        let mut findings = Vec::new();
        for batch in self.ctx.reader.batches(&wanted) {
            let texts = self.ctx.reader.texts(batch).await?;
            let found = join_all(batch.iter().map(|file| self.calls(&callees, file, &texts)));
            for suspect in found.await.into_iter().flatten() {
                if !self.is_any_there(&suspect.rivals).await? {
                    findings.push(suspect.finding);
                }
            }
        }
        Ok(findings)
    }

    /// The calls left behind in one file. A crash of a parser finds none: it has failed that file's
    /// analysis before.
    async fn calls(
        &self,
        callees: &Arc<Callees>,
        file: &FileChange,
        texts: &HashMap<String, MaskedText>,
    ) -> Vec<Suspect> {
        let Some(text) = texts.get(&file.path).cloned() else { return Vec::new() };
        let (callees, path, added) = (callees.clone(), file.path.clone(), file.added().collect());
        let found = self.ctx.reader.compute(move || callees.check(&path, &text, &added));
        found.await.unwrap_or_default()
    }

    /// Whether any of `paths` is there after the change.
    async fn is_any_there(&self, paths: &[String]) -> Result<bool> {
        let mut untouched = Vec::new();
        for path in paths {
            match self.changes.iter().find(|c| c.path == *path) {
                Some(change) if change.head.kind != EntryKind::Absent => return Ok(true),
                Some(_) => {}
                None => untouched.push(path),
            }
        }
        Ok(!self.base_has(untouched.into_iter()).await?.is_empty())
    }
}

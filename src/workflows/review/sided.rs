//! The checks of both sides over the whole change: the findings in each file, calls left behind in
//! other files; lock files by `lock_files.rs`.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::join_all;

use super::{
    deps::ReviewDeps,
    ingest::listening,
    lock_files::lock_files,
    settings::Settings,
    state::ReviewFile,
    texts::{batches, masked},
};
use crate::{
    analysis::{
        Finding,
        sides::{
            Checked,
            cross_file::{Callees, Suspect},
        },
    },
    base::Result,
    forge::{EntryKind, FileChange, Range},
};

/// The findings that need both sides of the diff, of the agents that are on.
///
/// # Errors
/// When the forge does not answer.
pub(super) async fn both_sides(
    deps: &ReviewDeps,
    range: &Range,
    settings: &Settings,
    files: &[ReviewFile],
    checked: &[&Checked],
) -> Result<Vec<Finding>> {
    let changes: Vec<&FileChange> = files.iter().map(|f| &f.change).collect();
    let mut findings: Vec<Finding> =
        checked.iter().flat_map(|c| c.findings.iter().cloned()).collect();
    findings.extend(lock_files(deps, range, &changes).await?);
    if let Some(callees) = Callees::of(checked.iter().copied()) {
        let read = files.iter().filter(|f| f.read && f.skipped.is_none()).map(|f| &f.change);
        findings.extend(callers(deps, range, callees, &read.collect::<Vec<_>>(), &changes).await?);
    }
    let listens = listening(settings);
    findings.retain(|f| settings.agents.contains(&f.agent) && listens(&f.path));
    Ok(findings)
}

/// Calls left behind in other files than what they call. Only those that may hold one are read
/// again, a few at a time.
async fn callers(
    deps: &ReviewDeps,
    range: &Range,
    callees: Callees,
    files: &[&FileChange],
    changes: &[&FileChange],
) -> Result<Vec<Finding>> {
    let callees = Arc::new(callees);
    let may = |c: &&FileChange| callees.may_be_called_in(&c.path);
    let wanted: Vec<&FileChange> = files.iter().copied().filter(may).collect();
    let mut findings = Vec::new();
    for batch in batches(&wanted, &deps.limits) {
        let texts = masked(deps, range, batch).await?;
        for suspect in join_all(batch.iter().map(|file| calls(deps, &callees, file, &texts)))
            .await
            .into_iter()
            .flatten()
        {
            if !is_any_there(deps, range, changes, &suspect.rivals).await? {
                findings.push(suspect.finding);
            }
        }
    }
    Ok(findings)
}

/// The calls left behind in one file, found off the async threads. A crash of a parser finds none:
/// it has failed that file's reading before.
async fn calls(
    deps: &ReviewDeps,
    callees: &Arc<Callees>,
    file: &FileChange,
    texts: &HashMap<String, String>,
) -> Vec<Suspect> {
    let Some(text) = texts.get(&file.path).cloned() else { return Vec::new() };
    let Ok(_permit) = deps.processors.acquire().await else { return Vec::new() };
    let (callees, path, added) = (callees.clone(), file.path.clone(), file.added().collect());
    let work = tokio::task::spawn_blocking(move || callees.check(&path, &text, &added));
    work.await.unwrap_or_default()
}

/// Whether any of `paths` is there after the change.
async fn is_any_there(
    deps: &ReviewDeps,
    range: &Range,
    changes: &[&FileChange],
    paths: &[String],
) -> Result<bool> {
    for path in paths {
        let there = match changes.iter().find(|c| c.path == *path) {
            Some(change) => change.head.kind != EntryKind::Absent,
            None => deps.forge.base_file(range, path, 0).await?.is_some(),
        };
        if there {
            return Ok(true);
        }
    }
    Ok(false)
}

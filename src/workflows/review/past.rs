//! What earlier reviews of the same pull request mean for this one: what was dismissed stays so, and
//! code that was reviewed before is not found new fault with, so that reviews converge.

use std::collections::HashMap;

use super::{deps::ReviewDeps, names::mask_names};
use crate::{
    analysis::{Category, Finding, Severity, Side, Source},
    base::Result,
    forge::{History, LineRange, Target},
};

/// What changed since the last review counts this many lines around it, too.
const MARGIN: u32 = 1;

/// Earlier reviews, as far as the judge needs to know.
#[derive(Debug, Clone, Default)]
pub struct Past {
    history: History,
    /// The lines of the head that differ from the last reviewed one, by path. `None`: there was no
    /// such review, or its commit cannot be had any more.
    changed: Option<HashMap<String, Vec<LineRange>>>,
}

impl Past {
    /// Of the subject of this target.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn of(deps: &ReviewDeps, target: &Target) -> Result<Self> {
        let history = match deps.forges.publisher(target)?.history(target).await {
            Err(fault) if !fault.is_transient() => {
                tracing::warn!(error = %fault, "what was said before cannot be read");
                History::default()
            }
            history => history?,
        };
        let Some(last) = &history.last_head else { return Ok(Self { history, changed: None }) };
        let since = Target { base: last.clone(), ..target.clone() };
        let changed = match changes(deps, &since).await {
            Ok(changed) => Some(changed),
            Err(fault) => {
                // A force-push took the commit away.
                tracing::info!(error = %fault, "what changed since the last review cannot be found out");
                None
            }
        };
        Ok(Self { history, changed })
    }

    /// By these words alone.
    pub fn new(history: History, changed: Option<HashMap<String, Vec<LineRange>>>) -> Self {
        Self { history, changed }
    }

    /// Whether people dismissed it. Nobody dismisses what is critical to security.
    pub(super) fn dismisses(&self, finding: &Finding) -> bool {
        let security = finding.agent == Category::Security.word();
        let stays = security && finding.severity == Severity::Critical;
        !stays && self.history.dismissed.contains(&finding.fingerprint)
    }

    /// Whether it is new, of little weight, and about code that was reviewed before.
    pub(super) fn has_seen(&self, finding: &Finding) -> bool {
        let Some(changed) = &self.changed else { return false };
        let known = self.history.known.contains(&finding.fingerprint);
        if known || finding.severity >= Severity::High || finding.source == Source::Verdict {
            return false;
        }
        let touched = |path: &str, first: u32, last: u32| {
            changed.get(path).is_some_and(|ranges| {
                let near = |range: &LineRange| {
                    range.start().saturating_sub(MARGIN) <= last
                        && first <= range.end().saturating_add(MARGIN)
                };
                ranges.iter().any(near)
            })
        };
        if finding.is_whole_file() || finding.side == Side::Left {
            return !changed.contains_key(&finding.path);
        }
        !touched(&finding.path, finding.start_line, finding.end_line)
            && !finding.flow.iter().any(|step| touched(&finding.path, step.line, step.line))
    }
}

async fn changes(deps: &ReviewDeps, since: &Target) -> Result<HashMap<String, Vec<LineRange>>> {
    let mut files = deps.forges.open(since).await?.files().await?;
    mask_names(&mut files);
    Ok(files
        .into_iter()
        .map(|file| {
            // Where lines only went away, the place between its neighbours changed.
            let ranges = file.hunks.iter().map(|hunk| {
                hunk.added().unwrap_or(hunk.new_start..=hunk.new_start.saturating_add(1))
            });
            let ranges = ranges.collect();
            (file.path, ranges)
        })
        .collect())
}

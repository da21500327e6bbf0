//! Code that the change moved from one file to another says nothing new.

use std::collections::HashMap;

use super::reader::{ChangeReader, bare};
use crate::{
    analysis::{Finding, LineSet, Lines, MaskedText, Source},
    base::Result,
    forge::FileChange,
};

/// A neighbour shorter than this may stand anywhere.
const MIN_NEIGHBOUR_CHARS: usize = 4;

/// The added lines that a finding is about, without what formatters change, and those around it.
struct Place {
    path: String,
    lines: Vec<String>,
    around: Vec<String>,
}

/// What findings are about, until the removed lines of other files are known.
#[derive(Default)]
pub(super) struct Moved(HashMap<String, Place>);

impl Moved {
    /// Takes in what is said of `file`. Secrets are left out: masked, two of them look the same.
    pub(super) fn add(&mut self, findings: &[Finding], file: &FileChange, text: &MaskedText) {
        let ours = |it: &&Finding| matches!(it.source, Source::Rule | Source::Flow);
        let sure = |it: &&Finding| !it.is_whole_file() && it.confidence > Finding::SOFTENED;
        let (added, lines): (LineSet, _) = (file.added().collect(), Lines::new(text));
        let text = |line: u32| lines.get(line).filter(|_| added.contains(line)).map(bare);
        for finding in findings.iter().filter(ours).filter(sure) {
            let own = finding.start_line..=finding.end_line;
            let mut numbers: Vec<u32> = own.chain(finding.flow.iter().map(|it| it.line)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let told = |line: &String| line.len() >= MIN_NEIGHBOUR_CHARS;
            let before = (1..finding.start_line).rev().map_while(text).find(told);
            let after = (finding.end_line + 1..=lines.count()).map_while(text).find(told);
            let place = Place {
                path: finding.path.clone(),
                lines: numbers.into_iter().filter_map(text).collect(),
                around: before.into_iter().chain(after).collect(),
            };
            if !place.lines.is_empty() && !place.around.is_empty() {
                self.0.insert(finding.fingerprint.clone(), place);
            }
        }
    }

    /// The fingerprints of those whose lines, and one beside them, were removed from one other file of their kind.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub(super) async fn fingerprints(
        mut self,
        reader: &ChangeReader,
        files: &[&FileChange],
    ) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let may_hold = |file: &FileChange, place: &Place| {
            place.path != file.path && kind(&place.path) == kind(old_path(file))
        };
        let lost = files.iter().filter(|file| file.removed().next().is_some());
        let wanted: Vec<&FileChange> = lost
            .filter(|file| self.0.values().any(|place| may_hold(file, place)))
            .copied()
            .collect();
        for batch in reader.batches(&wanted) {
            let texts = reader.base_texts(batch).await?;
            for file in batch {
                let Some(text) = texts.get(&file.base.blob) else { continue };
                let (lines, removed): (_, LineSet) = (Lines::new(text), file.removed().collect());
                let mut gone: HashMap<String, usize> = HashMap::new();
                lines.touched(&removed).for_each(|(_, l)| *gone.entry(bare(l)).or_default() += 1);
                self.0.retain(|fingerprint, place| {
                    let moved = may_hold(file, place)
                        && place.around.iter().any(|line| gone.contains_key(line))
                        && place.lines.iter().all(|line| gone.get(line).is_some_and(|n| *n > 0));
                    for line in place.lines.iter().filter(|_| moved) {
                        gone.entry(line.clone())
                            .and_modify(|count| *count = count.saturating_sub(1));
                    }
                    found.extend(moved.then(|| fingerprint.clone()));
                    !moved
                });
            }
        }
        Ok(found)
    }
}

fn old_path(file: &FileChange) -> &str {
    file.old_path.as_deref().unwrap_or(&file.path)
}

/// What tells the language: the end of the name.
fn kind(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, end)| end)
}

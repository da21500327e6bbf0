//! Which suggestions may be made: those that change something, and with which the head still parses.

use std::collections::HashMap;

use super::reader::ChangeReader;
use crate::{
    analysis::{Finding, Suggestible},
    base::Result,
    forge::FileChange,
};

/// A suggestion, and what it is put in place of.
struct Suggestion {
    /// The place of its finding in the list.
    finding: usize,
    lines: (u32, u32),
    text: String,
}

/// Takes the other suggestions away; their findings stay.
///
/// # Errors
/// When the forge does not answer.
pub(super) async fn keep_sound(
    reader: &ChangeReader,
    files: &[&FileChange],
    findings: &mut [Finding],
) -> Result<()> {
    let mut by_path: HashMap<String, Vec<Suggestion>> = HashMap::new();
    for (at, finding) in findings.iter_mut().enumerate() {
        if let Some(text) = finding.suggestion.take() {
            let lines = (finding.start_line, finding.end_line);
            let suggestion = Suggestion { finding: at, lines, text };
            by_path.entry(finding.path.clone()).or_default().push(suggestion);
        }
    }
    let files: Vec<&FileChange> =
        files.iter().copied().filter(|file| by_path.contains_key(&file.path)).collect();
    for batch in reader.batches(&files) {
        for (path, text) in reader.texts(batch).await? {
            let mut suggestions = by_path.remove(&path).unwrap_or_default();
            let work = move || {
                let head = Suggestible::new(&path, &text);
                suggestions.retain(|one| head.takes(one.lines, &one.text));
                suggestions
            };
            // A parser that crashes vouches for none of them.
            for sound in reader.compute(work).await.unwrap_or_default() {
                findings[sound.finding].suggestion = Some(sound.text);
            }
        }
    }
    Ok(())
}

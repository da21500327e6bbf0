//! Lines of other files of a change that belong to what a request shows: they name a function that changed there, or begin one
//! that a changed line there names.

use std::{fmt::Write, sync::Arc};

use super::{
    parts,
    unit::{self, Mark, Unit},
};
use crate::{
    analysis::{References, RelatedLine},
    base::Result,
    forge::FileChange,
    workflows::review::{reader::ChangeReader, report::tame, state::Ingested},
};

/// Files of a change are compared as long as their texts have so many bytes together; of a larger change, the first ones are.
const MAX_BYTES: usize = 4 << 20;

/// So many lines of other files go with a request.
const MAX_LINES: usize = 30;

/// Longer lines are cut.
const MAX_LINE_CHARS: usize = 160;

/// Which lines of the change's files belong together, found once for all tasks in this process.
///
/// # Errors
/// When the forge does not answer.
pub(super) async fn references(
    reader: &ChangeReader,
    change: &Ingested,
) -> Result<Arc<References>> {
    let find = || async {
        let shown = change.files.iter().filter(|file| parts::is_shown(file));
        let files: Vec<&FileChange> = shown.map(|file| &file.change).collect();
        let (mut known, mut bytes) = (References::default(), 0);
        for batch in reader.batches(&files) {
            let texts = reader.texts(batch).await?;
            let texts = batch.iter().filter_map(|f| {
                Some((f.path.clone(), texts.get(&f.path)?.clone(), unit::changed(f)))
            });
            let texts: Vec<_> = texts
                .take_while(|(_, text, _)| {
                    bytes += text.len();
                    bytes <= MAX_BYTES
                })
                .collect();
            let add = move || {
                texts
                    .into_iter()
                    .for_each(|(path, text, changed)| known.add(&path, &text, changed));
                known
            };
            // A crash of a parser leaves none: it has failed that file's analysis before.
            known = reader.compute(add).await.unwrap_or_default();
            if bytes > MAX_BYTES {
                break;
            }
        }
        Ok(Arc::new(known))
    };
    reader.references(find).await
}

/// The lines of other files for these units, as a model sees them; empty when there are none.
pub(super) fn shown(references: &References, units: &[Unit]) -> String {
    let is_there = |line: &RelatedLine| {
        let shows = |unit: &&Unit| unit.path == line.path;
        units
            .iter()
            .filter(shows)
            .flat_map(|unit| &unit.rows)
            .any(|row| row.number == line.line && row.mark != Mark::Removed)
    };
    let mut lines: Vec<RelatedLine> =
        units.iter().flat_map(|unit| references.of(&unit.path)).collect();
    lines.sort();
    lines.dedup();
    lines.retain(|line| !is_there(line));
    lines.truncate(MAX_LINES);
    let mut out = String::new();
    for RelatedLine { path, line, text } in lines {
        let text: String = tame(&text).to_string().chars().take(MAX_LINE_CHARS).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {}:{line} {text}", tame(&path));
    }
    match out.is_empty() {
        true => out,
        false => format!(
            "Lines of other files that name what changed above, or that a changed line above names:\n{out}\n"
        ),
    }
}

//! What tools found, on the changed lines of the head.

use std::collections::HashMap;

use super::{ToolReport, ToolUse};
use crate::{
    analysis::{Finding, LineSet, Lines, quote},
    forge::FileChange,
    workflows::review::{anchors::find_line, state::ReviewFile},
};

/// What tools found, as far as it is not placed yet.
pub(in crate::workflows::review) struct Placing<'r> {
    by_path: HashMap<&'r str, Vec<(usize, &'r Finding)>>,
    touched: HashMap<String, LineSet>,
    uses: Vec<ToolUse>,
}

impl<'r> Placing<'r> {
    /// What `reports` say about a change of these files.
    pub(in crate::workflows::review) fn new(
        reports: &'r [ToolReport],
        files: &[ReviewFile],
    ) -> Self {
        let mut by_path: HashMap<&str, Vec<(usize, &Finding)>> = HashMap::new();
        for (at, report) in reports.iter().enumerate() {
            for finding in &report.findings {
                by_path.entry(&finding.path).or_default().push((at, finding));
            }
        }
        let changes = files.iter().map(|file| &file.change).filter(|_| !reports.is_empty());
        let touched = changes.map(|change| (change.path.clone(), change.added().collect()));
        let touched = touched.collect();
        let uses = reports.iter().map(|report| report.tool.clone()).collect();
        Self { by_path, touched, uses }
    }

    /// The findings on changed lines of a file, by the text of its head. Fingerprints not yet set.
    pub(in crate::workflows::review) fn of(
        &mut self,
        file: &FileChange,
        text: &str,
    ) -> Vec<Finding> {
        let Some(found) = self.by_path.remove(&*file.path) else { return Vec::new() };
        let lines = Lines::new(text);
        let mut placed = Vec::new();
        for (tool, finding) in found {
            if let Some(finding) = self.place(finding, &lines) {
                self.uses[tool].placed += 1;
                placed.push(finding);
            }
        }
        placed
    }

    /// The tools, and what became of their results.
    pub(in crate::workflows::review) fn uses(self) -> Vec<ToolUse> {
        self.uses
    }

    /// The finding on the changed ones of its lines, or on all of them where the way of its value goes
    /// over a changed one. `None` when it is about neither.
    fn place(&self, finding: &Finding, lines: &Lines<'_>) -> Option<Finding> {
        let named = finding.start_line;
        let said = finding.quote.trim();
        // Many quote a part of the line.
        let there = said.is_empty() || lines.get(named).is_some_and(|line| line.contains(said));
        let elsewhere = if there { None } else { find_line(lines, named, said) };
        let start = elsewhere.unwrap_or(named);
        let end = start.saturating_add(finding.end_line.saturating_sub(named)).min(lines.count());
        let touched = |path: &str, first: u32, last: u32| {
            self.touched.get(path).and_then(|touched| touched.first_in(first, last))
        };
        let whole = || {
            let mut steps = finding.flow.iter();
            let crossed = steps.any(|step| touched(&step.path, step.line, step.line).is_some());
            crossed.then_some((start, end))
        };
        let (start_line, end_line) = touched(&finding.path, start, end).or_else(whole)?;
        let quote = quote(lines.get(start_line)?);
        Some(Finding { start_line, end_line: end_line.max(start_line), quote, ..finding.clone() })
    }
}

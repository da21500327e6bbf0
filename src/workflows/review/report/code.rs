//! The lines that findings are about, read again for showing. A review's state quotes one line of
//! each finding and keeps no content, so whoever shows more reads it by object id and masks it.

use std::collections::{HashMap, HashSet};

use super::findings;
use crate::{
    analysis::{Finding, Lines, MaskedText, Side},
    base::Result,
    forge::{FileChange, Forges},
    workflows::review::{Limits, ReviewDeps, state::ReviewState},
};

/// Texts of the head, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code(HashMap<String, MaskedText>);

/// What a suggestion takes away and what it puts there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fix<'a> {
    /// The lines as they are; empty when they cannot be had.
    pub(super) old: Vec<&'a str>,
    /// The lines as they should be.
    pub(super) new: Vec<&'a str>,
}

impl Code {
    /// Reads the files whose findings are about more than the line they quote. What cannot be read
    /// is shown without: a review is not lost because its repository is.
    pub async fn read(forges: &Forges, state: &ReviewState) -> Self {
        let wanted: HashSet<&str> = findings(state)
            .into_iter()
            .filter(|f| f.side == Side::Right && f.end_line > f.start_line)
            .map(|f| f.path.as_str())
            .collect();
        let Some(change) = state.ingested.as_ref().filter(|_| !wanted.is_empty()) else {
            return Self::default();
        };
        let files = change.files.iter().map(|f| &f.change);
        let files: Vec<&FileChange> = files.filter(|f| wanted.contains(f.path.as_str())).collect();
        Self(texts(forges, state, &files).await.unwrap_or_default())
    }

    /// The lines of a finding: all of them, or only the one it quotes; none of a whole file.
    pub(super) fn lines<'a>(&'a self, finding: &'a Finding) -> Vec<&'a str> {
        if finding.is_whole_file() {
            return Vec::new();
        }
        self.all(finding).unwrap_or_else(|| vec![&finding.quote])
    }

    /// A finding's suggestion beside what it replaces.
    pub(super) fn fix<'a>(&'a self, finding: &'a Finding) -> Option<Fix<'a>> {
        let new = finding.suggestion.as_deref()?.lines().collect();
        let one = finding.end_line == finding.start_line;
        let quoted = || one.then(|| vec![finding.quote.as_str()]);
        let old = self.all(finding).or_else(quoted).unwrap_or_default();
        Some(Fix { old, new })
    }

    fn all<'a>(&'a self, finding: &Finding) -> Option<Vec<&'a str>> {
        let lines = Lines::new(self.0.get(&finding.path)?);
        let here: Option<Vec<&str>> =
            (finding.start_line..=finding.end_line).map(|number| lines.get(number)).collect();
        let same = |first: &&str| first.trim().starts_with(finding.quote.trim());
        here.filter(|lines| finding.side == Side::Right && lines.first().is_some_and(same))
    }
}

async fn texts(
    forges: &Forges,
    state: &ReviewState,
    files: &[&FileChange],
) -> Result<HashMap<String, MaskedText>> {
    let deps = ReviewDeps::new(forges.clone(), Limits::default())?;
    let reader = deps.open(&state.target).await?;
    let mut texts = HashMap::new();
    for batch in reader.batches(files) {
        texts.extend(reader.texts(batch).await?);
    }
    Ok(texts)
}

impl<'a> Fix<'a> {
    /// The lines that differ, each after `-` or `+`.
    pub(super) fn diff(&self) -> Vec<(char, &'a str)> {
        let (old, new) = (&self.old, &self.new);
        let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[before..], &new[before..]);
        let after = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let old = old[..old.len() - after].iter().map(|line| ('-', *line));
        old.chain(new[..new.len() - after].iter().map(|line| ('+', *line))).collect()
    }
}

//! Code that the change moved from one file to another says nothing new, nor does a copy of a whole file.

use std::{
    borrow::Borrow,
    collections::{HashMap, HashSet},
    hash::Hash,
};

use super::{
    own_rules::OwnRule,
    reader::{ChangeReader, bare, way, words},
};
use crate::{
    analysis::{
        Category, Finding, LineSet, Lines, MaskedText, Source, SourceText, examine, rules::BuiltIn,
    },
    base::Result,
    forge::{FileChange, Status},
};

/// A neighbour shorter than this may stand anywhere.
const MIN_NEIGHBOUR_CHARS: usize = 4;

/// What a finding is about: its added lines, without what formatters change, and those around them.
struct Place {
    finding: Finding,
    /// Its own lines, as they are.
    text: String,
    /// The words of each.
    words: Vec<HashSet<String>>,
    lines: Vec<String>,
    around: Vec<String>,
    /// Whether it is shown as it is.
    sure: bool,
}

/// What findings are about, until the removed lines of other files are known.
#[derive(Default)]
pub(super) struct Moved {
    places: Vec<Place>,
    /// Findings of secrets, and the file of each.
    secrets: Vec<(Finding, FileChange)>,
    /// What is said of new files: the content's id, and the fingerprint.
    new_files: Vec<(String, String)>,
}

impl Moved {
    /// Takes in what is said of `file`.
    pub(super) fn add(&mut self, findings: &[Finding], file: &FileChange, text: &MaskedText) {
        let of_lines = |it: &&Finding| !it.is_whole_file();
        if file.status == Status::Added {
            let said = findings.iter().filter(|it| may_be_copied(it));
            let said = said.map(|it| (file.head.blob.clone(), it.fingerprint.clone()));
            self.new_files.extend(said);
        }
        let (added, lines): (LineSet, _) = (file.added().collect(), Lines::new(text));
        let text = |line: u32| lines.get(line).filter(|_| added.contains(line)).map(bare);
        for finding in findings.iter().filter(of_lines) {
            let sure = finding.confidence > Finding::SOFTENED;
            match finding.source {
                Source::Secret if sure => self.secrets.push((finding.clone(), file.clone())),
                Source::Rule | Source::Flow => {}
                _ => continue,
            }
            let own = finding.start_line..=finding.end_line;
            let steps = finding.flow.iter().map(|it| it.line);
            let mut numbers: Vec<u32> = own.clone().chain(steps).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let told = |line: &String| line.len() >= MIN_NEIGHBOUR_CHARS;
            let before = (1..finding.start_line).rev().map_while(text).find(told);
            let after = (finding.end_line + 1..=lines.count()).map_while(text).find(told);
            let own: Vec<&str> = own.filter_map(|n| lines.get(n)).collect();
            self.places.push(Place {
                finding: finding.clone(),
                text: own.join("\n"),
                words: own.iter().map(|line| owned_words(line)).collect(),
                lines: numbers.into_iter().filter_map(text).collect(),
                around: before.into_iter().chain(after).collect(),
                sure,
            });
        }
        self.places.retain(|it| !it.lines.is_empty());
    }

    /// The fingerprints of those that came from another file of their kind: their lines, and one beside them, were removed
    /// from it; or the rules said the same of lines that were removed from it, much like theirs. Of secrets,
    /// those that another file had.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub(super) async fn fingerprints(
        mut self,
        reader: &ChangeReader,
        own: &[OwnRule],
        files: &[&FileChange],
    ) -> Result<Vec<String>> {
        let mut found = reader.secrets_elsewhere(std::mem::take(&mut self.secrets), files).await?;
        found.extend(copied(reader, std::mem::take(&mut self.new_files)).await?);
        let lost = files.iter().filter(|file| file.removed().next().is_some());
        let wanted = lost.filter(|file| self.places.iter().any(|place| place.may_be_of(file)));
        let wanted: Vec<&FileChange> = wanted.copied().collect();
        for batch in reader.batches(&wanted) {
            let texts = reader.base_texts(batch).await?;
            for file in batch {
                let Some(text) = texts.get(&file.base.blob) else { continue };
                let removed: LineSet = file.removed().collect();
                let mut taken = self.take_equal(file, text, &removed);
                if self.has_alike(file, text, &removed) {
                    let (rules, path) = (reader.rules(own).await?, old_path(file).to_owned());
                    let text = text.clone();
                    let said = move || {
                        let source = SourceText { path: &path, text: &text, touched: &removed };
                        let said = examine(&rules, source).findings;
                        said.into_iter().map(|it| (own_lines(&it, &text), it)).collect()
                    };
                    let mut said: Vec<_> = reader.compute(said).await.unwrap_or_default();
                    // What came from here is not taken again, nor what is here still.
                    let here = self.places.iter().filter(|it| it.finding.path == file.path);
                    here.chain(&taken).for_each(|place| _ = place.take_of(&mut said));
                    let moved =
                        |place: &mut Place| place.may_be_of(file) && place.take_of(&mut said);
                    taken.extend(self.places.extract_if(.., moved));
                }
                found.extend(taken.into_iter().map(|place| place.finding.fingerprint));
            }
        }
        Ok(found)
    }

    /// Takes out those whose lines, and one beside them, were removed from `file`.
    fn take_equal(&mut self, file: &FileChange, text: &str, removed: &LineSet) -> Vec<Place> {
        let mut gone: HashMap<String, usize> = HashMap::new();
        let lines = Lines::new(text);
        lines.touched(removed).for_each(|(_, line)| *gone.entry(bare(line)).or_default() += 1);
        let moved = |place: &mut Place| {
            let moved = place.may_be_of(file)
                && place.around.iter().any(|line| gone.contains_key(line))
                && place.lines.iter().all(|line| gone.get(line).is_some_and(|n| *n > 0));
            if moved {
                for line in &place.lines {
                    gone.entry(line.clone()).and_modify(|count| *count = count.saturating_sub(1));
                }
            }
            moved
        };
        self.places.extract_if(.., moved).collect()
    }

    /// Whether `file` lost a line much like one of theirs.
    fn has_alike(&self, file: &FileChange, text: &str, removed: &LineSet) -> bool {
        let places = self.places.iter().filter(|place| place.may_be_of(file));
        let told: Vec<&HashSet<String>> = places.flat_map(|place| &place.words).collect();
        let lines = Lines::new(text);
        let mut gone = lines.touched(removed).map(|(_, line)| words([line].into_iter()));
        !told.is_empty() && gone.any(|line| told.iter().any(|own| much_alike(own, &line)))
    }
}

impl Place {
    /// Whether it may come from there: another file of its kind.
    fn may_be_of(&self, file: &FileChange) -> bool {
        let path = &self.finding.path;
        self.sure && *path != file.path && kind(path) == kind(old_path(file))
    }

    /// Takes the same out of what the rules `said`, with the lines that it is about; whether it was there.
    fn take_of(&self, said: &mut Vec<(String, Finding)>) -> bool {
        let same = |(text, it): &(String, Finding)| {
            it.rule == self.finding.rule
                && (!it.flow.is_empty() && way(it) == way(&self.finding)
                    || much_alike(&words(text.lines()), &words(self.text.lines())))
        };
        said.iter().position(same).map(|at| said.swap_remove(at)).is_some()
    }
}

/// The fingerprints of what is said of those new files that the base side holds under another path.
async fn copied(reader: &ChangeReader, new_files: Vec<(String, String)>) -> Result<Vec<String>> {
    if new_files.is_empty() {
        return Ok(Vec::new());
    }
    let there = reader.change().base_files().await?;
    let there: HashSet<&String> = there.iter().map(|(_, file)| &file.blob).collect();
    let copies = new_files.into_iter().filter(|(blob, _)| there.contains(blob));
    Ok(copies.map(|(_, fingerprint)| fingerprint).collect())
}

/// Whether the same in a copied file is known. What a copy lets a request reach is a hole more, and what is left of debugging
/// counts each time; who writes a rule of their own wants to hear of each place.
fn may_be_copied(finding: &Finding) -> bool {
    finding.confidence > Finding::SOFTENED
        && match finding.source {
            Source::Secret => true,
            Source::Rule => {
                let left = finding.agent == Category::Pattern.word();
                !left && BuiltIn::named(&finding.rule).is_some()
            }
            _ => false,
        }
}

fn own_lines(finding: &Finding, text: &str) -> String {
    let lines = Lines::new(text);
    let own = (finding.start_line..=finding.end_line).filter_map(|n| lines.get(n));
    own.collect::<Vec<_>>().join("\n")
}

fn owned_words(line: &str) -> HashSet<String> {
    words([line].into_iter()).into_iter().map(str::to_owned).collect()
}

/// Whether two thirds of the words of both stand in the other.
fn much_alike<A: Borrow<str> + Eq + Hash>(a: &HashSet<A>, b: &HashSet<&str>) -> bool {
    let (fewer, more) = (a.len().min(b.len()), a.len().max(b.len()));
    fewer > 0
        && fewer * 3 >= more * 2
        && b.iter().filter(|word| a.contains(**word)).count() * 3 >= more * 2
}

fn old_path(file: &FileChange) -> &str {
    file.old_path.as_deref().unwrap_or(&file.path)
}

/// What tells the language, by the end of the name; pages and scripts are one, since code moves between them.
fn kind(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, end)| match end {
        "cjs" | "htm" | "html" | "jsx" | "mjs" | "svelte" | "ts" | "tsx" | "vue" => "js",
        "yaml" => "yml",
        "cc" | "cpp" | "h" | "hpp" => "c",
        other => other,
    })
}

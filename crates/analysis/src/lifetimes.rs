//! When versions and interfaces ended: lists of names with a day each, for the rules that name one.

use std::{collections::BTreeMap, sync::OnceLock};

use jiff::{ToSpan, civil::Date};

/// Columns: the list, the name as it stands in a text, the first day without it.
const LISTS: &str = include_str!("lifetimes.tsv");

/// Nothing breaks on the day on which one of these ends, and moving on takes a while: told a year later.
const PATIENT: [&str; 3] = ["images", "python", "ruby"];

/// What ended when.
#[derive(Debug)]
pub(super) struct Lifetimes {
    names: Vec<(&'static str, Date)>,
    patient: bool,
}

impl Lifetimes {
    /// The list of this name.
    ///
    /// # Errors
    /// When there is none; the text names those there are.
    pub(super) fn named(list: &str) -> Result<&'static Self, String> {
        static ALL: OnceLock<BTreeMap<&str, Lifetimes>> = OnceLock::new();
        let all = ALL.get_or_init(read);
        let known = || all.keys().copied().collect::<Vec<_>>().join(", ");
        all.get(list).ok_or_else(|| format!("no list `{list}`; the lists are {}", known()))
    }

    /// The day from which to tell what ended on this one.
    pub(super) fn told_from(&self, ended: Date) -> Date {
        if self.patient { ended.saturating_add(1.year()) } else { ended }
    }

    /// What stands in `text` as a whole word and ended first, and when it did.
    pub(super) fn first_in(&self, text: &str) -> Option<(&'static str, Date)> {
        let named = self.names.iter().filter(|(name, _)| has_word(text, name));
        named.min_by_key(|(_, day)| day).copied()
    }
}

fn read() -> BTreeMap<&'static str, Lifetimes> {
    let mut all = BTreeMap::new();
    for line in LISTS.lines() {
        // A test keeps every line in this form.
        if let [list, name, day] = line.split('\t').collect::<Vec<_>>()[..]
            && let Ok(day) = day.parse()
        {
            let list: &mut Lifetimes = all.entry(list).or_insert_with(|| Lifetimes {
                names: Vec::new(),
                patient: PATIENT.contains(&list),
            });
            list.names.push((name, day));
        }
    }
    all
}

fn has_word(text: &str, word: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(goes_on) && !after.starts_with(goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that cannot be read would be left out, and one written twice would count once.
    #[test]
    fn every_line_is_read() {
        let lines = LISTS.lines().filter(|line| !line.starts_with('#'));
        let mut names: Vec<&str> = lines.map(|line| line.rsplit_once('\t').unwrap().0).collect();
        let read: usize = read().values().map(|list| list.names.len()).sum();
        assert_eq!(read, names.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(read, names.len());
    }

    /// A version is not taken for one that begins like it, and what ends first decides.
    #[test]
    fn names_are_whole_words() {
        let images = Lifetimes::named("images").unwrap();
        let found = |text: &str| images.first_in(text).map(|(name, day)| (name, day.to_string()));
        for (image, expected) in [
            ("debian:10.3-slim", Some(("debian:10", "2024-06-30"))),
            ("alpine:3.100", None),
            ("php:7.2.34-fpm", Some(("php:7.2", "2020-11-30"))),
            ("python:3.11-buster", Some(("buster", "2024-06-30"))),
            ("mydebian:10", None),
        ] {
            let expected = expected.map(|(name, day)| (name, day.to_owned()));
            let line = format!("FROM {image} AS x");
            assert_eq!(found(&line), expected, "{image}");
        }
        let error = Lifetimes::named("nothing").unwrap_err();
        assert!(error.contains("functions, images"), "{error}");
    }
}

//! When versions and interfaces ended: lists of names with a day each, for the rules that name one.

use std::{collections::BTreeMap, sync::OnceLock};

use jiff::{ToSpan, civil::Date};

use super::lines::has_word;

/// Columns: the list, the name as it stands in a text, the first day without it.
const LISTS: &str = include_str!("lifetimes.tsv");

/// Nothing breaks on the day on which one of these ends, and moving on takes a while: told a year later.
const PATIENT: [&str; 3] = ["images", "python", "ruby"];

/// Something that ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// As it stands in a text.
    pub(super) name: &'static str,
    /// The first day without it.
    pub(super) day: Date,
    /// The first day on which to tell it.
    pub(super) told_from: Date,
}

/// What ended when.
#[derive(Debug, Default)]
pub(super) struct Lifetimes(Vec<End>);

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

    /// What stands in `text` as a whole word and ended first.
    pub(super) fn first_in(&self, text: &str) -> Option<End> {
        let named = self.0.iter().filter(|end| has_word(text, end.name));
        named.min_by_key(|end| end.day).copied()
    }
}

fn read() -> BTreeMap<&'static str, Lifetimes> {
    let mut all: BTreeMap<_, Lifetimes> = BTreeMap::new();
    for line in LISTS.lines() {
        // A test keeps every line in this form.
        if let [list, name, day] = line.split('\t').collect::<Vec<_>>()[..]
            && let Ok(day) = day.parse::<Date>()
        {
            let patience = if PATIENT.contains(&list) { 1.year() } else { 0.years() };
            let told_from = day.saturating_add(patience);
            all.entry(list).or_default().0.push(End { name, day, told_from });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that cannot be read would be left out, and one written twice would count once.
    #[test]
    fn every_line_is_read() {
        let lines = LISTS.lines().filter(|line| !line.starts_with('#'));
        let mut names: Vec<&str> = lines.map(|line| line.rsplit_once('\t').unwrap().0).collect();
        let read: usize = read().values().map(|list| list.0.len()).sum();
        assert_eq!(read, names.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(read, names.len());
    }

    /// A version is not taken for one that begins like it, and what ends first decides.
    #[test]
    fn names_are_whole_words() {
        let images = Lifetimes::named("images").unwrap();
        let found = |text: &str| images.first_in(text).map(|end| (end.name, end.day.to_string()));
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

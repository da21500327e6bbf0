//! What a rule says of many places alike is told once.

use std::collections::HashMap;

use crate::analysis::{Category, Finding, rules::BuiltIn};

/// More places than this of which a rule says the same get one finding, which names others.
const MAX_PLACES_OF_A_RULE: usize = 3;

/// What is decided once for many places, and spoken of once; and what happens to many files at once.
const DECIDED_ONCE: &[(&str, usize)] =
    &[("test-switched-off", MAX_PLACES_OF_A_RULE), ("unexpected-executable", 1)];

/// A built-in rule that speaks of more places in one file, or of style in one change, has met a habit there.
const A_HABIT: usize = 5;

/// Where a rule says the same of many whole files, of many places that one decision is about, or of a habit, the first
/// speaks for all. What concerns security is told each time; so is what a repository's own rule finds, since who writes
/// one wants to hear of each place.
pub(super) fn gather(findings: Vec<Finding>) -> Vec<Finding> {
    let most = |rule: &str| DECIDED_ONCE.iter().find(|(of, _)| *of == rule).map(|(_, most)| *most);
    let where_habits_are = |f: &Finding| {
        let everywhere = f.agent == Category::Style.word();
        [f.rule.clone(), if everywhere { String::new() } else { f.path.clone() }]
    };
    let may_be_habit =
        |f: &Finding| f.agent != Category::Security.word() && BuiltIn::named(&f.rule).is_some();
    let mut habits: HashMap<[String; 2], usize> = HashMap::new();
    for finding in findings.iter().filter(|f| may_be_habit(f)) {
        *habits.entry(where_habits_are(finding)).or_default() += 1;
    }
    habits.retain(|_, places| *places > A_HABIT);
    let habit = |f: &Finding| may_be_habit(f) && habits.contains_key(&where_habits_are(f));
    let once = |f: &Finding| f.is_whole_file() || most(&f.rule).is_some() || habit(f);
    let said = |f: &Finding| match most(&f.rule) {
        None if habit(f) => where_habits_are(f),
        _ => [f.rule.clone(), f.body.clone()],
    };
    let place = |f: &Finding| match f.is_whole_file() {
        true => format!("`{}`", f.path),
        false => format!("`{}:{}`", f.path, f.start_line),
    };
    let mut places: HashMap<[String; 2], Vec<String>> = HashMap::new();
    for finding in findings.iter().filter(|f| once(f)) {
        places.entry(said(finding)).or_default().push(place(finding));
    }
    places.retain(|[rule, _], places| places.len() > most(rule).unwrap_or(MAX_PLACES_OF_A_RULE));
    let speaks = |mut finding: Finding| {
        let Some(places) = places.get(&said(&finding)).filter(|_| once(&finding)) else {
            return Some(finding);
        };
        let (_, others) = places.split_first().filter(|(first, _)| **first == place(&finding))?;
        let kind = if finding.is_whole_file() { "file" } else { "place" };
        let kind = format!("{kind}{}", if others.len() == 1 { "" } else { "s" });
        let named = &others[..others.len().min(MAX_PLACES_OF_A_RULE)];
        let more = match others.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        finding.body.push_str(&format!(
            "\n\nThe same is true of {} other {kind}: {}{more}.",
            others.len(),
            named.join(", ")
        ));
        Some(finding)
    };
    findings.into_iter().filter_map(speaks).collect()
}

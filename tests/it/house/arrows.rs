//! The import rule: every path from one room into another, judged by the table.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Source,
    paths::{Found, Place, found, module_of},
    table::{allowed, is_adapter, types_only},
};

/// The most re-exports a name is followed through.
const HOPS: usize = 16;

/// Every forbidden arrow, as `file:line: from → to`.
pub(super) fn violations(sources: &[Source]) -> Vec<String> {
    let modules: BTreeSet<Place> = sources.iter().map(|source| module_of(&source.path)).collect();
    let files: Vec<_> = sources
        .iter()
        .map(|source| (source, found(&source.path, &source.text, &modules)))
        .collect();
    let exports: BTreeMap<Place, Place> = files
        .iter()
        .flat_map(|(_, found)| found)
        .filter_map(|found| Some((found.exported.clone()?, found.target.clone())))
        .filter(|(name, target)| name != target)
        .collect();
    let mut violations = Vec::new();
    for (source, found) in &files {
        let room = room_of(&source.path);
        for path in found {
            for reason in judge(&room, path, &exports) {
                violations.push(format!("{}:{}: {reason}", source.path, path.line));
            }
        }
    }
    violations.dedup();
    violations
}

/// The room a file belongs to: `lib` and `main` for the two roots.
fn room_of(path: &str) -> String {
    let root = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    module_of(path).first().map_or(root, String::as_str).to_owned()
}

fn judge(room: &str, path: &Found, exports: &BTreeMap<Place, Place>) -> Vec<String> {
    let mut reasons: Vec<_> =
        followed(&path.target, exports).iter().filter_map(|place| forbidden(room, place)).collect();
    if path.exported.as_ref().is_some_and(|name| name.last().is_some_and(|last| last == "*"))
        && path.target.first().is_some_and(|to| to != room || behind_port(&path.target))
    {
        reasons.push(format!("`pub use {}::*` hides what it exports", path.target.join("::")));
    }
    if path.target.is_empty() && path.renamed && reasons.is_empty() {
        reasons.push("another name for the crate's root".to_owned());
    }
    reasons
}

/// The place, and every place its name is re-exported from.
fn followed(place: &Place, exports: &BTreeMap<Place, Place>) -> Vec<Place> {
    let mut places = vec![place.clone()];
    while places.len() < HOPS {
        let last = &places[places.len() - 1];
        // `pub use decode::decode` gives a function the name of its module: not a hop.
        let hop = (1..=last.len()).find_map(|n| {
            let to = exports.get(&last[..n]).filter(|to| !to.starts_with(&last[..n]))?;
            Some([&to[..], &last[n..]].concat())
        });
        match hop {
            Some(next) if !places.contains(&next) => places.push(next),
            _ => break,
        }
    }
    places
}

fn forbidden(room: &str, place: &Place) -> Option<String> {
    let Some(to) = place.first() else {
        return (room != "lib").then(|| format!("{room} → the crate's root"));
    };
    if to == room || to == "base" {
        return None;
    }
    if allowed(to).is_none() {
        return Some(format!("{room} → `{to}`, which is no room"));
    }
    if !allowed(room).is_some_and(|rooms| rooms.contains(&to.as_str())) {
        return Some(format!("{room} → {to}"));
    }
    // Settings are made of the options their owners declare, an adapter's too.
    let options = room == "config" && place.last().is_some_and(|name| name.ends_with("Options"));
    if behind_port(place) && room != "app" && !options {
        return Some(format!("{room} → {to}::{} (an adapter, not the port)", place[1]));
    }
    let is_type = |name: &String| name.starts_with(char::is_uppercase);
    if types_only(room, to) && !place.iter().any(is_type) {
        return Some(format!("{room} → {} (only types may be imported)", place.join("::")));
    }
    None
}

fn behind_port(place: &Place) -> bool {
    place.get(1).is_some_and(|name| is_adapter(&place[0], name))
}

//! House rules, kept by reading the sources: who may import whom, how long a file may be, and what
//! tests and production code must not hold.
//!
//! The reader works on tokens, so it sees paths inside macro calls and none in strings or comments.
//! Laid out: `table` (the rules themselves) · `paths` (paths in a file, resolved) · `arrows` (the
//! import rule) · `telemetry` (what logs and metrics are
//! called) · `docs` (what the docs name) · `habits` (the rest) · `checker` (tests of the checker on small sources).

mod arrows;
mod checker;
mod docs;
mod habits;
mod paths;
mod table;
mod telemetry;

use std::{fs, path::Path};

/// A source file: its path from the project's root, `/`-separated, and its text.
#[derive(Clone)]
pub(super) struct Source {
    path: String,
    text: String,
}

/// All Rust files under a folder of the project.
fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut folders) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let inside = path.strip_prefix(root).unwrap();
                let parts: Vec<_> = inside.iter().map(|part| part.to_str().unwrap()).collect();
                let text = fs::read_to_string(&path).unwrap();
                found.push(Source { path: parts.join("/"), text });
            }
        }
    }
    assert!(!found.is_empty(), "no sources under {folder}");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// All sources that ship: the library, its binary and the crates beside them.
fn shipped() -> Vec<Source> {
    let of_crates = sources("crates").into_iter().filter(|source| source.path.contains("/src/"));
    sources("src").into_iter().chain(of_crates).collect()
}

fn none(violations: &[String]) {
    assert!(violations.is_empty(), "{} violation(s):\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    none(&arrows::violations(&shipped()));
}

#[test]
fn every_module_of_the_library_is_in_the_table() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"));
    let rooms = paths::modules_declared(&text.unwrap());
    assert!(rooms.contains(&"queue".to_owned()), "{rooms:?}");
    let strangers = rooms.iter().filter(|room| table::allowed(room).is_none());
    none(
        &strangers
            .map(|room| format!("src/lib.rs: `{room}` is not in the table"))
            .collect::<Vec<_>>(),
    );
}

/// Every function on the way of a message is where ARCHITECTURE.md says.
#[test]
fn the_way_of_a_message_names_functions_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let named = |line: &str| {
        let (_, rest) = line.strip_prefix("| ")?.split_once(". ")?;
        let (path, function) = rest.split('`').nth(1)?.split_once("::")?;
        Some((path.to_owned(), function.to_owned()))
    };
    let steps: Vec<_> = text.lines().filter_map(named).collect();
    assert!((1..=12).contains(&steps.len()), "{} steps", steps.len());
    for (path, function) in steps {
        let source = fs::read_to_string(root.join(&path)).unwrap();
        assert!(source.contains(&format!("fn {function}(")), "{path} has no `{function}`");
    }
}

#[test]
fn files_are_short() {
    none(&habits::too_long(&shipped()));
}

#[test]
fn production_code_has_no_test_forks() {
    none(&habits::test_forks(&shipped()));
}

#[test]
fn tests_neither_sleep_nor_are_skipped() {
    none(&habits::sleeps_and_ignores(&sources("tests")));
}

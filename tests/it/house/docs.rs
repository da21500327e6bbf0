//! What the docs name is there, and what there is to set is in the docs.

use std::{collections::BTreeSet, fs, path::Path};

use regex::Regex;
use verdict::config::known_keys;

use super::{none, shipped, telemetry::documented};

/// README.md and everything in docs/, one text after the other.
fn docs() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.chain([root.join("README.md"), root.join("ARCHITECTURE.md")]);
    let pages = pages.filter(|path| path.extension().is_some_and(|ext| ext == "md"));
    pages.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
}

/// The keys of a page: in full, or in a table whose head says `key of PREFIX`.
fn keys(page: &str) -> BTreeSet<String> {
    let (mut found, mut prefix) = (BTreeSet::new(), None);
    for line in page.lines() {
        let names = line.split('`').skip(1).step_by(2);
        if !line.starts_with('|') {
            prefix = None;
        } else if let Some(head) = line.strip_prefix("| key of `") {
            prefix = head.split('`').next();
        } else if let Some(prefix) = prefix {
            let cell = line.trim_start_matches('|').split('|').next().unwrap_or_default();
            found.extend(cell.split('`').skip(1).step_by(2).map(|key| format!("{prefix}.{key}")));
        }
        found.extend(names.map(str::to_owned));
    }
    found
}

#[test]
fn every_setting_is_described() {
    let described: BTreeSet<_> = docs().iter().flat_map(|(_, page)| keys(page)).collect();
    let missing = known_keys().iter().filter(|key| !described.contains(&**key));
    none(&missing.map(|key| format!("`{key}` is in no page of docs/")).collect::<Vec<_>>());
}

#[test]
fn the_docs_name_no_metric_that_is_not_there() {
    let known = documented("Metrics");
    let name =
        Regex::new(r"\bverdict_(?:[a-z]+_)+(?:total|seconds|info|depth|hand|paused)\b").unwrap();
    let mut wrong = Vec::new();
    for (path, page) in docs() {
        let named = name.find_iter(&page).filter(|name| !known.contains(name.as_str()));
        wrong.extend(named.map(|name| format!("{path}: {}", name.as_str())));
    }
    none(&wrong);
}

/// Each line that the runbook and the limits quote as logged is logged somewhere.
#[test]
fn the_logs_the_runbook_quotes_are_logged() {
    let quoted = Regex::new(r"\blog ((?:`[^`]+`(?:, then | or )?)+)").unwrap();
    let sources: String = shipped().into_iter().map(|source| source.text).collect();
    let (mut wrong, mut found) = (Vec::new(), 0);
    for (path, page) in docs() {
        for lines in quoted.captures_iter(&page) {
            for line in lines[1].split('`').skip(1).step_by(2) {
                found += 1;
                if !sources.contains(&format!("\"{line}")) {
                    wrong.push(format!("{path}: nothing logs `{line}`"));
                }
            }
        }
    }
    none(&wrong);
    assert!(found > 20, "only {found} lines were found");
}

/// What proves each line of the workflows' specifications is there: each row of the tables names tests
/// of the file in the table's head, others by their path, or a benchmark.
#[test]
fn what_the_workflows_are_proved_by_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let manifest = read("Cargo.toml");
    let page = read("docs/workflows.md");
    let (_, tables) = page.split_once("\n## What shows what\n").unwrap();
    let (mut wrong, mut file, mut rows) = (Vec::new(), String::new(), 0);
    for line in tables.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let &[what, shown] = &cells[..] else {
            wrong.push(format!("two cells are expected: {line}"));
            continue;
        };
        let names: Vec<_> = shown.split('`').skip(1).step_by(2).collect();
        if shown.starts_with("test in ") {
            file = format!("tests/it/workflows/{}", names.join(""));
            continue;
        }
        rows += 1;
        if names.is_empty() {
            wrong.push(format!("nothing shows `{what}`"));
        }
        for name in names {
            let there = match (name.strip_prefix("cargo bench --bench "), name.rsplit_once("::")) {
                (Some(bench), _) => manifest.contains(&format!("[[bench]]\nname = \"{bench}\"")),
                (None, Some((path, test))) => {
                    let file = format!("tests/it/{}.rs", path.replace("::", "/"));
                    is_test(&read(&file), test)
                }
                (None, None) => is_test(&read(&file), name),
            };
            if !there {
                wrong.push(format!("`{what}`: there is no `{name}` (looked for in {file})"));
            }
        }
    }
    none(&wrong);
    assert!(rows > 55, "only {rows} rows were found");
}

/// Whether the text has a test of this name.
fn is_test(text: &str, name: &str) -> bool {
    let test = format!(r"#\[(tokio::)?test[^\n]*\]\n(#[^\n]*\n)*(async )?fn {name}\(");
    Regex::new(&test).unwrap().is_match(text)
}

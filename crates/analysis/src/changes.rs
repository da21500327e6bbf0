//! Checks that look at a change as a whole, or at both sides of a file: lock files left behind,
//! tests switched off or gone, licence headers dropped. Pure; whoever calls brings the texts.

use std::{collections::HashSet, sync::OnceLock};

use regex::Regex;

use super::{
    Finding, Lines, SourceText,
    check_info::{LICENCE_HEADER_DROPPED, LOCK_NOT_UPDATED, TEST_SWITCHED_OFF},
    checks::At,
    globs,
    lines::is_comment,
};

/// A manifest, the lock files that may go with it, and what a line that names a dependency looks
/// like in it.
struct Manifest {
    name: &'static str,
    locks: &'static [&'static str],
    dependency: &'static str,
}

const MANIFESTS: &[Manifest] = &[
    Manifest {
        name: "package.json",
        locks: &["package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock"],
        dependency: r#"^\s*"@?[a-z][\w./-]*":\s*"(npm:|[~^>=<]{0,2}\s*\d)[^"]*",?$"#,
    },
    Manifest {
        name: "composer.json",
        locks: &["composer.lock"],
        dependency: r#"^\s*"[a-z][\w.-]*/[\w.-]+":\s*"[^"]*\d[^"]*",?$"#,
    },
    Manifest {
        name: "Cargo.toml",
        locks: &["Cargo.lock"],
        dependency: r#"^[a-z][\w-]*\s*=\s*("[~^=]?\d|\{.*\bversion\s*=)"#,
    },
    Manifest { name: "go.mod", locks: &["go.sum"], dependency: r"^\s*(require\s+)?\S+\.\S+\s+v\d" },
    Manifest { name: "Gemfile", locks: &["Gemfile.lock"], dependency: r"^\s*gem\s" },
    Manifest {
        name: "pyproject.toml",
        locks: &["poetry.lock", "uv.lock", "pdm.lock"],
        dependency: r#"^\s*("[A-Za-z][\w.\[\]-]*\s*[<>=~!][^"]*",?$|[a-z][\w-]*\s*=\s*"[~^]\d)"#,
    },
];

/// Keys that look like a dependency and are none.
const NO_DEPENDENCIES: &[&str] =
    &["version", "edition", "rust-version", "resolver", "node", "npm", "target-version"];

/// The lock files one of which should change with this manifest, since a line that names a
/// dependency is touched; empty when there is no such line. Paths from the repository's root.
pub fn locks_of(source: SourceText<'_>, lines: &Lines<'_>) -> Vec<String> {
    let (folder, name) = match source.path.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), source.path),
    };
    let Some(manifest) = MANIFESTS.iter().find(|m| m.name == name) else { return Vec::new() };
    let Ok(dependency) = Regex::new(manifest.dependency) else { return Vec::new() };
    let key = |line: &str| {
        let end = |c: char| matches!(c, '=' | ':' | ' ' | '"');
        line.trim_start_matches([' ', '\t', '"']).split(end).next().unwrap_or("").to_owned()
    };
    let names_one =
        |line: &str| dependency.is_match(line) && !NO_DEPENDENCIES.contains(&key(line).as_str());
    if !lines.touched(source.touched).any(|(_, line)| names_one(line)) {
        return Vec::new();
    }
    manifest.locks.iter().map(|lock| format!("{folder}{lock}")).collect()
}

/// About a manifest whose lock file stands in the repository and did not change with it.
pub fn lock_left_behind(manifest: &str, lock: &str) -> Finding {
    let at = At { path: manifest, number: 0, line: "" };
    let title = format!("`{lock}` does not know of this change");
    Finding { title, ..at.finding(&LOCK_NOT_UPDATED) }
}

/// A file with more tests than this that are switched off keeps them so on purpose.
const MANY_SWITCHED_OFF: usize = 12;

/// Tests that the touched lines switch off without saying why.
pub fn switched_off(source: SourceText<'_>, lines: &Lines<'_>) -> Vec<Finding> {
    static SKIP: OnceLock<Option<Regex>> = OnceLock::new();
    let skip = SKIP.get_or_init(|| {
        Regex::new(
            r##"(?x)^\s*(
                @(pytest\.mark|unittest)\.skip(\(\s*\))?\s*$
              | @(Disabled|Ignore)(\(\s*\))?\s*(//.*)?$
              | \#\[ignore\]\s*$
              | (xit|xdescribe|xtest|(it|test|describe)\.skip)\s*\(\s*(["'`]|$)
              | (t|b)\.(Skip|SkipNow)\(\s*\)\s*$
            )"##,
        )
        .ok()
    });
    let Some(skip) = skip.as_ref().filter(|_| globs::is_test(source.path)) else {
        return Vec::new();
    };
    let touched = lines.touched(source.touched).filter(|(_, line)| skip.is_match(line));
    let told: Vec<Finding> = touched
        .filter(|(number, line)| !explained(lines, *number, line))
        .map(|(number, line)| At { path: source.path, number, line }.finding(&TEST_SWITCHED_OFF))
        .collect();
    let was_off = |number: &u32| {
        !source.touched.contains(*number) && lines.get(*number).is_some_and(|it| skip.is_match(it))
    };
    let is_habit = || (1..=lines.count()).filter(was_off).nth(MANY_SWITCHED_OFF).is_some();
    if told.is_empty() || is_habit() { Vec::new() } else { told }
}

/// Whether a comment stands on the line or the one before, or begins the test in words and not in code; or a condition decides
/// it: before the call, or in place of a name in it.
fn explained(lines: &Lines<'_>, number: u32, line: &str) -> bool {
    let comment = |line: &str| {
        let line = line.trim_start();
        line.contains("//")
            || line.contains(" # ")
            || line.starts_with("# ")
            || line.starts_with('*')
    };
    // Annotations may stand in between.
    let other = |line: &&str| !line.trim_start().starts_with(['@', '#']) || line.contains("# ");
    let above = (1..number).rev().filter_map(|n| lines.get(n)).find(other);
    let below = (number + 1..=lines.count()).filter_map(|n| lines.get(n)).find(other);
    let remark = |line: &str| ["//", "/*", "# "].iter().any(|it| line.trim_start().starts_with(it));
    let decided = |line: &str| line.trim_start().starts_with("if ") || line.ends_with("else {");
    let named = |line: &str| line.trim_start().starts_with(['"', '\'', '`']);
    let conditional = line.trim_end().ends_with('(') && !lines.get(number + 1).is_some_and(named);
    let words = |line: &&str| !line.contains(['(', '{', '}', ';', '=']);
    let begins = lines.get(number + 1).filter(|_| line.trim_end().ends_with('{'));
    comment(line)
        || conditional
        || begins.filter(words).is_some_and(comment)
        || line.trim_start().starts_with(['@', '#']) && below.is_some_and(remark)
        || above.is_some_and(|above| comment(above) || decided(above))
}

/// What a notice says that was certainly one.
const NOTICE: &[&str] =
    &["copyright (c)", "copyright ©", "spdx-license-identifier", "licensed under the"];

/// What is left of a notice in other words.
const SOME_NOTICE: &[&str] = &["copyright", "licen", "©"];

/// Whether one of `words` stands in the first lines.
fn says(text: &str, lines: usize, words: &[&str]) -> bool {
    text.lines().take(lines).any(|line| {
        let low = line.to_lowercase();
        words.iter().any(|word| low.contains(word))
    })
}

/// Whether most lines of the base that say something stand in the head: a text written anew needs
/// no old notice.
fn is_kept(base: &str, head: &str) -> bool {
    let long = |text| str::lines(text).map(str::trim).filter(|line| line.len() > 8);
    let head: HashSet<&str> = long(head).collect();
    let base: Vec<&str> = long(base).skip_while(|line| is_comment(line)).collect();
    let kept = base.iter().filter(|line| head.contains(*line)).count();
    kept * 2 >= base.len()
}

/// A licence or copyright notice that stood at the top of the base and is gone. Texts about licences
/// come and go.
pub fn header_dropped(path: &str, base: &str, head: &str) -> Option<Finding> {
    let text = globs::is_prose(path) || globs::is_test(path);
    if text || path.to_ascii_lowercase().contains("licen") {
        return None;
    }
    let gone = says(base, 25, NOTICE) && !says(head, 80, SOME_NOTICE) && is_kept(base, head);
    (gone && !head.trim().is_empty())
        .then(|| At { path, number: 0, line: "" }.finding(&LICENCE_HEADER_DROPPED))
}

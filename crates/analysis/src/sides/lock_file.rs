//! A lock file that was made for other requirements than those of its manifest.
//!
//! Lock files are refreshed all the time without a change of the manifest, and that is right. Only
//! where the lock file repeats the requirements, or must name what is required, and does not, it is
//! certainly wrong. What the manifest or the lock file may replace is left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{about::LOCK_FILE, lock_packages as packages, lock_readers as readers};
use crate::{Finding, checks::At};

/// Requirements by name, each with the versions asked for; `None` for one that cannot be compared.
pub(super) type Requirements = BTreeMap<String, Vec<Option<String>>>;

/// What a manifest and a lock file say about what is required.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// What the manifest requires, as far as the lock file must name it.
    pub(super) required: Requirements,
    /// What the lock file names.
    pub(super) locked: Requirements,
    /// What it may name, besides.
    pub(super) allowed: BTreeSet<String>,
    /// Whether it names requirements only.
    pub(super) complete: bool,
}

/// The texts to compare.
#[derive(Debug, Clone, Copy)]
pub(super) struct Texts<'a> {
    pub(super) manifest: &'a str,
    pub(super) lock: &'a str,
    /// The folder of the manifest from that of the lock file on; empty when it is the same.
    pub(super) member: &'a str,
}

/// A kind of lock file.
pub struct Format {
    lock: &'static str,
    manifest: &'static str,
    /// What fails, in words.
    refuses: &'static str,
    /// Whether one lock file may serve manifests in folders below it.
    members: bool,
    /// Files that make it another matter, in a folder above or the same.
    unless: &'static [&'static str],
    read: fn(Texts<'_>) -> Option<Said>,
}

const FORMATS: &[Format] = &[
    format("package-lock.json", "package.json", "`npm ci` refuses", true, packages::npm),
    format("npm-shrinkwrap.json", "package.json", "`npm ci` refuses", true, packages::npm),
    format(
        "pnpm-lock.yaml",
        "package.json",
        "`pnpm install --frozen-lockfile` refuses",
        true,
        packages::pnpm,
    ),
    format(
        "yarn.lock",
        "package.json",
        "`yarn install` as CI runs it refuses",
        true,
        packages::yarn,
    ),
    format(
        "composer.lock",
        "composer.json",
        "`composer install` refuses",
        false,
        readers::composer,
    ),
    format("Cargo.lock", "Cargo.toml", "`cargo build --locked` refuses", true, readers::cargo),
    format("Pipfile.lock", "Pipfile", "`pipenv install --deploy` refuses", false, readers::pipenv),
    format("poetry.lock", "pyproject.toml", "`poetry install` refuses", false, readers::poetry),
    format("uv.lock", "pyproject.toml", "`uv sync --locked` refuses", true, readers::uv),
    format(
        "Gemfile.lock",
        "Gemfile",
        "`bundle install --deployment` refuses",
        false,
        readers::gems,
    ),
    Format {
        unless: &["go.work", "vendor/modules.txt"],
        ..format("go.sum", "go.mod", "`go build` refuses", false, readers::go)
    },
];

const fn format(
    lock: &'static str,
    manifest: &'static str,
    refuses: &'static str,
    members: bool,
    read: fn(Texts<'_>) -> Option<Said>,
) -> Format {
    Format { lock, manifest, refuses, members, unless: &[], read }
}

impl Format {
    /// The kind of the lock file at `path`.
    pub fn of(path: &str) -> Option<&'static Self> {
        let name = split(path).1;
        FORMATS.iter().find(|f| f.lock == name)
    }

    /// The manifest beside the lock file at `path`.
    pub fn manifest_beside(&self, path: &str) -> String {
        format!("{}{}", split(path).0, self.manifest)
    }

    /// Files that make it another matter, for a lock file at `path`.
    pub fn rivals(&self, path: &str) -> Vec<String> {
        let folders: Vec<String> = folders_above(path).collect();
        let named = |file: &&str| folders.iter().map(|f| format!("{f}{file}")).collect::<Vec<_>>();
        // One further up may be the one that counts, and this one a remainder.
        let (own, name) = split(path);
        let above = folders
            .iter()
            .filter(|f| self.members && f.as_str() != own)
            .map(|f| format!("{f}{name}"));
        self.unless.iter().flat_map(named).chain(above).collect()
    }

    /// What the lock file at `lock` was made for and its manifest at `manifest` does not say, in
    /// words; nothing when they agree or when either cannot be read. Each is a path and a text.
    pub fn contradictions(&self, manifest: (&str, &str), lock: (&str, &str)) -> Vec<String> {
        let member = split(manifest.0).0.strip_prefix(split(lock.0).0).unwrap_or_default();
        let member = member.trim_end_matches('/');
        if !member.is_empty() && !self.members {
            return Vec::new();
        }
        let texts = Texts { manifest: manifest.1, lock: lock.1, member };
        (self.read)(texts).map(|said| said.contradictions()).unwrap_or_default()
    }

    /// About a lock file, or a manifest that changed without it; `changed` says whether the lock
    /// file did.
    pub fn finding(&self, manifest: &str, lock: &str, changed: bool, how: &str) -> Finding {
        let at = At { path: if changed { lock } else { manifest }, number: 0, line: "" };
        let place = match changed {
            true if manifest == self.manifest_beside(lock) => String::new(),
            true => format!("Of `{manifest}`: "),
            false => format!("In `{lock}`, which was not changed: "),
        };
        let body = format!("{place}{how}. {} such a pair.\n\n{}", self.refuses, LOCK_FILE.advice);
        let (title, confidence) = (LOCK_FILE.title, LOCK_FILE.confidence.get());
        at.finding(LOCK_FILE.id, LOCK_FILE.category, LOCK_FILE.severity, confidence, title, &body)
    }
}

/// Where lock files for the manifest at `path` may stand: those of each folder, the nearest first,
/// each with its kind.
pub fn locks_for(path: &str) -> Vec<Vec<(String, &'static Format)>> {
    let (own, name) = split(path);
    let fitting = |folder: &str| {
        let fits = |f: &&Format| f.manifest == name && (f.members || folder == own);
        FORMATS.iter().filter(fits).map(|f| (format!("{folder}{}", f.lock), f)).collect::<Vec<_>>()
    };
    folders_above(path).map(|folder| fitting(&folder)).filter(|all| !all.is_empty()).collect()
}

/// Folder with its slash, and name.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |at| at + 1))
}

/// The folder of a path and those above it, with their slashes, the nearest first.
fn folders_above(path: &str) -> impl Iterator<Item = String> + '_ {
    let ends = path.rmatch_indices('/').map(|(at, _)| path[..=at].to_owned());
    ends.chain([String::new()])
}

impl Said {
    fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, wanted) in &self.required {
            let Some(locked) = self.locked.get(name) else {
                found.push(format!("`{name}` is required and not locked"));
                continue;
            };
            let known = |all: &'_ [Option<String>]| all.iter().all(Option::is_some);
            let agree = wanted.iter().any(|w| locked.contains(w));
            if known(wanted) && known(locked) && !agree {
                let first =
                    |all: &[Option<String>]| all.first().cloned().flatten().unwrap_or_default();
                let (wanted, locked) = (first(wanted), first(locked));
                found.push(format!("`{name}` is required as `{wanted}` and locked as `{locked}`"));
            }
        }
        let known =
            |name: &&String| self.required.contains_key(*name) || self.allowed.contains(*name);
        let extra = self.locked.keys().filter(|name| self.complete && !known(name));
        found.extend(extra.map(|name| format!("`{name}` is locked as a requirement and is none")));
        found
    }
}

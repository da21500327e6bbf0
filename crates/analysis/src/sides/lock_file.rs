//! `lock-contradicts-manifest`: a lock file made for other requirements than its manifest has.
//!
//! A lock file may be refreshed without a change of the manifest. It is wrong only where it repeats
//! the requirements, or must name each of them, and differs. Requirements that the manifest or the
//! lock file may override are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{CheckInfo, lock_packages as packages, lock_readers as readers};
use crate::{Category, Confidence, Finding, Severity, checks::At};

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "lock-contradicts-manifest",
    category: Category::Logic,
    severity: Severity::Medium,
    confidence: Confidence::hundredths(85),
    title: "The lock file contradicts its manifest",
    problem: "The lock file was made for other requirements than those in the manifest beside it, so a clean \
              installation fails.",
    advice: "Make the lock file anew from the manifest, in the same change.",
    reads: |_| false,
};

/// Requirements by name, each with the versions requested; `None` for one that cannot be compared.
pub(super) type Requirements = BTreeMap<String, Vec<Option<String>>>;

/// The requirements of a manifest and of its lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// The requirements of the manifest that the lock file must name.
    pub(super) required: Requirements,
    /// The requirements that the lock file names.
    pub(super) locked: Requirements,
    /// Names that it may have besides.
    pub(super) allowed: BTreeSet<String>,
    /// Whether every name in `locked` must be a requirement.
    pub(super) complete: bool,
}

/// The texts to compare.
#[derive(Debug, Clone, Copy)]
pub(super) struct Texts<'a> {
    pub(super) manifest: &'a str,
    pub(super) lock: &'a str,
    /// The manifest's folder relative to the lock file's; empty if it is the same.
    pub(super) member: &'a str,
}

/// A format of lock files.
pub struct Format {
    lock: &'static str,
    manifest: &'static str,
    /// The command that fails, in words.
    refuses: &'static str,
    /// Whether one lock file may serve manifests in folders below it.
    members: bool,
    /// Files in the same folder or above that exempt the lock file.
    unless: &'static [&'static str],
    read: fn(Texts<'_>) -> Option<Comparison>,
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
    read: fn(Texts<'_>) -> Option<Comparison>,
) -> Format {
    Format { lock, manifest, refuses, members, unless: &[], read }
}

impl Format {
    /// The format of the lock file at `path`.
    pub fn of(path: &str) -> Option<&'static Self> {
        let name = split(path).1;
        FORMATS.iter().find(|f| f.lock == name)
    }

    /// The manifest beside the lock file at `path`.
    pub fn manifest_beside(&self, path: &str) -> String {
        format!("{}{}", split(path).0, self.manifest)
    }

    /// Files that exempt the lock file at `path` if they exist.
    pub fn rivals(&self, path: &str) -> Vec<String> {
        let folders: Vec<String> = folders_above(path).collect();
        let named = |file: &&str| folders.iter().map(|f| format!("{f}{file}")).collect::<Vec<_>>();
        // A lock file further up may be the one in use, and this one a remainder.
        let (own, name) = split(path);
        let above = folders
            .iter()
            .filter(|f| self.members && f.as_str() != own)
            .map(|f| format!("{f}{name}"));
        self.unless.iter().flat_map(named).chain(above).collect()
    }

    /// How the lock file and its manifest differ, in words; nothing if they agree or one cannot be
    /// parsed. Each is a path and a text.
    pub fn contradictions(&self, manifest: (&str, &str), lock: (&str, &str)) -> Vec<String> {
        let member = split(manifest.0).0.strip_prefix(split(lock.0).0).unwrap_or_default();
        let member = member.trim_end_matches('/');
        if !member.is_empty() && !self.members {
            return Vec::new();
        }
        let texts = Texts { manifest: manifest.1, lock: lock.1, member };
        (self.read)(texts).map(|comparison| comparison.contradictions()).unwrap_or_default()
    }

    /// The finding about a lock file; `changed` says whether the change touches it, else the finding
    /// is on the manifest.
    pub fn finding(&self, manifest: &str, lock: &str, changed: bool, how: &str) -> Finding {
        let at = At { path: if changed { lock } else { manifest }, number: 0, line: "" };
        let place = match changed {
            true if manifest == self.manifest_beside(lock) => String::new(),
            true => format!("Of `{manifest}`: "),
            false => format!("In `{lock}`, which was not changed: "),
        };
        let body = format!("{place}{how}. {} such a pair.\n\n{}", self.refuses, INFO.advice);
        Finding { body, ..at.finding(&INFO) }
    }
}

/// The possible lock files of the manifest at `path`, each with its format: a list for each folder,
/// the nearest first.
pub fn locks_for(path: &str) -> Vec<Vec<(String, &'static Format)>> {
    let (own, name) = split(path);
    let fitting = |folder: &str| {
        let fits = |f: &&Format| f.manifest == name && (f.members || folder == own);
        FORMATS.iter().filter(fits).map(|f| (format!("{folder}{}", f.lock), f)).collect::<Vec<_>>()
    };
    folders_above(path).map(|folder| fitting(&folder)).filter(|all| !all.is_empty()).collect()
}

/// The folder, with its slash, and the name.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |at| at + 1))
}

/// The folder of a path and those above it, with their slashes, the nearest first.
fn folders_above(path: &str) -> impl Iterator<Item = String> + '_ {
    let ends = path.rmatch_indices('/').map(|(at, _)| path[..=at].to_owned());
    ends.chain([String::new()])
}

impl Comparison {
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

//! The first node: what changed, under which settings, and what will be read of it.

use std::collections::HashSet;

use super::{
    deps::ReviewDeps,
    input::Target,
    lock_files::without_lesser,
    own_rules::{self, OwnRule},
    settings::{self, Settings, complaint},
    sided::both_sides,
    state::{Ingested, ReviewFile},
    texts::{self, facts},
};
use crate::{
    analysis::{
        self, Finding, assign_fingerprints, changes, checks, globs,
        sides::{self, Checked},
    },
    base::{Fault, Result},
    forge::{COMPARED_BYTES, Content, EntryKind, FileChange, Range, Status},
};

/// Settings larger than this are not read.
const SETTINGS_BYTES: u64 = 256 * 1024;

/// Looks at the change. Secrets are found and masked here; they travel on as findings.
///
/// # Errors
/// When the forge does not answer, or what was asked for is not there.
pub async fn ingest(deps: &ReviewDeps, target: &Target) -> Result<Ingested> {
    let range = target.range().clone();
    let (settings, rules, mut findings) = read_settings(deps, &range).await?;
    let changes = deps.forge.changes(&range).await?;
    let mut files = plan(changes, &settings)?;
    let wanted: Vec<&FileChange> = files.iter().filter(|f| f.read).map(|f| &f.change).collect();
    let texts = texts::readings(deps, &range, &rules, &wanted).await?;
    let mut readings = texts.iter();
    let mut manifests = Vec::new();
    let listens = listening(&settings);
    for file in &mut files {
        if file.read
            && let Some(reading) = readings.next()
        {
            findings.extend(reading.secrets.iter().cloned());
            if !reading.locks.is_empty() {
                manifests.push((file.change.path.clone(), reading.locks.clone()));
            }
            file.note.clone_from(&reading.note);
            file.skipped.clone_from(&reading.skipped);
        } else if listens(&file.change.path) {
            findings.extend(checks::file(facts(&file.change, None)));
        }
    }
    findings.extend(left_behind(deps, &range, &files, manifests).await?);
    let checked: Vec<&Checked> = texts.iter().map(|reading| &reading.checked).collect();
    findings.extend(both_sides(deps, &range, &settings, &files, &checked).await?);
    without_lesser(&mut findings);
    assign_fingerprints(&mut findings);
    Ok(Ingested { range, settings, rules, files, findings })
}

/// A finding for each manifest whose lock file stands on the base side and is not in the change.
async fn left_behind(
    deps: &ReviewDeps,
    range: &Range,
    files: &[ReviewFile],
    manifests: Vec<(String, Vec<String>)>,
) -> Result<Vec<Finding>> {
    let paths = |f: &'_ ReviewFile| [Some(f.change.path.clone()), f.change.old_path.clone()];
    let changed: HashSet<String> = files.iter().flat_map(paths).flatten().collect();
    let mut findings = Vec::new();
    for (manifest, locks) in manifests {
        if locks.iter().any(|lock| changed.contains(lock)) {
            continue;
        }
        for lock in locks {
            // It need not be read: that it is there is enough.
            if deps.forge.base_file(range, &lock, 0).await?.is_some() {
                findings.push(changes::lock_left_behind(&manifest, &lock));
                break;
            }
        }
    }
    Ok(findings)
}

/// What the base side says about reviews: what cannot be used becomes a finding, and the defaults
/// hold in its place.
async fn read_settings(
    deps: &ReviewDeps,
    range: &Range,
) -> Result<(Settings, Vec<OwnRule>, Vec<Finding>)> {
    let (rules, mut findings) = own_rules::read(deps, range).await?;
    let text = match deps.forge.base_file(range, settings::FILE, SETTINGS_BYTES).await? {
        None => return Ok((Settings::default(), rules, findings)),
        Some(Content::Text { text, .. }) => Ok(text),
        Some(_) => {
            Err(settings::Problem { line: 0, cause: "it is not a text of reasonable size".into() })
        }
    };
    let parsed = text.and_then(|text| Ok((Settings::parse(&text)?, text)));
    let settings = match parsed {
        Err(problem) => {
            findings.push(bad_settings(&problem, "This review ran with the defaults."));
            Settings::default()
        }
        Ok((settings, text)) => {
            let set = own_rules::compile(&rules)?;
            let strangers = settings.strangers(&text, |id| analysis::knows(&set, id));
            let after = "`verdict rules list` shows them all.";
            findings.extend(strangers.iter().map(|problem| bad_settings(problem, after)));
            settings
        }
    };
    Ok((settings, rules, findings))
}

fn bad_settings(problem: &settings::Problem, after: &str) -> Finding {
    let title = "The repository's review settings cannot be used";
    complaint("bad-settings", settings::FILE, title, problem.line, &problem.cause, after)
}

/// Decides for each path whether its text is worth reading, by what is known without it.
fn plan(changes: Vec<FileChange>, settings: &Settings) -> Result<Vec<ReviewFile>> {
    let include = globs::compile(&settings.include).map_err(Fault::permanent)?;
    let ignore = globs::compile(&settings.ignore).map_err(Fault::permanent)?;
    let unwanted = |path: &str| {
        if !include.is_empty() && !include.is_match(path) {
            Some("not included by the settings")
        } else if ignore.is_match(path) {
            Some("ignored by the settings")
        } else {
            None
        }
    };
    let file = |change: FileChange| {
        let why = unwanted(&change.path).or_else(|| unreviewable(&change));
        ReviewFile { read: why.is_none(), skipped: why.map(str::to_owned), note: None, change }
    };
    Ok(changes.into_iter().map(file).collect())
}

fn unreviewable(change: &FileChange) -> Option<&'static str> {
    match (change.status, change.head.kind) {
        (Status::Deleted, _) | (_, EntryKind::Absent) => Some("deleted"),
        (_, EntryKind::Submodule) => Some("submodule"),
        (_, EntryKind::Symlink) => Some("symbolic link"),
        // Whoever reads it will find out, and say so.
        _ if change.unavailable => None,
        _ if change.binary && change.size.is_some_and(|s| s > COMPARED_BYTES) => {
            Some("too large to be compared")
        }
        _ if change.binary => Some("binary"),
        _ if globs::is_vendored(&change.path) => Some("vendored"),
        _ if globs::is_generated(&change.path) => Some("generated"),
        // Its mode is still looked at.
        _ if change.hunks.is_empty() => match change.status {
            Status::Renamed | Status::Copied => Some("moved without a change"),
            _ => Some("no line changed"),
        },
        // The checks of both sides read what a program lost.
        _ if change.added().next().is_none() && !sides::wants_base(&change.path) => {
            Some("only removals")
        }
        _ => None,
    }
}

/// Whether the settings let a path be looked at.
pub(super) fn listening(settings: &Settings) -> impl Fn(&str) -> bool + use<> {
    let compiled = |patterns: &[String]| globs::compile(patterns).unwrap_or_default();
    let (include, ignore) = (compiled(&settings.include), compiled(&settings.ignore));
    move |path| (include.is_empty() || include.is_match(path)) && !ignore.is_match(path)
}

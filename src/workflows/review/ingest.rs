//! The first node: what changed, under which settings, and what will be read of it.

use super::{
    deps::ReviewDeps,
    input::Target,
    settings::{self, Settings},
    state::{Ingested, ReviewFile},
    texts::{self, facts},
};
use crate::{
    analysis::{
        Category, Confidence, Finding, Severity, Side, Source, assign_fingerprints, checks, globs,
    },
    base::{Fault, Result},
    forge::{Content, EntryKind, FileChange, Range, Status},
};

/// Settings larger than this are not read.
const SETTINGS_BYTES: u64 = 256 * 1024;

/// Looks at the change. Secrets are found and masked here; they travel on as findings.
///
/// # Errors
/// When the forge does not answer, or what was asked for is not there.
pub async fn ingest(deps: &ReviewDeps, target: &Target) -> Result<Ingested> {
    let range = target.range().clone();
    let (settings, mut findings) = read_settings(deps, &range).await?;
    let changes = deps.forge.changes(&range).await?;
    let mut files = plan(changes, &settings)?;
    let wanted: Vec<&FileChange> = files.iter().filter(|f| f.read).map(|f| &f.change).collect();
    let readings = texts::readings(deps, &range, &wanted).await?;
    let mut readings = readings.iter();
    for file in &mut files {
        if file.read
            && let Some(reading) = readings.next()
        {
            findings.extend(reading.secrets.iter().cloned());
            file.note.clone_from(&reading.note);
            file.skipped.clone_from(&reading.skipped);
        } else if listens(&settings, &file.change.path) {
            findings.extend(checks::file(facts(&file.change, None)));
        }
    }
    assign_fingerprints(&mut findings);
    Ok(Ingested { range, settings, files, findings })
}

/// Settings of the base side; a file that cannot be used becomes a finding and the defaults hold.
async fn read_settings(deps: &ReviewDeps, range: &Range) -> Result<(Settings, Vec<Finding>)> {
    let parsed = match deps.forge.base_file(range, settings::FILE, SETTINGS_BYTES).await? {
        None => return Ok((Settings::default(), Vec::new())),
        Some(Content::Text { text, .. }) => Settings::parse(&text),
        Some(_) => {
            Err(settings::Problem { line: 0, cause: "it is not a text of reasonable size".into() })
        }
    };
    Ok(match parsed {
        Ok(settings) => (settings, Vec::new()),
        Err(problem) => (Settings::default(), vec![complaint(&problem)]),
    })
}

fn complaint(problem: &settings::Problem) -> Finding {
    let place = match problem.line {
        0 => String::new(),
        line => format!("line {line}: "),
    };
    Finding {
        fingerprint: String::new(),
        agent: Category::Pattern,
        rule: "bad-settings".into(),
        path: settings::FILE.into(),
        side: Side::Left,
        // About the base's file, which the change need not touch.
        start_line: 0,
        end_line: 0,
        severity: Severity::Medium,
        confidence: Confidence::hundredths(100),
        title: "The repository's review settings cannot be used".into(),
        body: format!("{place}{}\n\nThis review ran with the defaults.", problem.cause.trim()),
        suggestion: None,
        quote: String::new(),
        source: Source::Verdict,
    }
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
        _ if change.binary => Some("binary"),
        _ if globs::is_vendored(&change.path) => Some("vendored"),
        _ if globs::is_generated(&change.path) => Some("generated"),
        // Its mode is still looked at.
        _ if change.hunks.is_empty() => match change.status {
            Status::Renamed | Status::Copied => Some("moved without a change"),
            _ => Some("no line changed"),
        },
        _ if change.added().next().is_none() => Some("only removals"),
        _ => None,
    }
}

fn listens(settings: &Settings, path: &str) -> bool {
    let matches = |patterns: &[String]| globs::compile(patterns).is_ok_and(|s| s.is_match(path));
    (settings.include.is_empty() || matches(&settings.include)) && !matches(&settings.ignore)
}

//! The first node: what changed, under which settings, what will be read of it, and by which tasks.
//! It masks every text that will be read; the only findings it makes are about secrets, about the
//! settings themselves, and about files as a whole; and it puts what other tools found on changed
//! lines. The analysis is the agents' own.

use std::collections::HashMap;

use super::{
    agents::Agent,
    deps::ReviewDeps,
    models::estimated_tokens,
    names::mask_names,
    own_rules::{self, OwnRule},
    plan::{Chunk, Plan},
    reader::{ChangeReader, ExecutableBefore, Work, facts, keep_first},
    settings::{self, Settings, diagnostic},
    state::{Ingested, ReviewFile, ReviewState},
    tools::Placing,
};
use crate::{
    analysis::{self, BAD_SETTINGS, Finding, assign_fingerprints, checks, globs, sides},
    base::{Fault, Result},
    forge::{COMPARED_BYTES, Change, Content, EntryKind, FileChange, Forges, Status, Target},
};

/// How many kinds of file are prepared for: each takes some milliseconds of a processor.
const MAX_PREPARED: usize = 8;

/// Settings larger than this are not read.
const MAX_SETTINGS_BYTES: u64 = 256 * 1024;

/// Plans the review of a change by `agents`. Secrets are found and masked here; they travel on as
/// findings.
///
/// # Errors
/// When the forge does not answer, or what was asked for is not there.
pub async fn ingest(
    deps: &ReviewDeps,
    agents: &[&dyn Agent],
    state: &ReviewState,
) -> Result<Ingested> {
    // What any file needs, while the forge is asked.
    tokio::task::spawn_blocking(|| analysis::prepare(""));
    let reader = deps.open(&state.target).await?;
    let change = reader.change();
    let (settings, changes) =
        tokio::join!(read_settings(&deps.forges, &state.target, change, agents), change.files());
    let (mut settings, rules, mut findings) = settings?;
    state.overrides.apply(&mut settings);
    let mut changes = changes?;
    let in_names = mask_names(&mut changes);
    findings.extend(in_names.into_iter().filter(|finding| settings.wants(&finding.agent)));
    let mut files = plan_files(changes, &settings)?;
    prepare(&files);
    let mut tokens = deps.models.as_ref().map(|_| HashMap::new());
    let mut placing = Placing::new(&state.tools, &files);
    findings.extend(read_heads(&reader, &settings, &mut files, (&mut tokens, &mut placing)).await?);
    assign_fingerprints(&mut findings);
    let chunks = |agent: &&dyn Agent| {
        let off = !settings.wants(agent.id());
        let chunks = if off { vec![Chunk::ALL] } else { agent.plan(&files, &deps.limits) };
        (agent.id().to_owned(), chunks)
    };
    let plan = Plan(agents.iter().map(chunks).collect());
    let models = match deps.models.as_ref().zip(tokens) {
        Some((models, tokens)) => {
            models.plan(agents.iter().map(|agent| agent.id()), &settings, (&files, &tokens))
        }
        None => Vec::new(),
    };
    let tools = placing.uses();
    let tool_tasks = deps.tools.as_ref().map(|tools| tools.plan(&files)).unwrap_or_default();
    Ok(Ingested { settings, rules, files, findings, tools, plan, models, tool_tasks })
}

/// Prepares the analysis while the texts are read: of each kind of file that will be, one.
fn prepare(files: &[ReviewFile]) {
    let paths = files.iter().filter(|file| file.read).map(|file| &file.change.path);
    let ending = |path: &str| path.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    let one_of_each: HashMap<_, _> = paths.map(|path| (ending(path), path.clone())).collect();
    for path in one_of_each.into_values().take(MAX_PREPARED) {
        tokio::task::spawn_blocking(move || analysis::prepare(&path));
    }
}

/// Reads and masks every text once: marks those not worth analysing, and finds what can be said
/// about files as a whole, and what other tools found in those that are. Where models are asked, `tokens`
/// is told about how much they would be shown of each.
async fn read_heads(
    reader: &ChangeReader,
    settings: &Settings,
    files: &mut [ReviewFile],
    (tokens, placing): (&mut Option<HashMap<String, u64>>, &mut Placing<'_>),
) -> Result<Vec<Finding>> {
    let paths = settings.paths().map_err(Fault::permanent)?;
    let (mut findings, mut kept) = (Vec::new(), Default::default());
    let all: Vec<&FileChange> = files.iter().map(|file| &file.change).collect();
    let before = ExecutableBefore::of(reader.change(), &all).await?;
    let whole = |file: &FileChange, text: Option<&str>| {
        let found = checks::file(facts(file, text, &before));
        found.into_iter().filter(|finding| settings.wants(&finding.agent))
    };
    for file in files.iter().filter(|f| !f.read && paths(&f.change.path).is_ok()) {
        findings.extend(whole(&file.change, None));
    }
    let read: Vec<FileChange> = files.iter().filter(|f| f.read).map(|f| f.change.clone()).collect();
    let read: Vec<&FileChange> = read.iter().collect();
    reader.counts().ask(Work::Reading, read.len());
    let mut rows = files.iter_mut().filter(|f| f.read);
    for batch in reader.batches(&read) {
        let heads = reader.heads(batch).await?;
        for (head, file) in heads.iter().zip(&mut rows) {
            let mut secrets = head.secrets.clone();
            let mut beyond = 0_u64;
            keep_first(&mut secrets, &mut kept, |_| beyond += 1);
            findings.append(&mut secrets);
            if let (Some(tokens), Some(text)) = (tokens.as_mut(), &head.text) {
                tokens.insert(file.change.path.clone(), estimated_tokens(&file.change, text));
            }
            if let Some(text) = &head.text {
                findings.extend(whole(&file.change, Some(&**text)));
                if head.skipped.is_none() {
                    findings.extend(placing.of(&file.change, text));
                }
            }
            file.note.clone_from(&head.note);
            file.skipped.clone_from(&head.skipped);
            file.left_out = beyond;
        }
    }
    Ok(findings)
}

/// What the base side says about reviews, or else the owner of the repository: what cannot be used
/// becomes a finding, and the defaults hold in its place.
async fn read_settings(
    forges: &Forges,
    target: &Target,
    change: &dyn Change,
    agents: &[&dyn Agent],
) -> Result<(Settings, Vec<OwnRule>, Vec<Finding>)> {
    let (rules, text) =
        tokio::join!(own_rules::read(change), change.base_file(settings::FILE, MAX_SETTINGS_BYTES));
    let (rules, mut findings) = rules?;
    let text = match text? {
        None => match forges.owner_text(&target.forge, &target.repo, settings::FILE).await? {
            None => return Ok((Settings::default(), rules, findings)),
            Some(text) => Ok(text),
        },
        Some(Content::Text { text, .. }) => Ok(text),
        Some(_) => {
            let cause = "it is not a text of reasonable size".to_owned();
            Err(vec![settings::Problem { line: 0, cause }])
        }
    };
    let agents: Vec<&str> = agents.iter().map(|agent| agent.id()).collect();
    let settings = match text.and_then(|text| Ok((Settings::parse(&text, &agents)?, text))) {
        Err(problems) => {
            findings.extend(bad_settings(&problems, "This review ran with the defaults."));
            Settings::default()
        }
        Ok((settings, text)) => {
            let set = own_rules::compile(&rules)?;
            let unknown = settings.unknown_rules(&text, |id| analysis::knows(&set, id));
            let after = "`verdict rules list` shows them all.";
            findings.extend(bad_settings(&unknown, after));
            settings
        }
    };
    Ok((settings, rules, findings))
}

/// One finding for all: several about one file would be taken for the same.
fn bad_settings(problems: &[settings::Problem], after: &str) -> Option<Finding> {
    let (line, causes) = match problems {
        [] => return None,
        [problem] => (problem.line, problem.cause.clone()),
        several => {
            let row = |problem: &settings::Problem| format!("- {problem}\n");
            (0, several.iter().map(row).collect())
        }
    };
    Some(diagnostic(&BAD_SETTINGS, settings::FILE, line, &causes, after))
}

/// Decides for each path whether its text is worth reading, by what is known without it.
fn plan_files(changes: Vec<FileChange>, settings: &Settings) -> Result<Vec<ReviewFile>> {
    let paths = settings.paths().map_err(Fault::permanent)?;
    let file = |change: FileChange| {
        let why = paths(&change.path).err().or_else(|| unreviewable(&change));
        let skipped = why.map(str::to_owned);
        ReviewFile { read: why.is_none(), skipped, note: None, left_out: 0, change }
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
        // Its mode is still checked.
        _ if change.hunks.is_empty() => match change.status {
            Status::Renamed | Status::Copied => Some("moved without a change"),
            _ => Some("no line changed"),
        },
        // What a program lost may be missed.
        _ if change.added().next().is_none() && !sides::wants_base(&change.path) => {
            Some("only removals")
        }
        _ => None,
    }
}

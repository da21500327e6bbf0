//! Tools run on a change, a task each beside the agents.
//!
//! What it promises: a tool sees the files of the head that it is meant for, and neither the
//! repository's settings for it nor anything of the worker's environment; a tool that is missing, fails
//! or takes too long is named, and takes nothing else of the review with it. What it never does: run
//! what a repository names.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::{OnceCell, Semaphore};

use super::{
    ChangedPaths, Placing, ToolReport, ToolUse,
    checkout::{Checkout, Unwritten, no_folder},
    options::{FILES, Tool, ToolOptions},
    presets::Output,
    process::{self, Ended},
    shellcheck,
};
use crate::{
    analysis::{Finding, assign_fingerprints},
    base::{Fault, Result},
    forge::{Content, FileChange},
    workflows::review::{
        deps::ReviewDeps,
        reader::ChangeReader,
        state::{AgentReport, Outcome, ReviewFile, ReviewState},
    },
};

/// About how many bytes of paths one process is given.
const MAX_ARGUMENT_BYTES: usize = 100 * 1024;

/// A tool is given no more bytes of files than these.
const MAX_CHECKOUT_BYTES: usize = 256 * 1024 * 1024;

/// Of so many files in a folder of rules it is noticed that they changed.
const MAX_STAMPED_FILES: usize = 10_000;

/// The tools of a worker. Cheap to clone.
#[derive(Clone)]
pub struct Tools {
    tools: Arc<[Tool]>,
    /// Bounds how many run at once in this process.
    turns: Arc<Semaphore>,
    /// What cuts them off from the network, or why nothing does.
    unshare: Arc<OnceCell<Result<PathBuf, String>>>,
}

/// A task: a tool, and the places of its files in the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolTask {
    /// The tool's name in the settings.
    pub tool: String,
    /// Its files.
    pub files: Vec<u32>,
}

/// What a task is sent: its number, and which tool it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDispatch {
    /// Its place in [`Ingested::tool_tasks`](crate::workflows::review::Ingested::tool_tasks).
    pub task: u32,
    /// The tool's name in the settings.
    pub tool: String,
}

/// What became of a tool that was run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolRun {
    /// What its logs say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<ToolUse>,
    /// Whether it failed in a way that running it again later cannot cure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub permanent: bool,
}

impl Tools {
    /// The tools of the settings; `None` without any.
    ///
    /// # Errors
    /// When one of them cannot work.
    pub fn new(options: &[ToolOptions]) -> Result<Option<Self>, String> {
        let tools = Tool::all(options)?;
        let turns = std::thread::available_parallelism().map_or(2, usize::from);
        let turns = Arc::new(Semaphore::new(turns));
        let some = !tools.is_empty();
        Ok(some.then(|| Self { tools: tools.into(), turns, unshare: Arc::default() }))
    }

    /// Names the tools, their settings, programs and rules: a review with the same name would run the same.
    pub fn name(&self) -> String {
        let mut hash = Sha256::new();
        for tool in &*self.tools {
            hash.update(format!("{:?} {} {:?}\n", tool.options, tool.program, tool.arguments));
            process::find(&tool.program).inspect(|program| stamp(program, &mut hash, &mut 1));
            let rules = tool.options.rules.iter();
            rules.for_each(|rules| stamp(rules, &mut hash, &mut { MAX_STAMPED_FILES }));
        }
        hex::encode(&hash.finalize()[..6])
    }

    /// Whether each tool can be started, and how it is kept apart.
    pub async fn check(&self) -> Vec<(String, Result<String, String>)> {
        let apart = match self.unshare().await {
            Ok(_) => "without a network".to_owned(),
            Err(why) => format!("not cut off from the network ({why})"),
        };
        let found = |tool: &Tool| {
            let program = process::find(&tool.program).ok_or_else(|| missing(tool))?;
            match tool.options.rules.as_ref().filter(|rules| !rules.exists()) {
                Some(rules) => Err(format!("its rules are not there: {}", rules.display())),
                None => Ok(format!("{}; {apart}", program.display())),
            }
        };
        self.tools.iter().map(|tool| (tool.name.clone(), found(tool))).collect()
    }

    /// The tasks of a change: none for a tool without files.
    pub(in crate::workflows::review) fn plan(&self, files: &[ReviewFile]) -> Vec<ToolTask> {
        let of_tool = |tool: &Tool| {
            let files = (0..).zip(files).filter(|(_, file)| file.is_readable());
            let files = files.filter(|(_, file)| tool.wants(&file.change.path));
            ToolTask { tool: tool.name.clone(), files: files.map(|(at, _)| at).collect() }
        };
        self.tools.iter().map(of_tool).filter(|task| !task.files.is_empty()).collect()
    }

    async fn unshare(&self) -> &Result<PathBuf, String> {
        self.unshare.get_or_init(process::probe).await
    }
}

fn missing(tool: &Tool) -> String {
    format!("`{}` is not on this worker's PATH", tool.program)
}

/// Tells versions of files apart, without reading them.
fn stamp(path: &Path, hash: &mut Sha256, left: &mut usize) {
    let Some(rest) = left.checked_sub(1) else { return };
    *left = rest;
    let Ok(about) = path.metadata() else { return };
    let changed = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    hash.update(format!("{path:?} {} {changed:?}\n", about.len()));
    let entries = path.read_dir().ok().filter(|_| about.is_dir()).into_iter().flatten();
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.iter().for_each(|entry| stamp(entry, hash, left));
}

/// Runs one task.
///
/// # Errors
/// When the tool does not come to its end. Permanent only when trying again cannot help.
pub async fn run(
    deps: &ReviewDeps,
    state: &ReviewState,
    dispatch: &ToolDispatch,
) -> Result<AgentReport> {
    let none = || Fault::permanent(format!("there is no task {} for tools", dispatch.task));
    let change = state.ingested.as_ref().ok_or_else(none)?;
    let number = usize::try_from(dispatch.task).unwrap_or(usize::MAX);
    let task = change.tool_tasks.get(number).ok_or_else(none)?;
    let known = deps.tools.as_ref().and_then(|tools| {
        let tool = tools.tools.iter().find(|tool| tool.name == task.tool)?;
        Some((tools, tool))
    });
    let unknown = || Fault::transient("this worker's settings have no tool of this name");
    let (tools, tool) = known.ok_or_else(unknown)?;
    let program = process::find(&tool.program).ok_or_else(|| Fault::permanent(missing(tool)))?;
    let closed = |_| Fault::transient("shutting down");
    let _turn = tools.turns.acquire().await.map_err(closed)?;
    let unshare = tools.unshare().await.as_deref().ok();
    let reader = deps.open(&state.target).await?;
    let files = change.files_at(&task.files);
    let (checkout, unread) = check_out(&reader, &files).await?;
    let written = files.iter().filter(|file| !unread.contains_key(&file.path));
    let written: Vec<&str> = written.map(|file| &*file.path).collect();
    let running = run_on(tool, (&program, unshare), &checkout, &written);
    let late = |_| {
        let limit = humantime::format_duration(tool.options.timeout);
        Fault::timeout(format!("it took longer than {limit}"))
    };
    let reports = tokio::time::timeout(tool.options.timeout, running).await.map_err(late)??;
    drop(checkout);
    let mut placing = Placing::new(&reports, &change.files);
    let mut findings = place_all(&reader, &files, &reports, &mut placing).await?;
    assign_fingerprints(&mut findings);
    let mut uses = placing.uses();
    uses.iter_mut().for_each(|tool| tool.networked = unshare.is_none());
    let run = ToolRun { uses, permanent: false };
    let report = AgentReport::new(&dispatch.tool, dispatch.task, Outcome::Done);
    Ok(AgentReport { findings, unread, tool: Some(run), ..report })
}

/// The report of a task that gave up.
pub fn gave_up(dispatch: &ToolDispatch, fault: &Fault) -> AgentReport {
    let run = ToolRun { permanent: !fault.is_transient(), ..ToolRun::default() };
    let outcome = Outcome::Failed(fault.message.clone());
    AgentReport { tool: Some(run), ..AgentReport::new(&dispatch.tool, dispatch.task, outcome) }
}

/// A folder with the files, and those that are not in it with the reason.
async fn check_out(
    reader: &ChangeReader,
    files: &[&FileChange],
) -> Result<(Checkout, BTreeMap<String, String>)> {
    let checkout = Checkout::new().map_err(|error| no_folder(&error))?;
    let (mut unread, mut bytes) = (BTreeMap::new(), 0);
    for batch in reader.batches(files) {
        for (file, content) in batch.iter().zip(reader.unmasked(batch).await?) {
            let written = match content {
                Content::Text { text, .. } => {
                    bytes += text.len();
                    checkout.write(&file.path, &text)
                }
                _ => Err(Unwritten::Refused("its content is not in the repository".to_owned())),
            };
            match written {
                Ok(()) => {}
                Err(Unwritten::Machine(fault)) => return Err(fault),
                Err(Unwritten::Refused(why)) => {
                    unread.insert(file.path.clone(), format!("no tool was shown it: {why}"));
                }
            }
        }
        if bytes > MAX_CHECKOUT_BYTES {
            let most = MAX_CHECKOUT_BYTES >> 20;
            return Err(Fault::permanent(format!("its files have more than {most} MiB together")));
        }
    }
    checkout.seal().map_err(|error| no_folder(&error))?;
    Ok((checkout, unread))
}

/// Runs a tool on files, as many at a time as a command line holds.
async fn run_on(
    tool: &Tool,
    (program, unshare): (&Path, Option<&Path>),
    checkout: &Checkout,
    files: &[&str],
) -> Result<Vec<ToolReport>> {
    let takes_files = tool.arguments.iter().any(|one| one == FILES);
    let groups = if takes_files { groups(files) } else { vec![files] };
    let changed: ChangedPaths = files.iter().map(|p| ((*p).to_owned(), (*p).to_owned())).collect();
    let mut reports = Vec::new();
    for group in groups {
        // In front, so that no name is taken for an option.
        let paths = || group.iter().map(|path| format!("./{path}")).collect();
        let put_in = |one: &String| if one == FILES { paths() } else { vec![one.clone()] };
        let arguments: Vec<String> = tool.arguments.iter().flat_map(put_in).collect();
        let ended = process::run(program, &arguments, checkout, unshare).await?;
        reports.extend(read(tool, ended, &checkout.files(), &changed)?);
    }
    Ok(reports)
}

fn groups<'f, 'p>(files: &'f [&'p str]) -> Vec<&'f [&'p str]> {
    let (mut groups, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (at, path) in files.iter().enumerate() {
        if bytes + path.len() > MAX_ARGUMENT_BYTES && at > start {
            groups.push(&files[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += path.len() + 3;
    }
    groups.extend((start < files.len()).then(|| &files[start..]));
    groups
}

/// What a tool that ended has found.
fn read(tool: &Tool, ended: Ended, root: &Path, changed: &ChangedPaths) -> Result<Vec<ToolReport>> {
    let Ended { output, status, complaint } = ended;
    let code = status.code().unwrap_or_default();
    let log = match tool.output {
        Output::Sarif => Ok(output),
        Output::ShellCheck => shellcheck::sarif(&output),
    };
    let read = log
        .and_then(|log| ToolReport::read(&log, root, changed).map_err(|error| error.to_string()));
    let failed = |why: &str| Fault::permanent(format!("{why} (exit code {code}: {complaint})"));
    let mut reports = read.map_err(|why| failed(&why))?;
    if reports.is_empty() {
        return Err(failed("its log tells of no run"));
    }
    if tool.strict && code > 1 {
        let why = format!("it ended with exit code {code}: {complaint}");
        reports.iter_mut().for_each(|report| {
            report.tool.missing.get_or_insert_with(|| why.clone());
        });
    }
    Ok(reports)
}

/// The findings on changed lines.
async fn place_all(
    reader: &ChangeReader,
    files: &[&FileChange],
    reports: &[ToolReport],
    placing: &mut Placing<'_>,
) -> Result<Vec<Finding>> {
    let found: HashSet<&str> =
        reports.iter().flat_map(|report| &report.findings).map(|f| &*f.path).collect();
    let quoted: Vec<&FileChange> =
        files.iter().copied().filter(|file| found.contains(&*file.path)).collect();
    let mut findings = Vec::new();
    for batch in reader.batches(&quoted) {
        let texts = reader.texts(batch).await?;
        for file in batch {
            findings.extend(texts.get(&file.path).into_iter().flat_map(|t| placing.of(file, t)));
        }
    }
    Ok(findings)
}

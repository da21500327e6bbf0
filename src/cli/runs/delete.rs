//! `verdict runs delete`

use std::io::{IsTerminal, Write as _};

use futures_util::{StreamExt as _, stream};

use super::CliError;
use crate::{
    app::App,
    graph::{RunId, RunStatus, store::Deleted},
    runs::RunQuery,
};

/// Which runs: by id, by what they are, or all that have ended.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The runs' ids, or the beginnings of them.
    #[arg(
        required_unless_present_any =
            ["all", "status", "waiting", "workflow", "subject", "older_than", "newer_than"],
        conflicts_with_all = ["all", "status", "waiting", "workflow", "subject", "older_than", "newer_than"],
    )]
    ids: Vec<String>,
    /// Every run that has ended.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    query: RunQuery,
    /// Also runs that have not ended, and runs that a worker holds: it stops at its next record.
    #[arg(long)]
    force: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

/// How many deletions are under way at a time.
const SIDE_BY_SIDE: usize = 8;

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let runs =
        if args.ids.is_empty() { fitting(args, app).await? } else { named(args, app).await? };
    if runs.is_empty() {
        anstream::eprintln!("no run fits");
        return Ok(());
    }
    if args.ids.is_empty() && !args.yes {
        confirm(runs.len())?;
    }
    let delete = |run: &RunId| {
        let run = run.clone();
        async move { (app.runs.delete(&run, args.force).await, run) }
    };
    let mut answers = stream::iter(&runs).map(delete).buffered(SIDE_BY_SIDE);
    let mut spared = Vec::new();
    while let Some((deleted, run)) = answers.next().await {
        match deleted? {
            Deleted::Done => anstream::eprintln!("{run} deleted"),
            Deleted::Missing => spared.push(format!("there is no run {run}")),
            Deleted::LeaseHeld(holder) => {
                spared.push(format!("run {run} is held by {}", holder.owner))
            }
            Deleted::Unfinished(status) => {
                spared.push(format!("run {run} is {status}: cancel it first"));
            }
        }
    }
    if spared.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!("{} (or use --force)", spared.join("; "))))
}

/// All are looked for before any is deleted.
async fn named(args: &Args, app: &App) -> Result<Vec<RunId>, CliError> {
    let mut runs = Vec::new();
    for id in &args.ids {
        let run = app.runs.find(id).await?.id;
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Unless forced, of what fits only runs that have ended.
async fn fitting(args: &Args, app: &App) -> Result<Vec<RunId>, CliError> {
    let mut query = args.query.clone();
    if !args.force {
        if let Some(status) = query.status.iter().find(|status| !status.is_final()) {
            let message = format!("runs that are {status} are deleted with --force only");
            return Err(CliError::usage(message));
        }
        if let Some(what) = query.waiting.first() {
            let message = format!("runs that wait for a {what} are deleted with --force only");
            return Err(CliError::usage(message));
        }
        if query.status.is_empty() {
            query.status = RunStatus::ALL.into_iter().filter(|one| one.is_final()).collect();
        }
    }
    let mut pages = app.runs.list(query);
    let mut runs = Vec::new();
    while let Some(page) = pages.next().await? {
        runs.extend(page.into_iter().map(|head| head.id));
    }
    Ok(runs)
}

fn confirm(runs: usize) -> Result<(), CliError> {
    let what = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(CliError::usage(format!("{what} would be deleted: say so with --yes")));
    }
    anstream::eprint!("delete {what}? [y/N] ");
    // A terminal that does not show the question still takes the answer.
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    if !answer.ends_with('\n') {
        // Nobody ended the line of the question.
        anstream::eprintln!();
    }
    let yes = ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes));
    if read.is_ok() && yes {
        return Ok(());
    }
    Err(CliError::usage("nothing was deleted"))
}

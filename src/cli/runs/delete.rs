//! `verdict runs delete`

use futures_util::{StreamExt as _, stream};

use super::{
    CliError,
    confirm::confirm,
    which::{Which, counted},
};
use crate::{
    app::App,
    graph::{RunId, RunStatus, store::Deleted},
};

/// Which runs, and how. Of those that a filter selects, what has ended.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    which: Which,
    /// Also runs that have not ended, and runs that a worker holds: it stops at its next record.
    #[arg(long)]
    force: bool,
}

/// How many deletions are under way at a time.
const SIDE_BY_SIDE: usize = 8;

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let runs = match args.which.ids.is_empty() {
        true => fitting(args, app).await?,
        false => args.which.named(app).await?.into_iter().map(|head| head.id).collect(),
    };
    if runs.is_empty() {
        anstream::eprintln!("no run fits");
        return Ok(());
    }
    if args.which.ids.is_empty() && !args.which.yes {
        confirm(&counted(runs.len()), "deleted")?;
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

/// Unless forced, of what fits only runs that have ended.
async fn fitting(args: &Args, app: &App) -> Result<Vec<RunId>, CliError> {
    let mut query = args.which.query.clone();
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

//! `verdict runs cancel` and `verdict runs retry`: by id, or all that a filter selects.

use super::{
    CliError,
    confirm::confirm,
    which::{Which, counted},
};
use crate::{app::App, graph::Head, runs::RunAction};

/// Which runs, and how.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    which: Which,
    /// Only count them.
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn main(action: RunAction, args: &Args, app: &App) -> Result<(), CliError> {
    let runs = selected(action, args, app).await?;
    let what = counted(runs.len());
    if args.dry_run {
        anstream::eprintln!("{what} would be {}", action.done());
        return Ok(());
    }
    if args.which.ids.is_empty() && !runs.is_empty() && !args.which.yes {
        confirm(&what, action.done())?;
    }
    let mut refused = Vec::new();
    for (number, head) in (1usize..).zip(&runs) {
        let place = if args.which.ids.is_empty() {
            format!("{number}/{} ", runs.len())
        } else {
            String::new()
        };
        match app.runs.act(action, head).await {
            Ok(()) => anstream::eprintln!("{place}{} {}", head.id, action.done()),
            Err(error) => refused.push(CliError::from(error)),
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    let failed = refused.iter().any(|error| matches!(error, CliError::Failed(_)));
    let why = refused.iter().filter_map(CliError::message).collect::<Vec<_>>().join("; ");
    Err(if failed { CliError::Failed(why) } else { CliError::Usage(why) })
}

async fn selected(action: RunAction, args: &Args, app: &App) -> Result<Vec<Head>, CliError> {
    if args.which.ids.is_empty() {
        return Ok(app.runs.select(action, args.which.query.clone()).await?);
    }
    args.which.named(app).await
}

//! `verdict runs watch`: a run followed from any process.

use super::{CliError, Format, history::cells, output, signal};
use crate::{
    app::App,
    graph::{Head, RunStatus},
    runs::{Watched, views::HistoryRow},
};

/// Which run, and how to print its records.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The run's id, or the beginning of it.
    id: String,
    /// How to print: a line per record, or a JSON object per line.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let mut watch = app.runs.watch(&args.id, 0_u64).await?;
    let run = watch.run.clone();
    let stop = signal::stop_token();
    // A store that does not answer keeps nobody here who wants to go.
    while let Some(next) = stop.run_until_cancelled(watch.next()).await {
        match next? {
            Watched::Record(row) => show(&row, args.format)?,
            Watched::Started(_) => {}
            Watched::StoreAway(why) => {
                anstream::eprintln!("the store does not answer, asked again: {why}");
            }
            Watched::Ended(head) => return outcome(&head),
            Watched::Deleted => return Err(CliError::failed(format!("run {run} was deleted"))),
        }
    }
    Err(CliError::failed(format!("no longer watched: run {run} has not ended")))
}

fn show(row: &HistoryRow, format: Format) -> Result<(), CliError> {
    output::print(&match format {
        Format::Json => serde_json::to_string(row).unwrap_or_default(),
        Format::Text => output::tame(&cells(row).join("  ")),
    })
}

/// Only a run that is complete did what was asked for.
fn outcome(head: &Head) -> Result<(), CliError> {
    let (id, why) = (&head.id, head.error.as_deref().unwrap_or("no reason was recorded"));
    match head.status {
        RunStatus::Failed => Err(CliError::failed(format!("run {id} failed: {why}"))),
        RunStatus::Completed => Ok(()),
        other => Err(CliError::failed(format!("run {id} was {other}"))),
    }
}

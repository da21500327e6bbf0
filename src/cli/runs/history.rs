//! `verdict runs history`, and records as `watch` shows them too.

use super::{CliError, Format, output};
use crate::{app::App, runs::views::HistoryRow};

/// Which run, and how to print its records.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The run's id, or the beginning of it.
    id: String,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const HISTORY: [&str; 8] = ["SEQ", "AT", "KIND", "STEP", "NODE", "TRIES", "TOOK", ""];

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let history = app.runs.history(&args.id).await?;
    let rows = history.into_iter().map(|(seq, at, meta)| HistoryRow::of(seq, at, meta));
    if args.format == Format::Json {
        return output::print_json(&rows.collect::<Vec<_>>());
    }
    let cells: Vec<_> = rows.map(|row| cells(&row)).collect();
    output::print(&output::table(&HISTORY, &cells))
}

/// A record as text.
pub(super) fn cells(row: &HistoryRow) -> Vec<String> {
    let text = |number: Option<u32>| number.map(|n| n.to_string()).unwrap_or_default();
    vec![
        row.seq.to_string(),
        row.at.clone(),
        row.kind.to_owned(),
        text(row.step),
        row.node.as_deref().unwrap_or_default().to_owned(),
        text(row.attempt),
        row.duration_ms.map(|ms| format!("{ms:.1} ms")).unwrap_or_default(),
        output::brief(&row.note, 80),
    ]
}

//! `verdict runs history`, and records as `watch` shows them too.

use super::{
    CliError, Format, output,
    table::{Column, table},
};
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

const HISTORY: [Column; 8] = [
    Column::new("SEQ"),
    Column::new("AT").drops(2),
    Column::new("KIND"),
    Column::new("STEP").drops(3),
    Column::new("NODE").shrinks(),
    Column::new("TRIES").drops(4),
    Column::new("TOOK").drops(1),
    Column::new("").shrinks(),
];

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let rows = app.runs.history(&args.id, 0).await?;
    if args.format == Format::Json {
        return output::print_json(&rows);
    }
    let cells: Vec<_> = rows.iter().map(cells).collect();
    output::print(&table(&HISTORY, &cells))
}

/// A record as text.
pub(super) fn cells(row: &HistoryRow) -> Vec<String> {
    let text = |number: Option<u32>| number.map(|n| n.to_string()).unwrap_or_default();
    let step = text(row.step);
    vec![
        row.seq.to_string(),
        row.at.clone(),
        row.kind.to_owned(),
        if row.path.is_empty() { step } else { format!("{}/{step}", row.path) },
        row.node.as_deref().unwrap_or_default().to_owned(),
        text(row.attempt),
        row.duration_ms.map(|ms| format!("{ms:.1} ms")).unwrap_or_default(),
        row.note.lines().next().unwrap_or_default().to_owned(),
    ]
}

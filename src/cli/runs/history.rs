//! `verdict runs history`, and records as `watch` shows them too.

use std::sync::Arc;

use serde::Serialize;

use super::{CliError, Format, find, output};
use crate::{app::App, base::Timestamp, graph::Meta};

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
    let head = find(app, &args.id).await?;
    let rows = app.runtime.history(&head.id).await?.into_iter().map(history_row);
    if args.format == Format::Json {
        return output::print_json(&rows.collect::<Vec<_>>());
    }
    let cells: Vec<_> = rows.map(|row| row.cells()).collect();
    output::print(&output::table(&HISTORY, &cells))
}

/// A record as listings show it.
#[derive(Serialize)]
pub(super) struct HistoryRow {
    seq: u64,
    kind: &'static str,
    step: Option<u32>,
    node: Option<Arc<str>>,
    index: Option<u32>,
    attempt: Option<u32>,
    at: String,
    duration_ms: Option<f64>,
    #[serde(skip)]
    note: String,
}

pub(super) fn history_row((seq, at, meta): (u64, Timestamp, Meta)) -> HistoryRow {
    let (kind, step, at) = (meta.kind(), meta.step(), at.to_string());
    let bare = HistoryRow {
        seq,
        kind,
        step,
        at,
        node: None,
        index: None,
        attempt: None,
        duration_ms: None,
        note: String::new(),
    };
    match meta {
        Meta::TaskFinished { node, index, attempts, us, fault, .. } => HistoryRow {
            node: Some(node),
            index: Some(index),
            attempt: Some(attempts),
            duration_ms: Some(us as f64 / 1e3),
            note: fault.map(|fault| fault.message).unwrap_or_default(),
            ..bare
        },
        Meta::Interrupted { id, node, index, .. } => {
            HistoryRow { node: Some(node), index, note: id, ..bare }
        }
        Meta::Parked { node, index, until, reason, .. } => HistoryRow {
            node: Some(node),
            index: Some(index),
            note: format!("until {until}: {reason}"),
            ..bare
        },
        Meta::Reopened { why, from, .. } => HistoryRow { step: Some(from), note: why, ..bare },
        Meta::Resumed { id } | Meta::Letter { id } | Meta::LetterConfirmed { id } => {
            HistoryRow { note: id, ..bare }
        }
        Meta::Superseded { by } => HistoryRow { note: format!("by {by}"), ..bare },
        Meta::Cancelled { by } => HistoryRow { note: format!("by {by}"), ..bare },
        Meta::Forked { parent, step, .. } => {
            HistoryRow { step: Some(step), note: format!("from {parent}"), ..bare }
        }
        Meta::Started { .. } | Meta::StepFinished { .. } | Meta::Finished { .. } => bare,
    }
}

impl HistoryRow {
    pub(super) fn cells(&self) -> Vec<String> {
        let text = |number: Option<u32>| number.map(|n| n.to_string()).unwrap_or_default();
        vec![
            self.seq.to_string(),
            self.at.clone(),
            self.kind.to_owned(),
            text(self.step),
            self.node.as_deref().unwrap_or_default().to_owned(),
            text(self.attempt),
            self.duration_ms.map(|ms| format!("{ms:.1} ms")).unwrap_or_default(),
            output::brief(&self.note, 80),
        ]
    }
}

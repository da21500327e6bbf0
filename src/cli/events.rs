//! `verdict events`: events from outside, for the runs that wait for them.

use clap::Subcommand;
use serde_json::value::RawValue;

use super::{CliError, Format, output};
use crate::app::App;

/// `verdict events`
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Send an event to the runs that wait for its key, now or later; prints its id.
    Send(Args),
}

/// What to send.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What runs wait for it by.
    key: String,
    /// What they receive, as JSON.
    #[arg(default_value = "null")]
    payload: String,
    /// Which of the key's events it is: sent again, it is the same one [default: a new one].
    #[arg(long)]
    id: Option<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) async fn main(command: &Command, app: &App) -> Result<(), CliError> {
    let Command::Send(Args { key, payload, id, format }) = command;
    let payload: Box<RawValue> = serde_json::from_str(payload)
        .map_err(|e| CliError::usage(format!("PAYLOAD: `{payload}` is no JSON: {e}")))?;
    let sent = app.runs.send_event(key, id.as_deref(), &payload).await?;
    if *format == Format::Json {
        return output::print_json(&sent);
    }
    for run in &sent.runs {
        anstream::eprintln!("run {run} goes on");
    }
    output::print(&sent.id)
}

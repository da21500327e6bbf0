//! `verdict run`: a workflow, here and now, durable all the same.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::value::RawValue;
use tokio::sync::broadcast;

use super::{CliError, enqueue::read, output, progress, signal};
use crate::{
    app::App,
    graph::{RunId, Stop, store::Holder},
    runs::{Drive, Driven, Opened},
};

/// `verdict run`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The workflow's name.
    workflow: String,
    /// Its input, as JSON, from this file or (with `-`) from stdin.
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// One key, one run: started again under its key, a run goes on where it stopped.
    #[arg(long)]
    key: Option<String>,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    // A name that is none is found before stdin is waited for.
    app.runs.workflow(&args.workflow)?;
    let input = read_json(&args.input)?;
    let driven = drive(app, &args.workflow, (input, args.key.clone()), true).await?;
    output::print_json(&driven.state)?;
    error(&driven).map_or(Ok(()), |error| Err(CliError::failed(error)))
}

/// JSON from a file or from stdin.
fn read_json(path: &Path) -> Result<Arc<RawValue>, CliError> {
    serde_json::from_slice::<Box<RawValue>>(&read(path)?)
        .map(Into::into)
        .map_err(|e| CliError::usage(format!("{} holds no JSON: {e}", path.display())))
}

/// Opens the run, or finds it, and drives it; a run at its end is shown as it is. Events are shown as
/// lines where there is no terminal if `always`.
pub(super) async fn drive(
    app: &App,
    workflow: &str,
    (input, key): (Arc<RawValue>, Option<String>),
    always: bool,
) -> Result<Driven, CliError> {
    let opened = app.runs.open(workflow, input, key).await?;
    drive_opened(app, opened, always).await
}

/// The same of a run that was opened here.
pub(super) async fn drive_opened(
    app: &App,
    opened: Opened,
    always: bool,
) -> Result<Driven, CliError> {
    let control = signal::foreground();
    let events = broadcast::Sender::new(1024);
    let showing = tokio::spawn(progress::show(events.subscribe(), always, control.drain.clone()));
    let waiting = |run: &RunId, holder: &Holder| {
        anstream::eprintln!("run {run} is being worked on by {}; waiting", holder.owner);
    };
    // The last sender goes with it.
    let driven = app.runs.drive(opened, Drive::new(control, events), waiting).await;
    let _ = showing.await;
    Ok(driven?)
}

/// What to say about a run that did not complete.
pub(super) fn error(driven: &Driven) -> Option<String> {
    let run = &driven.run;
    Some(match &driven.stop {
        Stop::Completed | Stop::Ended => return None,
        Stop::Waiting(None) => format!(
            "run {run} waits for an answer; see `verdict runs show {run}`, then `verdict runs resume {run}`"
        ),
        Stop::Waiting(Some(until)) => format!("run {run} waits until {until}"),
        Stop::Drained | Stop::Crashed => {
            format!("stopped; the same command goes on where run {run} stands")
        }
        Stop::Fenced => format!("run {run} was taken over or stopped from outside"),
        Stop::StoreLost(fault) => format!("the store was lost: {fault}"),
        Stop::Failed(failure) => {
            let node = failure.node.as_deref().map(|node| format!("{node}: ")).unwrap_or_default();
            let hint = match failure.fault.is_transient() {
                true => "the same command goes on from here",
                false => "see `verdict runs show`",
            };
            format!("run {run} failed at {node}{} ({hint})", failure.fault)
        }
    })
}

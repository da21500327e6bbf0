//! `verdict runs`: what runs there are, what they did, and what can be done about them. One file
//! for each subcommand.

mod bulk;
mod confirm;
mod delete;
mod fork;
mod history;
mod list;
mod resume;
mod show;
mod watch;
mod which;

use clap::Subcommand;

use super::{CliError, Format, output, signal, table};
use crate::{app::App, runs::RunAction};

/// `verdict runs`
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List runs, the newest first.
    List(list::Args),
    /// Show a run: where it stands, its result, what it waits for.
    Show(show::Args),
    /// List a run's records.
    History(history::Args),
    /// Follow a run until it ends, whoever works on it. The exit code is 0 only if it completes.
    Watch(watch::Args),
    /// Answer an interrupt.
    Resume(resume::Args),
    /// Stop runs.
    Cancel(bulk::Args),
    /// Have failed runs go on at what failed: their dead letters are replayed.
    Retry(bulk::Args),
    /// Copy a run up to a step into a new one, and queue it.
    Fork(fork::Args),
    /// Delete runs that have ended. Their dead letters stay.
    Delete(delete::Args),
}

pub(super) async fn main(command: &Command, app: &App) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::main(args, app).await,
        Command::Show(args) => show::main(args, app).await,
        Command::History(args) => history::main(args, app).await,
        Command::Watch(args) => watch::main(args, app).await,
        Command::Resume(args) => resume::main(args, app).await,
        Command::Cancel(args) => bulk::main(RunAction::Cancel, args, app).await,
        Command::Retry(args) => bulk::main(RunAction::Retry, args, app).await,
        Command::Fork(args) => fork::main(args, app).await,
        Command::Delete(args) => delete::main(args, app).await,
    }
}

//! `verdict serve`: take work off the queue until told to stop.

use clap::ValueEnum;

use super::{CliError, signal};
use crate::app::App;

/// `verdict serve`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to be: so far everything is the worker.
    #[arg(long, value_enum, default_value_t)]
    role: Role,
}

/// The parts a process plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Role {
    /// All there are.
    #[default]
    All,
    /// The worker.
    Worker,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    match args.role {
        Role::All | Role::Worker => Ok(app.serve(signal::stop_token()).await?),
    }
}

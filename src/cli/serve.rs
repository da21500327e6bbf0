//! `verdict serve`: accept work and do it, until told to stop.

use clap::ValueEnum;

use super::{CliError, signal};
use crate::app::{App, Role, Trust};

/// `verdict serve`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to be.
    #[arg(long, value_enum, default_value_t)]
    role: Part,
}

/// The parts a process can play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Part {
    /// Both.
    #[default]
    All,
    /// Accept runs over HTTP, and take nothing off the queue.
    Gateway,
    /// Take work off the queue; over HTTP only probes and metrics.
    Worker,
}

impl Args {
    fn role(&self) -> Role {
        match self.role {
            Part::All => Role::All,
            Part::Gateway => Role::Gateway,
            Part::Worker => Role::Worker,
        }
    }

    /// Who will name what is worked on.
    pub(super) fn trust(&self) -> Trust {
        if self.role().accepts() { Trust::Api } else { Trust::Queue }
    }
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    Ok(app.serve(args.role(), signal::stop_token()).await?)
}

//! `verdict serve`: accept work and do it, until told to stop.

use super::{CliError, signal};
use crate::app::{App, Role, Trust};

/// `verdict serve`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to be.
    #[arg(long, value_enum, default_value_t)]
    role: Role,
}

impl Args {
    /// Who will name what is worked on.
    pub(super) fn trust(&self) -> Trust {
        if self.role.accepts() { Trust::Api } else { Trust::Queue }
    }
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    Ok(app.serve(args.role, signal::stop_token()).await?)
}

//! `verdict runs cancel`

use super::CliError;
use crate::app::App;

/// Which run.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The run's id, or the beginning of it.
    id: String,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    Ok(app.runs.cancel(&args.id).await?)
}

//! `verdict runs fork`

use super::{CliError, found, output, wake};
use crate::app::App;

/// What to copy.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The run's id, or the beginning of it.
    id: String,
    /// The last step to copy (0: start anew).
    #[arg(long, value_name = "STEP")]
    from: u32,
    /// Let the fork publish.
    #[arg(long)]
    publish: bool,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let (head, workflow) = found(app, &args.id).await?;
    let fork = workflow.fork(&app.runtime, &head.id, args.from, args.publish).await;
    let fork = fork.map_err(CliError::usage)?;
    wake(app, &fork).await;
    output::print(fork.as_str())
}

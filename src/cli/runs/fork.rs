//! `verdict runs fork`

use super::{CliError, output};
use crate::{app::App, graph::StepRef};

/// What to copy.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The run's id, or the beginning of it.
    id: String,
    /// The last step to copy (0: start anew); in a subgraph as the history shows it, `2.0/3`.
    #[arg(long, value_name = "STEP")]
    from: StepRef,
    /// Let the fork publish.
    #[arg(long)]
    publish: bool,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let fork = app.runs.fork(&args.id, args.from.clone(), args.publish).await?;
    output::print(fork.as_str())
}

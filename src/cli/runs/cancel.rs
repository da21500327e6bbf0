//! `verdict runs cancel`

use super::{CliError, find};
use crate::{app::App, graph::store::Cancelled};

/// Which run.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The run's id, or the beginning of it.
    id: String,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let head = find(app, &args.id).await?;
    match app.runtime.cancel(&head.id, &app.runtime.owner).await? {
        Cancelled::Done => Ok(()),
        Cancelled::Final(status) => {
            Err(CliError::usage(format!("run {} has ended ({status})", head.id)))
        }
        Cancelled::Missing => Err(CliError::usage(format!("there is no run {}", head.id))),
    }
}

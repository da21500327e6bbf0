//! `verdict runs resume`

use serde_json::value::RawValue;

use super::{CliError, found, wake};
use crate::{app::App, graph::store::Resumed, workflows::Inspected};

/// What to answer.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The run's id, or the beginning of it.
    id: String,
    /// Which interrupt; needed if several are open.
    #[arg(long)]
    interrupt: Option<String>,
    /// The answer, as JSON.
    #[arg(long, value_name = "JSON", default_value = "true")]
    with: String,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let (head, workflow) = found(app, &args.id).await?;
    let with = &args.with;
    let value: Box<RawValue> = serde_json::from_str(with)
        .map_err(|e| CliError::usage(format!("--with: `{with}` is no JSON: {e}")))?;
    let interrupt = match &args.interrupt {
        Some(interrupt) => interrupt.clone(),
        None => only_interrupt(&workflow.inspect(&app.runtime, &head.id).await?)?,
    };
    match app.runtime.resume(&head.id, &interrupt, &value).await? {
        Resumed::Accepted(_) => {
            wake(app, &head.id).await;
            Ok(())
        }
        Resumed::Already(first) => {
            let first = serde_json::from_slice(&first).map(|first| workflow.redact(first));
            let first = first.unwrap_or_default();
            Err(CliError::usage(format!("interrupt {interrupt} was answered before, with {first}")))
        }
        Resumed::Unknown => {
            Err(CliError::usage(format!("run {} has no interrupt `{interrupt}`", head.id)))
        }
        Resumed::Final(status) => {
            Err(CliError::usage(format!("run {} has ended ({status})", head.id)))
        }
    }
}

fn only_interrupt(seen: &Inspected) -> Result<String, CliError> {
    match seen.interrupts.as_slice() {
        [only] => Ok(only.id.clone()),
        [] => Err(CliError::usage(format!("run {} waits for no answer", seen.head.id))),
        several => {
            let ids: Vec<_> = several.iter().map(|asked| asked.id.as_str()).collect();
            let ids = ids.join(", ");
            Err(CliError::usage(format!("several interrupts are open: name one of {ids}")))
        }
    }
}

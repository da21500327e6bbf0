//! `verdict runs resume`

use serde_json::value::RawValue;

use super::CliError;
use crate::app::App;

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
    let with = &args.with;
    let answer: Box<RawValue> = serde_json::from_str(with)
        .map_err(|e| CliError::usage(format!("--with: `{with}` is no JSON: {e}")))?;
    Ok(app.runs.resume(&args.id, args.interrupt.as_deref(), &answer).await?)
}

//! `verdict review`: a range of a local repository, reviewed here and now, durable all the same.

use std::{io::IsTerminal, path::PathBuf, sync::Arc};

use clap::ValueEnum;
use serde_json::value::{RawValue, to_raw_value};

use super::{
    CliError, output,
    run::{admit, find, see_through},
};
use crate::{
    app::App,
    workflows::review::{Ask, Report, report::Format},
};

/// `verdict review`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to review, as for `git diff`: `A..B`, `A...B`, or `A` for `A..HEAD`; A's merge base
    /// with B is compared with B [default: what this branch adds to its upstream, else the last
    /// commit].
    range: Option<String>,
    /// A folder in the repository.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
    /// Compared from, in place of RANGE.
    #[arg(long, value_name = "REV", requires = "head", conflicts_with = "range")]
    base: Option<String>,
    /// Compared to, in place of RANGE.
    #[arg(long, value_name = "REV", requires = "base", conflicts_with = "range")]
    head: Option<String>,
    /// How to print: text or json.
    #[arg(long, default_value = "text")]
    format: Format,
    /// Exit with 1 if there is a finding at or above this severity.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t)]
    fail_on: FailOn,
    /// Review again, even if this range was reviewed before.
    #[arg(long)]
    fresh: bool,
}

/// The severity that fails the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum FailOn {
    #[default]
    None,
    Info,
    Low,
    Medium,
    High,
    Critical,
}

impl FailOn {
    fn word(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Info => Some("info"),
            Self::Low => Some("low"),
            Self::Medium => Some("medium"),
            Self::High => Some("high"),
            Self::Critical => Some("critical"),
        }
    }
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let workflow = find(app, "review")?;
    let start = admit(workflow, input(args, app).await?, "local".to_owned()).await?;
    let ended = see_through(app, workflow, start, false).await?;
    let report = Report::of(&ended.run, &ended.state, &ended.timings)?;
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = !plain && std::io::stdout().is_terminal();
    output::print(&match args.format {
        Format::Json => report.json(),
        Format::Text => report.text(colour),
    })?;
    ended.result()?;
    match args.fail_on.word().and_then(|severity| report.reaches(severity)) {
        Some(true) => Err(CliError::Findings),
        _ => Ok(()),
    }
}

async fn input(args: &Args, app: &App) -> Result<Arc<RawValue>, CliError> {
    let ask = Ask {
        repo: args.repo.clone(),
        range: args.range.clone(),
        ends: args.base.clone().zip(args.head.clone()),
        fresh: args.fresh,
    };
    let input = ask.input(&*app.forge).await.map_err(|fault| {
        if fault.is_transient() { CliError::failed(fault) } else { CliError::usage(fault) }
    })?;
    let raw = to_raw_value(&input).map_err(CliError::failed)?;
    Ok(raw.into())
}

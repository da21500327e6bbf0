//! `verdict review`: a range of a local repository, reviewed here and now, durable all the same.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::value::{RawValue, to_raw_value};

use super::{CliError, output, run};
use crate::{
    app::App,
    workflows::review::{Ask, Report, report::Format},
};

/// What `--fail-on` takes: no severity, or one of them.
const FAIL_ON: [&str; 6] = ["none", "info", "low", "medium", "high", "critical"];

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
    /// How to print: for a terminal, for programs, for a comment, for code scanning (SARIF 2.1.0),
    /// or as annotations in the log of a GitHub workflow.
    #[arg(long, default_value = "text", value_parser = formats())]
    format: Format,
    /// Write to this file, all at once or not at all, in place of stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Exit with 1 if there is a finding at or above this severity.
    #[arg(long, value_name = "SEVERITY", default_value = "none", value_parser = FAIL_ON)]
    fail_on: String,
    /// Review again, even if this range was reviewed before.
    #[arg(long)]
    fresh: bool,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let job = (input(args, app).await?, "local".to_owned());
    let driven = run::drive(app, "review", job, false).await?;
    let error = run::error(&driven);
    let report = Report::of(&driven.run, &driven.state, &driven.timings)?
        .failed(error.as_deref())
        .fit(args.file().map_or_else(output::width, |_| None))
        .with_code(&app.forges)
        .await;
    deliver(args, &report)?;
    if let Some(error) = error {
        return Err(CliError::failed(error));
    }
    match report.reaches(&args.fail_on) {
        Some(true) => Err(CliError::Findings),
        _ => Ok(()),
    }
}

impl Args {
    /// The file to write to; `-` is stdout.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::NAMES).try_map(|word| word.parse::<Format>())
}

/// Writes the report where it should go.
fn deliver(args: &Args, report: &Report) -> Result<(), CliError> {
    match args.file() {
        Some(file) => output::save(file, &report.write(args.format, false))?,
        None if args.format == Format::Text => {
            output::print(&report.write(Format::Text, output::coloured()))?;
        }
        None => output::print_exactly(&report.write(args.format, false))?,
    }
    if args.format == Format::Github {
        // A runner reads this too: there is nothing of the change in it.
        anstream::eprintln!("{}", report.summary());
    }
    Ok(())
}

async fn input(args: &Args, app: &App) -> Result<Arc<RawValue>, CliError> {
    let ask = Ask {
        repo: args.repo.clone(),
        range: args.range.clone(),
        ends: args.base.clone().zip(args.head.clone()),
        fresh: args.fresh,
    };
    let input = ask.input(&app.forges).await.map_err(|fault| {
        if fault.is_transient() { CliError::failed(fault) } else { CliError::usage(fault) }
    })?;
    let raw = to_raw_value(&input).map_err(CliError::failed)?;
    Ok(raw.into())
}

//! `verdict review`: a range of a local repository, reviewed here and now, durable all the same.

use std::{io::IsTerminal, path::PathBuf, sync::Arc};

use clap::ValueEnum;
use serde_json::value::{RawValue, to_raw_value};

use super::{
    CliError, output,
    run::{Ended, admit, find, see_through},
};
use crate::{
    analysis::Severity,
    app::App,
    base::Fault,
    graph::RunId,
    workflows::review::{self, ReviewInput, ReviewState, Selection},
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
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Exit with 1 if there is a finding at or above this severity.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t)]
    fail_on: FailOn,
    /// Review again, even if this range was reviewed before.
    #[arg(long)]
    fresh: bool,
}

/// How to print a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// Not available yet.
    Markdown,
    /// Not available yet.
    Sarif,
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
    fn severity(self) -> Option<Severity> {
        match self {
            Self::None => None,
            Self::Info => Some(Severity::Info),
            Self::Low => Some(Severity::Low),
            Self::Medium => Some(Severity::Medium),
            Self::High => Some(Severity::High),
            Self::Critical => Some(Severity::Critical),
        }
    }
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    if matches!(args.format, Format::Markdown | Format::Sarif) {
        return Err(CliError::usage("--format: only text and json are available yet"));
    }
    let workflow = find(app, "review")?;
    let start = admit(workflow, input(args, app).await?, "local".to_owned()).await?;
    let ended = see_through(app, workflow, start, false).await?;
    let state: ReviewState = serde_json::from_value(ended.state.clone())
        .map_err(|e| CliError::failed(format!("the run's state is no review's: {e}")))?;
    show(args, &ended, &state)?;
    ended.result()?;
    let worst = review::report::worst(&state);
    match args.fail_on.severity() {
        Some(limit) if worst.is_some_and(|worst| worst >= limit) => Err(CliError::Findings),
        _ => Ok(()),
    }
}

async fn input(args: &Args, app: &App) -> Result<Arc<RawValue>, CliError> {
    let selection = match (&args.range, &args.base, &args.head) {
        (Some(range), _, _) => Selection::Range(range.clone()),
        (None, Some(base), Some(head)) => {
            Selection::Ends { base: base.clone(), head: head.clone() }
        }
        _ => Selection::Default,
    };
    let range = app.forge.resolve(&args.repo, &selection).await.map_err(Fault::from);
    let range = range.map_err(|fault| {
        if fault.is_transient() { CliError::failed(fault) } else { CliError::usage(fault) }
    })?;
    let mut input = ReviewInput::from(range);
    input.fresh = args.fresh.then(|| RunId::random().to_string());
    let raw = to_raw_value(&input).map_err(|e| CliError::failed(e.to_string()))?;
    Ok(raw.into())
}

fn show(args: &Args, ended: &Ended, state: &ReviewState) -> Result<(), CliError> {
    let mut timings: std::collections::BTreeMap<String, f64> =
        ended.timings.nodes.iter().map(|(node, ms)| (node.to_string(), *ms)).collect();
    timings.insert("total".to_owned(), ended.timings.total_ms);
    let about = review::report::About { run: ended.run.to_string(), timings };
    if args.format == Format::Json {
        return output::print(&review::report::json(state, &about));
    }
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = !plain && std::io::stdout().is_terminal();
    output::print(&review::report::text(state, &about, colour))
}

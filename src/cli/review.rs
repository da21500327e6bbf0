//! `verdict review`: a range of a local repository, reviewed here and now, durable all the same.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use futures_util::future::OptionFuture;
use serde::Deserialize;
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};

use tokio::task::JoinHandle;

use super::{CliError, output, progress, run};
use crate::{
    app::App,
    base::Fault,
    workflows::review::{Ask, NamedLog, Overrides, Report, ToolReport, report::Format},
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
    /// Review what is staged, in place of RANGE.
    #[arg(long, conflicts_with_all = ["range", "base", "worktree"])]
    staged: bool,
    /// Review every change that is not committed, new files included, in place of RANGE.
    #[arg(long, conflicts_with_all = ["range", "base"])]
    worktree: bool,
    /// A folder in the repository.
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
    /// Review a pull request on GitHub, `owner/repo#7` or its address, in place of RANGE.
    #[arg(long, value_name = "PULL", conflicts_with_all = ["range", "base", "staged", "worktree"])]
    github: Option<String>,
    /// Leave the review on the pull request.
    #[arg(long, requires = "github")]
    publish: bool,
    /// Compared from, in place of RANGE.
    #[arg(long, value_name = "REV", requires = "head", conflicts_with = "range")]
    base: Option<String>,
    /// Compared to, in place of RANGE.
    #[arg(long, value_name = "REV", requires = "base", conflicts_with = "range")]
    head: Option<String>,
    /// How to print: for a terminal, for programs, for a comment, for code scanning (SARIF 2.1.0),
    /// as annotations in the log of a GitHub workflow, or as a report of code quality for GitLab.
    #[arg(long, default_value = "text", value_parser = formats())]
    format: Format,
    /// Write to this file, all at once or not at all, in place of stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Exit with 1 if there is a finding at or above this severity.
    #[arg(long, value_name = "SEVERITY", default_value = "none", value_parser = FAIL_ON)]
    fail_on: String,
    /// Also show what other tools found on changed lines, from their SARIF 2.1.0 logs; `-` is stdin.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "github")]
    sarif: Vec<PathBuf>,
    /// Review again, even if this range was reviewed before.
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    overrides: OverrideArgs,
}

/// In place of what the repository's `.verdict.toml` says.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "In place of the repository's settings")]
struct OverrideArgs {
    /// Leave out findings below this severity.
    #[arg(long, value_name = "SEVERITY", value_parser = PossibleValuesParser::new(&FAIL_ON[1..]))]
    min_severity: Option<String>,
    /// Leave out findings below this confidence, 0 to 1.
    #[arg(long, value_name = "NUMBER")]
    min_confidence: Option<f64>,
    /// Show so many findings at most; the rest is counted.
    #[arg(long, value_name = "COUNT")]
    max_findings: Option<usize>,
    /// Show every finding, however small or uncertain, and all of them.
    #[arg(long, conflicts_with_all = ["min_severity", "min_confidence", "max_findings"])]
    all: bool,
    /// Run only these agents.
    #[arg(long, value_name = "AGENT,…", value_delimiter = ',')]
    agents: Option<Vec<String>>,
    /// Review only paths that match one of these, as in `.gitignore`.
    #[arg(long, value_name = "GLOB")]
    include: Option<Vec<String>>,
    /// Leave out paths that match one of these.
    #[arg(long, value_name = "GLOB")]
    ignore: Option<Vec<String>>,
}

impl OverrideArgs {
    fn overrides(&self) -> Result<Overrides, CliError> {
        let overrides = Overrides::deserialize(json!({
            "agents": self.agents,
            "include": self.include,
            "ignore": self.ignore,
            "min_severity": self.min_severity,
            "min_confidence": self.min_confidence,
            "max_findings": self.max_findings,
        }));
        let overrides = overrides.map_err(CliError::usage)?;
        Ok(if self.all { overrides.with_everything() } else { overrides })
    }
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let (input, description) = progress::during("looking at the range", input(args, app)).await?;
    let driven = run::drive(app, "review", (input, None), false).await?;
    let error = run::error(&driven);
    let report = Report::of(&driven.run, &driven.state, &driven.timings)?
        .failed(error.as_deref())
        .recorded(driven.recorded)
        .fit(args.file().map_or_else(output::width, |_| None))
        .described(OptionFuture::from(description).await.and_then(Result::ok).flatten());
    let reading = report.with_code(&app.forges);
    let report = progress::during("reading the code of the findings", reading).await;
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

    /// A log of another tool, named as it was given.
    fn log(&self, path: &Path) -> Result<NamedLog, CliError> {
        let name = path.display().to_string();
        let opened: io::Result<Box<dyn Read>> = match path.as_os_str() == "-" {
            true => Ok(Box::new(io::stdin())),
            false => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
        };
        let mut log = Vec::new();
        let limit = ToolReport::MAX_LOG_BYTES;
        let read = opened.and_then(|file| file.take(limit + 1).read_to_end(&mut log));
        match read {
            Err(error) => {
                // Whatever stands behind `--sarif` is a file.
                let missing = error.kind() == ErrorKind::NotFound && self.range.is_none();
                let hint = if missing { "; a range stands before --sarif" } else { "" };
                Err(CliError::usage(format!("cannot read {name}: {error}{hint}")))
            }
            Ok(length) if u64::try_from(length).is_ok_and(|length| length <= limit) => {
                Ok((name, log))
            }
            Ok(_) => {
                let limit = limit / (1024 * 1024);
                Err(CliError::usage(format!("{name}: it is larger than {limit} MiB")))
            }
        }
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

/// What forges say fits a server, too; here is somebody who may name another folder.
fn refused(fault: Fault) -> CliError {
    match fault {
        fault if fault.is_transient() => CliError::failed(fault),
        fault if fault.message.ends_with("is not a git repository") => {
            CliError::usage(format!("{fault}; name one with --repo"))
        }
        fault => CliError::usage(fault),
    }
}

/// What the forge calls the change, looked up while it is reviewed.
type Description = JoinHandle<Option<String>>;

async fn input(args: &Args, app: &App) -> Result<(Arc<RawValue>, Option<Description>), CliError> {
    if let Some(place) = &args.github {
        if app.github.is_none() {
            return Err(CliError::usage(
                "GitHub is not configured: set github.token (VERDICT__GITHUB__TOKEN), or \
                 github.app_id and github.private_key_path",
            ));
        }
        let forge = if args.publish { "github" } else { "github-preview" };
        let mut input = json!({ forge: place, "settings": args.overrides.overrides()? });
        if args.fresh {
            input["fresh"] = format!("{:032x}", fastrand::u128(..)).into();
        }
        let raw = to_raw_value(&input).map_err(CliError::failed)?;
        return Ok((raw.into(), None));
    }
    let ask = Ask {
        repo: args.repo.clone(),
        range: args.range.clone(),
        ends: args.base.clone().zip(args.head.clone()),
        staged: args.staged,
        worktree: args.worktree,
        fresh: args.fresh,
        settings: args.overrides.overrides()?,
        logs: args.sarif.iter().map(|path| args.log(path)).collect::<Result<_, _>>()?,
    };
    let input = ask.input(&app.forges).await.map_err(refused)?;
    let raw = to_raw_value(&input).map_err(CliError::failed)?;
    let forges = app.forges.clone();
    let description = async move { input.description(&forges).await };
    let wanted = args.format == Format::Text;
    Ok((raw.into(), wanted.then(|| tokio::spawn(description))))
}

//! The command line: one file per subcommand.
//!
//! Machine output goes to stdout, people's to stderr. Exit codes: 0 done · 1 findings at or above
//! `--fail-on` · 2 usage or configuration · 3 the run failed.

mod completions;
mod config;
mod dlq;
mod doctor;
mod enqueue;
mod eval;
mod events;
mod examples;
mod github;
mod graph;
mod health;
mod migrate;
mod output;
mod pause;
mod progress;
mod review;
mod rules;
mod run;
mod runs;
mod serve;
mod signal;
mod stack;
mod table;

use std::{
    fmt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::{
    app::{App, AppError, Trust},
    base::{Fault, mask_urls},
    config::{ConfigError, Settings},
    runs::Error,
};

/// Reviews pull requests from a queue: one review on each head commit, whatever crashes in between.
#[derive(Debug, Parser)]
#[command(name = "verdict", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// The settings file [default: verdict.toml, if there is one].
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Review a range of a local repository.
    Review(review::Args),
    /// Accept work and do it, until told to stop.
    Serve(serve::Args),
    /// Put an event or a job on the queue.
    Enqueue(enqueue::Args),
    /// Run a workflow here and print its final state.
    Run(run::Args),
    /// Look at runs, and act on them.
    #[command(subcommand)]
    Runs(runs::Command),
    /// Look at dead letters, and act on them.
    #[command(subcommand)]
    Dlq(dlq::Command),
    /// Send events to the runs that wait for them.
    #[command(subcommand)]
    Events(events::Command),
    /// Put off a workflow or a repository, or list what is put off.
    Pause(pause::Args),
    /// Go on with a workflow or a repository.
    Unpause(pause::Unpause),
    /// Draw a workflow, or a run's way through it.
    Graph(graph::Args),
    /// Measure how well reviews find what is to be found, over a folder of cases.
    Eval(eval::Args),
    /// Look at the rules of a review, and try them.
    #[command(subcommand)]
    Rules(rules::Command),
    /// Look at the settings.
    #[command(subcommand)]
    Config(config::Command),
    /// Set up on GitHub, and take in what was missed there.
    #[command(subcommand)]
    Github(github::Command),
    /// Check that everything the settings name is there and works.
    Doctor(doctor::Args),
    /// Check that the server of these settings answers, as a container's health check.
    Health,
    /// Bring the store's schema up to date.
    Migrate,
    /// Print what completes this command line in a shell.
    Completions(completions::Args),
    /// Print a manual page, for `man -l -`.
    Man(completions::ManArgs),
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// How a command ended, short of success.
#[derive(Debug)]
pub enum CliError {
    /// Findings at or above the threshold: code 1, nothing more to say.
    Findings,
    /// Usage or configuration: code 2.
    Usage(String),
    /// The run failed: code 3.
    Failed(String),
}

impl CliError {
    /// A mistake of usage or configuration.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::Usage(message.to_string())
    }

    fn failed(message: impl fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// What there is to say.
    fn message(&self) -> Option<&str> {
        match self {
            Self::Findings => None,
            Self::Usage(message) | Self::Failed(message) => Some(message),
        }
    }

    /// Says it on stderr, and answers the exit code.
    pub fn exit(self) -> ExitCode {
        let (code, message) = match self {
            Self::Findings => (1, None),
            Self::Usage(message) => (2, Some(message)),
            Self::Failed(message) => (3, Some(message)),
        };
        if let Some(message) = message {
            anstream::eprintln!("verdict: {}", mask_urls(&message));
        }
        ExitCode::from(code)
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self::usage(error)
    }
}

impl From<AppError> for CliError {
    fn from(error: AppError) -> Self {
        Self::usage(error)
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        match error {
            Error::UnknownWorkflow { name, known } => {
                Self::usage(format!("there is no workflow `{name}` (known: {known})"))
            }
            Error::NoRun(reason) => Self::usage(format!("nothing to do: {reason}")),
            Error::Invalid(why) | Error::NotFound(why) | Error::Conflict(why) => Self::Usage(why),
            Error::Answered { .. } => Self::usage(error),
            Error::Unavailable(fault) | Error::Broken(fault) => Self::failed(fault),
        }
    }
}

impl From<Fault> for CliError {
    fn from(fault: Fault) -> Self {
        Self::failed(fault)
    }
}

impl Cli {
    /// What this process was asked for; ends it, with a word on why, when that is nothing.
    pub fn from_command_line() -> Self {
        let matches = examples::command().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// The settings this command line asks for.
    ///
    /// # Errors
    /// If a file or a variable is wrong; the error names key and source.
    pub fn settings(&self) -> Result<Settings, CliError> {
        load(self.config.as_deref())
    }

    /// Does what needs no settings. `None`: it needs them.
    pub fn at_once(&self) -> Option<ExitCode> {
        let done = match &self.command {
            Command::Completions(args) => completions::main(args),
            Command::Man(args) => completions::man(args),
            _ => return None,
        };
        Some(done.map_or_else(CliError::exit, |()| ExitCode::SUCCESS))
    }

    /// Gives this process what its threads need, before there are any.
    pub fn prepare(settings: &Settings) {
        stack::deepen(settings);
    }

    /// Whether this is a process that stays.
    pub fn serves(&self) -> bool {
        matches!(self.command, Command::Serve(_))
    }

    /// Runs the command and answers the process's exit code.
    pub fn run(self, settings: Settings) -> ExitCode {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return CliError::failed(format!("no runtime: {error}")).exit(),
        };
        let done = runtime.block_on(Box::pin(dispatch(self.command, settings)));
        // Analyses that were cut short may still compute; they hold nothing anybody waits for.
        runtime.shutdown_background();
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => error.exit(),
        }
    }
}

/// The settings of a file, or of the usual one, with the environment over them.
fn load(file: Option<&Path>) -> Result<Settings, CliError> {
    let cwd = std::env::current_dir()
        .map_err(|e| CliError::usage(format!("there is no current folder: {e}")))?;
    // A variable that is no text cannot be one of ours, or is wrong and will be said to be.
    let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let variables = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
    Ok(Settings::load(file, variables, &cwd)?)
}

async fn dispatch(command: Command, settings: Settings) -> Result<(), CliError> {
    match command {
        Command::Config(command) => return config::main(&command, &settings),
        Command::Rules(command) => return rules::main(&command),
        Command::Eval(args) => {
            return Box::pin(eval::main(&args, settings, |file| load(Some(file)))).await;
        }
        Command::Doctor(args) => return doctor::main(&args, settings).await,
        Command::Health => return health::main(&settings).await,
        Command::Migrate => return migrate::main(&settings).await,
        Command::Github(github::Command::Setup(args)) => {
            return github::setup(&args, settings).await;
        }
        Command::Completions(args) => return completions::main(&args),
        Command::Man(args) => return completions::man(&args),
        _ => {}
    }
    let trust = match &command {
        Command::Serve(args) => args.trust(),
        _ => Trust::Owner,
    };
    let app = App::open(settings, trust).await?;
    let done = match command {
        Command::Review(args) => review::main(&args, &app).await,
        Command::Serve(args) => serve::main(&args, &app).await,
        Command::Enqueue(args) => enqueue::main(&args, &app).await,
        Command::Run(args) => run::main(&args, &app).await,
        Command::Runs(command) => runs::main(&command, &app).await,
        Command::Dlq(command) => dlq::main(&command, &app).await,
        Command::Events(command) => events::main(&command, &app).await,
        Command::Pause(args) => pause::main(&args, &app).await,
        Command::Unpause(args) => pause::unpause(&args, &app).await,
        Command::Graph(args) => graph::main(&args, &app).await,
        Command::Github(github::Command::Repair(args)) => github::repair(&args, &app).await,
        Command::Config(_)
        | Command::Rules(_)
        | Command::Doctor(_)
        | Command::Github(github::Command::Setup(_))
        | Command::Eval(_)
        | Command::Health
        | Command::Migrate
        | Command::Completions(_)
        | Command::Man(_) => Ok(()),
    };
    app.close().await;
    done
}

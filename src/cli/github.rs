//! `verdict github`: set up on GitHub, and take in what was missed there.

use std::path::PathBuf;

use super::{CliError, Format, output};
use crate::{
    app::{App, Setup},
    config::Settings,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make verdict's App, in a browser, and write its settings.
    Setup(SetupArgs),
    /// Take in deliveries that nobody took, and open pull requests whose head has no review.
    Repair(RepairArgs),
}

/// `verdict github setup`
#[derive(Debug, clap::Args)]
pub(super) struct SetupArgs {
    /// Where GitHub will send events: `https://YOUR-HOST/webhooks/github`.
    #[arg(long, value_name = "URL")]
    webhook_url: String,
    /// The organisation that the App is to belong to [default: yourself].
    #[arg(long, value_name = "NAME")]
    organization: Option<String>,
    /// The App's name, which nobody else on GitHub may have.
    #[arg(long, default_value = "verdict-review")]
    name: String,
    /// The settings file to write to.
    #[arg(long, value_name = "FILE", default_value = "verdict.toml")]
    output: PathBuf,
}

/// `verdict github repair`
#[derive(Debug, clap::Args)]
pub(super) struct RepairArgs {
    /// Repositories to look through, `owner/repo` [default: all on which the App is installed].
    repositories: Vec<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) async fn setup(args: &SetupArgs, settings: Settings) -> Result<(), CliError> {
    let here = std::env::current_dir().map_err(CliError::failed)?;
    let setup = Setup {
        name: args.name.clone(),
        organization: args.organization.clone(),
        webhook_url: args.webhook_url.clone(),
        file: here.join(&args.output),
    };
    let waiting = setup.start(settings).await?;
    anstream::eprintln!("open this page in a browser: {}", waiting.url);
    let made = waiting.finish().await?;
    let (file, key) = (args.output.display(), made.key_path.display());
    output::print(&format!(
        "The App is made; {file} has its settings, {key} its private key.\n\
         What is left to do:\n\
         1. install it on the repositories to review: {}\n\
         2. start `verdict serve` where {} leads to it\n\
         3. `verdict doctor` says whether anything is missing\n",
        made.install_url, args.webhook_url
    ))
}

pub(super) async fn repair(args: &RepairArgs, app: &App) -> Result<(), CliError> {
    let repaired = app.repair(&args.repositories).await?;
    match args.format {
        Format::Json => output::print_json(&repaired),
        Format::Text => output::print(&format!(
            "put on the queue: {} deliveries that nobody had taken, {} open pull requests whose \
             head has no review\n",
            repaired.deliveries, repaired.pull_requests
        )),
    }
}

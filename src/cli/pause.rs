//! `verdict pause` and `verdict unpause`: a workflow or a repository put off.

use super::{
    CliError, Format, output,
    table::{Column, table},
};
use crate::{app::App, runs::Paused};

/// What to pause; without either, what is paused is listed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// Why, for people.
    #[arg(long, value_name = "TEXT", requires = "Which")]
    reason: Option<String>,
    /// How to print what is paused.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What to go on with.
#[derive(Debug, clap::Args)]
pub(super) struct Unpause {
    #[command(flatten)]
    which: Which,
}

/// A workflow or a repository.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Which {
    /// All runs of this workflow.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// All runs about this repository: `owner/repo`, with its host before it or not, or a folder.
    #[arg(long, value_name = "REPO")]
    repository: Option<String>,
}

impl Which {
    fn paused(&self) -> Option<Paused> {
        let workflow = self.workflow.clone().map(Paused::Workflow);
        workflow.or_else(|| self.repository.clone().map(Paused::Repository))
    }
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let Some(paused) = args.which.paused() else { return list(args.format, app).await };
    let pause = app.runs.pause(paused, args.reason.clone()).await?;
    anstream::eprintln!("{pause}");
    Ok(())
}

async fn list(format: Format, app: &App) -> Result<(), CliError> {
    let pauses = app.runs.pauses().await?;
    if format == Format::Json {
        return output::print_json(&pauses);
    }
    let rows: Vec<_> = pauses
        .iter()
        .map(|pause| {
            let (kind, name) = match &pause.paused {
                Paused::Workflow(name) => ("workflow", name),
                Paused::Repository(name) => ("repository", name),
            };
            let reason = pause.reason.clone().unwrap_or_default();
            vec![kind.to_owned(), name.clone(), pause.since.clone(), reason]
        })
        .collect();
    const COLUMNS: [Column; 4] = [
        Column::new("PAUSED"),
        Column::new("NAME"),
        Column::new("SINCE").drops(1),
        Column::new("REASON").shrinks(),
    ];
    output::print(&table(&COLUMNS, &rows))
}

pub(super) async fn unpause(args: &Unpause, app: &App) -> Result<(), CliError> {
    let missing = || CliError::usage("name a --workflow or a --repository");
    Ok(app.runs.unpause(&args.which.paused().ok_or_else(missing)?).await?)
}

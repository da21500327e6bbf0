//! Which runs a command is about: by id, by what they are, or all.

use super::CliError;
use crate::{app::App, graph::Head, runs::RunQuery};

/// Which runs: by id, by what they are, or all.
#[derive(Debug, clap::Args)]
pub(super) struct Which {
    /// The runs' ids, or the beginnings of them.
    #[arg(
        required_unless_present_any =
            ["all", "status", "waiting", "workflow", "subject", "older_than", "newer_than"],
        conflicts_with_all = ["all", "status", "waiting", "workflow", "subject", "older_than", "newer_than"],
    )]
    pub(super) ids: Vec<String>,
    /// Every run that it can be done with.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    pub(super) query: RunQuery,
    /// Do not ask.
    #[arg(long, short)]
    pub(super) yes: bool,
}

impl Which {
    /// Those named by id, each once. All are looked for before anything is done with one.
    pub(super) async fn named(&self, app: &App) -> Result<Vec<Head>, CliError> {
        let mut runs: Vec<Head> = Vec::new();
        for id in &self.ids {
            let run = app.runs.find(id).await?;
            if runs.iter().all(|known| known.id != run.id) {
                runs.push(run);
            }
        }
        Ok(runs)
    }
}

/// So many runs, in words.
pub(super) fn counted(runs: usize) -> String {
    if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") }
}

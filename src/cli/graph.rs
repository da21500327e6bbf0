//! `verdict graph`: drawings.

use clap::ValueEnum;

use super::{CliError, output};
use crate::app::App;

/// `verdict graph`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The workflow's name.
    workflow: String,
    /// The drawing's language.
    #[arg(long, value_enum, default_value_t)]
    format: Language,
    /// Colour the way of this run.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

/// A drawing's language.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Language {
    /// A Mermaid flowchart.
    #[default]
    Mermaid,
    /// A DOT digraph, for Graphviz.
    Dot,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let drawing = app.runs.drawing(&args.workflow, args.run.as_deref()).await?;
    output::print(&match args.format {
        Language::Mermaid => drawing.mermaid(),
        Language::Dot => drawing.dot(),
    })
}

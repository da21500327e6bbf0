//! `verdict config`: the settings, checked and shown.

use clap::Subcommand;

use super::{
    CliError, Format, output,
    table::{Column, table},
};
use crate::config::Settings;

/// `verdict config`
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check the settings and say nothing if they are right.
    Check,
    /// Show every setting, where it was set, and what it is. Secrets are not shown.
    Show {
        /// How to print.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

pub(super) fn main(command: &Command, settings: &Settings) -> Result<(), CliError> {
    // They were checked when they were loaded.
    let Command::Show { format } = command else { return Ok(()) };
    let described = settings.describe();
    if *format == Format::Json {
        return output::print_json(&described);
    }
    let rows: Vec<_> = described
        .iter()
        .map(|one| vec![one.key.clone(), one.value.clone(), one.origin.clone()])
        .collect();
    const COLUMNS: [Column; 3] = [
        Column::new("KEY"),
        Column::new("VALUE").shrinks(),
        Column::new("FROM").shrinks().drops(1),
    ];
    output::print(&table(&COLUMNS, &rows))
}

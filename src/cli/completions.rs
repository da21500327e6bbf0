//! `verdict completions` and `verdict man`: what a shell and `man` know of the command line, made
//! from it. They need no settings, so that a start-up file of a shell may call them anywhere.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, CliError, examples, output};

/// `verdict completions`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell that will read them.
    #[arg(value_enum)]
    shell: Shell,
}

/// `verdict man`
#[derive(Debug, clap::Args)]
pub(super) struct ManArgs {
    /// The page of this subcommand, as `runs list` [default: of verdict itself].
    #[arg(value_name = "SUBCOMMAND")]
    path: Vec<String>,
}

pub(super) fn main(args: &Args) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "verdict", &mut script);
    output::print_exactly(&String::from_utf8_lossy(&script))
}

pub(super) fn man(args: &ManArgs) -> Result<(), CliError> {
    let mut command = Cli::command();
    command.build();
    for name in &args.path {
        let next = command.find_subcommand(name).cloned();
        command = next.ok_or_else(|| {
            CliError::usage(format!("there is no subcommand `{}`", args.path.join(" ")))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(CliError::failed)?;
    examples::sections(&args.path.join(" ")).to_writer(&mut page).map_err(CliError::failed)?;
    output::print_exactly(&String::from_utf8_lossy(&page))
}

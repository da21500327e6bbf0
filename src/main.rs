//! The `verdict` binary: parse, telemetry, dispatch.

use std::process::ExitCode;

use verdict::{
    cli::{Cli, CliError},
    telemetry::{self, Quiet},
};

fn main() -> ExitCode {
    let cli = Cli::from_command_line();
    if let Some(code) = cli.at_once() {
        return code;
    }
    let settings = match cli.settings() {
        Ok(settings) => settings,
        Err(error) => return error.exit(),
    };
    Cli::prepare(&settings);
    let quiet = if cli.serves() { Quiet::Info } else { Quiet::Warn };
    if let Err(error) = telemetry::init(settings.log, quiet) {
        return CliError::usage(error).exit();
    }
    cli.run(settings)
}

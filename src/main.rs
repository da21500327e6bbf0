//! The `verdict` binary: parse, telemetry, dispatch.

use std::process::ExitCode;

use clap::Parser;
use verdict::cli::{self, Cli};

fn main() -> ExitCode {
    cli::main(Cli::parse())
}

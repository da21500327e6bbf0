//! The question before many runs are acted on.

use std::io::{IsTerminal, Write as _};

use super::CliError;

/// Asks on the terminal whether `what` is to be `done`; without one `--yes` has to say so.
pub(super) fn confirm(what: &str, done: &str) -> Result<(), CliError> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(CliError::usage(format!("{what} would be {done}: say so with --yes")));
    }
    let asked = match done {
        "deleted" => format!("delete {what}"),
        _ => format!("{what} would be {done}: go on"),
    };
    anstream::eprint!("{asked}? [y/N] ");
    // A terminal that does not show the question still takes the answer.
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    if !answer.ends_with('\n') {
        // Nobody ended the line of the question.
        anstream::eprintln!();
    }
    let yes = ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes));
    if read.is_ok() && yes {
        return Ok(());
    }
    Err(CliError::usage(format!("nothing was {done}")))
}

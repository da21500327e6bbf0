//! Printing: to stdout, to a file, as JSON.

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind, IsTerminal, Write},
    path::Path,
};

use serde::Serialize;

use super::CliError;

/// Writes to stdout, and ends the line; a reader that has gone away is no error.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    write(text, if text.ends_with('\n') { "" } else { "\n" })
}

/// The same for machines: nothing is added, and nothing taken out.
pub(super) fn print_exactly(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    told(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// A text that does nothing to a terminal: of control characters, ends of lines and tabs stay.
pub(super) fn tame(text: &str) -> String {
    text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "\u{fffd}")
}

fn write(text: &str, end: &str) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes()));
    told(written.and_then(|()| out.flush()))
}

fn told(written: io::Result<()>) -> Result<(), CliError> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::failed(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Whether stdout takes colours: a terminal does, and what the usual variables say counts more.
pub(super) fn coloured() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// The columns of the terminal that stdout is, as many as can be read with ease.
pub(super) fn width() -> Option<usize> {
    io::stdout().is_terminal().then(|| textwrap::termwidth().min(120))
}

/// Writes a file in one step: whoever reads it finds all of the text, or what was there before. A
/// device or a pipe is written to as it is.
pub(super) fn save(path: &Path, text: &str) -> Result<(), CliError> {
    saved(path, text.as_bytes())
        .map_err(|e| CliError::usage(format!("cannot write {}: {e}", path.display())))
}

fn saved(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one.
    let target = fs::canonicalize(path);
    let path = target.as_deref().unwrap_or(path);
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = new_file().tempfile_in(folder.unwrap_or(Path::new(".")))?;
    if let Some(there) = there {
        file.as_file().set_permissions(there.permissions())?;
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// A file beside the one that is wanted, with the rights that any new file has.
fn new_file() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".verdict-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

/// Prints a value as JSON, indented.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    print(&pretty(value)?)
}

fn pretty(value: &impl Serialize) -> Result<String, CliError> {
    serde_json::to_string_pretty(value)
        .map_err(|e| CliError::failed(format!("the output has no JSON form: {e}")))
}

/// A JSON array that is printed as its items come, so that any number of them may.
#[derive(Default)]
pub(super) struct JsonArray {
    begun: bool,
}

impl JsonArray {
    /// One more.
    pub(super) fn item(&mut self, item: &impl Serialize) -> Result<(), CliError> {
        let begin = if self.begun { ",\n  " } else { "[\n  " };
        self.begun = true;
        write(begin, &pretty(item)?.replace('\n', "\n  "))
    }

    /// No more.
    pub(super) fn end(self) -> Result<(), CliError> {
        write(if self.begun { "\n" } else { "[" }, "]\n")
    }
}

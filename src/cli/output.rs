//! Printing: JSON, and tables for people.

use std::io::{ErrorKind, Write};

use serde::Serialize;

use super::CliError;

/// Writes to stdout, and ends the line; a reader that has gone away is no error.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    write(text, if text.ends_with('\n') { "" } else { "\n" })
}

fn write(text: &str, end: &str) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes()));
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::failed(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
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

/// Columns as wide as they need to be; the last one as it comes.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widths = cells.map(|cell| cell.chars().count());
        widths.chain(head.get(column).map(|name| name.len())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            let pad = width.saturating_sub(cell.chars().count()) + 2;
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', pad));
        }
        line.trim_end().to_owned()
    };
    let mut text = line(head.to_vec());
    for row in rows {
        text.push('\n');
        text.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    text.push('\n');
    text
}

/// The first line of a text, cut to so many characters.
pub(super) fn brief(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= most && !text.contains('\n') {
        return line.to_owned();
    }
    let cut: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{cut}…")
}

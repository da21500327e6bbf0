//! `verdict dlq`: dead letters, without consuming the queue.

use clap::Subcommand;
use serde_json::Value;

use super::{CliError, Format, output};
use crate::{
    app::App,
    graph::store::Letter,
    runs::{LetterQuery, Replayed, views},
};

/// `verdict dlq`
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List dead letters, the newest first.
    List {
        /// Also those that were replayed or discarded.
        #[arg(long)]
        all: bool,
        /// Only these.
        #[command(flatten)]
        query: LetterQuery,
        /// At most so many.
        #[arg(long)]
        limit: Option<usize>,
        /// How to print.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show a dead letter with its payload and headers.
    Show {
        /// The letter's id.
        id: String,
        /// How to print.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Send dead letters again; their runs go on at what failed.
    Replay(Which),
    /// Put dead letters away.
    Discard(Which),
}

/// Which letters: by id, by what they are about, or all.
#[derive(Debug, clap::Args)]
pub(super) struct Which {
    /// The letters' ids.
    #[arg(
        required_unless_present_any = ["all", "reason", "workflow", "older_than", "newer_than"],
        conflicts_with_all = ["all", "reason", "workflow", "older_than", "newer_than"],
    )]
    ids: Vec<String>,
    /// Every open letter.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    query: LetterQuery,
}

pub(super) async fn main(command: &Command, app: &App) -> Result<(), CliError> {
    match command {
        Command::List { all, query, limit, format } => {
            let mut letters =
                app.runs.dead_letters(&LetterQuery { settled: *all, ..query.clone() }).await?;
            letters.truncate(limit.unwrap_or(usize::MAX));
            list(&letters, *format)
        }
        Command::Show { id, format } => show(app, id, *format).await,
        Command::Replay(which) => each(app, which, true).await,
        Command::Discard(which) => each(app, which, false).await,
    }
}

fn list(letters: &[Letter], format: Format) -> Result<(), CliError> {
    if format == Format::Json {
        return output::print_json(&letters.iter().map(views::dead_letter).collect::<Vec<_>>());
    }
    let rows: Vec<_> = letters
        .iter()
        .map(|letter| {
            let run = letter.run.as_ref().map(|run| run.as_str().chars().take(12).collect());
            vec![
                letter.id.clone(),
                letter.reason.to_string(),
                letter.state.to_string(),
                letter.last_at.to_string(),
                run.unwrap_or_default(),
                output::brief(&letter.error, 80),
            ]
        })
        .collect();
    let head = ["ID", "REASON", "STATE", "LAST", "RUN", "ERROR"];
    output::print(&output::table(&head, &rows))
}

async fn show(app: &App, id: &str, format: Format) -> Result<(), CliError> {
    let (letter, payload) = app.runs.dead_letter(id).await?;
    let value = views::dead_letter_details(&letter, &payload);
    if format == Format::Json {
        return output::print_json(&value);
    }
    let mut lines = Vec::new();
    if let Value::Object(fields) = &value {
        for (name, field) in fields {
            if name != "payload" && !field.is_null() {
                let text = field.as_str().map_or_else(|| field.to_string(), str::to_owned);
                lines.push(format!("{name:<11} {text}"));
            }
        }
    }
    lines.push(String::new());
    lines.push(payload);
    output::print(&lines.join("\n"))
}

async fn each(app: &App, which: &Which, replay: bool) -> Result<(), CliError> {
    let ids: Vec<String> = if which.ids.is_empty() {
        let letters = app.runs.dead_letters(&which.query).await?;
        letters.into_iter().map(|letter| letter.id).collect()
    } else {
        which.ids.clone()
    };
    let runs = &app.runs;
    let (answers, result) = if replay { runs.replay(&ids).await } else { runs.discard(&ids).await };
    let mut missing = Vec::new();
    for (id, answer) in ids.iter().zip(answers) {
        match answer {
            Replayed::Done => {
                let done = if replay { "replayed" } else { "discarded" };
                anstream::eprintln!("{id} {done}");
            }
            Replayed::Before(state) => anstream::eprintln!("{id} was {} before", state),
            Replayed::Missing => missing.push(id.as_str()),
        }
    }
    result?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!("there is no letter {}", missing.join(", "))))
}

//! `verdict dlq`: dead letters, without consuming the queue.

use clap::Subcommand;
use serde_json::Value;

use super::{
    CliError, Format, output,
    table::{Column, table},
};
use crate::{
    app::App,
    base::Result,
    graph::store::{Letter, LetterState},
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
        /// The letter's id, or the beginning of it.
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
    /// The letters' ids, or the beginnings of them.
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
    /// Only count them.
    #[arg(long)]
    dry_run: bool,
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
                letter.id.chars().take(12).collect(),
                letter.reason.to_string(),
                letter.state.to_string(),
                letter.last_at.to_string(),
                run.unwrap_or_default(),
                letter.error.clone(),
            ]
        })
        .collect();
    const COLUMNS: [Column; 6] = [
        Column::new("ID"),
        Column::new("REASON"),
        Column::new("STATE").drops(3),
        Column::new("LAST").drops(2),
        Column::new("RUN").drops(1),
        Column::new("ERROR").shrinks(),
    ];
    output::print(&table(&COLUMNS, &rows))
}

async fn show(app: &App, id: &str, format: Format) -> Result<(), CliError> {
    let (letter, payload) = app.runs.dead_letter(id).await?;
    let value = serde_json::to_value(views::dead_letter_details(&letter, &payload));
    let value = value.unwrap_or_default();
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
        let mut ids = Vec::new();
        for id in &which.ids {
            ids.push(app.runs.letter_id(id).await?);
        }
        ids
    };
    let (to, done) = if replay {
        (LetterState::Replayed, "replayed")
    } else {
        (LetterState::Discarded, "discarded")
    };
    if which.dry_run {
        anstream::eprintln!("{} letters would be {done}", ids.len());
        return Ok(());
    }
    let (mut missing, mut failed) = (Vec::new(), 0);
    let told = |id: &str, answer: Result<Replayed>| match answer {
        Ok(Replayed::Done) => anstream::eprintln!("{id} {done}"),
        Ok(Replayed::Before(state)) => anstream::eprintln!("{id} was {state} before"),
        Ok(Replayed::Missing) => missing.push(id.to_owned()),
        Err(fault) => {
            failed += 1;
            anstream::eprintln!("{id} not {done}: {fault}");
        }
    };
    app.runs.close_each(&ids, to, told).await;
    if failed > 0 {
        return Err(CliError::failed(format!("letters that were not {done}: {failed}")));
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!("there is no letter {}", missing.join(", "))))
}

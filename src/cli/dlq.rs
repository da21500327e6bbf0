//! `verdict dlq`: dead letters, without consuming the queue.

use clap::Subcommand;
use serde_json::{Value, json};

use super::{CliError, Format, output};
use crate::{
    app::App,
    base::Fault,
    graph::store::{Letter, LetterFilter, LetterState},
    worker::Replayed,
};

/// `verdict dlq`
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List dead letters, the newest first.
    List {
        /// Also those that were replayed or discarded.
        #[arg(long)]
        all: bool,
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

/// Which letters.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Which {
    /// The letters' ids.
    ids: Vec<String>,
    /// Every open letter.
    #[arg(long)]
    all: bool,
}

pub(super) async fn main(command: &Command, app: &App) -> Result<(), CliError> {
    match command {
        Command::List { all, limit, format } => list(app, *all, limit.unwrap_or(0), *format).await,
        Command::Show { id, format } => show(app, id, *format).await,
        Command::Replay(which) => each(app, which, true).await,
        Command::Discard(which) => each(app, which, false).await,
    }
}

async fn letters(app: &App, all: bool, limit: usize) -> Result<Vec<Letter>, CliError> {
    let state = (!all).then_some(LetterState::Open);
    let filter = LetterFilter { state, confirmed: None, limit };
    Ok(app.runtime.store.letters(&filter).await.map_err(Fault::from)?)
}

/// A letter as listings show it.
fn row(letter: &Letter) -> Value {
    json!({
        "id": letter.id,
        "reason": letter.reason,
        "run": letter.run,
        "workflow": letter.workflow,
        "node": letter.node,
        "error": letter.error,
        "executions": letter.executions,
        "first_at": letter.first_at.to_string(),
        "last_at": letter.last_at.to_string(),
        "state": letter.state,
    })
}

fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

async fn list(app: &App, all: bool, limit: usize, format: Format) -> Result<(), CliError> {
    let letters = letters(app, all, limit).await?;
    if format == Format::Json {
        return output::print_json(&letters.iter().map(row).collect::<Vec<_>>());
    }
    let rows: Vec<_> = letters
        .iter()
        .map(|letter| {
            let run = letter.run.as_ref().map(|run| run.as_str().chars().take(12).collect());
            vec![
                letter.id.clone(),
                word(&letter.reason),
                word(&letter.state),
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
    let letter = app.runtime.store.letter(id).await.map_err(Fault::from)?;
    let letter = letter.ok_or_else(|| CliError::usage(format!("there is no letter `{id}`")))?;
    let payload = String::from_utf8_lossy(&letter.payload).into_owned();
    let mut value = row(&letter);
    if let Value::Object(fields) = &mut value {
        fields.insert("confirmed".to_owned(), json!(letter.confirmed));
        fields.insert("headers".to_owned(), json!(letter.headers));
        fields.insert("payload".to_owned(), json!(payload));
    }
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
    let ids = if which.all {
        letters(app, false, 0).await?.into_iter().map(|letter| letter.id).collect()
    } else {
        which.ids.clone()
    };
    let dead_letters = app.letters();
    let mut missing = Vec::new();
    for id in ids {
        let done =
            if replay { dead_letters.replay(&id).await } else { dead_letters.discard(&id).await };
        match done? {
            Replayed::Done => {
                let done = if replay { "replayed" } else { "discarded" };
                anstream::eprintln!("{id} {done}");
            }
            Replayed::Before(state) => anstream::eprintln!("{id} was {} before", word(&state)),
            Replayed::Missing => missing.push(id),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!("there is no letter {}", missing.join(", "))))
}

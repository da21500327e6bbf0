//! `verdict dlq`: dead letters, without consuming the queue.

use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};

use super::{CliError, Format, output};
use crate::{
    app::App,
    base::{Fault, Timestamp},
    graph::store::{Letter, LetterFilter, LetterReason, LetterState},
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
        /// Only these.
        #[command(flatten)]
        narrow: Narrow,
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
    narrow: Narrow,
}

/// Letters that fit every one of these.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Narrow {
    /// Given up for this reason: `permanent`, `undecodable`, …
    #[arg(long)]
    reason: Option<LetterReason>,
    /// Of this workflow.
    #[arg(long)]
    workflow: Option<String>,
    /// Last given up longer ago than this: `90m`, `2d`.
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    older_than: Option<Duration>,
    /// Last given up no longer ago than this.
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    newer_than: Option<Duration>,
}

impl Narrow {
    fn fits(&self, letter: &Letter, now: Timestamp) -> bool {
        let age = now.since(letter.last_at);
        self.reason.is_none_or(|reason| letter.reason == reason)
            && self.workflow.as_ref().is_none_or(|name| letter.workflow.as_ref() == Some(name))
            && self.older_than.is_none_or(|limit| age > limit)
            && self.newer_than.is_none_or(|limit| age <= limit)
    }
}

pub(super) async fn main(command: &Command, app: &App) -> Result<(), CliError> {
    match command {
        Command::List { all, narrow, limit, format } => {
            let letters = letters(app, *all, narrow, limit.unwrap_or(usize::MAX)).await?;
            list(&letters, *format)
        }
        Command::Show { id, format } => show(app, id, *format).await,
        Command::Replay(which) => each(app, which, true).await,
        Command::Discard(which) => each(app, which, false).await,
    }
}

async fn letters(
    app: &App,
    all: bool,
    narrow: &Narrow,
    limit: usize,
) -> Result<Vec<Letter>, CliError> {
    let state = (!all).then_some(LetterState::Open);
    let filter = LetterFilter { state, confirmed: None, limit: 0 };
    let letters = app.runtime.store.letters(&filter).await.map_err(Fault::from)?;
    let now = app.runtime.clock.now();
    Ok(letters.into_iter().filter(|letter| narrow.fits(letter, now)).take(limit).collect())
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

fn list(letters: &[Letter], format: Format) -> Result<(), CliError> {
    if format == Format::Json {
        return output::print_json(&letters.iter().map(row).collect::<Vec<_>>());
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
    let letter = app.runtime.store.letter(id).await.map_err(Fault::from)?;
    let letter = letter.ok_or_else(|| CliError::usage(format!("there is no letter `{id}`")))?;
    let payload = app.workflows.readable(letter.workflow.as_deref(), &letter.payload);
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
    let ids: Vec<String> = if which.ids.is_empty() {
        let letters = letters(app, false, &which.narrow, usize::MAX).await?;
        letters.into_iter().map(|letter| letter.id).collect()
    } else {
        which.ids.clone()
    };
    let dead_letters = app.letters();
    let (answers, result) =
        if replay { dead_letters.replay(&ids).await } else { dead_letters.discard(&ids).await };
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

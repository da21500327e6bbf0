//! `verdict runs`: what runs there are, what they did, and what can be done about them. One file
//! for each subcommand; here is what several of them need.

mod cancel;
mod delete;
mod fork;
mod history;
mod list;
mod narrow;
mod resume;
mod show;
mod watch;

use std::{sync::Arc, time::Duration};

use clap::Subcommand;
use serde_json::{Value, json};

use super::{CliError, Format, output, run, signal};
use crate::{
    app::App,
    base::{Fault, Timestamp},
    graph::{Head, RunId, store::RunFilter},
    queue::Decoded,
    workflows::AnyWorkflow,
};

/// `verdict runs`
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List runs, the newest first.
    List(list::Args),
    /// Show a run: where it stands, its result, what it waits for.
    Show(show::Args),
    /// List a run's records.
    History(history::Args),
    /// Follow a run until it ends, whoever works on it. The exit code is 0 only if it completes.
    Watch(watch::Args),
    /// Answer an interrupt.
    Resume(resume::Args),
    /// Stop a run.
    Cancel(cancel::Args),
    /// Copy a run up to a step into a new one, and queue it.
    Fork(fork::Args),
    /// Delete runs that have ended. Their dead letters stay.
    Delete(delete::Args),
}

pub(super) async fn main(command: &Command, app: &App) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::main(args, app).await,
        Command::Show(args) => show::main(args, app).await,
        Command::History(args) => history::main(args, app).await,
        Command::Watch(args) => watch::main(args, app).await,
        Command::Resume(args) => resume::main(args, app).await,
        Command::Cancel(args) => cancel::main(args, app).await,
        Command::Fork(args) => fork::main(args, app).await,
        Command::Delete(args) => delete::main(args, app).await,
    }
}

/// The run whose id begins so.
pub(super) async fn find(app: &App, id: &str) -> Result<Head, CliError> {
    let hex = id.bytes().all(|b| b.is_ascii_hexdigit());
    if id.len() < 4 || !hex {
        let message = format!("`{id}` is no run id, nor the first four or more digits of one");
        return Err(CliError::usage(message));
    }
    let id = id.to_ascii_lowercase();
    let store = &app.runtime.store;
    let mut heads = match id.parse::<RunId>() {
        Ok(whole) => Vec::from_iter(store.head(&whole).await.map_err(Fault::from)?),
        Err(_) => {
            let filter = RunFilter { id_prefix: Some(id.clone()), limit: 2, ..Default::default() };
            store.list(&filter).await.map_err(Fault::from)?
        }
    };
    match (heads.pop(), heads.pop()) {
        (None, _) => Err(CliError::usage(format!("there is no run `{id}`"))),
        (Some(head), None) => Ok(head),
        _ => Err(CliError::usage(format!("several runs begin with `{id}`: give more of the id"))),
    }
}

/// The run, and the workflow it is of.
async fn found<'a>(app: &'a App, id: &str) -> Result<(Head, &'a Arc<dyn AnyWorkflow>), CliError> {
    let head = find(app, id).await?;
    let workflow = run::find(app, &head.workflow)?;
    Ok((head, workflow))
}

/// A run as listings show it at this time.
fn row(head: &Head, now: Timestamp) -> Value {
    json!({
        "id": head.id,
        "workflow": head.workflow,
        "key": head.key,
        "subject": head.subject,
        "status": head.status,
        "waiting": waiting(head, now),
        "executions": head.executions,
        "created_at": head.created_at.to_string(),
        "updated_at": head.updated_at.to_string(),
        "error": head.error,
    })
}

/// What it waits for, and until when if it waits for a time.
fn waiting(head: &Head, now: Timestamp) -> Value {
    let mut waiting = json!(head.waits(now));
    let until = head.not_before.filter(|at| at.0 > 0);
    if let (Value::Object(fields), Some(until)) = (&mut waiting, until) {
        fields.insert("until".to_owned(), json!(until.to_string()));
    }
    waiting
}

/// Tells the workers; a sweep finds the run all the same if that fails.
async fn wake(app: &App, run: &RunId) {
    let message = Decoded::wake_message(run.as_str());
    if let Err(error) = app.queue.publish(message, Duration::ZERO).await {
        tracing::warn!(%error, "no wake-up was sent; a worker's sweep will find the run");
    }
}

//! `verdict runs`: what runs there are, what they did, and what can be done about them.

use std::{sync::Arc, time::Duration};

use clap::Subcommand;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use tokio::time::sleep;

use super::{CliError, Format, output, run, signal};
use crate::{
    app::App,
    base::{Fault, Timestamp},
    graph::{
        Head, Meta, RunId, RunStatus,
        store::{Cancelled, Resumed, RunFilter},
    },
    queue::Decoded,
    workflows::{AnyWorkflow, Inspected},
};

/// `verdict runs`
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List runs, the newest first.
    List {
        /// Only with one of these statuses.
        #[arg(long, value_delimiter = ',')]
        status: Vec<RunStatus>,
        /// Only of this workflow.
        #[arg(long)]
        workflow: Option<String>,
        /// Only about this subject.
        #[arg(long)]
        subject: Option<String>,
        /// At most so many [default: 50 as text, all as JSON].
        #[arg(long)]
        limit: Option<usize>,
        /// How to print.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show a run: where it stands, its result, what it waits for.
    Show {
        /// The run's id, or the beginning of it.
        id: String,
        /// The state as it was after this step (0: at the start).
        #[arg(long)]
        step: Option<u32>,
        /// How to print.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// List a run's records.
    History {
        /// The run's id, or the beginning of it.
        id: String,
        /// How to print.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Follow a run until it ends, whoever works on it.
    Watch {
        /// The run's id, or the beginning of it.
        id: String,
        /// How to print: a line per record, or a JSON object per line.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Answer an interrupt.
    Resume {
        /// The run's id, or the beginning of it.
        id: String,
        /// Which interrupt; needed if several are open.
        #[arg(long)]
        interrupt: Option<String>,
        /// The answer, as JSON.
        #[arg(long, value_name = "JSON", default_value = "true")]
        with: String,
    },
    /// Stop a run.
    Cancel {
        /// The run's id, or the beginning of it.
        id: String,
    },
    /// Copy a run up to a step into a new one, and queue it.
    Fork {
        /// The run's id, or the beginning of it.
        id: String,
        /// The last step to copy (0: start anew).
        #[arg(long, value_name = "STEP")]
        from: u32,
        /// Let the fork publish.
        #[arg(long)]
        publish: bool,
    },
    /// Delete a run that has ended.
    Delete {
        /// The run's id, or the beginning of it.
        id: String,
    },
}

pub(super) async fn main(command: &Command, app: &App) -> Result<(), CliError> {
    match command {
        Command::List { status, workflow, subject, limit, format } => {
            let filter = RunFilter {
                statuses: status.clone(),
                workflow: workflow.clone(),
                subject: subject.clone(),
                limit: limit.unwrap_or(if *format == Format::Text { 50 } else { 0 }),
                ..RunFilter::default()
            };
            list(app, &filter, *format).await
        }
        Command::Show { id, step, format } => show(app, id, *step, *format).await,
        Command::History { id, format } => history(app, id, *format).await,
        Command::Watch { id, format } => watch(app, id, *format).await,
        Command::Resume { id, interrupt, with } => {
            resume(app, id, interrupt.as_deref(), with).await
        }
        Command::Cancel { id } => cancel(app, id).await,
        Command::Fork { id, from, publish } => fork(app, id, *from, *publish).await,
        Command::Delete { id } => delete(app, id).await,
    }
}

/// The run whose id begins so.
pub(super) async fn find(app: &App, id: &str) -> Result<Head, CliError> {
    let hex = id.bytes().all(|b| b.is_ascii_hexdigit());
    if id.len() < 4 || !hex {
        let message = format!("`{id}` is no run id, nor the first four or more digits of one");
        return Err(CliError::usage(message));
    }
    let id_prefix = Some(id.to_ascii_lowercase());
    let filter = RunFilter { id_prefix, limit: 2, ..RunFilter::default() };
    let mut heads = app.runtime.store.list(&filter).await.map_err(Fault::from)?;
    match (heads.pop(), heads.pop()) {
        (None, _) => Err(CliError::usage(format!("there is no run `{id}`"))),
        (Some(head), None) => Ok(head),
        _ => Err(CliError::usage(format!("several runs begin with `{id}`: give more of the id"))),
    }
}

async fn found<'a>(app: &'a App, id: &str) -> Result<(Head, &'a Arc<dyn AnyWorkflow>), CliError> {
    let head = find(app, id).await?;
    let workflow = run::find(app, &head.workflow)?;
    Ok((head, workflow))
}

/// A run as listings show it.
fn row(head: &Head) -> Value {
    json!({
        "id": head.id,
        "workflow": head.workflow,
        "key": head.key,
        "subject": head.subject,
        "status": head.status,
        "executions": head.executions,
        "created_at": head.created_at.to_string(),
        "updated_at": head.updated_at.to_string(),
        "error": head.error,
    })
}

async fn list(app: &App, filter: &RunFilter, format: Format) -> Result<(), CliError> {
    let heads = app.runtime.store.list(filter).await.map_err(Fault::from)?;
    if format == Format::Json {
        return output::print_json(&heads.iter().map(row).collect::<Vec<_>>());
    }
    let rows: Vec<_> = heads
        .iter()
        .map(|head| {
            let id = head.id.as_str().chars().take(12).collect();
            let error = head.error.as_deref().map(|e| output::brief(e, 60)).unwrap_or_default();
            let (status, created) = (head.status.to_string(), head.created_at.to_string());
            vec![id, head.workflow.clone(), status, created, output::brief(&head.key, 60), error]
        })
        .collect();
    let head = ["ID", "WORKFLOW", "STATUS", "CREATED", "KEY", "ERROR"];
    output::print(&output::table(&head, &rows))
}

async fn show(app: &App, id: &str, step: Option<u32>, format: Format) -> Result<(), CliError> {
    let (head, workflow) = found(app, id).await?;
    if let Some(step) = step {
        let state = workflow.checkpoint(&app.runtime, &head.id, step).await;
        return output::print_json(&state.map_err(CliError::usage)?);
    }
    let seen = workflow.inspect(&app.runtime, &head.id).await?;
    if format == Format::Json {
        return output::print_json(&as_json(&seen));
    }
    output::print(&as_text(&seen))
}

fn as_json(seen: &Inspected) -> Value {
    let mut value = row(&seen.head);
    let pending = seen
        .pending
        .iter()
        .map(|(index, node, waits)| json!({"index": index, "node": node, "waits": waits}));
    let letters =
        seen.letters.iter().map(|(id, confirmed)| json!({"id": id, "confirmed": confirmed}));
    if let Value::Object(fields) = &mut value {
        let more = [
            ("version", json!(seen.head.workflow_version)),
            ("not_before", json!(seen.head.not_before.map(|at| at.to_string()))),
            ("owner", json!(seen.head.lease.as_ref().map(|lease| &lease.owner))),
            ("pending", pending.collect()),
            ("interrupts", json!(seen.interrupts)),
            ("failures", json!(seen.failures)),
            ("letters", letters.collect()),
            ("timings", json!(seen.timings)),
            ("state", seen.state.clone()),
        ];
        fields.extend(more.map(|(name, value)| (name.to_owned(), value)));
    }
    value
}

fn as_text(seen: &Inspected) -> String {
    let head = &seen.head;
    let mut lines = vec![
        format!("run       {}", head.id),
        format!("workflow  {} (version {})", head.workflow, head.workflow_version),
        format!("key       {}", head.key),
        format!("status    {}", head.status),
        format!("created   {}", head.created_at),
        format!("updated   {}", head.updated_at),
        format!("timings   {}", seen.timings.line()),
    ];
    lines.extend(head.subject.iter().map(|subject| format!("subject   {subject}")));
    lines.extend(head.not_before.filter(|at| at.0 > 0).map(|at| format!("due       {at}")));
    lines.extend(head.lease.iter().map(|lease| format!("held by   {}", lease.owner)));
    lines.extend(head.error.iter().map(|error| format!("error     {error}")));
    for (_, node, waits) in &seen.pending {
        lines.push(format!("pending   {node} {waits}"));
    }
    for asked in &seen.interrupts {
        lines.push(format!("asks      {} ({}): {}", asked.id, asked.node, asked.request));
    }
    for failure in &seen.failures {
        let node = failure.node.as_deref().unwrap_or("the step");
        lines.push(format!("failed    {node} in step {}: {}", failure.step, failure.fault));
    }
    for (id, confirmed) in &seen.letters {
        let where_ = if *confirmed { "" } else { " (not confirmed by the queue)" };
        lines.push(format!("letter    {id}{where_}"));
    }
    lines.push(String::new());
    match &seen.rendered {
        Some(rendered) => lines.push(rendered.clone()),
        None => lines.push(serde_json::to_string_pretty(&seen.state).unwrap_or_default()),
    }
    lines.join("\n")
}

/// A record as listings show it.
#[derive(Serialize)]
struct HistoryRow {
    seq: u64,
    kind: &'static str,
    step: Option<u32>,
    node: Option<Arc<str>>,
    index: Option<u32>,
    attempt: Option<u32>,
    at: String,
    duration_ms: Option<f64>,
    #[serde(skip)]
    note: String,
}

fn history_row((seq, at, meta): (u64, Timestamp, Meta)) -> HistoryRow {
    let (kind, step, at) = (meta.kind(), meta.step(), at.to_string());
    let bare = HistoryRow {
        seq,
        kind,
        step,
        at,
        node: None,
        index: None,
        attempt: None,
        duration_ms: None,
        note: String::new(),
    };
    match meta {
        Meta::TaskFinished { node, index, attempts, us, fault, .. } => HistoryRow {
            node: Some(node),
            index: Some(index),
            attempt: Some(attempts),
            duration_ms: Some(us as f64 / 1e3),
            note: fault.map(|fault| fault.message).unwrap_or_default(),
            ..bare
        },
        Meta::Interrupted { id, node, index, .. } => {
            HistoryRow { node: Some(node), index, note: id, ..bare }
        }
        Meta::Parked { node, index, until, reason, .. } => HistoryRow {
            node: Some(node),
            index: Some(index),
            note: format!("until {until}: {reason}"),
            ..bare
        },
        Meta::Reopened { why, from, .. } => HistoryRow { step: Some(from), note: why, ..bare },
        Meta::Resumed { id } | Meta::Letter { id } | Meta::LetterConfirmed { id } => {
            HistoryRow { note: id, ..bare }
        }
        Meta::Superseded { by } => HistoryRow { note: format!("by {by}"), ..bare },
        Meta::Cancelled { by } => HistoryRow { note: format!("by {by}"), ..bare },
        Meta::Forked { parent, step, .. } => {
            HistoryRow { step: Some(step), note: format!("from {parent}"), ..bare }
        }
        Meta::Started { .. } | Meta::StepFinished { .. } | Meta::Finished { .. } => bare,
    }
}

impl HistoryRow {
    fn cells(&self) -> Vec<String> {
        let text = |number: Option<u32>| number.map(|n| n.to_string()).unwrap_or_default();
        vec![
            self.seq.to_string(),
            self.at.clone(),
            self.kind.to_owned(),
            text(self.step),
            self.node.as_deref().unwrap_or_default().to_owned(),
            text(self.attempt),
            self.duration_ms.map(|ms| format!("{ms:.1} ms")).unwrap_or_default(),
            output::brief(&self.note, 80),
        ]
    }
}

const HISTORY: [&str; 8] = ["SEQ", "AT", "KIND", "STEP", "NODE", "TRIES", "TOOK", ""];

async fn history(app: &App, id: &str, format: Format) -> Result<(), CliError> {
    let head = find(app, id).await?;
    let rows = app.runtime.history(&head.id).await?.into_iter().map(history_row);
    if format == Format::Json {
        return output::print_json(&rows.collect::<Vec<_>>());
    }
    let cells: Vec<_> = rows.map(|row| row.cells()).collect();
    output::print(&output::table(&HISTORY, &cells))
}

/// How often a run is looked at while it is watched: its worker may be any process.
const LOOK: Duration = Duration::from_millis(250);

async fn watch(app: &App, id: &str, format: Format) -> Result<(), CliError> {
    let mut seen = 0;
    let run = find(app, id).await?.id;
    let stop = signal::stop_token();
    loop {
        let loaded = app.runtime.store.load(&run, seen).await.map_err(Fault::from)?;
        let Some((head, records)) = loaded else {
            return Err(CliError::failed(format!("run {run} was deleted")));
        };
        for record in &records {
            seen += 1;
            let (at, meta) = Meta::decode(seen, record).map_err(Fault::from)?;
            let row = history_row((seen, at, meta));
            let line = match format {
                Format::Json => serde_json::to_string(&row).unwrap_or_default(),
                Format::Text => row.cells().join("  "),
            };
            output::print(&line)?;
        }
        match head.status {
            RunStatus::Failed => {
                return Err(CliError::failed(head.error.unwrap_or_default()));
            }
            status if status.is_final() => return Ok(()),
            _ => {}
        }
        if stop.run_until_cancelled(sleep(LOOK)).await.is_none() {
            return Ok(());
        }
    }
}

async fn resume(app: &App, id: &str, interrupt: Option<&str>, with: &str) -> Result<(), CliError> {
    let (head, workflow) = found(app, id).await?;
    let value: Box<RawValue> = serde_json::from_str(with)
        .map_err(|e| CliError::usage(format!("--with: `{with}` is no JSON: {e}")))?;
    let interrupt = match interrupt {
        Some(interrupt) => interrupt.to_owned(),
        None => only_interrupt(&workflow.inspect(&app.runtime, &head.id).await?)?,
    };
    match app.runtime.resume(&head.id, &interrupt, &value).await? {
        Resumed::Accepted(_) => {
            wake(app, &head.id).await;
            Ok(())
        }
        Resumed::Already(first) => {
            let first = String::from_utf8_lossy(&first).into_owned();
            Err(CliError::usage(format!("interrupt {interrupt} was answered before, with {first}")))
        }
        Resumed::Unknown => {
            Err(CliError::usage(format!("run {} has no interrupt `{interrupt}`", head.id)))
        }
        Resumed::Final(status) => {
            Err(CliError::usage(format!("run {} has ended ({status})", head.id)))
        }
    }
}

fn only_interrupt(seen: &Inspected) -> Result<String, CliError> {
    match seen.interrupts.as_slice() {
        [only] => Ok(only.id.clone()),
        [] => Err(CliError::usage(format!("run {} waits for no answer", seen.head.id))),
        several => {
            let ids: Vec<_> = several.iter().map(|asked| asked.id.as_str()).collect();
            let ids = ids.join(", ");
            Err(CliError::usage(format!("several interrupts are open: name one of {ids}")))
        }
    }
}

/// Tells the workers; a sweep finds the run all the same if that fails.
async fn wake(app: &App, run: &RunId) {
    let message = Decoded::wake_message(run.as_str());
    if let Err(error) = app.queue.publish(message, Duration::ZERO).await {
        tracing::warn!(%error, "no wake-up was sent; a worker's sweep will find the run");
    }
}

async fn cancel(app: &App, id: &str) -> Result<(), CliError> {
    let head = find(app, id).await?;
    match app.runtime.cancel(&head.id, &app.runtime.owner).await? {
        Cancelled::Done => Ok(()),
        Cancelled::Final(status) => {
            Err(CliError::usage(format!("run {} has ended ({status})", head.id)))
        }
        Cancelled::Missing => Err(CliError::usage(format!("there is no run {}", head.id))),
    }
}

async fn fork(app: &App, id: &str, from: u32, publish: bool) -> Result<(), CliError> {
    let (head, workflow) = found(app, id).await?;
    let fork = workflow.fork(&app.runtime, &head.id, from, publish).await;
    let fork = fork.map_err(CliError::usage)?;
    wake(app, &fork).await;
    output::print(fork.as_str())
}

async fn delete(app: &App, id: &str) -> Result<(), CliError> {
    let head = find(app, id).await?;
    if !head.status.is_final() {
        let message = format!("run {} is {}: cancel it first", head.id, head.status);
        return Err(CliError::usage(message));
    }
    app.runtime.store.delete(&head.id).await.map_err(Fault::from)?;
    Ok(())
}

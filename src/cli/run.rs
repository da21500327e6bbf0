//! `verdict run`: a workflow, here and now, durable all the same.

use std::{io::Read, path::PathBuf, sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::{sync::broadcast, time::sleep};

use super::{CliError, output, progress, signal};
use crate::{
    app::App,
    base::Fault,
    graph::{
        ClaimHow, Control, Events, Failure, Head, Held, ReopenFrom, RunId, RunStatus, Stop,
        store::Claimed,
    },
    workflows::{Admission, AnyRan, AnyWorkflow, Event, Options, Start},
};

/// `verdict run`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The workflow's name.
    workflow: String,
    /// Its input, as JSON, from this file or (with `-`) from stdin.
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// One key, one run: started again under its key, a run goes on where it stopped.
    #[arg(long)]
    key: Option<String>,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let workflow = find(app, &args.workflow)?;
    let input = read_json(&args.input)?;
    let key = args.key.clone().unwrap_or_else(|| RunId::random().to_string());
    let start = admit(workflow, input, key).await?;
    let ended = see_through(app, workflow, start, true).await?;
    output::print_json(&ended.state)?;
    ended.result()
}

/// The workflow, or an error that names those there are.
pub(super) fn find<'a>(app: &'a App, name: &str) -> Result<&'a Arc<dyn AnyWorkflow>, CliError> {
    app.workflows.get(name).ok_or_else(|| {
        let known = app.workflows.names().collect::<Vec<_>>().join(", ");
        CliError::usage(format!("there is no workflow `{name}` (known: {known})"))
    })
}

/// JSON from a file or from stdin.
pub(super) fn read_json(path: &PathBuf) -> Result<Arc<RawValue>, CliError> {
    let name = path.display();
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|e| CliError::usage(format!("cannot read {name}: {e}")))?;
    serde_json::from_slice::<Box<RawValue>>(&bytes)
        .map(Into::into)
        .map_err(|e| CliError::usage(format!("{name} holds no JSON: {e}")))
}

/// What the workflow makes of a job.
pub(super) async fn admit(
    workflow: &Arc<dyn AnyWorkflow>,
    input: Arc<RawValue>,
    key: String,
) -> Result<Start<Arc<RawValue>>, CliError> {
    match workflow.admit(&Event::Job { input, key }).await {
        Ok(Admission::Start(start)) => Ok(start),
        Ok(Admission::Ignore { reason }) => {
            Err(CliError::usage(format!("nothing to do: {reason}")))
        }
        Ok(Admission::Cancel { .. }) => Err(CliError::usage("nothing to do")),
        Err(fault) if fault.is_transient() => Err(CliError::failed(fault)),
        Err(fault) => Err(CliError::usage(fault)),
    }
}

/// A run that this process saw through, or found at its end.
pub(super) struct Ended {
    pub(super) run: RunId,
    pub(super) state: serde_json::Value,
    pub(super) timings: crate::graph::Timings,
    pub(super) error: Option<String>,
}

impl Ended {
    pub(super) fn result(&self) -> Result<(), CliError> {
        match &self.error {
            None => Ok(()),
            Some(error) => Err(CliError::failed(error)),
        }
    }
}

/// Opens the run, or finds it, and sees it through; a run at its end is shown as it is.
pub(super) async fn see_through(
    app: &App,
    workflow: &Arc<dyn AnyWorkflow>,
    start: Start<Arc<RawValue>>,
    told: bool,
) -> Result<Ended, CliError> {
    let opened = workflow.open(&app.runtime, start, None, None).await?;
    let mut found = match opened.held {
        Some(held) => Taken::Held(Box::new(held), None),
        None => take(app, opened.head).await?,
    };
    let stop = signal::stop_token();
    loop {
        let (held, reopen) = match found {
            Taken::Held(held, reopen) => (held, reopen),
            Taken::Ended(head) => return recorded(app, workflow, &head).await,
        };
        let control = Control { drain: stop.clone(), ..Control::default() };
        let sender = broadcast::Sender::new(1024);
        let showing = tokio::spawn(progress::show(sender.subscribe(), told));
        let run = held.lease.run.clone();
        let events = Events::new(run.clone(), app.runtime.clock.clone(), sender);
        let options = Options { events, control, reopen, ..Options::default() };
        let ran = workflow.execute(&app.runtime, *held, options).await?;
        // The last sender goes with the execution.
        if *ran.stop() == Stop::Ended {
            // Somebody claimed it to reopen it and died before its log said so.
            found = take(app, now(app, &run).await?).await?;
            continue;
        }
        let ended = settle(app, run, ran).await;
        let _ = showing.await;
        return ended;
    }
}

async fn now(app: &App, run: &RunId) -> Result<Head, CliError> {
    let head = app.runtime.store.head(run).await.map_err(Fault::from)?;
    head.ok_or_else(|| CliError::failed(format!("run {run} was deleted")))
}

enum Taken {
    Held(Box<Held>, Option<(String, ReopenFrom)>),
    Ended(Box<Head>),
}

/// Claims a run that is there: waits while a living process works on it.
async fn take(app: &App, head: Head) -> Result<Taken, CliError> {
    let id = head.id.clone();
    let mut head = head;
    let mut said = false;
    loop {
        let failed = matches!(head.status, RunStatus::Failed | RunStatus::Cancelled);
        if head.status.is_final() && !failed && head.status != RunStatus::Superseded {
            return Ok(Taken::Ended(Box::new(head)));
        }
        let reopen = head.status.is_final();
        let how = ClaimHow { early: true, reopen };
        match app.runtime.claim(&id, how).await.map_err(Fault::from)? {
            Claimed::Yours(lease, _) => {
                let why = reopen.then(|| ("asked for again".to_owned(), ReopenFrom::Failed));
                return Ok(Taken::Held(Box::new(lease.into()), why));
            }
            Claimed::Held(holder) if !said => {
                said = true;
                anstream::eprintln!("run {id} is being worked on by {}; waiting", holder.owner);
            }
            _ => {}
        }
        sleep(Duration::from_millis(200)).await;
        head = now(app, &id).await?;
    }
}

async fn recorded(
    app: &App,
    workflow: &Arc<dyn AnyWorkflow>,
    head: &Head,
) -> Result<Ended, CliError> {
    let seen = workflow.inspect(&app.runtime, &head.id).await?;
    Ok(Ended { run: head.id.clone(), state: seen.state, timings: seen.timings, error: None })
}

async fn settle(app: &App, run: RunId, mut ran: Box<dyn AnyRan>) -> Result<Ended, CliError> {
    let error = match ran.stop().clone() {
        Stop::Completed | Stop::Ended => None,
        Stop::Waiting(None) => Some(format!(
            "run {run} waits for an answer; see `verdict runs show {run}`, then `verdict runs resume {run}`"
        )),
        Stop::Waiting(Some(until)) => Some(format!("run {run} waits until {until}")),
        Stop::Drained | Stop::Crashed => {
            Some(format!("stopped; the same command goes on where run {run} stands"))
        }
        Stop::Fenced => Some(format!("run {run} was taken over or stopped from outside")),
        Stop::StoreLost(fault) => Some(format!("the store was lost: {fault}")),
        Stop::Failed(failure) => Some(give_up(app, &run, ran.as_mut(), &failure).await),
    };
    Ok(Ended { run, state: ran.state(), timings: ran.timings(), error })
}

/// Nobody waits on a queue here: a permanent failure ends the run, any other leaves it to be
/// started again.
async fn give_up(app: &App, run: &RunId, ran: &mut dyn AnyRan, failure: &Failure) -> String {
    let node = failure.node.as_deref().map(|node| format!("{node}: ")).unwrap_or_default();
    let (settled, hint) = if failure.fault.is_transient() {
        // Not due before long: a sweep is welcome to it, but this command goes first.
        let later = app.runtime.clock.now().plus(Duration::from_secs(3600));
        (ran.retry_later(failure, later).await, "the same command goes on from here")
    } else {
        (ran.fail(failure, None).await, "see `verdict runs show`")
    };
    if let Err(stop) = settled {
        tracing::warn!(?stop, "the failure could not be recorded");
    }
    format!("run {run} failed at {node}{} ({hint})", failure.fault)
}

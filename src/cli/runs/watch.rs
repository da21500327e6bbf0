//! `verdict runs watch`: a run followed from any process, by looking at the store.
//!
//! A look is one read of the run's small head; records are read when it says that there are new
//! ones. While nothing happens the looks become rarer.

use std::time::Duration;

use tokio::time::sleep;

use super::{CliError, Format, find, history::history_row, output, signal};
use crate::{
    app::App,
    base::Fault,
    graph::{Head, Meta, RunId, RunStatus, StoreError},
};

/// Which run, and how to print its records.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The run's id, or the beginning of it.
    id: String,
    /// How to print: a line per record, or a JSON object per line.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The wait between two looks: at first, and at most while nothing happens.
const LOOK: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let head = find(app, &args.id).await?;
    let mut watch = Watch { app, run: head.id, format: args.format, seen: 0 };
    let stop = signal::stop_token();
    let (mut wait, mut away) = (LOOK.0, false);
    loop {
        let before = watch.seen;
        // A store that says nothing keeps nobody here who wants to go.
        let Some(looked) = stop.run_until_cancelled(watch.look()).await else {
            return Err(gone(&watch.run));
        };
        match looked {
            Ok(Some(head)) if head.status.is_final() => return outcome(&head),
            Ok(Some(_)) => away = false,
            Ok(None) => return Err(CliError::failed(format!("run {} was deleted", watch.run))),
            Err(Look::Away(why)) => {
                if !away {
                    anstream::eprintln!("the store does not answer, asked again: {why}");
                }
                away = true;
            }
            Err(Look::Failed(error)) => return Err(error),
        }
        wait = if watch.seen > before { LOOK.0 } else { (wait * 3 / 2).min(LOOK.1) };
        if stop.run_until_cancelled(sleep(wait)).await.is_none() {
            return Err(gone(&watch.run));
        }
    }
}

fn gone(run: &RunId) -> CliError {
    CliError::failed(format!("no longer watched: run {run} has not ended"))
}

/// Only a run that is complete did what was asked for.
fn outcome(head: &Head) -> Result<(), CliError> {
    let (id, why) = (&head.id, head.error.as_deref().unwrap_or("no reason was recorded"));
    match head.status {
        RunStatus::Failed => Err(CliError::failed(format!("run {id} failed: {why}"))),
        RunStatus::Completed => Ok(()),
        other => Err(CliError::failed(format!("run {id} was {other}"))),
    }
}

struct Watch<'a> {
    app: &'a App,
    run: RunId,
    format: Format,
    /// Records printed so far.
    seen: u64,
}

/// A look that saw nothing.
enum Look {
    /// The store is out of reach for now.
    Away(String),
    Failed(CliError),
}

impl From<StoreError> for Look {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) => Self::Away(why),
            other => Self::Failed(Fault::from(other).into()),
        }
    }
}

impl Watch<'_> {
    /// Prints what is new; answers the head, unless the run is gone.
    async fn look(&mut self) -> Result<Option<Head>, Look> {
        let store = &self.app.runtime.store;
        let Some(head) = store.head(&self.run).await? else { return Ok(None) };
        if head.version <= self.seen {
            return Ok(Some(head));
        }
        let Some((head, records)) = store.load(&self.run, self.seen).await? else {
            return Ok(None);
        };
        for record in &records {
            let failed = |fault: Fault| Look::Failed(fault.into());
            let (at, meta) = Meta::decode(self.seen + 1, record).map_err(|e| failed(e.into()))?;
            self.seen += 1;
            let row = history_row((self.seen, at, meta));
            let line = match self.format {
                Format::Json => serde_json::to_string(&row).unwrap_or_default(),
                Format::Text => row.cells().join("  "),
            };
            output::print(&line).map_err(Look::Failed)?;
        }
        Ok(Some(head))
    }
}

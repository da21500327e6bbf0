//! What a run is at, on stderr, while somebody watches.

use std::{fmt, io::IsTerminal, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::graph::{EventEnvelope, RunEvent};

/// Shows events until their sender is gone: a moving line on a terminal; elsewhere nothing, or, if
/// `always`, a line per event. That the process was told to stop is acknowledged at once, anywhere.
pub(super) async fn show(
    mut events: broadcast::Receiver<EventEnvelope>,
    always: bool,
    stop: CancellationToken,
) {
    let mut bar = moving_line();
    let mut activity = Activity::default();
    let mut acknowledged = false;
    loop {
        let event = tokio::select! {
            biased;
            () = stop.cancelled(), if !acknowledged => {
                acknowledged = true;
                clear(&mut bar);
                anstream::eprintln!("{STOPPING}");
                continue;
            }
            event = events.recv() => match event {
                Ok(envelope) => envelope.event,
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => break,
            },
        };
        activity.take(&event);
        match (&bar, line(&event)) {
            (Some(bar), _) => bar.set_message(activity.to_string()),
            (None, Some(line)) if always => anstream::eprintln!("{line}"),
            _ => {}
        }
    }
    clear(&mut bar);
}

/// What is said to whoever wants the process to stop.
const STOPPING: &str =
    "verdict: stopping, what is done is recorded; once more ends the process as it is";

/// A moving line on a terminal that says what is done, for as long as it takes.
pub(super) async fn during<T>(what: &'static str, work: impl Future<Output = T>) -> T {
    let mut bar = moving_line();
    if let Some(bar) = &bar {
        bar.set_message(what);
    }
    let done = work.await;
    clear(&mut bar);
    done
}

/// The tasks that run, and how many files are done.
#[derive(Default)]
struct Activity {
    /// Once for each task.
    running: Vec<Arc<str>>,
    files: Option<String>,
}

impl Activity {
    fn take(&mut self, event: &RunEvent) {
        match event {
            RunEvent::NodeStarted { node, .. } => self.running.push(node.clone()),
            RunEvent::NodeFinished { node, .. } => {
                let place = self.running.iter().position(|other| other == node);
                place.map(|place| self.running.remove(place));
            }
            RunEvent::StepFinished { .. } => self.files = None,
            RunEvent::Progress { name, value, .. } => {
                if let (Some(done), Some(of)) = (value["done"].as_u64(), value["of"].as_u64()) {
                    self.files = Some(format!("{done} of {of} files {name}"));
                }
            }
            _ => {}
        }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut nodes: Vec<&str> = Vec::new();
        for node in &self.running {
            if !nodes.contains(&&**node) {
                nodes.push(node);
            }
        }
        f.write_str(&nodes.join(", "))?;
        self.files.as_ref().map_or(Ok(()), |files| write!(f, " · {files}"))
    }
}

/// Takes the moving line away, as if it had never been there.
fn clear(bar: &mut Option<ProgressBar>) {
    if let Some(bar) = bar.take() {
        bar.finish_and_clear();
    }
}

/// `None` where stderr is no terminal.
fn moving_line() -> Option<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    Some(bar)
}

/// An event as a line, if it is worth one.
pub(super) fn line(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::NodeStarted { node, step, .. } => format!("{step:>3}  {node} …"),
        RunEvent::NodeRetried { node, attempt, fault, wait_ms, .. } => {
            format!("     {node}: try {attempt} failed, again in {wait_ms} ms: {fault}")
        }
        RunEvent::Progress { node, name, value, .. } => format!("     {node}: {name} {value}"),
        RunEvent::NodeFinished { node, step, us, fault: None, .. } => {
            format!("{step:>3}  {node} {:.1} ms", *us as f64 / 1e3)
        }
        RunEvent::NodeFinished { node, step, fault: Some(fault), .. } => {
            format!("{step:>3}  {node} failed: {fault}")
        }
        RunEvent::Interrupted { id, node, request } => {
            format!("     {node} asks: interrupt {id}: {request}")
        }
        RunEvent::Parked { node, until, reason } => {
            format!("     {node} waits until {until}: {reason}")
        }
        RunEvent::RunPaused { why } => format!("     paused: {why}"),
        RunEvent::RunStarted { .. }
        | RunEvent::StepFinished { .. }
        | RunEvent::RunFinished { .. } => return None,
    })
}

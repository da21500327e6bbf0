//! What a run is at, on stderr, while somebody watches.

use std::{io::IsTerminal, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::broadcast;

use crate::graph::{EventEnvelope, RunEvent};

/// Shows events until their sender is gone: a moving line on a terminal; elsewhere nothing, or, if
/// `always`, a line per event.
pub(super) async fn show(mut events: broadcast::Receiver<EventEnvelope>, always: bool) {
    let terminal = std::io::stderr().is_terminal();
    if !terminal && !always {
        return;
    }
    let bar = terminal.then(moving_line);
    let mut running: Vec<Arc<str>> = Vec::new();
    loop {
        let told = match events.recv().await {
            Ok(told) => told,
            Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => break,
        };
        match &told.event {
            RunEvent::NodeStarted { node, .. } => running.push(node.clone()),
            RunEvent::NodeFinished { node, .. } => running.retain(|other| other != node),
            _ => {}
        }
        match &bar {
            Some(bar) => bar.set_message(running.join(", ")),
            None => {
                if let Some(line) = line(&told.event) {
                    anstream::eprintln!("{line}");
                }
            }
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn moving_line() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
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

//! `verdict enqueue`: an event or a job, onto the queue.

use std::{
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{CliError, output};
use crate::{
    app::App,
    base::TraceContext,
    graph::RunId,
    queue::{Decoded, Message, QueueError, Webhook},
};

/// `verdict enqueue`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A webhook's body, or a job as `{"workflow", "input", "key"?}`; `-` reads stdin.
    file: PathBuf,
    /// The webhook's event. A job needs none [default: pull_request, unless the body is a job].
    #[arg(long)]
    event: Option<String>,
    /// The webhook's delivery id [default: a random one].
    #[arg(long, value_name = "ID")]
    delivery: Option<String>,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let name = args.file.display();
    let (message, id) = message(args, read(&args.file)?)?;
    app.queue.publish(message, Duration::ZERO).await.map_err(|error| match error {
        QueueError::TooLarge { .. } => CliError::usage(format!("{name}: {error}")),
        other => CliError::failed(other),
    })?;
    // Whoever reads it may rely on the message being there.
    output::print(&id)
}

/// All of a file, or of stdin for `-`.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    bytes.map_err(|e| CliError::usage(format!("cannot read {}: {e}", path.display())))
}

/// The message, and what it is known by: its job's key, its run, or its delivery id.
fn message(args: &Args, body: Vec<u8>) -> Result<(Message, String), CliError> {
    let message =
        Message::new(body).with(TraceContext::HEADER, TraceContext::generate().to_string());
    let name = args.file.display();
    if args.event.is_none() {
        match Decoded::of(&message) {
            Ok(Decoded::Job(mut job)) => {
                // Its own name, so that sending it twice on purpose runs it twice.
                let key = job.key.get_or_insert_with(|| RunId::random().to_string()).clone();
                let trace = message.header(TraceContext::HEADER).unwrap_or_default().to_owned();
                return Ok((job.to_message().with(TraceContext::HEADER, trace), key));
            }
            Ok(Decoded::Wake { run }) => return Ok((message, run)),
            Ok(Decoded::Webhook(_)) => {}
            Err(why) if names_a_workflow(&message.body) => {
                return Err(CliError::usage(format!("{name}: {why}")));
            }
            Err(_) => {}
        }
    }
    let event = args.event.clone().unwrap_or_else(|| "pull_request".to_owned());
    let delivery = args.delivery.clone().unwrap_or_else(|| RunId::random().to_string());
    let trace = message.header(TraceContext::HEADER).unwrap_or_default().to_owned();
    let webhook = Webhook { event, delivery: Some(delivery.clone()), body: message.body };
    let message = webhook.to_message().with(TraceContext::HEADER, trace);
    // What no worker could read is refused here, where somebody sees it.
    Decoded::of(&message).map_err(|why| CliError::usage(format!("{name}: {why}")))?;
    Ok((message, delivery))
}

/// Whether this was meant to be a job. An event of the forge has no text under that name.
fn names_a_workflow(body: &[u8]) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    value.is_some_and(|value| value.get("workflow").is_some_and(serde_json::Value::is_string))
}

//! `verdict enqueue`: an event or a job, onto the queue.

use std::{
    fmt::Display,
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value};

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
    /// A job as `{"workflow", "input", "key"?}`, or with `--event` a webhook's body; `-` reads stdin.
    file: PathBuf,
    /// The body is a webhook's, of this event: `pull_request`, say.
    #[arg(long)]
    event: Option<String>,
    /// The webhook's delivery id [default: a random one].
    #[arg(long, value_name = "ID", requires = "event")]
    delivery: Option<String>,
    /// Send a job that cannot be done from here: another machine's workers may know its workflow,
    /// its repository or its forge.
    #[arg(long)]
    force: bool,
}

/// What a job's body may say.
const JOB_FIELDS: [&str; 3] = ["workflow", "input", "key"];

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let name = args.file.display();
    let body = read(&args.file)?;
    let (message, id) = match &args.event {
        Some(event) => webhook(args, event, body)?,
        None => job_or_wake(args, body, app).await?,
    };
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

/// A webhook's message, and its delivery id.
fn webhook(args: &Args, event: &str, body: Vec<u8>) -> Result<(Message, String), CliError> {
    let delivery = args.delivery.clone().unwrap_or_else(|| RunId::random().to_string());
    let body = body.into();
    let webhook = Webhook { event: event.to_owned(), delivery: Some(delivery.clone()), body };
    let message = traced(webhook.to_message());
    Decoded::of(&message).map_err(|why| args.refuse(why))?;
    Ok((message, delivery))
}

/// A job's message and its key, or a wake-up and its run. What no worker could do is refused here,
/// where somebody sees it.
async fn job_or_wake(args: &Args, body: Vec<u8>, app: &App) -> Result<(Message, String), CliError> {
    let message = Message::new(body);
    let fields: Option<Map<String, Value>> = serde_json::from_slice(&message.body).ok();
    let unknown = fields.as_ref().and_then(unknown_field);
    let mut job = match Decoded::of(&message) {
        Ok(Decoded::Job(job)) => job,
        Ok(Decoded::Wake { run }) => return Ok((traced(message), run)),
        Ok(Decoded::Event(_)) => {
            return Err(args.refuse("it is an event's: use `verdict events send`"));
        }
        Ok(Decoded::Webhook(_)) => return Err(args.refuse("it is a webhook's: name its --event")),
        Err(why) => {
            let neither = |f: &Map<_, _>| !f.contains_key("workflow") && !f.contains_key("run");
            return Err(match unknown {
                Some(unknown) if fields.as_ref().is_some_and(neither) => args.refuse(format!(
                    "{unknown}, and this has no `workflow`; for a webhook's body, name its --event"
                )),
                _ => args.refuse(why),
            });
        }
    };
    // Its own name, so that sending it twice on purpose runs it twice.
    let key = job.key.get_or_insert_with(|| RunId::random().to_string()).clone();
    if !args.force {
        let input = job.input.clone().into();
        let known = match unknown {
            Some(unknown) => Err(CliError::usage(unknown)),
            None => app.runs.check_job(&job.workflow, input, &key).await.map_err(CliError::from),
        };
        known.map_err(|error| match error {
            CliError::Usage(why) => args.refuse(format!("{why}; --force sends it anyway")),
            other => other,
        })?;
    }
    Ok((traced(job.to_message()), key))
}

impl Args {
    fn refuse(&self, why: impl Display) -> CliError {
        CliError::usage(format!("{}: {why}", self.file.display()))
    }
}

fn traced(message: Message) -> Message {
    message.with(TraceContext::HEADER, TraceContext::generate().to_string())
}

/// What to say about a field of a job that no worker would read.
fn unknown_field(fields: &Map<String, Value>) -> Option<String> {
    let unknown = fields.keys().find(|name| !JOB_FIELDS.contains(&name.as_str()))?;
    let near = JOB_FIELDS.into_iter().find(|known| strsim::osa_distance(unknown, known) <= 2);
    let hint = near.map(|known| format!(" (did you mean `{known}`?)")).unwrap_or_default();
    Some(format!("a job has no field `{unknown}`{hint}"))
}

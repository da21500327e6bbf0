//! `verdict enqueue`: an event or a job, onto the queue.

use std::{io::Read, path::PathBuf, time::Duration};

use super::{CliError, output};
use crate::{
    app::App,
    base::TraceContext,
    graph::RunId,
    queue::{Decoded, Message, Webhook},
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
    let body = if args.file.as_os_str() == "-" {
        let mut body = Vec::new();
        std::io::stdin().read_to_end(&mut body).map(|_| body)
    } else {
        std::fs::read(&args.file)
    };
    let body = body.map_err(|e| CliError::usage(format!("cannot read {name}: {e}")))?;
    let message = message(args, body)?;
    app.queue.publish(message, Duration::ZERO).await.map_err(CliError::failed)?;
    Ok(())
}

fn message(args: &Args, body: Vec<u8>) -> Result<Message, CliError> {
    let message =
        Message::new(body).with(TraceContext::HEADER, TraceContext::generate().to_string());
    if args.event.is_none()
        && let Ok(decoded) = Decoded::of(&message)
    {
        return match decoded {
            Decoded::Job(mut job) => {
                // Its own name, so that sending it twice on purpose runs it twice.
                let key = job.key.get_or_insert_with(|| RunId::random().to_string()).clone();
                output::print(&key)?;
                let trace = message.header(TraceContext::HEADER).unwrap_or_default().to_owned();
                Ok(job.to_message().with(TraceContext::HEADER, trace))
            }
            _ => Ok(message),
        };
    }
    let event = args.event.clone().unwrap_or_else(|| "pull_request".to_owned());
    let delivery = args.delivery.clone().unwrap_or_else(|| RunId::random().to_string());
    let trace = message.header(TraceContext::HEADER).unwrap_or_default().to_owned();
    let webhook = Webhook { event, delivery: Some(delivery.clone()), body: message.body };
    let message = webhook.to_message().with(TraceContext::HEADER, trace);
    // What no worker could read is refused here, where somebody sees it.
    Decoded::of(&message)
        .map_err(|why| CliError::usage(format!("{}: {why}", args.file.display())))?;
    output::print(&delivery)?;
    Ok(message)
}

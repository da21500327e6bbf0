//! `verdict runs show`

use super::{CliError, Format, output};
use crate::{app::App, base::Timestamp, runs::views, workflows::Inspected};

/// Which run, as of when, and how to print it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The run's id, or the beginning of it.
    id: String,
    /// The state as it was after this step (0: at the start).
    #[arg(long)]
    step: Option<u32>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    if let Some(step) = args.step {
        return output::print_json(&app.runs.state_after(&args.id, step).await?);
    }
    let seen = app.runs.show(&args.id).await?;
    match args.format {
        Format::Json => output::print_json(&views::run_details(&seen, app.runs.now())),
        Format::Text => output::print(&as_text(&seen, app.runs.now())),
    }
}

fn as_text(seen: &Inspected, now: Timestamp) -> String {
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
    lines.extend(head.waits(now).map(|waits| format!("waits for {waits}")));
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
    output::tame(&lines.join("\n"))
}

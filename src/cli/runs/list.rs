//! `verdict runs list`

use super::{
    CliError, Format, output,
    table::{Column, short_key, table},
};
use crate::{
    app::App,
    base::Timestamp,
    graph::Head,
    runs::{Pages, RunQuery, views},
};

/// Which runs, and how to print them.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    query: RunQuery,
    /// At most so many [default: 50 as text, all as JSON].
    #[arg(long)]
    limit: Option<usize>,
    /// Go on behind this run: the last one of the page before.
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let after = match &args.after {
        Some(id) => Some(app.runs.find(id).await?).map(|head| (head.created_at, head.id)),
        None => None,
    };
    let query = RunQuery { after, limit: args.limit, ..args.query.clone() };
    match args.format {
        Format::Json => as_json(app.runs.list(query), app.runs.now()).await,
        Format::Text => {
            let limit = args.limit.unwrap_or(50);
            // One more, to see whether there are more.
            let query = RunQuery { limit: Some(limit.saturating_add(1)), ..query };
            as_text(app.runs.list(query).all().await?, limit, app.runs.now())
        }
    }
}

async fn as_json(mut pages: Pages<'_>, now: Timestamp) -> Result<(), CliError> {
    let mut array = output::JsonArray::default();
    while let Some(page) = pages.next().await? {
        for head in &page {
            array.item(&views::run(head, now))?;
        }
    }
    array.end()
}

fn as_text(mut heads: Vec<Head>, limit: usize, now: Timestamp) -> Result<(), CliError> {
    let more = heads.len() > limit;
    heads.truncate(limit);
    let rows: Vec<_> = heads.iter().map(|head| cells(head, now)).collect();
    const COLUMNS: [Column; 7] = [
        Column::new("ID"),
        Column::new("WORKFLOW").drops(3),
        Column::new("STATUS"),
        Column::new("WAITS FOR").shrinks().drops(1),
        Column::new("CREATED").drops(4),
        Column::new("KEY").shrinks(),
        Column::new("ERROR").shrinks().drops(2),
    ];
    output::print(&table(&COLUMNS, &rows))?;
    if let Some(last) = heads.last().filter(|_| more) {
        anstream::eprintln!("there are more: --after {}", short(last));
    }
    Ok(())
}

fn short(head: &Head) -> String {
    head.id.as_str().chars().take(12).collect()
}

fn cells(head: &Head, now: Timestamp) -> Vec<String> {
    vec![
        short(head),
        head.workflow.clone(),
        head.status.to_string(),
        head.waits(now).map(|waits| waits.to_string()).unwrap_or_default(),
        head.created_at.to_string(),
        short_key(&head.key),
        head.error.clone().unwrap_or_default(),
    ]
}

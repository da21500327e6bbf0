//! `verdict doctor`: is everything there, and does it work?

use std::process::Command;

use serde::Serialize;

use super::{CliError, Format, output};
use crate::{
    app::{App, AppError, Trust},
    config::Settings,
    graph::RunStatus,
    runs::RunQuery,
};

/// `verdict doctor`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One thing that was looked at.
#[derive(Serialize)]
struct Check {
    name: String,
    ok: bool,
    says: String,
}

impl Check {
    fn of(name: impl Into<String>, looked: Result<String, String>) -> Self {
        let ok = looked.is_ok();
        Self { name: name.into(), ok, says: looked.unwrap_or_else(|why| why) }
    }
}

pub(super) async fn main(args: &Args, settings: Settings) -> Result<(), CliError> {
    let places = format!("store {}, queue {}", settings.store.url, settings.queue.url);
    let mut checks = vec![Check::of("settings", Ok(places)), Check::of("git", git())];
    let http = App::look(&settings).await.map_err(|error| error.why);
    checks.push(Check::of("http", http));
    // As strict as a server with these settings would be.
    match App::open(settings, Trust::Api).await {
        Err(error) => checks.push(Check::of(part(&error), Err(error.to_string()))),
        Ok(app) => {
            checks.push(Check::of("store", store(&app).await));
            checks.extend(queue(&app).await);
            checks.extend(github(&app).await);
            checks.extend(tools(&app).await);
            let names: Vec<_> = app.runs.workflow_names().collect();
            checks.push(Check::of("workflows", Ok(names.join(", "))));
            app.close().await;
        }
    }
    if args.format == Format::Json {
        output::print_json(&checks)?;
    } else {
        let line = |check: &Check| {
            format!(
                "{} {:<18} {}\n",
                if check.ok { "ok  " } else { "FAIL" },
                check.name,
                check.says
            )
        };
        output::print(&checks.iter().map(line).collect::<String>())?;
    }
    let broken = checks.iter().filter(|check| !check.ok).map(|check| check.name.as_str());
    let broken: Vec<_> = broken.collect();
    if broken.is_empty() {
        Ok(())
    } else {
        Err(CliError::usage(format!("{} failed", broken.join(", "))))
    }
}

fn git() -> Result<String, String> {
    let run = Command::new("git").arg("--version").output();
    let output =
        run.map_err(|e| format!("cannot run git: {e}; local reviews need it on the PATH"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The row of a part that could not be had; those behind it were not looked at.
fn part(error: &AppError) -> &'static str {
    error.setting.split('.').next().unwrap_or(error.setting)
}

async fn store(app: &App) -> Result<String, String> {
    app.runs.check().await.map_err(|e| e.to_string())?;
    let status = vec![RunStatus::Queued, RunStatus::Running, RunStatus::Parked];
    let open = app.runs.list(RunQuery { status, ..RunQuery::default() }).all().await;
    let open = open.map_err(|e| e.to_string())?;
    let ring = app.settings.store.encryption.ring()?;
    let sealed = ring.writer_name().map(|key| format!("; encrypts with key `{key}`"));
    Ok(format!("answers; {} unfinished runs{}", open.len(), sealed.unwrap_or_default()))
}

/// Who verdict is on GitHub, and what it may do there; nothing where it is not configured.
async fn github(app: &App) -> Vec<Check> {
    let Some(github) = &app.github else { return Vec::new() };
    match github.granted().await {
        Ok(rows) => {
            rows.into_iter().map(|row| Check::of(format!("github.{}", row.of), row.found)).collect()
        }
        Err(fault) => vec![Check::of("github", Err(fault.to_string()))],
    }
}

/// Whether the tools that reviews run are there; nothing where none is configured.
async fn tools(app: &App) -> Vec<Check> {
    let Some(tools) = &app.tools else { return Vec::new() };
    let found = tools.check().await.into_iter();
    found.map(|(name, found)| Check::of(format!("tools.{name}"), found)).collect()
}

/// Everything the queue needs, one row each, and how much is on it.
async fn queue(app: &App) -> Vec<Check> {
    let found = app.queue.diagnose().await;
    let well = found.iter().all(|diagnosis| diagnosis.found.is_ok());
    let mut rows: Vec<_> = found
        .into_iter()
        .map(|diagnosis| match diagnosis.what {
            "queue" => Check::of("queue", diagnosis.found),
            what => Check::of(format!("queue.{what}"), diagnosis.found),
        })
        .collect();
    if well {
        let depth = app.queue.depth().await.map_err(|error| error.to_string());
        rows.push(Check::of("queue.depth", depth.map(|depth| depth.to_string())));
    }
    rows
}

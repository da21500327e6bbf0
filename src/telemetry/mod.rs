//! Logs: lines on standard error, as text or JSON. Metrics: see [`metrics`].
//!
//! `RUST_LOG` decides what is shown, `NO_COLOR` and a redirected standard error turn colours off.
//! Standard output is never written to: it belongs to results.
//!
//! Whatever `RUST_LOG` asks for, of other crates only `info` and above is shown: below that, clients
//! write whole messages and passwords as they send them.

pub mod metrics;

use std::io::{self, IsTerminal};

use serde::{Deserialize, Serialize};
use tracing::{Level, Subscriber};
use tracing_subscriber::{
    filter::{ParseError, Targets, filter_fn},
    fmt::MakeWriter,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// How logs look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LogOptions {
    /// One line of text or one JSON object for each event.
    pub format: LogFormat,
}

/// The shape of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For log collectors.
    Json,
}

/// `RUST_LOG` holds something that is no filter.
#[derive(Debug, thiserror::Error)]
#[error("RUST_LOG is no log filter: {0} (for example `info` or `verdict=debug`)")]
pub struct InvalidFilter(String);

/// What is logged when `RUST_LOG` does not say: `info` for a service, `warn` for one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quiet {
    /// A service: `info` and above.
    Info,
    /// A command that ends: `warn` and above.
    Warn,
}

/// Starts logging to standard error. Calling it again changes nothing.
///
/// # Errors
/// When `RUST_LOG` cannot be read as a filter.
pub fn init(options: LogOptions, quiet: Quiet) -> Result<(), InvalidFilter> {
    let filter = filter(std::env::var("RUST_LOG").ok().as_deref(), quiet)?;
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = !plain && io::stderr().is_terminal();
    // The only failure is that logging runs already, which is what was asked for.
    let _ = subscriber(options, filter, colour, io::stderr).try_init();
    Ok(())
}

/// The filter in `wanted`, or the default when that is absent or empty.
///
/// # Errors
/// When `wanted` cannot be read as a filter.
pub fn filter(wanted: Option<&str>, quiet: Quiet) -> Result<Targets, InvalidFilter> {
    let default = match quiet {
        Quiet::Info => "info",
        Quiet::Warn => "warn",
    };
    let wanted = wanted.map(str::trim).filter(|wanted| !wanted.is_empty()).unwrap_or(default);
    // The client of models quotes what models write, unless somebody asks for just that.
    let quiet = if wanted.contains("genai") { "" } else { ",genai=off" };
    format!("{wanted}{quiet}").parse().map_err(|error: ParseError| InvalidFilter(error.to_string()))
}

/// What turns events into lines on `writer`.
pub fn subscriber<W>(
    options: LogOptions,
    filter: Targets,
    colour: bool,
    writer: W,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt().with_max_level(Level::TRACE).with_writer(writer);
    let harmless = filter_fn(|event| is_harmless(event.target(), *event.level()));
    match options.format {
        LogFormat::Text => Box::new(lines.with_ansi(colour).finish().with(filter).with(harmless)),
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_span_list(false);
            Box::new(lines.finish().with(filter).with(harmless))
        }
    }
}

/// Crates that write down what they send and receive, at whatever level.
const TELLTALES: &[&str] = &["lapin::returned_messages", "lapin::io_loop"];

/// Whether an event can hold nothing of a message or a password: verdict's own, and the news of
/// others.
fn is_harmless(target: &str, level: Level) -> bool {
    let ours = target.split("::").next().is_some_and(|name| name.starts_with("verdict"));
    ours || level <= Level::INFO && !TELLTALES.iter().any(|telltale| target.starts_with(telltale))
}

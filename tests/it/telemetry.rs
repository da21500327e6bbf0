//! Logs: shape, filter, colours.

use std::{
    io,
    sync::{Arc, Mutex},
};

use tracing_subscriber::fmt::MakeWriter;
use verdict::telemetry::{LogFormat, LogOptions, Quiet, filter, init, subscriber};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Captured {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn logged(format: LogFormat, wanted: Option<&str>, quiet: Quiet, colour: bool) -> String {
    let captured = Captured::default();
    let filter = filter(wanted, quiet).unwrap();
    let lines = subscriber(LogOptions { format }, filter, colour, captured.clone());
    tracing::subscriber::with_default(lines, || {
        tracing::debug!(target: "verdict::runs", "quiet");
        tracing::info!(run = "r1", "usual");
        tracing::warn!("loud");
    });
    let bytes = captured.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_default_depends_on_the_command_and_the_variable_wins() {
    let lines = |wanted, quiet| logged(LogFormat::Text, wanted, quiet, false).lines().count();
    assert_eq!(lines(None, Quiet::Info), 2);
    assert_eq!(lines(None, Quiet::Warn), 1);
    assert_eq!(lines(Some(""), Quiet::Warn), 1);
    assert_eq!(lines(Some("debug"), Quiet::Warn), 3);
    assert_eq!(lines(Some("off"), Quiet::Info), 0);
}

/// Clients write down what they send and receive, passwords and all: whoever asks for everything gets
/// everything of verdict's own, and the news of others.
#[test]
fn what_others_send_and_receive_is_not_logged() {
    for format in [LogFormat::Text, LogFormat::Json] {
        let captured = Captured::default();
        let filter = filter(Some("trace"), Quiet::Info).unwrap();
        let lines = subscriber(LogOptions { format }, filter, false, captured.clone());
        tracing::subscriber::with_default(lines, || {
            tracing::trace!(target: "verdict::worker", "ours");
            tracing::info!(target: "h2", "news");
            tracing::trace!(target: "h2::codec", "hunter2");
            tracing::debug!(target: "amq_protocol", "hunter2");
            tracing::warn!(target: "lapin::returned_messages", message = ?b"hunter2");
        });
        let text = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("ours") && text.contains("news"), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}

#[test]
fn json_lines_hold_their_fields_and_text_has_colour_only_when_asked() {
    let json = logged(LogFormat::Json, None, Quiet::Info, false);
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["level"], &first["run"]), (&"INFO".into(), &"r1".into()));
    assert_eq!(first["message"], "usual");
    assert!(!logged(LogFormat::Text, None, Quiet::Info, false).contains('\u{1b}'));
    assert!(logged(LogFormat::Text, None, Quiet::Info, true).contains('\u{1b}'));
}

#[test]
fn a_bad_filter_names_the_variable() {
    let error = filter(Some("verdict=loudest"), Quiet::Info).unwrap_err().to_string();
    assert!(error.starts_with("RUST_LOG "), "{error}");
}

#[test]
fn starting_twice_is_harmless() {
    init(LogOptions::default(), Quiet::Warn).unwrap();
    init(LogOptions { format: LogFormat::Json }, Quiet::Info).unwrap();
}

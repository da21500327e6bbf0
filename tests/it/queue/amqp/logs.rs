//! What the real binary logs about messages it sends to RabbitMQ.

use crate::support::{Broker, Machine};

const MARKER: &str = "planted-7d3f-body";

/// N5: asked for everything, it logs no body, in whatever notation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_body_is_in_a_log_at_trace_level() {
    let broker = Broker::shared().await;
    let machine = Machine::new().set("queue.url", &broker.url()).with_variable("RUST_LOG", "trace");
    let job = format!(r#"{{"workflow":"{MARKER}","input":1}}"#);
    let file = machine.text("job.json", job);
    let done = machine.run(&["enqueue", "--force", &file]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let bytes = |one: fn(&u8) -> String, between: &str| {
        MARKER.as_bytes().iter().map(one).collect::<Vec<_>>().join(between)
    };
    for shown in [
        MARKER.to_owned(),
        bytes(u8::to_string, ", "),
        bytes(|byte| format!("{byte:02x}"), ""),
        bytes(|byte| format!("{byte:02x}"), " "),
    ] {
        assert!(!done.stderr.contains(&shown), "{shown} in:\n{}", done.stderr);
    }
    broker.finish().await;
}

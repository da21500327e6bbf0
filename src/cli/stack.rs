//! Enough stack for whatever a broker delivers.

use std::{os::unix::process::CommandExt, process::Command};

use crate::config::{QueueUrl, Settings};

/// What the standard library reads the stack of new threads from, once, when the first one starts.
const VARIABLE: &str = "RUST_MIN_STACK";
/// Enough for the headers that fill a frame of RabbitMQ's usual size, nested in each other. Address
/// space: what is not used costs no memory.
const BYTES: &str = "67108864";

/// Starts this process again, in its own place, with more stack for its threads, unless it has been
/// told how much. Comes back if that could not be done, or need not be.
///
/// The AMQP client reads and drops headers by recursion, also on a thread it starts itself. A message with headers
/// some thousand levels deep would end the process, and after it every other that it is redelivered
/// to.
pub(super) fn deepen(settings: &Settings) {
    let amqp = matches!(settings.queue.url, QueueUrl::Amqp(_));
    if !amqp || std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut again = Command::new(program);
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    let error = again.args(arguments).env(VARIABLE, BYTES).exec();
    anstream::eprintln!("verdict: continues with little stack for messages' headers: {error}");
}

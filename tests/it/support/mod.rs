//! Real processes for tests: the `verdict` binary on a machine of its own.
//!
//! A [`Machine`] is a folder with its own state, home and temporary files. A [`Process`] leads a
//! process group of its own; whatever of the group is left when it goes out of scope is killed and
//! reaped, also after a panic, and a group that outlives its leader fails the test.

mod firestore;
mod group;
mod machine;
mod postgres;
mod process;
mod proxy;
mod pubsub;
mod rabbit;
mod rest;
mod service;

pub use firestore::Firestore;
pub use group::living;
pub use machine::{Done, Machine};
pub use postgres::{Database, Pooler};
pub use process::Process;
pub use proxy::Proxy;
pub use pubsub::Emulator;
pub use rabbit::{Broker, Queue};
pub use rest::{barrier, completed, hold_messages, lift, overwrite_runs, rows, stuck};

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// How long anything may take that should happen.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// Looks until `look` answers something. What happens in another process tells nobody here.
pub async fn eventually<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look).await
}

/// The same of what may take longer, however well all goes.
pub async fn within<T>(
    patience: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let mut tick = interval(Duration::from_millis(10));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let began = Instant::now();
    loop {
        tick.tick().await;
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < patience, "{what}: not within {patience:?}");
    }
}

/// Looks until `look` says yes. Unlike [`eventually`] it can be part of a spawned task.
pub async fn until(what: &str, look: impl Fn() -> bool) {
    let began = Instant::now();
    while !look() {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        pass(Duration::from_millis(10)).await;
    }
}

/// Lets real time pass: for the instants of random kills, never for an outcome.
pub async fn pass(time: Duration) {
    let _ = timeout(time, std::future::pending::<()>()).await;
}

/// The value of a variable that `tests/run` sets: where a service is.
fn told(variable: &str) -> String {
    let missing = |_| {
        panic!("{variable} is not set: run `tests/run`, or `eval \"$(tests/services/up)\"` first")
    };
    std::env::var(variable).unwrap_or_else(missing)
}

/// A name that no other test has, of lower-case letters, digits and hyphens.
fn unique() -> String {
    format!("test-{:016x}", fastrand::u64(..))
}

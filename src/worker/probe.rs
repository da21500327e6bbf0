//! Whether the store and the queue answer: asked before work is taken or accepted.

use std::{fmt::Display, sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};

use crate::{queue::Queue, runs::Runs};

/// How long either may take to answer. Their own limits are shorter, if they keep them.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// The first and the longest wait before asking again what does not answer.
pub(super) const RETRY_WAIT: (Duration, Duration) =
    (Duration::from_millis(200), Duration::from_secs(5));

/// How often both are asked while they answer.
const READY_POLL_INTERVAL: Duration = Duration::from_secs(3);

/// Asks a store and a queue whether they answer.
#[derive(Clone)]
pub struct Probe {
    runs: Runs,
    queue: Arc<dyn Queue>,
}

impl Probe {
    /// Of this store and this queue.
    pub fn new(runs: Runs, queue: Arc<dyn Queue>) -> Self {
        Self { runs, queue }
    }

    /// Whether both answer.
    pub(super) async fn check(&self) -> Result<(), String> {
        let (store, queue) = self.check_each().await;
        store.and(queue)
    }

    async fn check_each(&self) -> (Result<(), String>, Result<(), String>) {
        let Self { runs, queue } = self;
        tokio::join!(answers("store", runs.check()), answers("queue", queue.check()))
    }

    /// Reports, for as long as it is polled, whether `store` and `queue` answer: again every few
    /// seconds while both do, sooner and then ever later while one does not.
    pub async fn watch(&self, report: impl Fn(&'static str, Result<(), String>)) {
        let (first, longest) = RETRY_WAIT;
        let (mut wait, mut before) = (first, None);
        loop {
            let (store, queue) = self.check_each().await;
            let failed = store.as_ref().err().or(queue.as_ref().err()).cloned();
            if before.as_ref() != Some(&failed) {
                match &failed {
                    Some(why) => tracing::warn!(%why, "not ready to accept runs"),
                    None => tracing::info!("ready to accept runs"),
                }
            }
            report("store", store);
            report("queue", queue);
            let next = if failed.is_none() { READY_POLL_INTERVAL } else { wait };
            wait = if failed.is_none() { first } else { (wait * 2).min(longest) };
            before = Some(failed);
            sleep(jittered(next)).await;
        }
    }
}

async fn answers<E: Display>(
    what: &str,
    check: impl Future<Output = Result<(), E>>,
) -> Result<(), String> {
    let late = || format!("the {what} did not answer within {} s", CHECK_TIMEOUT.as_secs());
    let answered = timeout(CHECK_TIMEOUT, check).await.map_err(|_| late())?;
    answered.map_err(|error| error.to_string())
}

/// `time`, give or take a fifth, so that processes started together do not act together.
pub(super) fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.8 + 0.4 * fastrand::f64())
}

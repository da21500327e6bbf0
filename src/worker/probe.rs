//! Whether the store and the queue answer: asked before work is taken or accepted.

use std::{sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};

use crate::{queue::Queue, runs::Runs};

/// How long the queue may take to answer. Its own limit is shorter, if it keeps it.
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
        let (store, queue) = tokio::join!(self.runs.check(), self.check_queue());
        store.and(queue)
    }

    /// Whether the queue takes messages. Publishes nothing.
    async fn check_queue(&self) -> Result<(), String> {
        match timeout(CHECK_TIMEOUT, self.queue.check()).await {
            Ok(answered) => answered.map_err(|error| error.to_string()),
            Err(_) => Err(format!("the queue did not answer within {} s", CHECK_TIMEOUT.as_secs())),
        }
    }

    /// Reports, for as long as it is polled, whether `store` and `queue` answer: again every few
    /// seconds while both do, sooner and then ever later while one does not.
    pub async fn watch(&self, report: impl Fn(&'static str, Result<(), String>)) {
        let (first, longest) = RETRY_WAIT;
        let (mut wait, mut before) = (first, None);
        loop {
            let (store, queue) = tokio::join!(self.runs.check(), self.check_queue());
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

/// `time`, give or take a fifth, so that processes started together do not act together.
pub(super) fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.8 + 0.4 * fastrand::f64())
}

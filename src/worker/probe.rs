//! Whether the store and the queue answer, and the machine has what work needs: asked before work is
//! taken or accepted.

use std::{fmt::Display, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::time::{sleep, timeout};

use crate::{
    base::{self, key_value::KeyValueStore},
    queue::Queue,
    runs::Runs,
};

/// How long either may take to answer. Their own limits are shorter, if they keep them.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// The first and the longest wait before asking again what does not answer.
pub(super) const RETRY_WAIT: (Duration, Duration) =
    (Duration::from_millis(200), Duration::from_secs(5));

/// How often both are asked while they answer.
const READY_POLL_INTERVAL: Duration = Duration::from_secs(3);

/// Whether this machine has what work needs of it, beside the store and the queue.
pub type HostCheck = Arc<dyn Fn() -> BoxFuture<'static, base::Result<()>> + Send + Sync>;

/// Asks a store and a queue whether they answer.
#[derive(Clone)]
pub struct Probe {
    runs: Runs,
    queue: Arc<dyn Queue>,
    host: Option<HostCheck>,
    writes: Option<Arc<dyn KeyValueStore>>,
}

/// Where a probe writes, and how long that stays.
const PROBE_SPACE: &str = "probe";
const PROBE_TTL: Duration = Duration::from_secs(3600);

impl Probe {
    /// Of this store and this queue.
    pub fn new(runs: Runs, queue: Arc<dyn Queue>) -> Self {
        Self { runs, queue, host: None, writes: None }
    }

    /// The same, which also writes a few bytes there: a disk that is full or read-only is seen.
    #[must_use]
    pub fn with_writes(self, writes: Option<Arc<dyn KeyValueStore>>) -> Self {
        Self { writes, ..self }
    }

    /// The same, which also asks this before it lets work be taken.
    #[must_use]
    pub fn with_host(self, host: Option<HostCheck>) -> Self {
        Self { host, ..self }
    }

    /// Whether work can be done.
    pub(super) async fn check(&self) -> Result<(), String> {
        let (store, queue) = self.check_each().await;
        store.and(queue)?;
        match &self.host {
            Some(host) => answers("machine", host()).await,
            None => Ok(()),
        }
    }

    async fn check_store(&self) -> base::Result<()> {
        self.runs.check().await?;
        match &self.writes {
            Some(values) => {
                let (owner, now) = (self.runs.owner(), self.runs.now().to_string());
                values.put(PROBE_SPACE, owner, now.into(), PROBE_TTL).await
            }
            None => Ok(()),
        }
    }

    async fn check_each(&self) -> (Result<(), String>, Result<(), String>) {
        let Self { queue, .. } = self;
        tokio::join!(answers("store", self.check_store()), answers("queue", queue.check()))
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
                    Some(why) => tracing::warn!(error = %why, "not ready to accept runs"),
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

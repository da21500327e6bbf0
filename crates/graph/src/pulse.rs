//! Signs of life of a task, for its idle timeout.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

/// When a task gave its last sign of life.
pub(super) struct Pulse {
    last: Mutex<Instant>,
    /// Of the task whose subgraph it is in.
    around: Option<Arc<Self>>,
}

impl Pulse {
    pub(super) fn inside(around: Option<Arc<Self>>) -> Self {
        Self { last: Mutex::new(Instant::now()), around }
    }

    pub(super) fn beat(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        if let Some(around) = &self.around {
            around.beat();
        }
    }

    /// Ends once there was no sign of life for so long.
    pub(super) async fn stops(&self, limit: Duration) {
        loop {
            let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() >= limit {
                return;
            }
            sleep_until(last + limit).await;
        }
    }
}

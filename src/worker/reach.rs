//! Whether the store and the queue answer: asked before work is taken or accepted.

use std::time::Duration;

use tokio::time::timeout;

use crate::{
    graph::{RunId, Runtime},
    queue::Queue,
};

/// How long either may take to answer. Their own limits are shorter, if they keep them.
const PATIENCE: Duration = Duration::from_secs(10);

/// The first and the longest wait between two questions to what does not answer.
pub(super) const AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Whether the store can be read and written. Writes nothing.
pub(super) async fn store(runtime: &Runtime) -> Result<(), String> {
    let nobody = RunId::of("", "");
    let both = async {
        runtime.store.head(&nobody).await?;
        // There is no such letter; but only a store that can write can say that it changed nothing.
        runtime.store.confirm_letter(nobody.as_str()).await
    };
    match timeout(PATIENCE, both).await {
        Ok(answered) => answered.map(drop).map_err(|error| error.to_string()),
        Err(_) => Err(format!("the store did not answer within {} s", PATIENCE.as_secs())),
    }
}

/// Whether the queue takes messages. Publishes nothing.
pub(super) async fn queue(queue: &dyn Queue) -> Result<(), String> {
    match timeout(PATIENCE, queue.check()).await {
        Ok(answered) => answered.map_err(|error| error.to_string()),
        Err(_) => Err(format!("the queue did not answer within {} s", PATIENCE.as_secs())),
    }
}

/// `time`, give or take a fifth, so that processes started together do not act together.
pub(super) fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.8 + 0.4 * fastrand::f64())
}

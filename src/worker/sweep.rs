//! Runs nobody looks after: their message was lost, their worker died, or their time has come.

use tracing::{Instrument as _, field::Empty};

use super::{Worker, disposition::Happened};
use crate::graph::Head;

impl Worker {
    /// Runs to look after, at most so many.
    pub(super) async fn due(&self, limit: usize) -> Vec<Head> {
        let margin = self.shared.options.sweep_margin;
        match self.shared.runtime.store.due(margin, limit).await {
            Ok(heads) => heads,
            Err(error) => {
                tracing::warn!(%error, "looking for runs that are due failed");
                self.pause(&error.to_string());
                Vec::new()
            }
        }
    }

    /// Sees one of them through, without a message.
    pub(super) async fn look_after(&self, head: Head) {
        let span = tracing::info_span!("sweep", run = Empty, workflow = Empty);
        self.see_after(head).instrument(span).await;
    }

    async fn see_after(&self, head: Head) {
        tracing::info!(run = %head.id, status = %head.status, "the sweep takes up a run");
        let worked = self.take_up(head, None).await;
        if matches!(worked.happened, Happened::Held { .. } | Happened::Early { .. }) {
            // Another worker was faster.
            return;
        }
        self.settle(worked, None).await;
    }
}

//! Takes messages for those who wait, by looking at the database.
//!
//! Sixteen idle consumers cost one look per poll, and sixteen busy ones are served by one statement.
//! Nothing is taken ahead, for what is taken is visible to nobody else.

use std::{future::pending, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use super::{
    super::{
        Delivery, QueueError, Settlement,
        dispatcher::{Holder, Pending, Source, optional},
    },
    inner::Inner,
    sql::Move,
};

/// However short a poll is asked for, looking must not become all this process does.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(1);

type Taken = Result<Vec<Delivery>, QueueError>;

pub(super) struct PollingSource {
    inner: Arc<Inner>,
    look_at: Instant,
    /// Whether there is reason to think that messages are ready.
    hint: bool,
    taking: Option<BoxFuture<'static, Taken>>,
}

impl PollingSource {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner, look_at: Instant::now(), hint: false, taking: None }
    }

    async fn time_to_look(&mut self) {
        tokio::select! {
            biased;
            () = self.inner.changed.notified() => self.hint = true,
            () = sleep_until(self.look_at) => {}
        }
    }
}

impl Source for PollingSource {
    type Taken = Delivery;
    type Event = Taken;

    fn asked(&mut self) {
        self.look_at = Instant::now();
    }

    async fn event(&mut self, waiting: usize) -> Taken {
        if self.taking.is_none() {
            if waiting == 0 {
                return pending().await;
            }
            self.time_to_look().await;
            let (inner, hint) = (self.inner.clone(), std::mem::take(&mut self.hint));
            self.taking = Some(Box::pin(async move { inner.take(waiting, hint).await }));
        }
        optional(&mut self.taking).await
    }

    async fn handle(&mut self, taken: Taken, pending: &mut Pending<Delivery>) {
        self.taking = None;
        self.look_at = Instant::now();
        match taken {
            Ok(taken) if taken.is_empty() => {
                self.look_at += self.inner.options.poll.max(MIN_POLL_INTERVAL);
            }
            Ok(taken) => {
                // There may be more where that came from.
                self.hint = true;
                taken.into_iter().for_each(|delivery| pending.push(delivery));
            }
            Err(error) => pending.fail(&error),
        }
    }

    fn may_buffer(&self) -> bool {
        false
    }

    async fn give_back(&mut self, delivery: Delivery) {
        let back = Move::Settle(Settlement::HandBack);
        if let Err(error) = self.inner.shift(delivery.receipt, back).await {
            tracing::debug!(%error, "a message nobody waits for comes back later");
        }
    }

    async fn rest(&mut self, pending: &mut Pending<Delivery>) {
        if let Some(taking) = self.taking.take() {
            let taken = taking.await;
            self.handle(taken, pending).await;
        }
    }
}

/// Nothing is held here: the rows say who holds what.
pub(super) struct Rows;

impl Holder for Rows {
    type Taken = Delivery;

    fn hand_over(&self, delivery: Delivery) -> Result<Delivery, Delivery> {
        Ok(delivery)
    }

    fn take_back(&self, delivery: Delivery) -> Option<Delivery> {
        Some(delivery)
    }
}

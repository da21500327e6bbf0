//! Events from outside, given to the runs that wait for them.

use std::time::Duration;

use serde_json::value::RawValue;

use super::{Error, Runs, views::SentEvent};
use crate::{
    base::Result,
    graph::{ExternalEvent, RunId},
};

impl Runs {
    /// How long an event is kept for runs that do not wait for it yet, unless something else is said.
    pub const EVENT_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// The same, with events kept for so long.
    #[must_use]
    pub fn with_event_retention(self, event_retention: Duration) -> Self {
        Self { event_retention, ..self }
    }

    /// Keeps an event, gives it to the runs that wait for its key, and wakes workers for them. Without
    /// an id it is a new one; sent again with its id it is the same.
    pub async fn send_event(
        &self,
        key: &str,
        id: Option<&str>,
        payload: &RawValue,
    ) -> Result<SentEvent, Error> {
        let id = id.map_or_else(|| RunId::random().to_string(), str::to_owned);
        let event = ExternalEvent::new(key, &id, payload);
        let event = event.map_err(|invalid| Error::Invalid(invalid.message))?;
        Ok(SentEvent { id, runs: self.give_event(event).await? })
    }

    pub(super) async fn give_event(&self, event: ExternalEvent) -> Result<Vec<RunId>> {
        let runs = self.runtime.send(event, self.event_retention).await?;
        for run in &runs {
            self.wake(run, Duration::ZERO, None).await;
        }
        Ok(runs)
    }
}

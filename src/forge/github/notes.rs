//! Small notes in the key-value store that several processes change, and the right to publish on a
//! pull request.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::sleep;

use crate::base::{
    Fault, Result,
    key_value::{Expect, KeyValueStore, Write},
};

/// Where the right to publish is held, by pull request.
const SPACE: &str = "github-publishing";

/// How often a change is decided anew because another came first.
const MAX_ROUNDS: usize = 50;

/// How often a right that another holds is asked for.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Changes a note by what is there.
///
/// # Errors
/// When the store does not answer, or others change it all the time.
pub(super) async fn update(
    store: &Arc<dyn KeyValueStore>,
    (space, key): (&str, &str),
    ttl: Duration,
    change: impl Fn(Option<&[u8]>) -> Result<Bytes>,
) -> Result<()> {
    for _ in 0..MAX_ROUNDS {
        let entry = store.read(space, key).await?.live();
        let value = change(entry.as_ref().map(|entry| &*entry.value))?;
        if entry.as_ref().is_some_and(|entry| entry.value == value) {
            return Ok(());
        }
        let expect = entry.map_or(Expect::Nothing, |entry| Expect::Revision(entry.revision));
        if store.write(Write::new((space, key), value, ttl, expect)?).await? {
            return Ok(());
        }
    }
    Err(Fault::transient(format!("the note `{space}` changed {MAX_ROUNDS} times in a row")))
}

/// The right to publish on one pull request: one process at a time has it.
///
/// It lives longer than a request may take, so whoever takes over from a process that died finds
/// what that process's last request did.
pub(super) struct PublishingRight {
    store: Arc<dyn KeyValueStore>,
    subject: String,
    token: Bytes,
    ttl: Duration,
}

impl PublishingRight {
    /// Waits until nobody else has it.
    ///
    /// # Errors
    /// Transient when another keeps it.
    pub(super) async fn acquire(
        store: &Arc<dyn KeyValueStore>,
        subject: &str,
        ttl: Duration,
    ) -> Result<Self> {
        let token = Bytes::from(format!("{:032x}", fastrand::u128(..)));
        let right = Self { store: store.clone(), subject: subject.to_owned(), token, ttl };
        let mut waited = Duration::ZERO;
        while waited <= ttl * 4 {
            let there = store.put_if_absent(SPACE, subject, right.token.clone(), ttl).await?;
            if there.is_none() || there.as_ref() == Some(&right.token) {
                return Ok(right);
            }
            let pause = POLL_INTERVAL.min(ttl / 4);
            sleep(pause).await;
            waited += pause;
        }
        Err(Fault::transient(format!("another process is publishing on {subject}")).after(ttl))
    }

    /// Does `work`, and keeps the right for as long as that takes: a request may wait long for its token
    /// and for room behind other writes.
    ///
    /// # Errors
    /// As `work`; transient when the right is another's by now.
    pub(super) async fn during<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let keeping = async {
            loop {
                sleep(self.ttl / 3).await;
                if let Err(fault) = self.keep().await {
                    return fault;
                }
            }
        };
        tokio::select! {
            done = work => done,
            lost = keeping => Err(lost),
        }
    }

    /// Keeps it for the next request.
    ///
    /// # Errors
    /// Transient when it is another's by now.
    pub(super) async fn keep(&self) -> Result<()> {
        if self.set(self.ttl).await? {
            return Ok(());
        }
        Err(Fault::transient(format!("another process publishes on {}", self.subject)))
    }

    /// Gives it back. What is not given back ends by itself.
    pub(super) async fn release(self) {
        if let Err(fault) = self.set(Duration::ZERO).await {
            tracing::debug!(error = %fault, subject = self.subject, "the right to publish ends by itself");
        }
    }

    async fn set(&self, ttl: Duration) -> Result<bool> {
        loop {
            let entry = self.store.read(SPACE, &self.subject).await?.live();
            let Some(entry) = entry.filter(|entry| entry.value == self.token) else {
                return Ok(false);
            };
            let expect = Expect::Revision(entry.revision);
            let write = Write::new((SPACE, &self.subject), self.token.clone(), ttl, expect)?;
            // If not, this process has just kept it elsewhere, or it was lost.
            if self.store.write(write).await? {
                return Ok(true);
            }
        }
    }
}

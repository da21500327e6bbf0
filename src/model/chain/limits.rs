//! Limits of a provider that all processes of one store share: requests and tokens a minute, and how many calls run at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep},
};

use super::super::{FailureKind, ModelError, ModelOptions};
use crate::base::{Acquired, Fault, RateLimit, RateLimiter, key_value::KeyValueStore};

/// Where the places of calls in hand are kept.
const PLACES: &str = "model-places";

/// How often it is checked whether another process has left a place.
const PLACE_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The limits of all providers.
pub(super) struct Limits {
    store: Arc<dyn KeyValueStore>,
    requests: Option<RateLimiter>,
    tokens: Option<(RateLimiter, f64)>,
    concurrency: usize,
    max_wait: Duration,
    /// How long a place is kept by a process that died in a call.
    place_ttl: Duration,
    /// The calls of this process, by provider.
    here: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A call that may run. Leave it, and the next one may.
pub(super) struct Place {
    store: Arc<dyn KeyValueStore>,
    key: String,
    left: bool,
    _here: OwnedSemaphorePermit,
}

impl Place {
    /// Another call may run now.
    pub(super) async fn leave(mut self) {
        free(&*self.store, &self.key).await;
        self.left = true;
    }
}

impl Drop for Place {
    /// A call that is cut short leaves its place, too.
    fn drop(&mut self) {
        let Some(runtime) = Handle::try_current().ok().filter(|_| !self.left) else { return };
        let (store, key) = (self.store.clone(), std::mem::take(&mut self.key));
        runtime.spawn(async move { free(&*store, &key).await });
    }
}

async fn free(store: &dyn KeyValueStore, key: &str) {
    let freed = store.put(PLACES, key, Bytes::new(), Duration::ZERO).await;
    if let Err(fault) = freed {
        tracing::debug!(error = %fault, "a call's place stays taken until it expires");
    }
}

impl Limits {
    pub(super) fn new(options: &ModelOptions, store: Arc<dyn KeyValueStore>) -> Self {
        let per_minute = |space, limit: f64| {
            let limit = RateLimit { capacity: limit, per_second: limit / 60.0 };
            RateLimiter::new(store.clone(), space, limit)
        };
        let requests = f64::from(options.requests_per_minute);
        #[expect(clippy::cast_precision_loss, reason = "limits are small numbers")]
        let tokens = options.tokens_per_minute as f64;
        Self {
            requests: (requests > 0.0).then(|| per_minute("model-requests", requests)),
            tokens: (tokens > 0.0).then(|| (per_minute("model-tokens", tokens), tokens)),
            concurrency: options.concurrency,
            max_wait: options.max_wait,
            place_ttl: options.timeout + Duration::from_secs(10),
            here: Mutex::default(),
            store,
        }
    }

    /// Waits until a call of so many tokens may run.
    pub(super) async fn enter(&self, provider: &str, tokens: u64) -> Result<Place, ModelError> {
        let closed = || ModelError::new(FailureKind::Cancelled, "shutting down");
        let here = self.here(provider).acquire_owned().await.map_err(|_| closed())?;
        let until = Instant::now() + self.max_wait;
        if let Some(requests) = &self.requests {
            wait_for(requests, provider, 1.0, until).await?;
        }
        if let Some((limiter, capacity)) = &self.tokens {
            #[expect(clippy::cast_precision_loss, reason = "a prompt's tokens are few")]
            let tokens = (tokens as f64).min(*capacity);
            wait_for(limiter, provider, tokens, until).await?;
        }
        let key = self.place(provider, until).await?;
        Ok(Place { store: self.store.clone(), key, left: false, _here: here })
    }

    fn here(&self, provider: &str) -> Arc<Semaphore> {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Semaphore::new(self.concurrency));
        here.entry(provider.to_owned()).or_insert_with(new).clone()
    }

    /// Takes one of the places that all processes share.
    async fn place(&self, provider: &str, until: Instant) -> Result<String, ModelError> {
        loop {
            let first = fastrand::usize(..self.concurrency);
            for number in (0..self.concurrency).map(|n| (first + n) % self.concurrency) {
                let key = format!("{provider}/{number}");
                let taken = self.store.put_if_absent(
                    PLACES,
                    &key,
                    Bytes::from_static(b"1"),
                    self.place_ttl,
                );
                if taken.await.map_err(no_store)?.is_none() {
                    return Ok(key);
                }
            }
            if Instant::now() >= until {
                let message =
                    format!("all {} places for calls to {provider} are taken", self.concurrency);
                return Err(ModelError::new(FailureKind::RateLimited, message).after(self.max_wait));
            }
            sleep(PLACE_POLL_INTERVAL.mul_f64(0.5 + fastrand::f64())).await;
        }
    }
}

/// Waits for tokens of a bucket, unless that takes too long.
async fn wait_for(
    limiter: &RateLimiter,
    provider: &str,
    tokens: f64,
    until: Instant,
) -> Result<(), ModelError> {
    while let Acquired::Wait(wait) = limiter.acquire(provider, tokens).await.map_err(no_store)? {
        if Instant::now() + wait > until {
            let message = format!("the settings' limit of calls to {provider} is reached");
            return Err(ModelError::new(FailureKind::RateLimited, message).after(wait));
        }
        sleep(wait).await;
    }
    Ok(())
}

/// Limits are kept in the store: without it nobody may call.
fn no_store(fault: Fault) -> ModelError {
    let kind = FailureKind::Unavailable;
    ModelError { kind, fault: fault.while_doing("the limits of models"), usage: Default::default() }
}

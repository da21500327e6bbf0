//! A rate limit that every worker of one store shares: a token bucket, kept as one small value of
//! the key-value store. Buckets need no rows of their own: one that is full again has expired.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    Fault, Result, Timestamp,
    key_value::{Expect, Found, KeyValueStore, MAX_ROUNDS, Write, contended},
};

/// A bucket holds at most `capacity` tokens and regains `per_second` of them each second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// The most tokens it can hold. Also what it starts with.
    pub capacity: f64,
    /// Tokens regained each second.
    pub per_second: f64,
}

/// The answer to [`RateLimiter::acquire`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Acquired {
    /// The tokens were taken.
    Granted,
    /// None was taken; so many are there after this wait.
    Wait(Duration),
}

/// Takes tokens from the buckets of one space. Cheap to clone.
#[derive(Clone)]
pub struct RateLimiter {
    store: Arc<dyn KeyValueStore>,
    space: Arc<str>,
    limit: RateLimit,
}

impl RateLimiter {
    /// Over the buckets of `space`, all of the same limit.
    pub fn new(store: Arc<dyn KeyValueStore>, space: &str, limit: RateLimit) -> Self {
        Self { store, space: space.into(), limit }
    }

    /// Takes so many tokens from the bucket under `key`, all or none.
    ///
    /// # Errors
    /// Permanent when they exceed the bucket's capacity: they could never be granted.
    pub async fn acquire(&self, key: &str, tokens: f64) -> Result<Acquired> {
        let space = &*self.space;
        self.limit.check(space, tokens)?;
        for _ in 0..MAX_ROUNDS {
            let found = self.store.read(space, key).await?;
            let now = found.now;
            let expect = match &found.entry {
                Some(entry) => Expect::Revision(entry.revision),
                None => Expect::Nothing,
            };
            let before = bucket(space, found)?;
            let (after, full_in) = match self.limit.take(before, tokens, now) {
                Ok(taken) => taken,
                Err(wait) => return Ok(Acquired::Wait(wait)),
            };
            let write = Write::new((space, key), after.encode(), full_in, expect)?;
            if self.store.write(write).await? {
                return Ok(Acquired::Granted);
            }
        }
        Err(contended(space))
    }
}

fn bucket(space: &str, found: Found) -> Result<Option<Bucket>> {
    let Some(entry) = found.live() else { return Ok(None) };
    Bucket::decode(&entry.value).map(Some).ok_or_else(|| {
        Fault::permanent(format!("a value of the space `{space}` is no rate limiter's"))
    })
}

/// What is left in a bucket, as of a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bucket {
    tokens: f64,
    as_of: Timestamp,
}

impl Bucket {
    fn encode(self) -> Bytes {
        [self.tokens.to_be_bytes(), self.as_of.0.to_be_bytes()].concat().into()
    }

    fn decode(value: &[u8]) -> Option<Self> {
        let (tokens, as_of) = value.split_at_checked(8)?;
        let tokens = f64::from_be_bytes(tokens.try_into().ok()?);
        let as_of = Timestamp(i64::from_be_bytes(as_of.try_into().ok()?));
        Some(Self { tokens, as_of })
    }
}

impl RateLimit {
    fn check(&self, space: &str, tokens: f64) -> Result<()> {
        let capacity = self.capacity;
        if tokens >= 0.0 && tokens <= capacity {
            return Ok(());
        }
        Err(Fault::permanent(format!(
            "{tokens} tokens can never be acquired from `{space}`: it holds at most {capacity}"
        )))
    }

    /// Takes from what `before` (absent: full) has become by now. Answers the bucket after it and
    /// when it is full again; or how long to wait.
    fn take(
        &self,
        before: Option<Bucket>,
        tokens: f64,
        now: Timestamp,
    ) -> Result<(Bucket, Duration), Duration> {
        // Sums of fractions miss whole numbers by a hair.
        const ROUNDING: f64 = 1e-9;
        let there = before.map_or(self.capacity, |bucket| {
            let regained = now.since(bucket.as_of).as_secs_f64() * self.per_second;
            (bucket.tokens + regained).min(self.capacity)
        });
        if there + ROUNDING < tokens {
            return Err(self.time_for(tokens - there));
        }
        let tokens = (there - tokens).max(0.0);
        // A clock that went back must not make the same second count twice.
        let as_of = before.map_or(now, |bucket| bucket.as_of.max(now));
        Ok((Bucket { tokens, as_of }, self.time_for(self.capacity - tokens)))
    }

    /// Whole milliseconds, rounded up: that is how finely clocks are read.
    fn time_for(&self, tokens: f64) -> Duration {
        let seconds =
            Duration::try_from_secs_f64(tokens / self.per_second).unwrap_or(Duration::MAX);
        let millis = seconds.as_nanos().div_ceil(1_000_000);
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit { capacity: 10.0, per_second: 3.0 };

    #[test]
    fn after_the_wait_it_is_granted() {
        let mut bucket = None;
        let mut now = Timestamp(1000);
        for _ in 0..100 {
            let taken = LIMIT.take(bucket, 1.7, now).or_else(|wait| {
                now = now.plus(wait);
                LIMIT.take(bucket, 1.7, now)
            });
            let (after, _) = taken.unwrap();
            assert_eq!(Bucket::decode(&after.encode()), Some(after));
            bucket = Some(after);
        }
        let taken = 100.0 * 1.7 - LIMIT.capacity;
        let seconds = now.since(Timestamp(1000)).as_secs_f64();
        assert!(seconds >= taken / LIMIT.per_second - 0.001, "{seconds}");
    }

    #[test]
    fn a_bucket_without_income_makes_wait_for_ever() {
        let limit = RateLimit { capacity: 1.0, per_second: 0.0 };
        let (bucket, full_in) = limit.take(None, 1.0, Timestamp(0)).unwrap();
        let wait = limit.take(Some(bucket), 1.0, Timestamp(1 << 40)).unwrap_err();
        assert!(wait.min(full_in) > Duration::from_secs(1 << 32));
    }

    #[test]
    fn what_can_never_be_granted_is_refused() {
        assert!(LIMIT.check("s", 10.0).is_ok());
        for tokens in [10.1, -1.0, f64::NAN] {
            assert!(!LIMIT.check("s", tokens).unwrap_err().is_transient());
        }
    }

    #[test]
    fn what_is_no_bucket_is_none() {
        for value in [&b""[..], b"x", &[0; 15], &[0; 17]] {
            assert_eq!(Bucket::decode(value), None);
        }
    }
}

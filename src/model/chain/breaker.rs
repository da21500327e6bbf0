//! Leaves a provider alone that is down: after several failures in a row it is not asked for a while, then by one call first.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::super::{FailureKind, ModelError};
use crate::base::{Clock, Timestamp};

/// Failures in a row after which a provider is left alone.
const FAILURES: u32 = 5;

/// For how long.
const PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// Nobody asks before, but one call each time it is reached.
    closed_until: Option<Timestamp>,
}

/// Whether a model may be asked. Kept by each process for itself.
#[derive(Debug)]
pub(super) struct Breaker {
    clock: Clock,
    state: Mutex<State>,
}

impl Breaker {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// Refuses while the provider is left alone. The first call after that is let through, the others wait for its outcome.
    pub(super) fn check(&self, model: &str) -> Result<(), ModelError> {
        let now = self.clock.now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(until) = state.closed_until else { return Ok(()) };
        if until <= now {
            state.closed_until = Some(now.plus(PAUSE));
            return Ok(());
        }
        let message =
            format!("{model} failed {} times in a row and is left alone for now", state.failures);
        Err(ModelError::new(FailureKind::Unavailable, message).after(until.since(now)))
    }

    /// Whether a call now would be refused.
    pub(super) fn refuses(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed_until.is_some_and(|until| until > self.clock.now())
    }

    /// How a call ended. Only what says that the provider is down counts against it.
    pub(super) fn note(&self, failure: Option<FailureKind>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match failure {
            Some(FailureKind::Unavailable | FailureKind::TimedOut) => {
                state.failures += 1;
                if state.failures >= FAILURES {
                    state.closed_until = Some(self.clock.now().plus(PAUSE));
                }
            }
            Some(FailureKind::Cancelled) => {}
            _ => *state = State::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P7: a provider that is down is left alone, then tried by one call.
    #[test]
    fn five_failures_in_a_row_close_it() {
        let (clock, hand) = Clock::manual(Timestamp(0));
        let breaker = Breaker::new(clock);
        let down = Some(FailureKind::Unavailable);
        for _ in 0..4 {
            breaker.note(down);
        }
        breaker.note(Some(FailureKind::RateLimited));
        for _ in 0..4 {
            breaker.note(down);
            breaker.check("m").unwrap();
        }
        assert!(!breaker.refuses());
        breaker.note(down);
        assert!(breaker.refuses());
        let refused = breaker.check("m").unwrap_err();
        assert_eq!(refused.fault.retry_after, Some(PAUSE));
        hand.advance(PAUSE);
        breaker.check("m").unwrap();
        assert!(breaker.check("m").is_err(), "one call probes");
        breaker.note(down);
        assert!(breaker.check("m").is_err(), "and it failed");
        hand.advance(PAUSE);
        breaker.check("m").unwrap();
        breaker.note(None);
        breaker.check("m").unwrap();
    }
}

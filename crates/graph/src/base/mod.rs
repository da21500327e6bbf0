//! What every other room may lean on: classified faults, the clock, trace context, secrets, hashes, and
//! the port of the key-value store. It imports nothing of this crate and does no I/O.

mod clock;
pub mod durations;
mod fault;
mod hash;
mod invalid_input;
pub mod key_value;
mod mask;
mod rate_limiter;
mod trace;

pub use clock::{Clock, ManualClock, Timestamp};
pub use fault::{Fault, FaultKind, Result};
pub use hash::hash_hex;
pub use invalid_input::invalid_input;
pub use mask::mask_urls;
pub use rate_limiter::{Acquired, RateLimit, RateLimiter};
pub use secrecy::{ExposeSecret, SecretString as Secret};
pub use trace::TraceContext;

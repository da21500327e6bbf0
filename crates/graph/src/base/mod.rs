//! What every other room may lean on: classified faults, the clock, trace context, secrets, hashes, and
//! the port of the keyed side. It imports nothing of this crate and does no I/O.

mod clock;
pub mod durations;
mod fault;
mod hash;
pub mod keyed;
mod misfit;
mod trace;

pub use clock::{Clock, ManualClock, Timestamp};
pub use fault::{Fault, FaultKind, Result};
pub use hash::hash_hex;
pub use misfit::misfit;
pub use secrecy::{ExposeSecret, SecretString as Secret};
pub use trace::TraceContext;

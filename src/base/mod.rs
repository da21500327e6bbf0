//! What every other room may lean on: classified faults, the clock, trace context, secrets, and
//! the port of the keyed side. It imports nothing of this crate and does no I/O.

mod clock;
mod fault;
pub mod keyed;
mod trace;

pub use clock::{Clock, ManualClock, Timestamp};
pub use fault::{Fault, FaultKind, Result};
pub use secrecy::{ExposeSecret, SecretString as Secret};
pub use trace::TraceContext;

//! The engine: E1–E20.

pub mod bench;
mod build;
mod checks;
mod codec;
mod drawing;
mod durable;
mod events;
mod interrupts;
mod known_failures;
mod leases;
mod machine;
mod props;
mod random;
mod reopen;
mod run;
mod stalled;
mod start;
mod streaming;
pub mod support;

//! The engine: E1–E20.

pub mod bench;
mod build;
mod checks;
mod codec;
mod drawing;
mod durable;
mod interrupts;
mod leases;
mod machine;
mod props;
mod random;
mod reopen;
mod run;
mod stalled;
mod streaming;
pub mod support;

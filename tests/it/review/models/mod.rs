//! Reviews with language models: the real binary on local repositories, its models a scripted server.

mod budgets;
mod evaluating;
mod failures;
mod findings;
mod judging;
mod large;
mod paying;
mod resuming;
mod showing;
pub mod support;
mod untrusted;

//! The last node: where the review goes.
//!
//! A local review goes nowhere: it stays in the run, which is durable already, and is shown on
//! request. A forge that takes reviews gets its own variant of [`Published`] here, with intent,
//! call and reconciliation.

use super::state::{Published, ReviewState};
use crate::base::{Fault, Result};

/// Publishes what the judge left.
///
/// # Errors
/// When there is no judgement to publish.
pub fn publish(state: &ReviewState) -> Result<Published> {
    match state.judgement {
        Some(_) => Ok(Published::InRun),
        None => Err(Fault::permanent("there is no judgement to publish")),
    }
}

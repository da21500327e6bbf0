//! Whether it does what it should: comparisons that never hold, work nobody waits for.

use super::Agent;
use crate::analysis::Category;

/// The logic agent.
pub const AGENT: Agent =
    Agent { category: Category::Logic, purpose: "whether it does what it should" };

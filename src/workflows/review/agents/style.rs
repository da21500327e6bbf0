//! How it reads: names, idioms, work left undone.

use super::Agent;
use crate::analysis::Category;

/// The style agent.
pub const AGENT: Agent = Agent { category: Category::Style, purpose: "how it reads" };

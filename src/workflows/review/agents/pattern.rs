//! Habits that end badly: swallowed errors, debugging aids, surprising files.

use super::Agent;
use crate::analysis::Category;

/// The pattern agent.
pub const AGENT: Agent = Agent { category: Category::Pattern, purpose: "habits that end badly" };

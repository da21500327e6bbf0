//! Whom it exposes: injection, unchecked certificates, hidden characters, secrets.

use super::Agent;
use crate::analysis::Category;

/// The security agent.
pub const AGENT: Agent = Agent { category: Category::Security, purpose: "whom it exposes" };

//! Whom it exposes: injection, unchecked certificates, hidden characters.

use async_trait::async_trait;

use super::{Agent, AgentContext, Chunk, ChunkReport};
use crate::{analysis::Category, base::Result};

/// The security agent.
pub(super) struct Security;

#[async_trait]
impl Agent for Security {
    fn id(&self) -> &'static str {
        Category::Security.word()
    }

    async fn review(&self, ctx: &AgentContext<'_>, chunk: &Chunk) -> Result<ChunkReport> {
        ctx.category(chunk).await
    }
}

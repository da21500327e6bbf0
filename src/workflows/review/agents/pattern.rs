//! Habits that end badly: swallowed errors, debugging aids.

use async_trait::async_trait;

use super::{Agent, AgentContext, Chunk, ChunkReport};
use crate::{analysis::Category, base::Result};

/// The pattern agent.
pub(super) struct Pattern;

#[async_trait]
impl Agent for Pattern {
    fn id(&self) -> &'static str {
        Category::Pattern.word()
    }

    async fn review(&self, ctx: &AgentContext<'_>, chunk: &Chunk) -> Result<ChunkReport> {
        ctx.category(chunk).await
    }
}

//! How it reads: names, idioms, work left undone.

use async_trait::async_trait;

use super::{Agent, AgentContext, Chunk, ChunkReport};
use crate::{analysis::Category, base::Result};

/// The style agent.
pub(super) struct Style;

#[async_trait]
impl Agent for Style {
    fn id(&self) -> &'static str {
        Category::Style.word()
    }

    async fn review(&self, ctx: &AgentContext<'_>, chunk: &Chunk) -> Result<ChunkReport> {
        ctx.category(chunk).await
    }
}

//! Whom it exposes: injection, unchecked certificates, hidden characters, checks of permissions that went.

use async_trait::async_trait;

use super::{Agent, AgentContext, Chunk, ChunkReport, Limits, ReviewFile, plan};
use crate::{analysis::Category, base::Result, workflows::review::sided::WholeChange};

/// The security agent.
pub(super) struct Security;

#[async_trait]
impl Agent for Security {
    fn id(&self) -> &'static str {
        Category::Security.word()
    }

    fn plan(&self, files: &[ReviewFile], limits: &Limits) -> Vec<Chunk> {
        plan::chunks(files, limits, true)
    }

    async fn review(&self, ctx: &AgentContext<'_>, chunk: &Chunk) -> Result<ChunkReport> {
        let mut report = ctx.category(chunk).await?;
        if chunk.whole {
            let change = WholeChange::of(ctx).await?;
            report.findings.extend(change.own(change.settled())?);
        }
        Ok(report)
    }
}

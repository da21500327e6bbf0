//! Habits that end badly: swallowed errors, debugging aids, tests that went.

use async_trait::async_trait;

use super::{Agent, AgentContext, Chunk, ChunkReport, Limits, ReviewFile, plan};
use crate::{analysis::Category, base::Result, workflows::review::sided::WholeChange};

/// The pattern agent.
pub(super) struct Pattern;

#[async_trait]
impl Agent for Pattern {
    fn id(&self) -> &'static str {
        Category::Pattern.word()
    }

    fn plan(&self, files: &[ReviewFile], limits: &Limits) -> Vec<Chunk> {
        plan::chunks(files, limits, true)
    }

    async fn review(&self, ctx: &AgentContext<'_>, chunk: &Chunk) -> Result<ChunkReport> {
        let mut report = ctx.category(chunk).await?;
        if chunk.whole {
            let change = WholeChange::of(ctx).await?;
            let mut findings = change.settled();
            findings.extend(change.tests_gone().await?);
            report.findings.extend(change.own(findings)?);
        }
        Ok(report)
    }
}

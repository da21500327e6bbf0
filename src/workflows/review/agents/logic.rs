//! Whether it does what it should: comparisons that never hold, errors that nobody checks, work nobody waits for,
//! lock files and calls left behind.

use async_trait::async_trait;

use super::{Agent, AgentContext, Chunk, ChunkReport, Limits, ReviewFile, plan};
use crate::{
    analysis::Category,
    base::Result,
    workflows::review::{lock_files::without_lesser, sided::WholeChange},
};

/// The logic agent.
pub(super) struct Logic;

#[async_trait]
impl Agent for Logic {
    fn id(&self) -> &'static str {
        Category::Logic.word()
    }

    fn plan(&self, files: &[ReviewFile], limits: &Limits) -> Vec<Chunk> {
        plan::chunks(files, limits, true)
    }

    async fn review(&self, ctx: &AgentContext<'_>, chunk: &Chunk) -> Result<ChunkReport> {
        let mut report = ctx.category(chunk).await?;
        if chunk.whole {
            let change = WholeChange::of(ctx).await?;
            let mut findings = change.manifests_left_behind().await?;
            findings.extend(change.lock_files().await?);
            findings.extend(change.callers().await?);
            without_lesser(&mut findings);
            report.findings.extend(change.own(findings)?);
        }
        Ok(report)
    }
}

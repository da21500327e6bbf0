//! What stands around every page: the way to the others, health, and how much waits.

use std::time::Duration;

use tokio::time::timeout;

use super::Pages;

/// How long a queue may take to tell how much it holds.
const DEPTH_TIMEOUT: Duration = Duration::from_millis(500);

/// What stands around a page.
#[derive(Default)]
pub(super) struct Frame {
    /// Which page it is.
    pub(super) here: &'static str,
    /// Whether work should come here.
    pub(super) health: &'static str,
    /// The checks that are not fine, and why.
    pub(super) ill: Vec<(String, String)>,
    /// Messages on the queue, by state.
    pub(super) depth: Option<String>,
}

impl Frame {
    /// As things stand.
    pub(super) async fn of(pages: &Pages, here: &'static str) -> Self {
        let report = pages.readiness.report();
        let health = if report.ready { "ready" } else { "not ready" };
        let ill = report.checks.into_iter().filter(|(_, state)| state != "ok").collect();
        Self { here, health, ill, depth: depth(pages).await }
    }
}

/// What the queue tells; one that does not tell in time has nothing to say.
async fn depth(pages: &Pages) -> Option<String> {
    let depth = timeout(DEPTH_TIMEOUT, pages.queue.as_ref()?.depth()).await.ok()?.ok()?;
    let states = [
        ("ready", depth.ready),
        ("in hand", depth.in_hand),
        ("delayed", depth.delayed),
        ("dead", depth.dead),
    ];
    let told = states.iter().filter_map(|(name, number)| Some(format!("{} {name}", (*number)?)));
    Some(told.collect::<Vec<_>>().join(", ")).filter(|told| !told.is_empty())
}

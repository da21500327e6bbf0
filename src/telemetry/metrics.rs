//! Metrics: recorded anywhere with the `metrics` macros, rendered for Prometheus here.
//!
//! Until [`install`] is called, recording does nothing. Only a process that stays calls it.

use std::{sync::OnceLock, time::Duration};

use metrics::{describe_gauge, gauge};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;

/// The upper ends of every histogram's buckets, in seconds: from a wake-up at once to a message that
/// waited through a night.
const BUCKETS: [f64; 16] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3_600.0,
    28_800.0,
];

const BUILD_INFO: &str = "verdict_build_info";

/// There are no metrics.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be recorded: {0}")]
pub struct MetricsError(#[from] BuildError);

/// What was recorded in this process so far. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Metrics(PrometheusHandle);

/// Starts recording, once for the process; later calls answer the same.
///
/// # Errors
/// When something else records this process's metrics already.
pub fn install() -> Result<Metrics, MetricsError> {
    static INSTALLED: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = INSTALLED.get() {
        return Ok(Metrics(handle.clone()));
    }
    let handle = PrometheusBuilder::new().set_buckets(&BUCKETS)?.install_recorder()?;
    Collector::default().describe();
    describe_gauge!(BUILD_INFO, "1; the labels say which build this is");
    Ok(Metrics(INSTALLED.get_or_init(|| handle).clone()))
}

impl Metrics {
    /// Says which build this is: its version, and what it was built with.
    pub fn build(&self, version: &'static str, features: &str) {
        gauge!(BUILD_INFO, "version" => version, "features" => features.to_owned()).set(1);
    }

    /// Everything, in Prometheus's text format, the process's own numbers as they are now.
    pub fn render(&self) -> String {
        Collector::default().collect();
        self.0.render()
    }

    /// Folds what histograms were given into their buckets, every few seconds, for as long as it is
    /// polled: without it, what nobody asks for piles up.
    pub async fn tidy(&self) {
        let mut tick = tokio::time::interval(Duration::from_secs(5));
        loop {
            tick.tick().await;
            self.0.run_upkeep();
        }
    }
}

//! What the nodes of a review need from outside.

use std::{path::PathBuf, sync::Arc};

use tokio::sync::Semaphore;

use super::texts::Texts;
use crate::{base::Result, forge::Forge};

/// How much a review reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Files above this many bytes are not read.
    pub file_bytes: u64,
    /// Texts with a line longer than this are taken for minified and not read.
    pub line_bytes: usize,
    /// About how many bytes of text are held at once while reading.
    pub batch_bytes: u64,
    /// How many analysed changes are remembered between the agents of a run.
    pub remembered: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 1024 * 1024,
            line_bytes: 20_000,
            batch_bytes: 8 * 1024 * 1024,
            remembered: 16,
        }
    }
}

/// Everything the nodes of a review share. Cheap to clone.
#[derive(Clone)]
pub struct ReviewDeps {
    /// Where changes come from.
    pub forge: Arc<dyn Forge>,
    /// Folders whose repositories a job may name; any when absent.
    pub allow: Option<Vec<PathBuf>>,
    /// How much is read.
    pub limits: Limits,
    /// Bounds the analysis that runs at once: it is work for processors, not for waiting.
    pub processors: Arc<Semaphore>,
    pub(super) texts: Texts,
}

impl ReviewDeps {
    /// What a review of changes from `forge` needs.
    ///
    /// # Errors
    /// None at present: rules are compiled when a text first needs them.
    pub fn new(forge: Arc<dyn Forge>, limits: Limits) -> Result<Self> {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(Self {
            forge,
            allow: None,
            texts: Texts::new(limits.remembered),
            limits,
            processors: Arc::new(Semaphore::new(processors)),
        })
    }
}

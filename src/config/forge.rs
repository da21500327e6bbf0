//! Options of the forges.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Options of everything that holds repositories.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ForgeOptions {
    /// Repositories on this machine.
    pub local: LocalOptions,
}

/// Repositories on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LocalOptions {
    /// Folders whose repositories a job from the queue may name. Empty: any on the embedded
    /// queue, none on another.
    pub allow: Vec<PathBuf>,
}

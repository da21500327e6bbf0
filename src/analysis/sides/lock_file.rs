//! A lock file that was made for other requirements than those of its manifest.
//!
//! Lock files are refreshed all the time without a change of the manifest, and that is right. Only
//! where the lock file repeats the requirements and repeats them differently it is certainly wrong.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::about::LOCK_FILE;
use crate::analysis::{Finding, checks::At};

/// The manifest beside a lock file that repeats its requirements.
pub fn manifest_of(lock: &str) -> Option<String> {
    let folder = lock.strip_suffix("package-lock.json")?;
    (folder.is_empty() || folder.ends_with('/')).then(|| format!("{folder}package.json"))
}

type Requirements = BTreeMap<String, String>;

/// What both files say about what is required.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Required {
    dependencies: Requirements,
    dev_dependencies: Requirements,
    optional_dependencies: Requirements,
}

impl Required {
    fn each(self) -> Requirements {
        let mut all = self.dev_dependencies;
        all.extend(self.dependencies);
        all.extend(self.optional_dependencies);
        all
    }
}

#[derive(Debug, Deserialize)]
struct Lock {
    packages: Packages,
}

#[derive(Debug, Deserialize)]
struct Packages {
    #[serde(rename = "")]
    root: Required,
}

/// What a lock file was made for and its manifest does not say, in words; `None` when they agree
/// or when either cannot be read.
pub fn contradiction(manifest: &str, lock: &str) -> Option<String> {
    let manifest = serde_json::from_str::<Required>(manifest).ok()?.each();
    let lock = serde_json::from_str::<Lock>(lock).ok()?.packages.root.each();
    let differs = manifest.iter().find(|(name, wanted)| lock.get(*name) != Some(wanted));
    if let Some((name, wanted)) = differs {
        return Some(match lock.get(name) {
            Some(locked) => format!("`{name}` is required as `{wanted}` and locked as `{locked}`"),
            None => format!("`{name}` is required and not locked"),
        });
    }
    let extra = lock.keys().find(|name| !manifest.contains_key(*name))?;
    Some(format!("`{extra}` is locked as a requirement and is none"))
}

/// About a lock file that contradicts the manifest beside it.
pub fn finding(lock: &str, how: &str) -> Finding {
    let at = At { path: lock, number: 0, line: "" };
    let body = format!("{how}. `npm ci` refuses such a pair.\n\n{}", LOCK_FILE.advice);
    let (title, confidence) = (LOCK_FILE.title, LOCK_FILE.confidence.get());
    at.finding(LOCK_FILE.id, LOCK_FILE.category, LOCK_FILE.severity, confidence, title, &body)
}

//! A repository's own rules: `.verdict/rules/*.yml` on the base side. A file that is no rule is
//! reported in the review, and the others hold.

use serde::{Deserialize, Serialize};

use super::settings::diagnostic;
use crate::{
    analysis::{BAD_RULE, Finding, MaskedText, RuleError, Ruleset},
    base::{Fault, Result},
    forge::{Change, Content},
};

/// A rule file larger than this is not read.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// More files than this are not read.
const MAX_FILES: usize = 200;

/// A rule file that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnRule {
    /// Its path.
    pub path: String,
    /// Its text; secrets masked, as everywhere.
    pub text: String,
}

impl OwnRule {
    /// Where they stand in a repository.
    pub const FOLDER: &str = ".verdict/rules";

    /// Whether a file in the folder is meant to be a rule.
    pub fn is_file(path: &str) -> bool {
        path.ends_with(".yml") || path.ends_with(".yaml")
    }
}

/// The rule files of the base side that can be used, and a finding for each that cannot.
///
/// # Errors
/// When the forge does not answer.
pub(super) async fn read(change: &dyn Change) -> Result<(Vec<OwnRule>, Vec<Finding>)> {
    let files = change.base_folder(OwnRule::FOLDER, MAX_FILE_BYTES).await?;
    let mut rules = Ruleset::built_in();
    let (mut sound, mut findings) = (Vec::new(), Vec::new());
    for (path, content) in files.into_iter().filter(|(path, _)| OwnRule::is_file(path)) {
        match content {
            _ if sound.len() >= MAX_FILES => {
                findings.push(bad(
                    &path,
                    0,
                    &format!("there are more than {MAX_FILES} rule files"),
                ));
            }
            Content::Text { text, .. } => {
                let text = MaskedText::from(text).to_string();
                match rules.add(&path, &text) {
                    Ok(_) => sound.push(OwnRule { path, text }),
                    Err(error) => findings.push(bad(&path, error.line, &error.cause)),
                }
            }
            Content::Missing => {
                findings.push(bad(&path, 0, "its content is not in the repository"));
            }
            Content::Binary | Content::TooLarge(_) => {
                findings.push(bad(&path, 0, "it is not a text of reasonable size"));
            }
        }
    }
    Ok((sound, findings))
}

/// The built-in rules with a repository's own beside them.
///
/// # Errors
/// When a rule that was sound when it was read no longer is.
pub(super) fn compile(own: &[OwnRule]) -> Result<Ruleset> {
    let mut rules = Ruleset::built_in();
    for rule in own {
        rules.add(&rule.path, &rule.text).map_err(broken)?;
    }
    Ok(rules)
}

fn broken(error: RuleError) -> Fault {
    Fault::permanent(error.to_string())
}

fn bad(path: &str, line: u32, cause: &str) -> Finding {
    diagnostic(&BAD_RULE, path, line, cause, BAD_RULE.advice)
}

//! What whoever asks for a review says in place of the repository's settings.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::settings::{Settings, unknown_agent};
use crate::analysis::{Confidence, Severity, globs};

/// What whoever asks for a review says about it, in place of what the repository's settings say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Overrides {
    /// See [`Settings::agents`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// See [`Settings::include`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<String>>,
    /// See [`Settings::ignore`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore: Option<Vec<String>>,
    /// See [`Settings::min_severity`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_severity: Option<Severity>,
    /// See [`Settings::min_confidence`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_confidence: Option<Confidence>,
    /// See [`Settings::max_findings`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_findings: Option<usize>,
}

impl Overrides {
    /// Whether the repository's settings hold as they are.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same, with every finding shown.
    pub fn with_everything(mut self) -> Self {
        self.min_severity = Some(Severity::Info);
        self.min_confidence = Some(Confidence::hundredths(0));
        self.max_findings = Some(usize::MAX);
        self
    }

    /// Names them in a run's key, in 12 hex digits.
    pub fn digest(&self) -> String {
        // Fields in the order of the struct, absent ones left out: one text for one meaning.
        let text = serde_json::to_string(self).unwrap_or_default();
        hex::encode(&Sha256::digest(text)[..6])
    }

    /// Refuses what no review could follow.
    ///
    /// # Errors
    /// An agent that is not among `agents`, or a pattern that is none.
    pub fn check(&self, agents: &[&str]) -> Result<(), String> {
        for patterns in [&self.include, &self.ignore].into_iter().flatten() {
            globs::compile(patterns)?;
        }
        let unknown = self.agents.iter().flatten().find(|id| !agents.contains(&id.as_str()));
        unknown.map_or(Ok(()), |id| Err(unknown_agent(id, agents)))
    }

    /// Puts them in the place of what `settings` say.
    pub fn apply(&self, settings: &mut Settings) {
        fn put<T: Clone>(to: &mut T, from: &Option<T>) {
            if let Some(value) = from {
                to.clone_from(value);
            }
        }
        if self.agents.is_some() {
            settings.agents.clone_from(&self.agents);
        }
        put(&mut settings.include, &self.include);
        put(&mut settings.ignore, &self.ignore);
        put(&mut settings.min_severity, &self.min_severity);
        put(&mut settings.min_confidence, &self.min_confidence);
        put(&mut settings.max_findings, &self.max_findings);
    }
}

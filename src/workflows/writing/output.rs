//! The node `output_formatter`: the answer, and what is missing from it. Pure.

use serde::{Deserialize, Serialize};

use super::state::{OutputStatus, WritingState};

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritingOutput {
    /// The text; its last paragraph says what is missing, if anything is.
    pub content: String,
    /// The writers whose part is missing.
    pub missing: Vec<MissingPart>,
    /// Whether the parts were combined; if not, they stand one after the other.
    pub synthesized: bool,
}

/// A writer whose part is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPart {
    /// Its role.
    pub role_id: String,
    /// Its name for people.
    pub name: String,
    /// How it ended.
    pub status: OutputStatus,
}

/// The answer that this state comes to.
pub(super) fn format(state: &WritingState) -> WritingOutput {
    let parts = || {
        let part = |(role, text): (&super::Role, &str)| format!("## {}\n\n{text}", role.name);
        state.completed().map(part).collect::<Vec<_>>().join("\n\n")
    };
    let mut content = state.synthesized_content.clone().unwrap_or_else(parts);
    let missing: Vec<MissingPart> = state
        .roles()
        .iter()
        .filter_map(|role| {
            let status = state.agent_outputs.get(&role.id)?.status;
            let (role_id, name) = (role.id.clone(), role.name.clone());
            (status != OutputStatus::Completed).then_some(MissingPart { role_id, name, status })
        })
        .collect();
    let synthesized = state.synthesized_content.is_some();
    let mut notes = Vec::new();
    if !missing.is_empty() {
        let all = missing.iter().map(|part| format!("{} ({})", part.name, part.status.words()));
        notes.push(format!("Missing from this text: {}.", all.collect::<Vec<_>>().join(", ")));
    }
    if !synthesized {
        notes.push("The parts could not be combined; each stands by itself.".to_owned());
    }
    if !notes.is_empty() {
        content.push_str(&format!("\n\n---\n\n{}", notes.join(" ")));
    }
    WritingOutput { content, missing, synthesized }
}

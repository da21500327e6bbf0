//! What models are told: a text for all agents, and one for each. A change of either is another prompt, and no answer to the older
//! one is used again.

/// What every agent is told.
const COMMON: &str = include_str!("prompts/common.md");

/// What the request is told that checks what the others found.
pub(super) const JUDGE: &str = include_str!("prompts/judge.md");

/// What each agent is told beside that. An agent that is not listed asks no model.
const AGENTS: &[(&str, &str)] = &[
    ("logic", include_str!("prompts/logic.md")),
    ("pattern", include_str!("prompts/pattern.md")),
    ("security", include_str!("prompts/security.md")),
    ("style", include_str!("prompts/style.md")),
];

/// The task of an agent; `None` when it asks no model.
pub(super) fn instructions(agent: &str) -> Option<String> {
    let (_, own) = AGENTS.iter().find(|(id, _)| *id == agent)?;
    Some(format!("{COMMON}\n{own}"))
}

/// All of them, to tell two builds apart.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    [COMMON, JUDGE].into_iter().chain(AGENTS.iter().map(|(_, text)| *text))
}

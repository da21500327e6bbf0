//! Conversations that states keep.

use serde::{Deserialize, Serialize};

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Names it within its run.
    pub id: String,
    /// Who wrote it: an agent, `user`, or `human` for somebody who was asked.
    pub from: String,
    /// Its text.
    pub content: String,
}

impl Message {
    /// A message.
    pub fn new(id: impl Into<String>, from: &str, content: impl Into<String>) -> Self {
        Self { id: id.into(), from: from.to_owned(), content: content.into() }
    }

    /// Adds messages to a conversation; one with a known id takes the known one's place.
    pub fn append(to: &mut Vec<Self>, more: Vec<Self>) {
        for message in more {
            match to.iter_mut().find(|known| known.id == message.id) {
                Some(known) => *known = message,
                None => to.push(message),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X2, X4: messages are appended; one with a known id replaces it where it stands.
    #[test]
    fn messages_are_appended_and_replaced_by_id() {
        let mut all = vec![Message::new("1", "user", "one")];
        let more = vec![Message::new("2", "pm", "two"), Message::new("1", "user", "uno")];
        Message::append(&mut all, more);
        let texts: Vec<_> = all.iter().map(|message| message.content.as_str()).collect();
        assert_eq!(texts, ["uno", "two"]);
    }
}

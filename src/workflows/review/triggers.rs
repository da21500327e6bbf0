//! Which proposed changes are reviewed by themselves: `[triggers]` in `.verdict.toml` of the base
//! branch. Pure.
//!
//! ```toml
//! [triggers]
//! automatic = true                 # false: only when somebody asks
//! drafts = false
//! bots = false
//! label = "verdict"                # asks for a review, also of a draft or of a bot's
//! skip_labels = ["no-review"]
//! skip_authors = ["octocat"]
//! base_branches = ["main", "release/*"]   # default: any
//! ```

use serde::{Deserialize, Serialize};

use crate::{
    analysis::globs,
    forge::{Occasion, Proposal},
};

/// Which changes are reviewed without being asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Triggers {
    /// Whether any is.
    pub automatic: bool,
    /// Whether drafts are.
    pub drafts: bool,
    /// Whether those of programs are.
    pub bots: bool,
    /// The label that asks for a review, whatever else is set here.
    pub label: String,
    /// Labels that prevent it.
    pub skip_labels: Vec<String>,
    /// Authors whose changes are not reviewed.
    pub skip_authors: Vec<String>,
    /// Only changes into branches that match one of these are; empty for all.
    pub base_branches: Vec<String>,
}

impl Default for Triggers {
    fn default() -> Self {
        Self {
            automatic: true,
            drafts: false,
            bots: false,
            label: "verdict".to_owned(),
            skip_labels: Vec::new(),
            skip_authors: Vec::new(),
            base_branches: Vec::new(),
        }
    }
}

impl Triggers {
    /// Why nothing is reviewed; `None`: it is.
    pub fn refusal(&self, occasion: &Occasion, proposal: &Proposal) -> Option<String> {
        let asks = |label: &String| label.eq_ignore_ascii_case(&self.label);
        match occasion {
            Occasion::Asked => return None,
            Occasion::Labelled(label) if asks(label) => return None,
            Occasion::Labelled(label) => {
                return Some(format!("the label `{label}` asks for no review"));
            }
            Occasion::Opened | Occasion::Pushed => {}
        }
        let named = |list: &[String], name: &str| list.iter().any(|n| n.eq_ignore_ascii_case(name));
        if let Some(label) = proposal.labels.iter().find(|label| named(&self.skip_labels, label)) {
            return Some(format!("it has the label `{label}`"));
        }
        if proposal.labels.iter().any(asks) {
            return None;
        }
        let author = &proposal.author;
        let into = &proposal.base_branch;
        // A pattern that is none was reported where the settings were read; it matches nothing.
        let wanted = || globs::compile(&self.base_branches).is_ok_and(|set| set.is_match(into));
        if !self.automatic {
            Some("the settings want no review that nobody asked for".to_owned())
        } else if proposal.draft && !self.drafts {
            Some("it is a draft".to_owned())
        } else if proposal.own && !self.bots {
            Some(format!("it is of {author}, the account that reviews"))
        } else if proposal.by_bot && !self.bots {
            Some(format!("it is of the bot {author}"))
        } else if named(&self.skip_authors, author) {
            Some(format!("the settings leave {author} out"))
        } else if !self.base_branches.is_empty() && !wanted() {
            Some(format!("the settings leave the branch `{into}` out"))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P2: what is skipped, and what asks for a review all the same.
    #[test]
    fn drafts_bots_and_the_own_account_are_skipped_until_somebody_asks() {
        let usual = Triggers::default();
        let label = |name: &str| Occasion::Labelled(name.to_owned());
        let main = || Proposal { base_branch: "main".to_owned(), ..Proposal::default() };
        let skipped = [
            Proposal { draft: true, ..main() },
            Proposal { by_bot: true, ..main() },
            Proposal { own: true, ..main() },
        ];
        for occasion in [Occasion::Opened, Occasion::Pushed] {
            assert_eq!(usual.refusal(&occasion, &main()), None);
            for proposal in &skipped {
                assert!(usual.refusal(&occasion, proposal).is_some(), "{proposal:?}");
                let labelled = Proposal { labels: vec!["Verdict".to_owned()], ..proposal.clone() };
                assert_eq!(usual.refusal(&occasion, &labelled), None);
            }
        }
        for proposal in &skipped {
            assert_eq!(usual.refusal(&Occasion::Asked, proposal), None);
            assert_eq!(usual.refusal(&label("verdict"), proposal), None);
            assert!(usual.refusal(&label("bug"), proposal).is_some());
        }
        let all = Triggers { drafts: true, bots: true, ..Triggers::default() };
        for proposal in &skipped {
            assert_eq!(all.refusal(&Occasion::Opened, proposal), None);
        }
    }

    #[test]
    fn settings_choose_labels_authors_and_branches() {
        let set = Triggers {
            skip_labels: vec!["no-review".to_owned()],
            skip_authors: vec!["octocat".to_owned()],
            base_branches: vec!["main".to_owned(), "release/*".to_owned()],
            ..Triggers::default()
        };
        let into = |branch: &str| Proposal { base_branch: branch.to_owned(), ..Default::default() };
        let refused = |proposal: &Proposal| set.refusal(&Occasion::Opened, proposal).is_some();
        assert!(!refused(&into("main")) && !refused(&into("release/1.0")));
        assert!(refused(&into("feature")));
        assert!(refused(&Proposal { author: "Octocat".to_owned(), ..into("main") }));
        let labels = vec!["no-review".to_owned(), "verdict".to_owned()];
        assert!(refused(&Proposal { labels, ..into("main") }));
        let never = Triggers { automatic: false, ..Triggers::default() };
        assert!(never.refusal(&Occasion::Pushed, &into("main")).is_some());
        assert_eq!(never.refusal(&Occasion::Asked, &into("main")), None);
    }
}

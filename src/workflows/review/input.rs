//! What a review is asked for, and what names it.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Map, Value};

use crate::{
    base::Result,
    forge::{Forges, Locator, Resolved, Selection, Target},
};

/// The forge of inputs that name a folder and two revisions.
const LOCAL: &str = "local";

/// A review job's input: `{"repo": FOLDER, "base": REV, "head": REV}` for a repository on this
/// machine, `{FORGE: PLACE}` for a change that a forge has a name for, as
/// `{"github": "owner/repo#7"}`. With `"fresh": WORD` it is reviewed apart from reviews of the same
/// commits with another word or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewInput {
    /// What to review.
    pub locator: Locator,
    /// Sets this review apart from others of the same commits; without it, asking again finds the
    /// review there is.
    pub fresh: Option<String>,
}

/// The form of a local input.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Revisions {
    repo: String,
    base: String,
    head: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fresh: Option<String>,
}

impl<'de> Deserialize<'de> for ReviewInput {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut fields = Map::<String, Value>::deserialize(from)?;
        let mut names = fields.keys().filter(|name| *name != "fresh");
        let only = names.next().filter(|_| names.next().is_none()).cloned();
        match only {
            Some(forge) if !["repo", "base", "head"].contains(&forge.as_str()) => {
                let mut field = |name: &str| fields.remove(name).unwrap_or_default();
                let place = String::deserialize(field(&forge)).map_err(D::Error::custom)?;
                let fresh = Option::deserialize(field("fresh")).map_err(D::Error::custom)?;
                let locator = Locator { forge, place, selection: Selection::Default };
                Ok(Self { locator, fresh })
            }
            _ => {
                let local = Revisions::deserialize(Value::Object(fields));
                let Revisions { repo, base, head, fresh } = local.map_err(D::Error::custom)?;
                let selection = Selection::Ends { base, head };
                let locator = Locator { forge: LOCAL.to_owned(), place: repo, selection };
                Ok(Self { locator, fresh })
            }
        }
    }
}

impl Serialize for ReviewInput {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Locator { forge, place, selection } = self.locator.clone();
        let fresh = self.fresh.clone();
        if let Selection::Ends { base, head } = selection {
            return Revisions { repo: place, base, head, fresh }.serialize(to);
        }
        let fresh = fresh.map(|fresh| ("fresh".to_owned(), fresh));
        [(forge, place)]
            .into_iter()
            .chain(fresh)
            .collect::<std::collections::BTreeMap<_, _>>()
            .serialize(to)
    }
}

impl ReviewInput {
    /// What this stands for now.
    ///
    /// # Errors
    /// When there is no such change, it may not be reviewed, or its forge does not answer.
    pub async fn resolve(&self, forges: &Forges) -> Result<Resolved> {
        forges.resolve(&self.locator).await
    }

    /// The run's key: the same commits are the same review, unless asked afresh.
    pub fn key(&self, target: &Target) -> String {
        let key = target.key();
        self.fresh.as_ref().map_or(key.clone(), |fresh| format!("{key}#{fresh}"))
    }
}

/// A review of a repository on this machine, asked for by a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// A folder in the repository.
    pub repo: PathBuf,
    /// As written: `A..B`, `A...B`, `A`.
    pub range: Option<String>,
    /// Both ends, in place of a range.
    pub ends: Option<(String, String)>,
    /// Whether to review again what was reviewed before.
    pub fresh: bool,
}

impl Ask {
    /// The job's input, its ends resolved.
    ///
    /// # Errors
    /// When the folder is no repository, a revision is unknown, or nothing lies between them.
    pub async fn input(self, forges: &Forges) -> Result<ReviewInput> {
        let selection = match (self.range, self.ends) {
            (Some(range), _) => Selection::Range(range),
            (None, Some((base, head))) => Selection::Ends { base, head },
            (None, None) => Selection::Default,
        };
        let place = self.repo.to_string_lossy().into_owned();
        let asked = Locator { forge: LOCAL.to_owned(), place, selection };
        let Target { forge, repo, base, head } = forges.resolve(&asked).await?.target;
        let selection = Selection::Ends { base, head };
        let fresh = self.fresh.then(|| format!("{:032x}", fastrand::u128(..)));
        Ok(ReviewInput { locator: Locator { forge, place: repo, selection }, fresh })
    }
}

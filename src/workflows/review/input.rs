//! What a review is asked for, and what names it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error, ser::SerializeMap};
use serde_json::{Map, Value};

use super::{
    names::mask_names,
    overrides::Overrides,
    tools::{self, ToolReport},
};
use crate::{
    analysis,
    base::{Fault, Result},
    forge::{Forges, Locator, Resolved, Selection, Target},
};

/// The forge of inputs that name a folder and two revisions.
const LOCAL: &str = "local";

/// A review job's input: `{"repo": FOLDER, "base": REV, "head": REV}` for a repository on this
/// machine, `{FORGE: PLACE}` for a change that a forge has a name for, as
/// `{"github": "owner/repo#7"}`. With `"fresh": WORD` it is reviewed apart from reviews of the same
/// commits with another word or none. What `"settings": {…}` says counts more than the repository's
/// `.verdict.toml`. What other tools found comes from [`Ask`], never from a job.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewInput {
    /// What to review.
    pub locator: Locator,
    /// Sets this review apart from others of the same commits; without it, asking again finds the
    /// review there is.
    pub fresh: Option<String>,
    /// What counts more than the repository's settings.
    pub settings: Overrides,
    /// What other tools found; only for repositories on this machine.
    pub tools: Vec<ToolReport>,
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
    #[serde(default, skip_serializing_if = "Overrides::is_empty")]
    settings: Overrides,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolReport>,
}

/// What an input may say beside what to review.
const OPTIONS: [&str; 2] = ["fresh", "settings"];

/// The name of a log of another tool, and what is in it.
pub type NamedLog = (String, Vec<u8>);

impl<'de> Deserialize<'de> for ReviewInput {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut fields = Map::<String, Value>::deserialize(from)?;
        let mut names = fields.keys().filter(|name| !OPTIONS.contains(&name.as_str()));
        let only = names.next().filter(|_| names.next().is_none()).cloned();
        match only {
            Some(forge) if !["repo", "base", "head"].contains(&forge.as_str()) => {
                let mut field = |name: &str| fields.remove(name).unwrap_or_default();
                let place = String::deserialize(field(&forge)).map_err(D::Error::custom)?;
                let fresh = Option::deserialize(field("fresh")).map_err(D::Error::custom)?;
                let settings = fields.remove("settings").map(Overrides::deserialize);
                let settings = settings.transpose().map_err(D::Error::custom)?.unwrap_or_default();
                let locator = Locator { forge, place, selection: Selection::Default };
                Ok(Self { locator, fresh, settings, tools: Vec::new() })
            }
            _ => {
                let local = Revisions::deserialize(Value::Object(fields));
                let Revisions { repo, base, head, fresh, settings, tools } =
                    local.map_err(D::Error::custom)?;
                let selection = Selection::Ends { base, head };
                let locator = Locator { forge: LOCAL.to_owned(), place: repo, selection };
                Ok(Self { locator, fresh, settings, tools })
            }
        }
    }
}

impl Serialize for ReviewInput {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Locator { forge, place, selection } = self.locator.clone();
        let (fresh, settings) = (self.fresh.clone(), self.settings.clone());
        if let Selection::Ends { base, head } = selection {
            let tools = self.tools.clone();
            return Revisions { repo: place, base, head, fresh, settings, tools }.serialize(to);
        }
        let mut map = to.serialize_map(None)?;
        map.serialize_entry(&forge, &place)?;
        if let Some(fresh) = fresh {
            map.serialize_entry("fresh", &fresh)?;
        }
        if !settings.is_empty() {
            map.serialize_entry("settings", &settings)?;
        }
        map.end()
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

    /// What it stands for without asking: both ends of a repository on this machine.
    fn target(&self) -> Option<Target> {
        let Locator { forge, place, selection } = self.locator.clone();
        let Selection::Ends { base, head } = selection else { return None };
        Some(Target { forge, repo: place, base, head })
    }

    /// What the forge calls the change, where it says more than the two commits. A review is not lost
    /// because its repository is.
    pub async fn description(&self, forges: &Forges) -> Option<String> {
        forges.open(&self.target()?).await.ok()?.description().await.ok()?
    }

    /// The run's key: the same commits with the same overrides and the same findings of other tools
    /// are the same review, unless asked afresh. On this machine, by the same analysers, and the models and tools of these names.
    pub fn key(&self, target: &Target, names: &[String]) -> String {
        let mut key = target.key();
        if target.forge == LOCAL {
            // Nothing publishes it: a newer binary may say more about the same commits.
            key = format!("{key}@{}", analysis::VERSION);
            key.extend(names.iter().flat_map(|name| ["+", name]));
        }
        if !self.settings.is_empty() {
            key = format!("{key}+{}", self.settings.digest());
        }
        if !self.tools.is_empty() {
            key = format!("{key}+tools-{}", tools::digest(&self.tools));
        }
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
    /// What is staged, in place of a range.
    pub staged: bool,
    /// All that is not committed, in place of a range.
    pub worktree: bool,
    /// Whether to review again what was reviewed before.
    pub fresh: bool,
    /// What counts more than the repository's settings.
    pub settings: Overrides,
    /// Logs of other tools.
    pub logs: Vec<NamedLog>,
}

impl Ask {
    /// The job's input, its ends resolved and its logs read.
    ///
    /// # Errors
    /// When the folder is no repository, a revision is unknown, nothing lies between them, or a log
    /// cannot be read.
    pub async fn input(self, forges: &Forges) -> Result<ReviewInput> {
        let selection = match (self.range, self.ends) {
            _ if self.staged => Selection::Staged,
            _ if self.worktree => Selection::WorkTree,
            (Some(range), _) => Selection::Range(range),
            (None, Some((base, head))) => Selection::Ends { base, head },
            (None, None) => Selection::Default,
        };
        let place = self.repo.to_string_lossy().into_owned();
        let asked = Locator { forge: LOCAL.to_owned(), place, selection };
        let target = forges.resolve(&asked).await?.target;
        let tools = read_logs(forges, &target, &self.logs).await?;
        let Target { forge, repo, base, head } = target;
        let selection = Selection::Ends { base, head };
        let fresh = self.fresh.then(|| format!("{:032x}", fastrand::u128(..)));
        let locator = Locator { forge, place: repo, selection };
        Ok(ReviewInput { locator, fresh, settings: self.settings, tools })
    }
}

/// What the logs say about the files that a target changes.
async fn read_logs(forges: &Forges, target: &Target, logs: &[NamedLog]) -> Result<Vec<ToolReport>> {
    if logs.is_empty() {
        return Ok(Vec::new());
    }
    let mut files = forges.open(target).await?.files().await?;
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    mask_names(&mut files);
    let changed = paths.into_iter().zip(files.into_iter().map(|file| file.path)).collect();
    let mut reports = Vec::new();
    for (name, log) in logs {
        let read = ToolReport::read(log, Path::new(&target.repo), &changed);
        reports.extend(read.map_err(|error| Fault::permanent(format!("{name}: {error}")))?);
    }
    Ok(reports)
}

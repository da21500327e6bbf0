//! What manifests and lock files of JavaScript's package managers say. One that cannot be read says
//! nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::lock_file::{Requirements, Said, Texts};

type Strings = BTreeMap<String, String>;

/// A manifest of npm's and its kin, or what a lock file repeats of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Package {
    dependencies: Strings,
    dev_dependencies: Strings,
    optional_dependencies: Strings,
    peer_dependencies: Strings,
    workspaces: Value,
    resolutions: Value,
    overrides: Value,
    pnpm: Value,
}

/// A version that every tool writes the same: no address, no alias, no path.
fn plain(spec: &str) -> Option<String> {
    let strange = spec.is_empty() || spec.contains([':', '/', '#', ',']);
    (!strange).then(|| spec.to_owned())
}

impl Package {
    fn each(&self) -> impl Iterator<Item = (&String, &String)> {
        let all = [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies];
        all.into_iter().flatten()
    }

    /// What it requires; what is replaced, or comes from another place, is only allowed.
    fn said(&self) -> Said {
        let replaced = [&self.resolutions, &self.overrides, &self.pnpm].map(Value::to_string);
        let mut said = Said { complete: true, ..Said::default() };
        said.allowed.extend(self.peer_dependencies.keys().cloned());
        for (name, spec) in self.each() {
            // A name in any of them, however it is written.
            let replaced = replaced.iter().any(|r| r.contains(name.as_str()));
            match plain(spec).filter(|_| !replaced) {
                Some(spec) => said.required.entry(name.clone()).or_default().push(Some(spec)),
                None => {
                    said.allowed.insert(name.clone());
                }
            }
        }
        said
    }

    fn locked(&self) -> Requirements {
        let mut locked = Requirements::new();
        for (name, spec) in self.each() {
            locked.entry(name.clone()).or_default().push(plain(spec));
        }
        locked
    }
}

fn package(text: &str) -> Option<Package> {
    serde_json::from_str(text).ok()
}

pub(super) fn npm(texts: Texts<'_>) -> Option<Said> {
    #[derive(Deserialize)]
    struct Lock {
        packages: BTreeMap<String, Value>,
    }
    let said = package(texts.manifest)?.said();
    let mut lock: Lock = serde_json::from_str(texts.lock).ok()?;
    let own: Package = serde_json::from_value(lock.packages.remove(texts.member)?).ok()?;
    Some(Said { locked: own.locked(), ..said })
}

/// The parts of a YAML text below some of its outermost keys, as far as they need not be parsed
/// whole.
fn sections(text: &str, keys: &[&str]) -> String {
    let mut kept = String::new();
    let mut keeps = false;
    for line in text.lines() {
        if line.starts_with(|c: char| !c.is_whitespace()) {
            let key = line.split(':').next().unwrap_or_default();
            keeps = keys.contains(&key);
        }
        if keeps {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn yaml<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_saphyr::from_str(text).ok()
}

/// One importer of pnpm's.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Importer {
    specifiers: BTreeMap<String, Value>,
    dependencies: BTreeMap<String, Value>,
    dev_dependencies: BTreeMap<String, Value>,
    optional_dependencies: BTreeMap<String, Value>,
}

impl Importer {
    fn locked(&self) -> Requirements {
        let spec = |value: &Value| {
            let own = value.as_str().or_else(|| value.get("specifier")?.as_str());
            vec![own.and_then(plain)]
        };
        let all = match self.specifiers.is_empty() {
            false => vec![&self.specifiers],
            true => vec![&self.dependencies, &self.dev_dependencies, &self.optional_dependencies],
        };
        all.into_iter().flatten().map(|(name, value)| (name.clone(), spec(value))).collect()
    }
}

pub(super) fn pnpm(texts: Texts<'_>) -> Option<Said> {
    #[derive(Deserialize)]
    struct Lock {
        #[serde(default)]
        importers: BTreeMap<String, Importer>,
        #[serde(default)]
        overrides: Value,
        #[serde(flatten)]
        only: Importer,
    }
    // A hook may change every manifest.
    let hooks = ["pnpmfileChecksum", "ignoredOptionalDependencies", "packageExtensionsChecksum"];
    if texts.lock.lines().any(|line| hooks.iter().any(|hook| line.starts_with(hook))) {
        return None;
    }
    let keys = [
        "importers",
        "overrides",
        "specifiers",
        "dependencies",
        "devDependencies",
        "optionalDependencies",
    ];
    let mut said = package(texts.manifest)?.said();
    let mut lock: Lock = yaml(&sections(texts.lock, &keys))?;
    let overrides = lock.overrides.to_string();
    let replaced = |name: &&String| overrides.contains(name.as_str());
    let replaced: Vec<String> = said.required.keys().filter(replaced).cloned().collect();
    said.required.retain(|name, _| !replaced.contains(name));
    said.allowed.extend(replaced);
    let own = match texts.member {
        "" => lock.importers.remove(".").or_else(|| lock.importers.is_empty().then_some(lock.only)),
        member => lock.importers.remove(member),
    };
    Some(Said { locked: own?.locked(), ..said })
}

pub(super) fn yarn(texts: Texts<'_>) -> Option<Said> {
    match texts.lock.lines().any(|line| line.starts_with("__metadata:")) {
        true => berry(texts),
        false => classic(texts),
    }
}

/// Yarn's first format: a key for each version that anything asks for.
fn classic(texts: Texts<'_>) -> Option<Said> {
    let manifest = package(texts.manifest)?;
    // Members of a workspace are not locked.
    if !texts.member.is_empty()
        || !manifest.workspaces.is_null()
        || !texts.lock.contains("# yarn lockfile v1")
    {
        return None;
    }
    let mut locked = Requirements::new();
    let keys = texts.lock.lines().filter(|l| !l.starts_with([' ', '#']) && l.ends_with(':'));
    for key in keys.flat_map(|line| line.trim_end_matches(':').split(", ")) {
        let key = key.trim_matches('"');
        if let Some(at) = key.rfind('@').filter(|at| *at > 0) {
            let (name, spec) = (&key[..at], &key[at + 1..]);
            locked.entry(name.to_owned()).or_default().push(plain(spec));
        }
    }
    Some(Said { locked, complete: false, ..manifest.said() })
}

/// Yarn's later format: an entry for each workspace.
fn berry(texts: Texts<'_>) -> Option<Said> {
    let member = if texts.member.is_empty() { "." } else { texts.member };
    let ends = format!("@workspace:{member}\"");
    let own = |block: &&str| {
        block.lines().any(|l| l.trim_start().starts_with("resolution:") && l.ends_with(&ends))
    };
    let mut blocks = texts.lock.split("\n\n").filter(own);
    let block = blocks.next().filter(|_| blocks.next().is_none())?;
    let entries: BTreeMap<String, Value> = yaml(block)?;
    let entry = entries.into_values().next()?;
    let empty = Value::Object(serde_json::Map::new());
    let listed = entry.get("dependencies").unwrap_or(&empty).as_object()?;
    let mut said = package(texts.manifest)?.said();
    for (name, spec) in listed {
        // What the root replaces is not known here.
        let spec = spec.as_str().filter(|_| texts.member.is_empty());
        let spec = spec.and_then(|s| plain(s.strip_prefix("npm:").unwrap_or(s)));
        said.locked.insert(name.clone(), vec![spec]);
    }
    Some(said)
}

//! Readers of the manifests and lock files of npm, pnpm and Yarn. One that cannot be parsed yields
//! nothing.

use std::collections::BTreeMap;

use semver::{Version, VersionReq};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::lock_file::{Comparison, Requirements, Texts};

type Strings = BTreeMap<String, String>;

/// A `package.json`, or the copy of it in a lock file.
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

/// A version that every tool writes the same: no URL, alias or path.
fn plain(spec: &str) -> Option<String> {
    let strange = spec.is_empty() || spec.contains([':', '/', '#', ',']);
    (!strange).then(|| spec.to_owned())
}

impl Package {
    fn each(&self) -> impl Iterator<Item = (&String, &String)> {
        let all = [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies];
        all.into_iter().flatten()
    }

    /// Its requirements; overridden ones, and those from a URL or path, are only allowed.
    fn comparison(&self) -> Comparison {
        let replaced = [&self.resolutions, &self.overrides, &self.pnpm].map(Value::to_string);
        let mut comparison = Comparison { complete: true, ..Comparison::default() };
        comparison.allowed.extend(self.peer_dependencies.keys().cloned());
        for (name, spec) in self.each() {
            // A name anywhere in them, whatever their syntax.
            let replaced = replaced.iter().any(|r| r.contains(name.as_str()));
            match plain(spec).filter(|_| !replaced) {
                Some(spec) => comparison.required.entry(name.clone()).or_default().push(Some(spec)),
                None => {
                    comparison.allowed.insert(name.clone());
                }
            }
        }
        comparison
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

pub(super) fn npm(texts: Texts<'_>) -> Option<Comparison> {
    #[derive(Deserialize)]
    struct Lock {
        packages: BTreeMap<String, Value>,
    }
    let comparison = package(texts.manifest)?.comparison();
    let mut lock: Lock = serde_json::from_str(texts.lock).ok()?;
    let own: Package = serde_json::from_value(lock.packages.remove(texts.member)?).ok()?;
    let mut locked = own.locked();
    // Another requirement is none to npm while the version that it locked fits.
    for (name, wanted) in &comparison.required {
        let places =
            [format!("{}/node_modules/{name}", texts.member), format!("node_modules/{name}")];
        let package = places.iter().find_map(|place| lock.packages.get(place));
        let version = package.and_then(|package| package["version"].as_str());
        let Some(version) = version.and_then(|version| Version::parse(version).ok()) else {
            continue;
        };
        let fitting =
            wanted.iter().filter(|spec| spec.as_ref().is_some_and(|it| fits(it, &version)));
        if let Some(all) = locked.get_mut(name) {
            all.extend(fitting.cloned());
        }
    }
    Some(Comparison { locked, ..comparison })
}

/// Whether npm takes `version` for `spec`. What only npm can read (`1 || 2`, `latest`) counts as not taken.
fn fits(spec: &str, version: &Version) -> bool {
    if let Ok(only) = Version::parse(spec) {
        return only == *version;
    }
    // `1.2` is any version that begins so.
    let begins = spec.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let wanted = VersionReq::parse(&format!("{}{spec}", if begins { "~" } else { "" }));
    wanted.is_ok_and(|wanted| wanted.matches(version))
}

/// The sections of a YAML text under some of its top-level keys, so that not all of it is parsed.
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

/// An importer of a pnpm lock file.
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

pub(super) fn pnpm(texts: Texts<'_>) -> Option<Comparison> {
    #[derive(Deserialize)]
    struct Lock {
        #[serde(default)]
        importers: BTreeMap<String, Importer>,
        #[serde(default)]
        overrides: Value,
        #[serde(flatten)]
        only: Importer,
    }
    // A hook may rewrite every manifest.
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
    let mut comparison = package(texts.manifest)?.comparison();
    let mut lock: Lock = yaml(&sections(texts.lock, &keys))?;
    let overrides = lock.overrides.to_string();
    let replaced = |name: &&String| overrides.contains(name.as_str());
    let replaced: Vec<String> = comparison.required.keys().filter(replaced).cloned().collect();
    comparison.required.retain(|name, _| !replaced.contains(name));
    comparison.allowed.extend(replaced);
    let own = match texts.member {
        "" => lock.importers.remove(".").or_else(|| lock.importers.is_empty().then_some(lock.only)),
        member => lock.importers.remove(member),
    };
    Some(Comparison { locked: own?.locked(), ..comparison })
}

pub(super) fn yarn(texts: Texts<'_>) -> Option<Comparison> {
    match texts.lock.lines().any(|line| line.starts_with("__metadata:")) {
        true => berry(texts),
        false => classic(texts),
    }
}

/// Yarn 1: a key for each version that anything requests.
fn classic(texts: Texts<'_>) -> Option<Comparison> {
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
    Some(Comparison { locked, complete: false, ..manifest.comparison() })
}

/// Yarn 2 and later: an entry for each workspace.
fn berry(texts: Texts<'_>) -> Option<Comparison> {
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
    let mut comparison = package(texts.manifest)?.comparison();
    for (name, spec) in listed {
        // The overrides of the root are not known here.
        let spec = spec.as_str().filter(|_| texts.member.is_empty());
        let spec = spec.and_then(|s| plain(s.strip_prefix("npm:").unwrap_or(s)));
        comparison.locked.insert(name.clone(), vec![spec]);
    }
    Some(comparison)
}

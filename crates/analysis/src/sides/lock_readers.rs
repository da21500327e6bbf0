//! What the other manifests and lock files say, format by format. One that cannot be read says
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use toml::{Table, Value as Toml};

use super::lock_file::{Requirements, Said, Texts};

type Strings = BTreeMap<String, String>;

pub(super) fn composer(texts: Texts<'_>) -> Option<Said> {
    #[derive(Deserialize, Default)]
    #[serde(default, rename_all = "kebab-case")]
    struct Manifest {
        require: Strings,
        require_dev: Strings,
        replace: Value,
        provide: Value,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Lock {
        packages: Vec<Locked>,
        #[serde(default)]
        packages_dev: Option<Vec<Locked>>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Locked {
        name: String,
        replace: Value,
        provide: Value,
    }
    let manifest: Manifest = serde_json::from_str(texts.manifest).ok()?;
    let lock: Lock = serde_json::from_str(texts.lock).ok()?;
    let packages: Vec<Locked> =
        lock.packages.into_iter().chain(lock.packages_dev.unwrap_or_default()).collect();
    let stands = |value: &Value| -> Vec<String> {
        let names = value.as_object().into_iter().flatten();
        names.map(|(name, _)| name.to_lowercase()).collect()
    };
    let mut locked: Vec<String> = [&manifest.replace, &manifest.provide].map(stands).concat();
    for package in &packages {
        locked.push(package.name.to_lowercase());
        locked.extend([&package.replace, &package.provide].map(stands).concat());
    }
    // What has no vendor is part of the platform.
    let wanted = manifest.require.keys().chain(manifest.require_dev.keys());
    let required = wanted.filter(|name| name.contains('/')).map(|name| name.to_lowercase());
    Some(named(required, locked))
}

/// Names only.
fn named(
    required: impl IntoIterator<Item = String>,
    locked: impl IntoIterator<Item = String>,
) -> Said {
    let any = |name| (name, vec![None]);
    let required = required.into_iter().map(any).collect();
    let locked = locked.into_iter().map(any).collect();
    Said { required, locked, ..Said::default() }
}

fn table<'t>(value: &'t Table, path: &[&str]) -> Option<&'t Table> {
    path.iter().try_fold(value, |at, key| at.get(*key)?.as_table())
}

fn text<'t>(value: &'t Toml, key: &str) -> Option<&'t str> {
    value.get(key)?.as_str()
}

/// The entries of a lock file in TOML.
fn packages(lock: &Table) -> Option<&Vec<Toml>> {
    lock.get("package")?.as_array()
}

pub(super) fn cargo(texts: Texts<'_>) -> Option<Said> {
    let manifest: Table = texts.manifest.parse().ok()?;
    let lock: Table = texts.lock.parse().ok()?;
    let name = table(&manifest, &["package"])?.get("name")?.as_str()?;
    let own = |p: &&Toml| text(p, "name") == Some(name) && p.get("source").is_none();
    let mut entries = packages(&lock)?.iter().filter(own);
    let entry = entries.next().filter(|_| entries.next().is_none())?;
    let listed = entry.get("dependencies").and_then(Toml::as_array).into_iter().flatten();
    let locked = listed.filter_map(|d| d.as_str()?.split(' ').next().map(str::to_owned));
    let mut said = Said { complete: true, ..named([], locked) };
    let targets = table(&manifest, &["target"]).into_iter().flatten();
    let mut holders = vec![&manifest];
    holders.extend(targets.filter_map(|(_, target)| target.as_table()));
    for kind in [
        "dependencies",
        "dev-dependencies",
        "dev_dependencies",
        "build-dependencies",
        "build_dependencies",
    ] {
        let tables = holders.iter().filter_map(|holder| table(holder, &[kind]));
        for (key, value) in tables.flatten() {
            let name = text(value, "package").unwrap_or(key);
            let truth = |key: &str| value.get(key).and_then(Toml::as_bool) == Some(true);
            // The root may give it another name.
            said.complete &= !truth("workspace");
            if truth("workspace") || truth("optional") {
                said.allowed.insert(name.to_owned());
            } else {
                said.required.insert(name.to_owned(), vec![None]);
            }
        }
    }
    said.required.remove(name);
    said.allowed.insert(name.to_owned());
    Some(said)
}

/// A name as Python's tools compare it.
fn folded(name: &str) -> String {
    let low = name.trim().to_lowercase().replace(['_', '.'], "-");
    low.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

pub(super) fn pipenv(texts: Texts<'_>) -> Option<Said> {
    let manifest: Table = texts.manifest.parse().ok()?;
    let lock: BTreeMap<String, Value> = serde_json::from_str(texts.lock).ok()?;
    let entries = lock.iter().filter(|(key, _)| *key != "_meta").filter_map(|(_, v)| v.as_object());
    let locked: Vec<String> = entries.flatten().map(|(name, _)| folded(name)).collect();
    let listed = ["packages", "dev-packages"].into_iter().filter_map(|k| table(&manifest, &[k]));
    let by_name = |value: &Toml| value.is_str() || value.get("version").is_some();
    let required = listed.flatten().filter(|(_, v)| by_name(v)).map(|(name, _)| folded(name));
    Some(named(required.collect::<Vec<_>>(), locked))
}

/// The name of a requirement as Python's packages write it, where nothing decides whether it holds.
fn requirement(text: &str) -> Option<(String, Option<String>)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('[').map_or(rest, |r| r.split_once(']').map_or("", |(_, r)| r));
    let strange = name.is_empty() || rest.contains([';', '@']);
    (!strange).then(|| (folded(name), clause(rest)))
}

/// A version that every tool writes the same: one comparison with numbers.
fn clause(text: &str) -> Option<String> {
    let joined: String = text.split_whitespace().collect();
    let number = joined.trim_start_matches(['=', '>', '<', '~', '!']);
    let plain = number.split('.').all(|n| n.parse::<u32>().is_ok()) && number.len() < joined.len();
    plain.then_some(joined)
}

pub(super) fn poetry(texts: Texts<'_>) -> Option<Said> {
    let manifest: Table = texts.manifest.parse().ok()?;
    let lock: Table = texts.lock.parse().ok()?;
    let locked: Vec<String> =
        packages(&lock)?.iter().filter_map(|p| text(p, "name").map(folded)).collect();
    let tool = table(&manifest, &["tool", "poetry"]);
    let mut tables: Vec<&Table> = Vec::new();
    if let Some(tool) = tool {
        tables
            .extend(["dependencies", "dev-dependencies"].iter().filter_map(|k| table(tool, &[k])));
        let groups = table(tool, &["group"]).into_iter().flatten();
        tables.extend(groups.filter_map(|(_, g)| table(g.as_table()?, &["dependencies"])));
    }
    // One that holds for some versions of Python only need not be locked.
    let always = |value: &Toml| {
        let some = ["python", "platform", "markers"].iter().any(|key| value.get(key).is_some());
        value.is_str() || value.get("version").is_some() && !some
    };
    let listed = tables.into_iter().flatten().filter(|(name, v)| *name != "python" && always(v));
    let mut required: Vec<String> = listed.map(|(name, _)| folded(name)).collect();
    required.extend(listed_names(&manifest).filter_map(|(name, _)| name.map(|n| n.0)));
    Some(named(required, locked))
}

/// The requirements of `[project]`: read, where that is possible, and the name alone.
fn listed_names(
    manifest: &Table,
) -> impl Iterator<Item = (Option<(String, Option<String>)>, String)> {
    let texts = table(manifest, &["project"]).and_then(|p| p.get("dependencies")?.as_array());
    let name = |text: &str| {
        let end = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        folded(text.split(end).next().unwrap_or_default())
    };
    let texts = texts.into_iter().flatten().filter_map(Toml::as_str);
    texts.map(move |text| (requirement(text), name(text)))
}

pub(super) fn uv(texts: Texts<'_>) -> Option<Said> {
    let manifest: Table = texts.manifest.parse().ok()?;
    let lock: Table = texts.lock.parse().ok()?;
    let project = table(&manifest, &["project"])?;
    let name = folded(project.get("name")?.as_str()?);
    let dynamic = project.get("dynamic").and_then(Toml::as_array).into_iter().flatten();
    let elsewhere = |d: &Toml| d.as_str().is_some_and(|d| d.ends_with("dependencies"));
    if dynamic.into_iter().any(elsewhere)
        || table(&manifest, &["tool", "uv"])
            .is_some_and(|t| t.contains_key("override-dependencies"))
    {
        return None;
    }
    let here = if texts.member.is_empty() { "." } else { texts.member };
    let own = |p: &&Toml| {
        let source = |kind| p.get("source").and_then(|s| text(s, kind)) == Some(here);
        text(p, "name").map(folded).as_ref() == Some(&name)
            && (source("virtual") || source("editable"))
    };
    let entry = packages(&lock)?.iter().find(own)?;
    let metadata = entry.get("metadata");
    let listed = metadata.and_then(|m| m.get("requires-dist")?.as_array()).into_iter().flatten();
    let mut said = Said { complete: true, ..Said::default() };
    for one in listed {
        let spec = text(one, "specifier").filter(|_| one.get("marker").is_none()).and_then(clause);
        said.locked.entry(folded(text(one, "name")?)).or_default().push(spec);
    }
    for (whole, name) in listed_names(&manifest) {
        let spec = whole.and_then(|(_, spec)| spec);
        said.required.entry(name).or_default().push(spec);
    }
    let extras = table(project, &["optional-dependencies"]).into_iter().flatten();
    for extra in extras.filter_map(|(_, list)| list.as_array()).flatten().filter_map(Toml::as_str) {
        let end = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        let name = folded(extra.split(end).next().unwrap_or_default());
        said.required.entry(name).or_default().push(None);
    }
    said.required.remove(&name);
    said.allowed.insert(name);
    Some(said)
}

pub(super) fn gems(texts: Texts<'_>) -> Option<Said> {
    let mut listed =
        texts.lock.lines().skip_while(|line| *line != "DEPENDENCIES").skip(1).peekable();
    listed.peek()?;
    let listed = listed.take_while(|line| line.starts_with("  "));
    let mut locked = Requirements::new();
    for line in listed {
        let (name, version) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let version = version.trim_end_matches('!').trim_start_matches('(').trim_end_matches(')');
        // Several are put in an order.
        let version = Some(version).filter(|v| !v.is_empty() && !v.contains(','));
        let name = name.trim_end_matches('!').to_owned();
        locked.insert(name, vec![version.map(str::to_owned)]);
    }
    let mut required = Requirements::new();
    for line in texts.manifest.lines() {
        if let Some((name, version)) = gem(line) {
            required.entry(name).or_default().push(version);
        }
    }
    Some(Said { required, locked, ..Said::default() })
}

/// `gem "name", "~> 1.0"` at the beginning of a line, where nothing decides whether it holds.
fn gem(line: &str) -> Option<(String, Option<String>)> {
    let rest = line.strip_prefix("gem ")?.trim_start();
    let rest = rest.split(" #").next().unwrap_or(rest);
    if [" if ", " unless ", "ENV", "#{"].iter().any(|word| rest.contains(word)) {
        return None;
    }
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let parts: Vec<&str> = rest.split(quote).collect();
    let [_, name, between, version, ..] = parts.as_slice() else {
        return Some((parts.get(1)?.to_string(), None)).filter(|_| parts.len() == 3);
    };
    // A second one, or anything else behind it, is not compared.
    let only = between.trim() == "," && parts.len() == 5 && parts[4].trim().is_empty();
    let operator = version.starts_with(['~', '>', '<', '=', '!']);
    let spaced = operator && version.split_whitespace().count() == 2;
    let own = if operator { (*version).to_owned() } else { format!("= {version}") };
    Some(((*name).to_owned(), Some(own).filter(|_| only && (spaced || !operator))))
}

pub(super) fn go(texts: Texts<'_>) -> Option<Said> {
    let mut said = Said::default();
    let mut replaced = BTreeSet::new();
    let mut block = "";
    for line in texts.manifest.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        let words = match words.as_slice() {
            [")"] => {
                block = "";
                continue;
            }
            [word, "("] => {
                block = word;
                continue;
            }
            inner if !block.is_empty() => [&[block], inner].concat(),
            whole => whole.to_vec(),
        };
        match words.as_slice() {
            ["require", path, version] => {
                let asked = Some((*version).to_owned());
                said.required.entry((*path).to_owned()).or_default().push(asked);
            }
            ["replace", path, ..] => {
                replaced.insert((*path).to_owned());
            }
            _ => {}
        }
    }
    said.required.retain(|path, _| !replaced.contains(path));
    for line in texts.lock.lines() {
        let [path, version, _] = line.split_whitespace().collect::<Vec<_>>()[..] else { continue };
        let version = version.strip_suffix("/go.mod").unwrap_or(version).to_owned();
        said.locked.entry(path.to_owned()).or_default().push(Some(version));
    }
    (!said.locked.is_empty()).then_some(said)
}

//! The URIs of a log as paths of the repository.
//!
//! A log may have been written elsewhere: in a container, or on another machine. What leads out of the
//! folder that the tool calls its own leads out of the repository.

use std::{cmp::Reverse, collections::BTreeMap, path::Path};

use percent_encoding::percent_decode_str;

use super::log::{Place, Run};

/// How many folders may be named by way of each other.
const MAX_BASES: usize = 8;

/// Folders from the root of a file system, without `.` and `..`.
type Folder = Vec<String>;

/// What a URI says.
enum Uri {
    Absolute(Folder),
    /// As it stands there; it may lead upwards.
    Relative(Vec<String>),
}

/// Where the files of one run are.
pub(super) struct Paths<'r> {
    run: &'r Run,
    bases: &'r BTreeMap<String, Place>,
    root: Folder,
    /// Where the tool was started.
    started_in: Option<Folder>,
}

impl<'r> Paths<'r> {
    /// Of a run over the repository at `root`, or over a copy of it.
    pub(super) fn new(run: &'r Run, root: &Path) -> Self {
        static NONE: BTreeMap<String, Place> = BTreeMap::new();
        let mut places = run.invocations.iter().flatten().map(|i| i.working_directory.as_ref());
        let started_in = places.find_map(|place| absolute(place?.uri.as_deref()?));
        let bases = run.original_uri_base_ids.as_ref().unwrap_or(&NONE);
        let root = folder(split(&root.to_string_lossy())).unwrap_or_default();
        Self { run, bases, root, started_in }
    }

    /// What paths of the repository this place may mean, the likeliest first.
    pub(super) fn of(&self, place: &Place) -> Vec<String> {
        let listed = || {
            let index = usize::try_from(place.index?).ok()?;
            self.run.artifacts.as_ref()?.get(index)?.location.as_ref()
        };
        let place = if place.uri.is_some() { Some(place) } else { listed() };
        let Some((uri, base)) = place.and_then(|p| Some((p.uri.as_deref()?, &p.uri_base_id)))
        else {
            return Vec::new();
        };
        match read(uri) {
            None => Vec::new(),
            Some(Uri::Absolute(parts)) => self.inside(&parts),
            Some(Uri::Relative(parts)) => {
                let base = match base {
                    Some(id) => self.base(id, MAX_BASES),
                    None => self.started_in.clone(),
                };
                let joined = base.and_then(|base| folder(base.into_iter().chain(parts.clone())));
                let mut paths = joined.map(|parts| self.inside(&parts)).unwrap_or_default();
                // Some write a path where a URI belongs.
                let plain = [folder(parts), folder(split(uri))];
                paths.extend(plain.into_iter().flatten().map(|parts| parts.join("/")));
                paths
            }
        }
    }

    /// The folder that an id stands for, when its log says.
    fn base(&self, id: &str, left: usize) -> Option<Folder> {
        let place = self.bases.get(id).filter(|_| left > 0)?;
        match read(place.uri.as_deref()?)? {
            Uri::Absolute(parts) => Some(parts),
            Uri::Relative(parts) => {
                let above = self.base(place.uri_base_id.as_deref()?, left - 1)?;
                folder(above.into_iter().chain(parts))
            }
        }
    }

    /// The path below the repository's root, or else below each folder that the log names and that lies
    /// elsewhere, the outermost first.
    fn inside(&self, parts: &[String]) -> Vec<String> {
        if let Some(rest) = parts.strip_prefix(&*self.root) {
            return Some(rest.join("/")).filter(|path| !path.is_empty()).into_iter().collect();
        }
        let bases = self.bases.keys().filter_map(|id| self.base(id, MAX_BASES));
        let elsewhere = |base: &Folder| !base.starts_with(&self.root) && !base.is_empty();
        let folders = bases.chain(self.started_in.clone()).filter(elsewhere);
        let rests = folders.filter_map(|base| Some(parts.strip_prefix(&*base)?.join("/")));
        let mut rests: Vec<String> = rests.filter(|rest| !rest.is_empty()).collect();
        rests.sort_by_key(|rest| Reverse(rest.len()));
        rests
    }
}

fn absolute(uri: &str) -> Option<Folder> {
    match read(uri)? {
        Uri::Absolute(parts) => Some(parts),
        Uri::Relative(_) => None,
    }
}

/// Reads a URI, or a path that stands in place of one. `None` for what is no file of this machine.
fn read(uri: &str) -> Option<Uri> {
    let (scheme, rest) = match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, uri),
    };
    let decoded = |text: &str| {
        let text = text.replace('\\', "/");
        let text = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        split(&text).map(str::to_owned).collect::<Vec<_>>()
    };
    match scheme {
        Some(scheme) if scheme.eq_ignore_ascii_case("file") => {
            let path = match rest.strip_prefix("//") {
                Some(rest) => {
                    let (host, path) = rest.split_at(rest.find('/')?);
                    (host.is_empty() || host.eq_ignore_ascii_case("localhost")).then_some(path)?
                }
                None => rest,
            };
            folder(decoded(path)).map(Uri::Absolute)
        }
        Some(_) => None,
        None if is_rooted(uri) => folder(decoded(uri)).map(Uri::Absolute),
        None => Some(Uri::Relative(decoded(uri))),
    }
}

/// Two letters or more: one is a drive.
fn is_scheme(text: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    text.len() > 1 && text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(sound)
}

/// Whether a path begins at a root or a drive.
fn is_rooted(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [b'A'..=b'Z' | b'a'..=b'z', b':', b'/' | b'\\', ..]);
    drive || path.starts_with(['/', '\\'])
}

fn split(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
}

/// The parts of a path, without what means nothing; `None` when it leads out of where it begins.
fn folder<S: Into<String> + AsRef<str>>(parts: impl IntoIterator<Item = S>) -> Option<Folder> {
    let mut clean = Vec::new();
    for part in parts {
        match part.as_ref() {
            "" | "." => {}
            ".." => {
                clean.pop()?;
            }
            _ => clean.push(part.into()),
        }
    }
    Some(clean)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What a place means in a run over `/home/ada/shop`.
    fn paths(place: Value, run: Value) -> Vec<String> {
        let mut whole = json!({ "tool": { "driver": { "name": "t" } } });
        whole.as_object_mut().unwrap().extend(run.as_object().unwrap().clone());
        let run: Run = serde_json::from_value(whole).unwrap();
        let mut found = Paths::new(&run, Path::new("/home/ada/shop"))
            .of(&serde_json::from_value(place).unwrap());
        found.dedup();
        found
    }

    #[test]
    fn a_uri_means_a_path_of_the_repository() {
        let src = json!({ "originalUriBaseIds": {
            "SRC": { "uri": "src/", "uriBaseId": "ROOT" },
            "ROOT": { "uri": "file:///home/ada/shop/" },
            "COPY": { "uri": "file:///work/" },
            "RING": { "uri": "a/", "uriBaseId": "RING" },
            "%SRCROOT%": { "description": { "text": "the root" } },
        } });
        for (uri, base, expected) in [
            ("a.py", None, &["a.py"][..]),
            ("./x/../a%20b.py", None, &["a b.py", "a%20b.py"]),
            ("src\\a.py", None, &["src/a.py", "src\\a.py"]),
            ("../a.py", None, &[]),
            ("a.py", Some("%SRCROOT%"), &["a.py"]),
            ("a.py", Some("NOWHERE"), &["a.py"]),
            ("a.py", Some("RING"), &["a.py"]),
            ("a.py", Some("SRC"), &["src/a.py", "a.py"]),
            ("../a.py", Some("SRC"), &["a.py"]),
            ("../../a.py", Some("SRC"), &[]),
            ("a.py", Some("COPY"), &["a.py"]),
            ("file:///home/ada/shop/%C3%BC.py", None, &["ü.py"]),
            ("FILE://localhost/home/ada/shop/a.py", None, &["a.py"]),
            ("/home/ada/shop/x/a.py", None, &["x/a.py"]),
            ("file:///work/x/a.py", None, &["x/a.py"]),
            ("file:///home/ada/shopping/a.py", None, &[]),
            ("file:///home/ada/shop/../a.py", None, &[]),
            ("file:///home/ada/shop/", None, &[]),
            ("file://server/home/ada/shop/a.py", None, &[]),
            ("file:///etc/passwd", None, &[]),
            ("https://example.org/a.py", None, &[]),
        ] {
            let found = paths(json!({ "uri": uri, "uriBaseId": base }), src.clone());
            assert_eq!(found, expected, "{uri} {base:?}");
        }
    }

    #[test]
    fn a_place_may_stand_in_a_list_or_below_a_folder() {
        let listed = json!({ "artifacts": [{ "location": { "uri": "b.py" } }] });
        assert_eq!(paths(json!({ "index": 0 }), listed.clone()), ["b.py"]);
        assert!(paths(json!({ "index": 1 }), listed).is_empty());
        let below = json!({ "invocations": [
            { "executionSuccessful": true, "workingDirectory": { "uri": "file:///home/ada/shop/api" } },
        ] });
        assert_eq!(paths(json!({ "uri": "a.py" }), below), ["api/a.py", "a.py"]);
        let elsewhere =
            json!({ "invocations": [{ "workingDirectory": { "uri": "file:///src" } }] });
        assert_eq!(paths(json!({ "uri": "file:///src/api/a.py" }), elsewhere), ["api/a.py"]);
    }
}

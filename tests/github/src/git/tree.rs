//! Files and folders of a commit.

use super::{Git, text};

/// A file, folder, link or submodule in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Octal, as git writes it.
    pub(crate) mode: String,
    /// `blob`, `tree` or `commit`.
    pub(crate) kind: String,
    pub(crate) sha: String,
    /// In bytes; nothing for what is no blob.
    pub(crate) size: Option<u64>,
    /// From the root of the repository.
    pub(crate) path: String,
}

impl Git {
    /// What is at a path of a commit; the empty path is the root folder.
    pub(crate) fn entry(&self, commit: &str, path: &str) -> Option<Entry> {
        if path.is_empty() {
            let sha =
                self.line(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{tree}}")])?;
            let (mode, kind) = ("040000".to_owned(), "tree".to_owned());
            return Some(Entry { mode, kind, sha, size: None, path: String::new() });
        }
        let rows = self.run(&["--literal-pathspecs", "ls-tree", "-z", "-l", commit, "--", path]);
        entries(&rows.ok()?).into_iter().find(|entry| entry.path == path)
    }

    /// What is in a tree, with names inside it; of all folders where asked for.
    pub(crate) fn list(&self, tree: &str, recursive: bool) -> Vec<Entry> {
        let mut arguments = vec!["ls-tree", "-z", "-l", "--full-tree"];
        if recursive {
            arguments.extend(["-r", "-t"]);
        }
        arguments.push(tree);
        self.run(&arguments).map(|rows| entries(&rows)).unwrap_or_default()
    }

    /// The bytes of a blob.
    pub(crate) fn blob(&self, sha: &str) -> Option<Vec<u8>> {
        let plain = !sha.is_empty() && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
        if plain { self.run(&["cat-file", "blob", sha]).ok() } else { None }
    }
}

fn entries(rows: &[u8]) -> Vec<Entry> {
    let rows = text(rows);
    rows.split('\0').filter_map(entry).collect()
}

fn entry(row: &str) -> Option<Entry> {
    let (fields, path) = row.split_once('\t')?;
    let fields: Vec<_> = fields.split_whitespace().collect();
    let [mode, kind, sha, size] = fields[..] else { return None };
    Some(Entry {
        mode: mode.to_owned(),
        kind: kind.to_owned(),
        sha: sha.to_owned(),
        size: size.parse().ok(),
        path: path.to_owned(),
    })
}

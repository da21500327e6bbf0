//! The paths of one file that lead into this crate, resolved to where they lead.

use std::{collections::BTreeSet, str::FromStr};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module's place, from the crate's root.
pub(super) type Place = Vec<String>;

/// A path found in a file.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Where it leads, from the crate's root.
    pub(super) target: Place,
    /// The line it begins on.
    pub(super) line: usize,
    /// For `pub use`: the place the name gets. `*` stands for a glob.
    pub(super) exported: Option<Place>,
    /// Whether a `use` gives the target another name.
    pub(super) renamed: bool,
}

/// The tokens of a source; it must at least lex.
pub(super) fn tokens(path: &str, text: &str) -> TokenStream {
    TokenStream::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The crates beside the library, each with the modules of it that are rooms of their own. The rest
/// of a crate is the room of its name.
const CRATES: &[(&str, &[&str])] =
    &[("graph", &["base"]), ("checkpoint", &["db"]), ("analysis", &[])];

/// The module a file holds, by its room: `src/a/b.rs` and `src/a/b/mod.rs` are `a::b`, `src/lib.rs`
/// the root, `crates/graph/src/a.rs` is `graph::a`, `crates/graph/src/base/a.rs` is `base::a`.
pub(super) fn module_of(path: &str) -> Place {
    let (krate, inside) = crate_of(path);
    let mut parts: Place = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    in_crate(krate, parts)
}

/// The crate a file belongs to (`None`: the library or its binary), and the path below its sources.
fn crate_of(path: &str) -> (Option<&str>, &str) {
    match path.strip_prefix("crates/").and_then(|path| path.split_once("/src/")) {
        Some((krate, inside)) => (Some(krate), inside),
        None => (None, path.strip_prefix("src/").unwrap_or(path)),
    }
}

/// Where a place of a crate is among the rooms.
fn in_crate(krate: Option<&str>, place: Place) -> Place {
    let Some(krate) = krate else { return place };
    let rooms = CRATES.iter().find(|(name, _)| *name == krate).map_or(&[][..], |(_, rooms)| rooms);
    match place.first() {
        Some(first) if rooms.contains(&first.as_str()) => place,
        _ => [&[krate.to_owned()], &place[..]].concat(),
    }
}

/// The names of the modules a source declares at its top.
pub(super) fn modules_declared(text: &str) -> Vec<String> {
    let tokens: Vec<_> = tokens("source", text).into_iter().collect();
    let named = |pair: &[TokenTree]| is_ident(&pair[0], "mod").then(|| pair[1].to_string());
    tokens.windows(2).filter_map(named).collect()
}

/// Reads the paths out of one file. `modules` are all modules of the crate that have a file.
pub(super) fn found(path: &str, text: &str, modules: &BTreeSet<Place>) -> Vec<Found> {
    let (krate, binary) = (crate_of(path).0, path == "src/main.rs");
    let mut reader = Reader { modules, krate, binary, found: Vec::new() };
    reader.walk(&tokens(path, text).into_iter().collect::<Vec<_>>(), &module_of(path));
    reader.found
}

struct Reader<'a> {
    modules: &'a BTreeSet<Place>,
    /// The crate the file belongs to, unless that is the library or its binary.
    krate: Option<&'a str>,
    /// The binary's `crate` is not the library.
    binary: bool,
    found: Vec<Found>,
}

impl Reader<'_> {
    fn walk(&mut self, tokens: &[TokenTree], module: &[String]) {
        let mut at = 0;
        let mut public = false;
        while at < tokens.len() {
            let is_public = std::mem::take(&mut public);
            match &tokens[at] {
                TokenTree::Group(group) => {
                    self.walk(&group.stream().into_iter().collect::<Vec<_>>(), module);
                }
                token if is_ident(token, "pub") => {
                    public = true;
                    at += usize::from(tokens.get(at + 1).is_some_and(is_restriction));
                }
                token if is_ident(token, "use") && !is_punct(tokens.get(at + 1), '<') => {
                    let rest = &tokens[at + 1..];
                    let end = rest.iter().position(|token| is_punct(Some(token), ';'));
                    let end = end.unwrap_or(rest.len());
                    self.import(&rest[..end], &[], module, is_public);
                    at += end;
                }
                token if is_ident(token, "mod") => {
                    if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                        (tokens.get(at + 1), tokens.get(at + 2))
                    {
                        let inner = [module, &[name.to_string()]].concat();
                        self.walk(&body.stream().into_iter().collect::<Vec<_>>(), &inner);
                        at += 2;
                    }
                }
                TokenTree::Ident(name) => {
                    let line = name.span().start().line;
                    let (path, length) = read_path(&tokens[at..]);
                    if path.len() > 1
                        && !continues(&tokens[..at])
                        && let Some(target) = self.resolve(&path, module, false)
                    {
                        self.found.push(Found { target, line, exported: None, renamed: false });
                    }
                    at += length - 1;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// One tree of a `use`, under what was already read of its path.
    fn import(&mut self, tree: &[TokenTree], before: &[String], module: &[String], public: bool) {
        let tree = &tree[colons(tree)..];
        let Some(first) = tree.first() else { return };
        let line = first.span().start().line;
        let (path, length) = if is_ident_any(first) { read_path(tree) } else { (Vec::new(), 0) };
        let path = [before, &path].concat();
        let rest = &tree[length..];
        let rest = &rest[colons(rest)..];
        match rest.first() {
            Some(TokenTree::Group(group)) => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                for item in inner.split(|token| is_punct(Some(token), ',')) {
                    self.import(item, &path, module, public);
                }
            }
            Some(token) if is_punct(Some(token), '*') => {
                self.keep(&path, "*".to_owned(), line, module, public);
            }
            Some(token) if is_ident(token, "as") => {
                let name = rest.get(1).map(ToString::to_string).unwrap_or_default();
                self.keep(&path, name, line, module, public);
            }
            _ => {
                let name = path.iter().rfind(|part| *part != "self").cloned();
                self.keep(&path, name.unwrap_or_default(), line, module, public);
            }
        }
    }

    fn keep(
        &mut self,
        path: &[String],
        name: String,
        line: usize,
        module: &[String],
        public: bool,
    ) {
        let Some(target) = self.resolve(path, module, true) else { return };
        let renamed = target.last() != Some(&name);
        let exported = public.then(|| [module, &[name]].concat());
        self.found.push(Found { target, line, exported, renamed });
    }

    /// Where a path leads, if it leads into the library or a crate beside it.
    fn resolve(&self, path: &[String], module: &[String], import: bool) -> Option<Place> {
        let child =
            |name: &String| self.modules.contains(&[module, std::slice::from_ref(name)].concat());
        let first = path.first()?;
        let named = CRATES.iter().find(|(name, _)| first.strip_prefix("verdict_") == Some(*name));
        let (mut place, rest) = match first.as_str() {
            "crate" if self.binary => return None,
            "crate" => (in_crate(self.krate, plain_names(&path[1..])), &[][..]),
            "verdict" if !child(first) => (Vec::new(), &path[1..]),
            "self" | "super" => (module.to_vec(), path),
            _ if import && child(first) => (module.to_vec(), path),
            _ => match named {
                Some((krate, _)) => (in_crate(Some(krate), plain_names(&path[1..])), &[][..]),
                None => return None,
            },
        };
        for part in rest {
            match part.as_str() {
                "self" => {}
                "super" => drop(place.pop()),
                _ => place.push(part.clone()),
            }
        }
        Some(if place.is_empty() { in_crate(self.krate, place) } else { place })
    }
}

/// The names of a path that starts at a crate's root.
fn plain_names(path: &[String]) -> Place {
    path.iter().filter(|part| *part != "self").cloned().collect()
}

/// A path at the start of the tokens: its names, and how many tokens it takes.
fn read_path(tokens: &[TokenTree]) -> (Place, usize) {
    let mut path = vec![plain(&tokens[0])];
    let mut at = 1;
    while colons(&tokens[at..]) == 2
        && let Some(TokenTree::Ident(name)) = tokens.get(at + 2)
    {
        path.push(plain(name));
        at += 3;
    }
    (path, at)
}

fn plain(token: &impl ToString) -> String {
    token.to_string().trim_start_matches("r#").to_owned()
}

/// 2 when the tokens begin with `::`, else 0.
fn colons(tokens: &[TokenTree]) -> usize {
    let both = is_punct(tokens.first(), ':') && is_punct(tokens.get(1), ':');
    if both { 2 } else { 0 }
}

/// Whether what follows continues a path: `a::` or `<T>::`, not a leading `::`.
fn continues(before: &[TokenTree]) -> bool {
    let Some(colons_at) = before.len().checked_sub(2) else { return false };
    colons(&before[colons_at..]) == 2
        && before[..colons_at]
            .last()
            .is_some_and(|token| is_ident_any(token) || is_punct(Some(token), '>'))
}

/// `(crate)`, `(super)`, `(self)` or `(in PATH)` after `pub`.
fn is_restriction(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let inner: Vec<_> = group.stream().into_iter().collect();
    let first = inner.first().map(ToString::to_string).unwrap_or_default();
    group.delimiter() == Delimiter::Parenthesis
        && (first == "in"
            || inner.len() == 1 && matches!(first.as_str(), "crate" | "super" | "self"))
}

pub(super) fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

fn is_ident_any(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(_))
}

pub(super) fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

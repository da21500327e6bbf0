//! Which lines of a text make a function, and where it is named: what a reader of a changed line wants to see beside it, of the
//! same text and of others.

use std::{
    collections::{BTreeSet, HashMap},
    ops::RangeInclusive,
};

use super::{
    Lang, LineSet, Lines, MaskedText,
    parse::{Tree, parse},
};

/// Names of nodes that are functions with a body, in the grammars of all languages.
const FUNCTIONS: &[&str] = &[
    "function_item",
    "function_definition",
    "function_declaration",
    "function_expression",
    "generator_function_declaration",
    "arrow_function",
    "anonymous_function",
    "local_function_statement",
    "func_literal",
    "method",
    "singleton_method",
    "method_definition",
    "method_declaration",
    "constructor_declaration",
];

/// Shorter names are not looked for elsewhere.
const MIN_NAME_CHARS: usize = 3;

/// A name that stands in more lines than this says little about any of them.
const MAX_LINES_OF_A_NAME: usize = 6;

/// What a reader of changed lines wants to see beside them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The lines of every function of more than one line, outer ones before inner ones.
    pub functions: Vec<RangeInclusive<u32>>,
    /// Lines in which a function that changed is named, and first lines of those that changed lines name. In order.
    pub related: BTreeSet<u32>,
}

struct Function {
    lines: RangeInclusive<u32>,
    name: Option<String>,
}

/// The functions of a text, and the lines in which any name stands.
struct Names {
    language: Lang,
    functions: Vec<Function>,
    lines: HashMap<String, BTreeSet<u32>>,
}

impl Names {
    /// None of a text without a grammar, or that cannot be parsed.
    fn of(path: &str, text: &str) -> Option<Self> {
        let language = Lang::of(path, text)?;
        let tree = parse(language, text).ok()?;
        let root = tree.root();
        let functions = root.dfs().filter_map(|node| function(&node)).collect();
        let mut lines: HashMap<String, BTreeSet<u32>> = HashMap::new();
        for leaf in root.dfs().filter(|node| node.is_named_leaf() && is_name(&node.kind())) {
            let name = leaf.text();
            if is_telling(&name) {
                let at = line(leaf.start_pos().line());
                lines.entry(name.into_owned()).or_default().insert(at);
            }
        }
        Some(Self { language, functions, lines })
    }

    /// The functions that have a name.
    fn named(&self) -> impl Iterator<Item = (&str, &RangeInclusive<u32>)> {
        self.functions.iter().filter_map(|f| Some((f.name.as_deref()?, &f.lines)))
    }
}

/// What stands around the lines `changed` of the text at `path`. Nothing for a text without a grammar, or that cannot be parsed.
pub fn surroundings(path: &str, text: &str, changed: &LineSet) -> Surroundings {
    let Some(names) = Names::of(path, text) else { return Surroundings::default() };
    let mut related = BTreeSet::new();
    for (name, own) in only_ones(names.named()) {
        let Some(lines) = names.lines.get(name) else { continue };
        let elsewhere = || lines.iter().copied().filter(|line| !own.contains(line));
        let is_changed = changed.first_in(*own.start(), *own.end()).is_some();
        if is_changed && elsewhere().count() <= MAX_LINES_OF_A_NAME {
            related.extend(elsewhere());
        }
        if elsewhere().any(|line| changed.contains(line)) {
            related.insert(*own.start());
        }
    }
    Surroundings { functions: names.functions.into_iter().map(|f| f.lines).collect(), related }
}

/// Those with a name that no other has: of several nobody knows which is meant.
fn only_ones<'n, T>(named: impl Iterator<Item = (&'n str, T)>) -> HashMap<&'n str, T> {
    let mut only: HashMap<&str, Option<T>> = HashMap::new();
    for (name, function) in named {
        only.entry(name).and_modify(|known| *known = None).or_insert(Some(function));
    }
    only.into_iter().filter_map(|(name, function)| Some((name, function?))).collect()
}

/// A line of a changed file that belongs to another one by a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelatedLine {
    /// The file's path.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// Secrets masked, otherwise as it stands there.
    pub text: String,
}

/// Which lines of a change's files belong together by name, across files.
#[derive(Default)]
pub struct References {
    files: Vec<File>,
}

struct File {
    path: String,
    text: MaskedText,
    changed: LineSet,
    names: Names,
}

impl References {
    /// Adds a file with its changed lines. One without a grammar belongs to none.
    pub fn add(&mut self, path: &str, text: &MaskedText, changed: LineSet) {
        if let Some(names) = Names::of(path, text) {
            self.files.push(File { path: path.to_owned(), text: text.clone(), changed, names });
        }
    }

    /// The lines of other files that name a function changed in the file at `path`, and the first lines of functions there that
    /// its changed lines name. In order.
    pub fn of(&self, path: &str) -> Vec<RelatedLine> {
        let Some(own) = self.files.iter().find(|file| file.path == path) else { return Vec::new() };
        let family: Vec<&File> = self.files.iter().filter(|file| file.is_akin(own)).collect();
        let functions = family
            .iter()
            .flat_map(|file| file.names.named().map(move |(name, lines)| (name, (*file, lines))));
        let mut related = BTreeSet::new();
        for (name, (file, lines)) in only_ones(functions) {
            if file.path != own.path {
                let named = own.names.lines.get(name);
                if named.is_some_and(|at| at.iter().any(|line| own.changed.contains(*line))) {
                    related.extend(file.related(*lines.start()));
                }
            } else if own.changed.first_in(*lines.start(), *lines.end()).is_some() {
                let others = family.iter().filter(|file| file.path != own.path);
                let named = others.flat_map(|file| {
                    let lines = file.names.lines.get(name).into_iter().flatten();
                    lines.map(move |line| (*file, *line))
                });
                let named: Vec<_> = named.collect();
                if named.len() <= MAX_LINES_OF_A_NAME {
                    related.extend(named.into_iter().filter_map(|(file, line)| file.related(line)));
                }
            }
        }
        related.into_iter().collect()
    }
}

impl File {
    /// Whether one may call functions of the other.
    fn is_akin(&self, other: &Self) -> bool {
        self.names.language.family() == other.names.language.family()
    }

    fn related(&self, line: u32) -> Option<RelatedLine> {
        let text = Lines::new(&self.text).get(line)?.trim().to_owned();
        Some(RelatedLine { path: self.path.clone(), line, text })
    }
}

fn line(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX - 1) + 1
}

/// The function of more than one line that a node is.
fn function(node: &Tree<'_>) -> Option<Function> {
    let (start, end) = (node.start_pos().line(), node.end_pos().line());
    if end == start || !FUNCTIONS.contains(&&*node.kind()) {
        return None;
    }
    let variable = || node.parent().filter(|parent| parent.kind() == "variable_declarator");
    let name = node.field("name").or_else(|| variable()?.field("name"));
    let name = name.map(|name| name.text().into_owned());
    let name = name.filter(|name| is_telling(name));
    Some(Function { lines: line(start)..=line(end), name })
}

/// Whether a name is one that is looked for elsewhere.
fn is_telling(name: &str) -> bool {
    name.chars().count() >= MIN_NAME_CHARS
}

/// Whether a leaf of this kind is a name, in the grammars of all languages.
fn is_name(kind: &str) -> bool {
    kind.ends_with("identifier") || matches!(kind, "name" | "constant")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P5: functions are found in several languages, nested ones after those around them.
    #[test]
    fn functions_of_several_languages() {
        for (path, text, expected) in [
            (
                "a.py",
                "import os\n\ndef f(a):\n    def g():\n        pass\n    return g\n",
                vec![3..=6, 4..=5],
            ),
            ("a.rs", "struct S;\nimpl S {\n    fn f(&self) {\n        1;\n    }\n}\n", vec![3..=5]),
            (
                "a.ts",
                "class A {\n  f() {\n    return 1;\n  }\n}\nconst g = () => {\n};\n",
                vec![2..=4, 6..=7],
            ),
            ("a.go", "package a\n\nfunc F() {\n}\n", vec![3..=4]),
            (
                "A.java",
                "class A {\n  A() {\n  }\n  int f() {\n    return 1;\n  }\n}\n",
                vec![2..=3, 4..=6],
            ),
            ("a.txt", "def f():\n    pass\n", vec![]),
            ("a.py", "def one(): pass\n", vec![]),
        ] {
            let found = surroundings(path, text, &LineSet::default());
            assert_eq!(found.functions, expected, "{path}");
        }
    }

    /// P4: a changed function is shown with those that name it, a changed line with the beginnings of what it names. A name that is
    /// short, common, or of several functions, says nothing.
    #[test]
    fn what_is_named_is_related() {
        let related = |path: &str, text: &str, line: u32| {
            let changed: LineSet = std::iter::once(line..=line).collect();
            surroundings(path, text, &changed).related.into_iter().collect::<Vec<_>>()
        };
        let python = "def price(a):\n    return a\n\n\ndef total(a):\n    b = price(a)\n    return b\n\n\nprint(total(1))\n";
        assert_eq!(related("a.py", python, 6), [1, 10]);
        assert_eq!(related("a.py", python, 2), [6]);
        assert_eq!(related("a.py", python, 10), [5]);
        let script =
            "const total = (a) => {\n  return a;\n};\n\nfunction pay() {\n  return total(1);\n}\n";
        assert_eq!(related("a.ts", script, 2), [6]);
        let go = "package a\n\nfunc Total() int {\n\treturn 1\n}\n\nfunc Pay() int {\n\treturn Total()\n}\n";
        assert_eq!(related("a.go", go, 8), [3]);
        let common = format!("def total():\n    return 1\n{}", "total()\n".repeat(7));
        assert_eq!(related("a.py", &common, 2), [0; 0]);
        let twice = "def total():\n    pass\ndef total():\n    pass\ntotal()\n";
        assert_eq!(related("a.py", twice, 2), [0; 0]);
        assert_eq!(related("a.txt", python, 6), [0; 0]);
    }

    /// P4: the same holds across files of languages that call each other.
    #[test]
    fn what_other_files_name_is_related() {
        let mut references = References::default();
        let mut add = |path: &str, text: &str, changed: u32| {
            references.add(path, &text.into(), std::iter::once(changed..=changed).collect());
        };
        add("price.ts", "export function price(a) {\n  return a;\n}\n", 2);
        add("shop.js", "function total(a) {\n  const b = 1;\n  return price(a) + b;\n}\n", 2);
        add("pay.tsx", "export function pay(a) {\n  total(a);\n  return 0;\n}\n", 2);
        add("pay.py", "def other(a):\n    total(price(a))\n    return 0\n", 2);
        let of = |path: &str| {
            let related = references.of(path).into_iter();
            related.map(|r| format!("{}:{} {}", r.path, r.line, r.text)).collect::<Vec<_>>()
        };
        assert_eq!(of("price.ts"), ["shop.js:3 return price(a) + b;"]);
        assert_eq!(of("shop.js"), ["pay.tsx:2 total(a);"]);
        assert_eq!(of("pay.tsx"), ["shop.js:1 function total(a) {"]);
        assert_eq!(of("pay.py"), [""; 0]);
        assert_eq!(of("none.py"), [""; 0]);
    }
}

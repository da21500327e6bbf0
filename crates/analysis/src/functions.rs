//! Which lines of a text make a function, and where it is named: what a reader of a changed line wants to see beside it.

use std::{
    collections::{BTreeSet, HashMap},
    ops::RangeInclusive,
};

use super::{
    Lang, LineSet,
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

/// What stands around the lines `changed` of the text at `path`. Nothing for a text without a grammar, or that cannot be parsed.
pub fn surroundings(path: &str, text: &str, changed: &LineSet) -> Surroundings {
    let Some(tree) = Lang::of(path, text).and_then(|language| parse(language, text).ok()) else {
        return Surroundings::default();
    };
    let root = tree.root();
    let functions: Vec<Function> = root.dfs().filter_map(|node| function(&node)).collect();
    let mut by_name: HashMap<&str, Option<&Function>> = HashMap::new();
    for function in &functions {
        let Some(name) = function.name.as_deref() else { continue };
        // Of several with one name nobody knows which is meant.
        by_name.entry(name).and_modify(|known| *known = None).or_insert(Some(function));
    }
    let mut named: HashMap<&str, BTreeSet<u32>> = HashMap::new();
    for leaf in root.dfs().filter(|node| node.is_named_leaf() && is_name(&node.kind())) {
        if let Some((name, Some(function))) = by_name.get_key_value(&*leaf.text()) {
            let at = line(leaf.start_pos().line());
            if !function.lines.contains(&at) {
                named.entry(*name).or_default().insert(at);
            }
        }
    }
    let mut related = BTreeSet::new();
    for (name, lines) in named {
        let Some(Some(Function { lines: own, .. })) = by_name.get(name) else { continue };
        let is_changed = changed.first_in(*own.start(), *own.end()).is_some();
        if is_changed && lines.len() <= MAX_LINES_OF_A_NAME {
            related.extend(&lines);
        }
        if lines.iter().any(|line| changed.contains(*line)) {
            related.insert(*own.start());
        }
    }
    Surroundings { functions: functions.into_iter().map(|f| f.lines).collect(), related }
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
    let name = name.filter(|name| name.chars().count() >= MIN_NAME_CHARS);
    Some(Function { lines: line(start)..=line(end), name })
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
}

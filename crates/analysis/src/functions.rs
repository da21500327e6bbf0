//! Which lines of a text make a function: what a reader of a changed line wants to see around it.

use std::ops::RangeInclusive;

use super::{
    Lang,
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

/// The lines of every function of more than one line in the text at `path`, outer ones before inner ones. None for a text
/// without a grammar, or that cannot be parsed.
pub fn functions(path: &str, text: &str) -> Vec<RangeInclusive<u32>> {
    let Some(tree) = Lang::of(path, text).and_then(|language| parse(language, text).ok()) else {
        return Vec::new();
    };
    let line = |row: usize| u32::try_from(row).unwrap_or(u32::MAX - 1) + 1;
    let of = |node: Tree<'_>| {
        let (start, end) = (node.start_pos().line(), node.end_pos().line());
        (end > start).then(|| line(start)..=line(end))
    };
    tree.root().dfs().filter(|node| FUNCTIONS.contains(&&*node.kind())).filter_map(of).collect()
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
            assert_eq!(functions(path, text), expected, "{path}");
        }
    }
}

//! Whether a text still parses with a suggestion applied. Errors are compared before and after: those of a text that did
//! not parse cleanly anyway are not the suggestion's.

use std::ops::Range;

use ast_grep_language::SupportLang;

use super::{Lang, Lines, MaskedText, parse::parse};

/// What stands in a text where a secret was masked.
const MASKED: &str = "****";

/// A text that suggestions are tried on, one at a time.
pub struct Suggestible<'t> {
    text: &'t str,
    lines: Lines<'t>,
    language: Option<Lang>,
    /// How many errors there are without a suggestion; `None` when the text costs too much to parse.
    errors: Option<usize>,
}

impl<'t> Suggestible<'t> {
    /// The text at `path`.
    pub fn new(path: &str, text: &'t MaskedText) -> Self {
        let language = Lang::of(path, text);
        let errors = language.and_then(|language| errors(language, text));
        Self { text, lines: Lines::new(text), language, errors }
    }

    /// Whether `suggestion` may be put in place of these lines: it changes something, takes no masked
    /// secret away, and adds no error. Where nobody can tell, for want of a grammar, it may.
    pub fn takes(&self, (first, last): (u32, u32), suggestion: &str) -> bool {
        let Some(range) = self.lines.range(first, last) else { return false };
        let old = &self.text[range.clone()];
        let masked = old.contains(MASKED) || suggestion.contains(MASKED);
        if masked || old.lines().eq(suggestion.lines()) {
            return false;
        }
        let Some(language) = self.language else { return true };
        if language.is_indented() && is_shifted(old, suggestion) {
            return false;
        }
        let Some(before) = self.errors else { return true };
        let after = errors(language, &self.applied(range, suggestion));
        after.is_some_and(|after| after <= before)
    }

    /// The text with whole lines replaced; none in their place where the suggestion is empty.
    fn applied(&self, replaced: Range<usize>, suggestion: &str) -> String {
        let (before, rest) = (&self.text[..replaced.start], &self.text[replaced.end..]);
        let end = if suggestion.is_empty() || suggestion.ends_with('\n') { "" } else { "\n" };
        let rest = rest.strip_prefix('\r').unwrap_or(rest);
        let rest = rest.strip_prefix('\n').unwrap_or(rest);
        format!("{before}{suggestion}{end}{rest}")
    }
}

/// Whether the first line begins further in or out than before. Grammars are lenient about it where
/// the language itself is not.
fn is_shifted(old: &str, new: &str) -> bool {
    let indent = |text: &str| {
        let line = text.lines().next()?;
        let rest = line.trim_start();
        (!rest.is_empty()).then(|| line[..line.len() - rest.len()].to_owned())
    };
    indent(old).zip(indent(new)).is_some_and(|(old, new)| old != new)
}

/// How often the grammar could not make something out, or missed something. `None` when the text
/// costs too much to parse.
fn errors(language: Lang, text: &str) -> Option<usize> {
    let tree = parse(language, text).ok()?;
    let root = tree.root();
    let mut cursor = root.get_inner_node().0.walk();
    // Python's grammar takes a block of nothing, which Python does not.
    let python = language == Lang::Known(SupportLang::Python);
    let mut count = 0;
    loop {
        let node = cursor.node();
        let empty = python && node.kind() == "block" && node.child_count() == 0;
        count += usize::from(node.is_error() || node.is_missing() || empty);
        if (python || node.has_error()) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path, its text, lines, what is suggested for them, and whether it may be.
    type Case = (&'static str, &'static str, (u32, u32), &'static str, bool);

    #[test]
    fn a_suggestion_adds_no_error() {
        let js = "function f(a) {\n  if (a) {\n    g();\n  }\n}\n";
        let py = "def f(a):\n    g(a)\n    return a\n\n\ndef h():\n    breakpoint()\n";
        let cases: &[Case] = &[
            ("a.js", js, (3, 3), "    h();", true),
            ("a.js", js, (3, 3), "    h();\n    i();\n", true),
            ("a.js", js, (3, 3), "", true),
            ("a.js", js, (2, 4), "  g();", true),
            ("a.js", js, (3, 3), "    h(;", false),
            ("a.js", js, (2, 2), "  if (a && b)", false),
            ("a.js", js, (2, 2), "", false),
            ("a.js", js, (3, 4), "    g();", false),
            // It changes nothing, or is about lines that are not there.
            ("a.js", js, (3, 3), "    g();\n", false),
            ("a.js", js, (5, 9), "}", false),
            // Line ends do not matter.
            ("a.js", "f();\r\ng();\r\n", (1, 1), "h();", true),
            ("a.js", "f();\r\ng();\r\n", (1, 2), "f();\ng();", false),
            ("a.js", "f();", (1, 1), "h();", true),
            // Python lies in each other by indentation, and has no block of nothing.
            ("a.py", py, (3, 3), "    return g(a)", true),
            ("a.py", py, (3, 3), "return g(a)", false),
            ("a.py", py, (2, 2), "", true),
            ("a.py", py, (7, 7), "", false),
            ("a.py", py, (7, 7), "    pass", true),
            // What was wrong before is not the suggestion's fault.
            ("a.py", "x = = 1\n\nf(2)\n", (3, 3), "g(2)", true),
            ("a.py", "x = = 1\n\nf(2)\n", (3, 3), "g(2))", false),
            ("a.py", "x = = 1\n\nf(2)\n", (1, 1), "x = 1", true),
            // There is no grammar for it.
            ("a.txt", "one (\n", (1, 1), "two ((", true),
            ("a.txt", "key ****\n", (1, 1), "key", false),
            ("a.js", "f('****');\n", (1, 1), "g('****');", false),
        ];
        for (path, text, lines, suggestion, takes) in cases {
            let text = MaskedText::from(*text);
            let suggestible = Suggestible::new(path, &text);
            assert_eq!(
                suggestible.takes(*lines, suggestion),
                *takes,
                "{path} {lines:?} {suggestion:?}"
            );
        }
    }
}

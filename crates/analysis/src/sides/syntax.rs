//! One side of a file in a form that is the same for every language: its tokens, functions, classes,
//! statements and calls.
//!
//! Whitespace, comments, semicolons and trailing commas are no tokens, so that reformatting is no
//! difference.

use std::{collections::HashMap, ops::Range, rc::Rc};

use super::shape;
use crate::{
    Lang, LineSet, Lines,
    parse::{Tree, parse},
};

/// A token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'t> {
    pub(super) text: &'t str,
    /// From 1.
    pub(super) line: u32,
    /// Whether it is an identifier.
    pub(super) name: bool,
    /// Whether it is a part of a text in quotes.
    pub(super) quoted: bool,
    at: usize,
}

/// A function or method with a name.
#[derive(Debug, Clone)]
pub(super) struct Function {
    /// The names of the classes and functions around it, and its own.
    pub(super) path: Vec<String>,
    /// All its tokens, annotations included.
    pub(super) all: Range<usize>,
    /// The tokens of its parameters, brackets included.
    pub(super) parameters: Range<usize>,
    /// The tokens of its body.
    pub(super) body: Range<usize>,
    /// Whether it is directly in a class.
    pub(super) method: bool,
}

impl Function {
    pub(super) fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

/// A class, or the like.
#[derive(Debug, Clone)]
pub(super) struct Container {
    /// The names of the classes around it, and its own.
    pub(super) path: Vec<String>,
    /// The tokens before its body, annotations included.
    pub(super) header: Range<usize>,
}

/// An `if` statement.
#[derive(Debug, Clone)]
pub(super) struct Conditional {
    pub(super) all: Range<usize>,
    pub(super) condition: Range<usize>,
    pub(super) body: Range<usize>,
}

/// One side of a file.
pub(super) struct Syntax<'t> {
    pub(super) language: Lang,
    pub(super) lines: Lines<'t>,
    pub(super) tokens: Vec<Token<'t>>,
    pub(super) functions: Vec<Function>,
    pub(super) containers: Vec<Container>,
    pub(super) conditionals: Vec<Conditional>,
    /// The statements of each block: the tokens of each, in order.
    pub(super) blocks: Vec<Vec<Range<usize>>>,
    /// Every call, blocks passed to it included.
    pub(super) calls: Vec<Call>,
}

/// A call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) all: Range<usize>,
    /// The tokens of the callee.
    pub(super) callee: Range<usize>,
    /// The arguments with their brackets.
    pub(super) arguments: Range<usize>,
}

impl<'t> Syntax<'t> {
    /// Parses `text`; `None` if that costs too much.
    pub(super) fn parse(language: Lang, text: &'t str) -> Option<Self> {
        let lines = Lines::new(text);
        let root = parse(language, text).ok()?;
        let mut walk = Walk::new(text, &lines);
        walk.run(root.root());
        let tokens = tidy(walk.tokens);
        let starts: Vec<usize> = tokens.iter().map(|t| t.at).collect();
        let span = |bytes: &Range<usize>| {
            let at = |byte: usize| starts.partition_point(|s| *s < byte);
            at(bytes.start)..at(bytes.end)
        };
        let functions = walk.functions.into_iter().map(|mut f| {
            f.all = span(&f.all);
            f.parameters = span(&f.parameters);
            f.body = span(&f.body);
            f
        });
        let containers = walk
            .containers
            .into_iter()
            .map(|c| Container { path: c.path, header: span(&c.header) });
        let conditionals = walk.conditionals.into_iter().map(|c| Conditional {
            all: span(&c.all),
            condition: span(&c.condition),
            body: span(&c.body),
        });
        let blocks = walk.blocks.into_iter().map(|b| b.iter().map(&span).collect());
        let calls = walk.calls.into_iter().map(|c| Call {
            all: span(&c.all),
            callee: span(&c.callee),
            arguments: span(&c.arguments),
        });
        Some(Self {
            functions: functions.collect(),
            containers: containers.collect(),
            conditionals: conditionals.collect(),
            blocks: blocks.collect(),
            calls: calls.collect(),
            language,
            tokens,
            lines,
        })
    }

    /// The tokens of a span.
    pub(super) fn of(&self, span: &Range<usize>) -> &[Token<'t>] {
        self.tokens.get(span.clone()).unwrap_or_default()
    }

    /// First and last line of a span; 0 when it is empty.
    pub(super) fn line_span(&self, span: &Range<usize>) -> (u32, u32) {
        let tokens = self.of(span);
        (tokens.first().map_or(0, |t| t.line), tokens.last().map_or(0, |t| t.line))
    }

    /// Whether some of these lines is in the set.
    pub(super) fn is_touched(&self, span: &Range<usize>, set: &LineSet) -> bool {
        let (first, last) = self.line_span(span);
        set.first_in(first, last).is_some()
    }

    /// The innermost function around a token.
    pub(super) fn function_at(&self, token: usize) -> Option<usize> {
        let around = self.functions.iter().enumerate().filter(|(_, f)| f.all.contains(&token));
        around.min_by_key(|(_, f)| f.all.len()).map(|(index, _)| index)
    }

    /// The functions whose path is unique in the file.
    pub(super) fn by_path(&self) -> HashMap<&[String], usize> {
        let mut counted: HashMap<&[String], (usize, usize)> = HashMap::new();
        for (index, function) in self.functions.iter().enumerate() {
            let entry = counted.entry(&function.path).or_insert((index, 0));
            entry.1 += 1;
        }
        let single = counted.into_iter().filter(|(_, (_, count))| *count == 1);
        single.map(|(path, (index, _))| (path, index)).collect()
    }
}

/// Drops trailing commas.
fn tidy(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut kept: Vec<Token<'_>> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let closing = matches!(token.text, ")" | "]" | "}");
        if closing && kept.last().is_some_and(|last| last.text == ",") {
            kept.pop();
        }
        kept.push(token);
    }
    kept
}

/// Whether two token lists have the same texts.
pub(super) fn same(a: &[Token<'_>], b: &[Token<'_>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.text == b.text)
}

/// The tokens as one line of source.
pub(super) fn one_line(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    let mut last: Option<&Token<'_>> = None;
    for token in tokens {
        let apart = last.is_some_and(|l| l.line != token.line || l.at + l.text.len() != token.at);
        if apart {
            text.push(' ');
        }
        text.push_str(token.text);
        last = Some(token);
    }
    text
}

/// The names in a text.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|w| w.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// A walk over a syntax tree; spans are in bytes until it ends.
struct Walk<'t, 'l> {
    text: &'t str,
    lines: &'l Lines<'t>,
    tokens: Vec<Token<'t>>,
    functions: Vec<Function>,
    containers: Vec<Container>,
    conditionals: Vec<Conditional>,
    blocks: Vec<Vec<Range<usize>>>,
    calls: Vec<Call>,
}

impl<'t, 'l> Walk<'t, 'l> {
    fn new(text: &'t str, lines: &'l Lines<'t>) -> Self {
        Self {
            text,
            lines,
            tokens: Vec::new(),
            functions: Vec::new(),
            containers: Vec::new(),
            conditionals: Vec::new(),
            blocks: Vec::new(),
            calls: Vec::new(),
        }
    }

    fn run(&mut self, root: Tree<'_>) {
        // An explicit stack: deeply nested text must not overflow the call stack.
        let mut open = vec![(root, Rc::new(Vec::new()), false)];
        while let Some((node, mut path, in_class)) = open.pop() {
            let kind = node.kind();
            if kind.contains("comment") {
                continue;
            }
            if node.is_leaf() || shape::is_whole(&kind) {
                self.token(&node, &kind);
                continue;
            }
            let mut class = in_class;
            if let Some(name) = shape::function_name(&node, &kind) {
                Rc::make_mut(&mut path).push(name);
                self.function(&node, &path, in_class);
                class = false;
            } else if let Some(name) = shape::container_name(&node, &kind) {
                Rc::make_mut(&mut path).push(name);
                self.container(&node, &path);
                class = true;
            }
            self.parts(&node, &kind);
            let children: Vec<Tree<'_>> = node.children().collect();
            open.extend(children.into_iter().rev().map(|child| (child, path.clone(), class)));
        }
    }

    fn token(&mut self, node: &Tree<'_>, kind: &str) {
        let range = node.range();
        let Some(text) = self.text.get(range.clone()).map(str::trim) else { return };
        if text.is_empty() || text == ";" {
            return;
        }
        let text = if text == "'" { "\"" } else { text };
        let starts = text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@'));
        let quoted = shape::is_quoted(kind);
        let name = node.is_named() && starts && !quoted && shape::is_name(text);
        let line = self.lines.at(range.start);
        self.tokens.push(Token { text, line, name, quoted, at: range.start });
    }

    fn function(&mut self, node: &Tree<'_>, path: &[String], method: bool) {
        let body = shape::body(node).map_or(0..0, |n| n.range());
        let parameters = shape::parameters(node).map_or(0..0, |n| n.range());
        let all = shape::start(node)..node.range().end;
        self.functions.push(Function { path: path.to_vec(), all, parameters, body, method });
    }

    fn container(&mut self, node: &Tree<'_>, path: &[String]) {
        let start = shape::start(node);
        let end = shape::body(node).map_or(node.range().end, |n| n.range().start);
        self.containers.push(Container { path: path.to_vec(), header: start..end });
    }

    fn parts(&mut self, node: &Tree<'_>, kind: &str) {
        if let Some((condition, body)) = shape::conditional(node, kind) {
            self.conditionals.push(Conditional { all: node.range(), condition, body });
        }
        if shape::is_block(kind) {
            let statement =
                |n: &Tree<'_>| !n.kind().contains("comment") && !shape::is_block(&n.kind());
            let held = node.named_children().filter(statement).map(|n| n.range());
            self.blocks.push(held.collect());
        }
        if let Some((callee, arguments)) = shape::call(node, kind) {
            self.calls.push(Call { all: node.range(), callee, arguments });
        }
    }
}

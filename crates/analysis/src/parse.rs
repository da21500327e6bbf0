//! Texts into trees, within bounds: what a grammar is given may be made to keep it busy for hours.

use std::{borrow::Cow, ops::ControlFlow, time::Duration};

use ast_grep_core::{
    AstGrep, Node,
    tree_sitter::{LanguageExt, StrDoc},
};
use ast_grep_language::SupportLang;
use tokio::time::Instant;
use tree_sitter::{ParseOptions, ParseState, Parser};

use super::{
    Lang,
    meter::{self, MeteredDoc},
    page_scripts, php_markup, template_json,
};

/// A node of a parsed text.
pub(super) type Tree<'t> = Node<'t, MeteredDoc>;

/// How deep a text may be nested. What rules compare costs a stack as deep as the text, and time
/// that grows with its square.
const DEEPEST: usize = 1000;

/// Beyond this depth of brackets a text is not even parsed: some grammars keep a kilobyte in mind
/// for each, and the scanners of others have room for about as many.
const MOST_BRACKETS: usize = 500;

/// The same for what lies in each other by indentation: the scanners of two grammars end the
/// process beyond 253 levels.
const MOST_INDENTS: usize = 200;

/// Words that end a here-document have a place of limited size in one scanner.
const LONGEST_END: usize = 64;

/// What one parse may take: a hundred times what a text of the largest size usually does. Only what
/// would take hours comes near it, so a busy machine changes no answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a text was not parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unparsed {
    /// Too much stands in too much else.
    #[error("nested too deeply")]
    TooDeep,
    /// The grammar would not come to an end with it.
    #[error("too hard to parse")]
    TooHard,
}

/// The tree of `text`, no deeper than rules can look at; of PHP and of scripts in pages, without the markup around
/// them; of templates in JSON, as YAML.
///
/// # Errors
/// When it costs too much to make one.
pub(super) fn parse(language: Lang, text: &str) -> Result<AstGrep<MeteredDoc>, Unparsed> {
    if brackets(text) > MOST_BRACKETS {
        return Err(Unparsed::TooDeep);
    }
    if language == Lang::Known(SupportLang::Ruby) && long_ends(text) {
        return Err(Unparsed::TooHard);
    }
    let code = match language {
        Lang::Known(SupportLang::Php) => php_markup::code_of(text),
        Lang::Known(SupportLang::JavaScript | SupportLang::TypeScript) => {
            page_scripts::scripts_of(text)
        }
        Lang::Known(SupportLang::Yaml) => template_json::as_yaml(text),
        _ => Cow::Borrowed(text),
    };
    let text = &*code;
    if language.is_indented() && indents(text) > MOST_INDENTS {
        return Err(Unparsed::TooDeep);
    }
    let began = Instant::now();
    let mut wait = |_: &ParseState| match began.elapsed() < PATIENCE && !meter::is_unwanted() {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut wait);
    let mut parser = Parser::new();
    parser.set_language(&language.get_ts_language()).map_err(|_| Unparsed::TooHard)?;
    let mut read = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    let tree = tree.ok_or(Unparsed::TooHard)?;
    let root = AstGrep::doc(MeteredDoc(StrDoc { src: text.to_owned(), lang: language, tree }));
    if is_deep(&root.root()) { Err(Unparsed::TooDeep) } else { Ok(root) }
}

/// How deep brackets of any kind lie in brackets, in comments and strings as well.
fn brackets(text: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// How deep lines lie in each other by indentation, at most: each deeper line is a level, and so is
/// each marker of a list or a map in it.
fn indents(text: &str) -> usize {
    let (mut open, mut depth, mut most): (Vec<(usize, usize)>, usize, usize) = Default::default();
    for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        while let Some((_, levels)) = open.pop_if(|(column, _)| *column >= indent) {
            depth -= levels;
        }
        let ends = line.bytes().skip(1).chain([b'\n']);
        let marks = line.bytes().zip(ends);
        let marks = marks.filter(|(mark, end)| b"-?:".contains(mark) && end.is_ascii_whitespace());
        let levels = 1 + marks.count();
        open.push((indent, levels));
        depth += levels;
        most = most.max(depth);
    }
    most
}

/// Whether a word that ends a here-document is longer than there is room for, or a line begins more
/// of them than anybody writes.
fn long_ends(text: &str) -> bool {
    text.lines().any(|line| {
        let mut begun = line.split("<<").skip(1);
        let long = |after: &str| {
            let word = after.trim_start_matches(['-', '~', '"', '\'', '`']);
            word.chars().take_while(|c| c.is_alphanumeric() || *c == '_').count() > LONGEST_END
        };
        begun.clone().count() > 8 || begun.any(long)
    })
}

/// Whether anything lies deeper than [`DEEPEST`] in it.
fn is_deep(root: &Tree<'_>) -> bool {
    let mut cursor = root.get_inner_node().0.walk();
    let mut depth = 0;
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            if depth > DEEPEST {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
}

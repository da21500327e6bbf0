//! How each grammar's kinds of nodes become the form: one table a language, and functions for what a
//! table cannot express.

mod csharp;
mod go;
mod java;
mod javascript;
mod kotlin;
mod php;
mod python;
mod ruby;
mod scala;

use std::sync::OnceLock;

use ast_grep_core::tree_sitter::{LanguageExt, TSLanguage};
use ast_grep_language::SupportLang as S;
use tree_sitter::Node;

use super::{
    form::{Expr, Stmt},
    lower::Lowering,
};
use crate::Lang;

/// What a kind of node is. Strings name fields, `":kind"` the first named child of a kind; `""` is the next named child, `"-"` nothing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Nothing that moves a value.
    Skip,
    /// As its field, or as its only named child.
    Inner(&'static str),
    /// Statements, one after another.
    Block,
    Name,
    /// Text, with expressions in it.
    Text,
    /// A piece of text.
    Fragment,
    Int,
    Bool(bool),
    Null,
    Literal,
    /// Arguments in brackets.
    Args,
    /// Callee and arguments.
    Call(&'static str, &'static str),
    /// Receiver, name, arguments.
    Method(&'static str, &'static str, &'static str),
    /// Type and arguments.
    New(&'static str, &'static str),
    /// A keyword that acts on what follows, like a function.
    Keyword(&'static str),
    Member(&'static str, &'static str),
    Index(&'static str, &'static str),
    /// Left, right; the operator is the field `operator`, or what stands between.
    Binary(&'static str, &'static str),
    /// The operand of an operator, which may be a negation.
    Unary(&'static str),
    /// Condition and both values.
    Pick(&'static str, &'static str, &'static str),
    List,
    Map,
    /// Key and value, in a map or as a named argument.
    Pair(&'static str, &'static str),
    /// Target and value.
    Assign(&'static str, &'static str),
    /// Target and value, the old value staying in.
    Add(&'static str, &'static str),
    /// Name, type and value of a variable declared.
    Declare(&'static str, &'static str, &'static str),
    /// Name, parameters, body.
    Function(&'static str, &'static str, &'static str),
    /// Name and body.
    Class(&'static str, &'static str),
    /// Condition, and both branches.
    If(&'static str, &'static str, &'static str),
    /// The same with the condition turned round.
    Unless(&'static str, &'static str, &'static str),
    /// What is bound, what it is taken from, body.
    Each(&'static str, &'static str, &'static str),
    /// Condition and body.
    While(&'static str, &'static str),
    /// Subject and the node with the cases.
    Switch(&'static str, &'static str),
    /// A case: the field of its tests, and whether it goes on in the next.
    Case(&'static str, bool),
    /// What a case is for.
    Label,
    /// Statements, with handlers and an end among them.
    Try,
    Handler,
    Finally,
    Return,
    Leave,
    Throw,
    /// What only a function can express.
    Expr(for<'t> fn(&mut Lowering<'t>, Node<'t>) -> Expr<'t>),
    /// The same for statements.
    Stmts(for<'t> fn(&mut Lowering<'t>, Node<'t>, &mut Vec<Stmt<'t>>)),
}

/// A language: its table, and what a table of kinds cannot say.
#[derive(Debug)]
pub(super) struct Grammar {
    pub(super) name: &'static str,
    pub(super) shapes: &'static [(&'static str, Shape)],
    /// Whether a function's last expression is its value.
    pub(super) returns_last: bool,
    /// Whether code elsewhere may call the function of this name and head.
    pub(super) exported: fn(name: &str, head: &str) -> bool,
}

/// A grammar with its kinds as numbers.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) grammar: &'static Grammar,
    by_kind: Vec<Option<Shape>>,
}

impl Table {
    fn new(grammar: &'static Grammar, language: &TSLanguage) -> Self {
        let mut by_kind = vec![None; language.node_kind_count()];
        for (kind, shape) in grammar.shapes {
            let id = usize::from(language.id_for_node_kind(kind, true));
            if let Some(place) = by_kind.get_mut(id).filter(|_| id != 0) {
                *place = Some(*shape);
            }
        }
        Self { grammar, by_kind }
    }

    /// What this node is; `None` for a kind the table does not name.
    pub(super) fn shape(&self, node: Node<'_>) -> Option<Shape> {
        self.by_kind.get(usize::from(node.kind_id())).copied().flatten()
    }
}

/// The languages values are followed in, with their tables.
const GRAMMARS: &[(S, &Grammar)] = &[
    (S::Python, &python::GRAMMAR),
    (S::JavaScript, &javascript::GRAMMAR),
    (S::TypeScript, &javascript::GRAMMAR),
    (S::Tsx, &javascript::GRAMMAR),
    (S::Java, &java::GRAMMAR),
    (S::Go, &go::GRAMMAR),
    (S::Php, &php::GRAMMAR),
    (S::Ruby, &ruby::GRAMMAR),
    (S::CSharp, &csharp::GRAMMAR),
    (S::Kotlin, &kotlin::GRAMMAR),
    (S::Scala, &scala::GRAMMAR),
];

/// The table of a language; `None` where values are not followed.
pub(super) fn of(language: Lang) -> Option<&'static Table> {
    static TABLES: [OnceLock<Table>; GRAMMARS.len()] = [const { OnceLock::new() }; GRAMMARS.len()];
    let Lang::Known(known) = language else { return None };
    let at = GRAMMARS.iter().position(|(lang, _)| *lang == known)?;
    let (_, grammar) = GRAMMARS.get(at)?;
    Some(TABLES.get(at)?.get_or_init(|| Table::new(grammar, &language.get_ts_language())))
}

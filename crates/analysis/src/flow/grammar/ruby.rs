//! Ruby.

use std::iter;

use tree_sitter::Node;

use super::{Grammar, Shape as X, php::shell};
use crate::flow::{
    form::{Arg, Call, Expr, Kind},
    lower::{Lowering, last_line, line},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "Ruby",
    returns_last: true,
    exported: |name, _| !name.starts_with('_'),
    shapes: &[
        ("comment", X::Skip),
        ("superclass", X::Skip),
        ("heredoc_body", X::Skip),
        ("heredoc_end", X::Skip),
        ("exceptions", X::Skip),
        ("exception_variable", X::Skip),
        ("empty_statement", X::Skip),
        ("program", X::Block),
        ("then", X::Block),
        ("do", X::Block),
        ("else", X::Block),
        ("block_body", X::Block),
        ("parenthesized_statements", X::Inner("")),
        ("body_statement", X::Try),
        ("begin", X::Try),
        ("rescue", X::Handler),
        ("ensure", X::Finally),
        ("rescue_modifier", X::Inner("body")),
        ("method", X::Function("name", "parameters", "body")),
        ("singleton_method", X::Function("name", "parameters", "body")),
        ("do_block", X::Function("-", "parameters", "body")),
        ("block", X::Function("-", "parameters", "body")),
        ("lambda", X::Function("-", "parameters", "body")),
        ("class", X::Class("name", "body")),
        ("module", X::Class("name", "body")),
        ("assignment", X::Assign("left", "right")),
        ("operator_assignment", X::Add("left", "right")),
        ("left_assignment_list", X::List),
        ("right_assignment_list", X::List),
        ("call", X::Expr(call)),
        ("argument_list", X::Args),
        ("element_reference", X::Index("object", "")),
        ("identifier", X::Name),
        ("constant", X::Name),
        ("instance_variable", X::Name),
        ("class_variable", X::Name),
        ("global_variable", X::Name),
        ("self", X::Name),
        ("scope_resolution", X::Member("scope", "name")),
        ("string", X::Text),
        ("chained_string", X::Text),
        ("bare_string", X::Text),
        ("string_content", X::Fragment),
        ("heredoc_content", X::Fragment),
        ("escape_sequence", X::Fragment),
        ("interpolation", X::Inner("")),
        ("heredoc_beginning", X::Expr(heredoc)),
        ("subshell", X::Expr(shell)),
        ("simple_symbol", X::Expr(symbol)),
        ("delimited_symbol", X::Text),
        ("hash_key_symbol", X::Fragment),
        ("regex", X::Expr(regex)),
        ("hash", X::Map),
        ("pair", X::Pair("key", "value")),
        ("array", X::List),
        ("string_array", X::List),
        ("symbol_array", X::List),
        ("splat_argument", X::Expr(splat)),
        ("hash_splat_argument", X::Inner("")),
        ("block_argument", X::Inner("")),
        ("binary", X::Binary("left", "right")),
        ("unary", X::Unary("operand")),
        ("conditional", X::Pick("condition", "consequence", "alternative")),
        ("if", X::If("condition", "consequence", "alternative")),
        ("elsif", X::If("condition", "consequence", "alternative")),
        ("unless", X::Unless("condition", "consequence", "alternative")),
        ("if_modifier", X::If("condition", "body", "-")),
        ("unless_modifier", X::Unless("condition", "body", "-")),
        ("for", X::Each("pattern", "value", "body")),
        ("in", X::Inner("")),
        ("while", X::While("condition", "body")),
        ("until", X::While("condition", "body")),
        ("while_modifier", X::While("condition", "body")),
        ("case", X::Switch("value", "-")),
        ("when", X::Case("pattern", false)),
        ("pattern", X::Inner("")),
        ("return", X::Return),
        ("break", X::Leave),
        ("next", X::Return),
        ("integer", X::Int),
        ("float", X::Literal),
        ("true", X::Bool(true)),
        ("false", X::Bool(false)),
        ("nil", X::Null),
    ],
};

/// A list of arguments. What stands first in it is not known.
fn splat<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let inner = lowering.parts(node).into_iter().map(|n| lowering.expr(n));
    let all = iter::once(Expr { line: at, kind: Kind::Literal }).chain(inner);
    Expr { line: at, kind: Kind::List(all.collect()) }
}

/// `:name` is a text.
fn symbol<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let name = lowering.source(node).trim_start_matches(':');
    Expr { line: line(node), kind: Kind::Str(name.into()) }
}

/// An expression that is put together is made by a call.
fn regex<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let parts: Vec<_> = lowering.parts(node).into_iter().map(|n| lowering.expr(n)).collect();
    if parts.iter().all(|p| matches!(p.kind, Kind::Str(_))) {
        return Expr { line: at, kind: Kind::Literal };
    }
    let value = Expr { line: at, kind: Kind::Join(parts) };
    let callee = Expr { line: at, kind: Kind::Name("Regexp") };
    let call = Call {
        callee,
        args: vec![Arg { name: None, out: false, value }],
        new: true,
        end: last_line(node),
    };
    Expr { line: at, kind: Kind::Call(Box::new(call)) }
}

/// The body of a here-document stands further down.
fn heredoc<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let body = lowering.heredocs.get(lowering.heredocs_taken).copied();
    lowering.heredocs_taken += 1;
    let Some(body) = body else { return Expr { line: line(node), kind: Kind::Literal } };
    let parts = lowering.parts(body).into_iter().map(|n| lowering.expr(n)).collect();
    Expr { line: line(node), kind: Kind::Join(parts) }
}

/// Calls with and without arguments, receivers and blocks. What has neither is a member.
fn call<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let name = node.child_by_field_name("method");
    let name = name.map_or("call", |n| lowering.source(n));
    let args = node.child_by_field_name("arguments");
    let block = node.child_by_field_name("block");
    let new = name == "new";
    let callee = match node.child_by_field_name("receiver") {
        Some(receiver) if new => lowering.expr(receiver).kind,
        Some(receiver) => Kind::Member(Box::new(lowering.expr(receiver)), name),
        None => Kind::Name(name),
    };
    let callee = Expr { line: at, kind: callee };
    if args.is_none() && block.is_none() && !new {
        return callee;
    }
    let mut args = lowering.args(args);
    if let Some(block) = block {
        args.push(Arg { name: None, out: false, value: lowering.expr(block) });
    }
    Expr { line: at, kind: Kind::Call(Box::new(Call { callee, args, new, end: last_line(node) })) }
}

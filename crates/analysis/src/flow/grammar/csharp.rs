//! C#.

use tree_sitter::Node;

use super::{
    Grammar, Shape as X,
    java::{assignment, bound, counts},
};
use crate::flow::{
    form::{Action, Assign, Call, Expr, Kind, Loop, Stmt},
    lower::{Lowering, last_line, line, named},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "CSharp",
    returns_last: false,
    exported: |_, head| head.contains("public ") || head.contains("protected "),
    shapes: &[
        ("comment", X::Skip),
        ("modifier", X::Skip),
        ("using_directive", X::Skip),
        ("attribute_list", X::Skip),
        ("base_list", X::Skip),
        ("interpolation_start", X::Skip),
        ("interpolation_quote", X::Skip),
        ("interpolation_brace", X::Skip),
        ("interpolation_format_clause", X::Skip),
        ("interpolation_alignment_clause", X::Skip),
        ("string_literal_encoding", X::Skip),
        ("catch_declaration", X::Skip),
        ("predefined_type", X::Name),
        ("compilation_unit", X::Block),
        ("block", X::Block),
        ("declaration_list", X::Block),
        ("global_statement", X::Block),
        ("expression_statement", X::Block),
        ("local_declaration_statement", X::Block),
        ("field_declaration", X::Block),
        ("arrow_expression_clause", X::Inner("")),
        ("class_declaration", X::Class("name", "body")),
        ("record_declaration", X::Class("name", "body")),
        ("struct_declaration", X::Class("name", "body")),
        ("method_declaration", X::Function("name", "parameters", "body")),
        ("constructor_declaration", X::Function("name", "parameters", "body")),
        ("local_function_statement", X::Function("name", "parameters", "body")),
        ("lambda_expression", X::Function("-", "parameters", "body")),
        ("anonymous_method_expression", X::Function("-", "parameters", "body")),
        ("implicit_parameter", X::Name),
        ("variable_declaration", X::Stmts(declaration)),
        ("property_declaration", X::Declare("name", "type", "value")),
        ("assignment_expression", X::Expr(assignment)),
        ("invocation_expression", X::Call("function", "arguments")),
        ("object_creation_expression", X::Expr(creation)),
        ("implicit_object_creation_expression", X::Inner("")),
        ("initializer_expression", X::List),
        ("argument_list", X::Args),
        ("bracketed_argument_list", X::Inner("")),
        ("argument", X::Inner("")),
        ("declaration_expression", X::Inner("name")),
        ("member_access_expression", X::Member("expression", "name")),
        ("conditional_access_expression", X::Expr(conditional_access)),
        ("element_access_expression", X::Index("expression", "subscript")),
        ("interpolated_string_expression", X::Text),
        ("interpolation", X::Inner("")),
        ("string_content", X::Fragment),
        ("string_literal", X::Text),
        ("string_literal_content", X::Fragment),
        ("escape_sequence", X::Fragment),
        ("verbatim_string_literal", X::Text),
        ("raw_string_literal", X::Text),
        ("raw_string_content", X::Fragment),
        ("raw_string_start", X::Skip),
        ("raw_string_end", X::Skip),
        ("character_literal", X::Text),
        ("character_literal_content", X::Fragment),
        ("binary_expression", X::Binary("left", "right")),
        ("prefix_unary_expression", X::Unary("")),
        ("postfix_unary_expression", X::Inner("")),
        ("conditional_expression", X::Pick("condition", "consequence", "alternative")),
        ("cast_expression", X::Inner("value")),
        ("as_expression", X::Inner("left")),
        ("is_expression", X::Literal),
        ("is_pattern_expression", X::Expr(matched)),
        ("await_expression", X::Inner("")),
        ("parenthesized_expression", X::Inner("")),
        ("implicit_array_creation_expression", X::Inner("")),
        ("array_creation_expression", X::Inner("")),
        ("collection_expression", X::List),
        ("array_type", X::Skip),
        ("if_statement", X::If("condition", "consequence", "alternative")),
        ("foreach_statement", X::Each("left", "right", "body")),
        ("for_statement", X::Stmts(counted)),
        ("while_statement", X::While("condition", "body")),
        ("do_statement", X::While("condition", "body")),
        ("switch_statement", X::Switch("value", "body")),
        ("switch_expression", X::Switch("", "-")),
        ("switch_section", X::Case("", true)),
        ("constant_pattern", X::Label),
        ("declaration_pattern", X::Skip),
        ("try_statement", X::Try),
        ("catch_clause", X::Handler),
        ("finally_clause", X::Finally),
        ("return_statement", X::Return),
        ("throw_statement", X::Throw),
        ("throw_expression", X::Throw),
        ("break_statement", X::Leave),
        ("continue_statement", X::Leave),
        ("identifier", X::Name),
        ("this", X::Name),
        ("this_expression", X::Name),
        ("generic_name", X::Expr(generic)),
        ("qualified_name", X::Member("qualifier", "name")),
        ("integer_literal", X::Int),
        ("real_literal", X::Literal),
        ("boolean_literal", X::Expr(boolean)),
        ("null_literal", X::Null),
        ("typeof_expression", X::Literal),
    ],
};

pub(super) fn boolean<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    Expr { line: line(node), kind: Kind::Bool(lowering.source(node) == "true") }
}

/// `a is T b`: from here on `b` is `a`.
fn matched<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let pattern = node.child_by_field_name("pattern");
    let ty = pattern.and_then(|n| n.child_by_field_name("type"));
    let name = pattern.and_then(|n| n.child_by_field_name("name"));
    let name = name.filter(|_| !counts(lowering, ty));
    bound(lowering, node, node.child_by_field_name("expression"), name)
}

/// `Name<T>` goes by its name.
fn generic<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let full = lowering.source(node);
    let name = full.split('<').next().unwrap_or(full);
    Expr { line: line(node), kind: Kind::Name(name) }
}

/// `Type a = 1, b = 2;`
fn declaration<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let ty = node.child_by_field_name("type").map(|n| lowering.source(n));
    let ty = ty.filter(|ty| *ty != "var");
    for declarator in named(node).into_iter().filter(|n| n.kind() == "variable_declarator") {
        let Some(name) = declarator.child_by_field_name("name") else { continue };
        let value = lowering.parts(declarator).pop().filter(|n| *n != name);
        let value = match value {
            Some(value) => lowering.expr(value),
            None => Expr { line: line(declarator), kind: Kind::Literal },
        };
        let target = lowering.expr(name);
        let kind = Action::Assign(Assign { target, ty, adds: false, value });
        out.push(Stmt { line: line(declarator), kind });
    }
}

/// `new T(a) { Field = b }`: what fields are set to goes in like arguments.
fn creation<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let ty = node.child_by_field_name("type").map_or("", |n| lowering.source(n));
    let callee = Expr { line: at, kind: Kind::Name(super::super::lower_expr::simple(ty)) };
    let mut args = lowering.args(node.child_by_field_name("arguments"));
    let initializer = node.child_by_field_name("initializer");
    for part in initializer.map(|n| lowering.parts(n)).unwrap_or_default() {
        let name = part.child_by_field_name("left").map(|n| lowering.source(n));
        let value = part.child_by_field_name("right").unwrap_or(part);
        let value = lowering.expr(value);
        args.push(super::super::form::Arg { name, out: false, value });
    }
    Expr {
        line: at,
        kind: Kind::Call(Box::new(Call { callee, args, new: true, end: last_line(node) })),
    }
}

/// `a?.b`, `a?.b(c)`, `a?[b]`.
fn conditional_access<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let object = lowering.field_expr(node, "condition", 0);
    let at = line(node);
    let Some(rest) = lowering.parts(node).pop() else { return object };
    let name = rest.child_by_field_name("name").map(|n| lowering.source(n));
    let kind = match name {
        Some(name) => Kind::Member(Box::new(object), name),
        None => Kind::Any(vec![object, lowering.expr(rest)]),
    };
    Expr { line: at, kind }
}

/// `for (start; condition; step) body`.
fn counted<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    out.append(&mut lowering.block(node.child_by_field_name("initializer")));
    let body = lowering.block(node.child_by_field_name("body"));
    let kind = Action::Loop(Loop { binds: None, condition: None, body });
    out.push(Stmt { line: line(node), kind });
}

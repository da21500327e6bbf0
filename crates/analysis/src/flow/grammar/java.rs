//! Java.

use tree_sitter::Node;

use super::{Grammar, Shape as X};
use crate::flow::{
    form::{Action, Assign, Expr, Kind, Loop, Stmt},
    lower::{Lowering, line},
    parameter::is_number,
};

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "Java",
    returns_last: false,
    exported: |_, head| !head.contains("private "),
    shapes: &[
        ("line_comment", X::Skip),
        ("block_comment", X::Skip),
        ("modifiers", X::Skip),
        ("import_declaration", X::Skip),
        ("package_declaration", X::Skip),
        ("dimensions", X::Skip),
        ("program", X::Block),
        ("block", X::Block),
        ("constructor_body", X::Block),
        ("expression_statement", X::Block),
        ("class_declaration", X::Class("name", "body")),
        ("enum_declaration", X::Class("name", "body")),
        ("record_declaration", X::Class("name", "body")),
        ("method_declaration", X::Function("name", "parameters", "body")),
        ("constructor_declaration", X::Function("name", "parameters", "body")),
        ("lambda_expression", X::Function("-", "parameters", "body")),
        ("local_variable_declaration", X::Stmts(declaration)),
        ("field_declaration", X::Stmts(declaration)),
        ("resource", X::Declare("name", "type", "value")),
        ("assignment_expression", X::Expr(assignment)),
        ("method_invocation", X::Method("object", "name", "arguments")),
        ("object_creation_expression", X::New("type", "arguments")),
        ("argument_list", X::Args),
        ("field_access", X::Member("object", "field")),
        ("array_access", X::Index("array", "index")),
        ("array_creation_expression", X::Inner("value")),
        ("array_initializer", X::List),
        ("cast_expression", X::Inner("value")),
        ("parenthesized_expression", X::Inner("")),
        ("binary_expression", X::Binary("left", "right")),
        ("unary_expression", X::Unary("operand")),
        ("update_expression", X::Literal),
        ("instanceof_expression", X::Expr(matched)),
        ("method_reference", X::Member("", "")),
        ("ternary_expression", X::Pick("condition", "consequence", "alternative")),
        ("string_literal", X::Text),
        ("string_fragment", X::Fragment),
        ("multiline_string_fragment", X::Fragment),
        ("escape_sequence", X::Fragment),
        ("character_literal", X::Text),
        ("decimal_integer_literal", X::Int),
        ("class_literal", X::Literal),
        ("true", X::Bool(true)),
        ("false", X::Bool(false)),
        ("null_literal", X::Null),
        ("identifier", X::Name),
        ("this", X::Name),
        ("super", X::Name),
        ("if_statement", X::If("condition", "consequence", "alternative")),
        ("enhanced_for_statement", X::Each("name", "value", "body")),
        ("for_statement", X::Stmts(counted)),
        ("while_statement", X::While("condition", "body")),
        ("do_statement", X::While("condition", "body")),
        ("switch_expression", X::Switch("condition", "body")),
        ("switch_block_statement_group", X::Case("", true)),
        ("switch_rule", X::Case("", false)),
        ("switch_label", X::Label),
        ("try_statement", X::Try),
        ("try_with_resources_statement", X::Try),
        ("catch_clause", X::Handler),
        ("catch_formal_parameter", X::Skip),
        ("finally_clause", X::Finally),
        ("return_statement", X::Return),
        ("yield_statement", X::Return),
        ("throw_statement", X::Throw),
        ("break_statement", X::Leave),
        ("continue_statement", X::Leave),
    ],
};

/// `Type a = 1, b = 2;`
pub(super) fn declaration<'t>(
    lowering: &mut Lowering<'t>,
    node: Node<'t>,
    out: &mut Vec<Stmt<'t>>,
) {
    let ty = node.child_by_field_name("type").map(|n| lowering.source(n));
    let all: Vec<_> = node.children_by_field_name("declarator", &mut node.walk()).collect();
    for declarator in all {
        let target = lowering.field_expr(declarator, "name", 0);
        let value = lowering.field_expr(declarator, "value", 1);
        let kind = Action::Assign(Assign { target, ty, adds: false, value });
        out.push(Stmt { line: line(declarator), kind });
    }
}

/// `a instanceof T b`: from here on `b` is `a`.
fn matched<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let ty = node.child_by_field_name("right");
    let name = node.child_by_field_name("name").filter(|_| !counts(lowering, ty));
    bound(lowering, node, node.child_by_field_name("left"), name)
}

/// Whether what is of this type cannot hold a text.
pub(super) fn counts<'t>(lowering: &Lowering<'t>, ty: Option<Node<'t>>) -> bool {
    is_number(ty.map(|n| lowering.source(n)))
}

/// A test whose answer nobody knows, which names what it tests.
pub(super) fn bound<'t>(
    lowering: &mut Lowering<'t>,
    node: Node<'t>,
    tested: Option<Node<'t>>,
    name: Option<Node<'t>>,
) -> Expr<'t> {
    let at = line(node);
    let unknown = Expr { line: at, kind: Kind::Literal };
    let (Some(tested), Some(name)) = (tested, name) else { return unknown };
    let assign =
        Assign { target: lowering.expr(name), ty: None, adds: false, value: lowering.expr(tested) };
    let named = Expr { line: at, kind: Kind::Assign(Box::new(assign)) };
    Expr { line: at, kind: Kind::Seq(vec![named, unknown]) }
}

/// `a = 1`, `a += 1`.
pub(super) fn assignment<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let sign = node.child_by_field_name("operator").map_or("=", |n| lowering.source(n));
    let target = lowering.field_expr(node, "left", 0);
    let value = lowering.field_expr(node, "right", 1);
    let assign = Assign { target, ty: None, adds: sign != "=", value };
    Expr { line: line(node), kind: Kind::Assign(Box::new(assign)) }
}

/// `for (start; condition; step) body`.
fn counted<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    out.append(&mut lowering.block(node.child_by_field_name("init")));
    let body = lowering.block(node.child_by_field_name("body"));
    let kind = Action::Loop(Loop { binds: None, condition: None, body });
    out.push(Stmt { line: line(node), kind });
}

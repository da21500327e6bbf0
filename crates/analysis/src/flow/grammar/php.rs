//! PHP.

use tree_sitter::Node;

use super::{Grammar, Shape as X};
use crate::flow::{
    form::{Action, Arg, Call, Expr, Kind, Loop, Stmt},
    lower::{Lowering, last_line, line},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "Php",
    returns_last: false,
    exported: |_, head| !head.contains("private ") && !head.contains("protected "),
    shapes: &[
        ("comment", X::Skip),
        ("php_tag", X::Skip),
        ("text", X::Skip),
        ("text_interpolation", X::Skip),
        ("namespace_use_declaration", X::Skip),
        ("global_declaration", X::Skip),
        ("visibility_modifier", X::Skip),
        ("program", X::Block),
        ("compound_statement", X::Block),
        ("colon_block", X::Block),
        ("declaration_list", X::Block),
        ("expression_statement", X::Block),
        ("function_definition", X::Function("name", "parameters", "body")),
        ("method_declaration", X::Function("name", "parameters", "body")),
        ("anonymous_function", X::Function("-", "parameters", "body")),
        ("arrow_function", X::Function("-", "parameters", "body")),
        ("class_declaration", X::Class("name", "body")),
        ("trait_declaration", X::Class("name", "body")),
        ("property_element", X::Declare("name", "-", "default_value")),
        ("assignment_expression", X::Assign("left", "right")),
        ("reference_assignment_expression", X::Assign("left", "right")),
        ("augmented_assignment_expression", X::Add("left", "right")),
        ("function_call_expression", X::Call("function", "arguments")),
        ("member_call_expression", X::Method("object", "name", "arguments")),
        ("nullsafe_member_call_expression", X::Method("object", "name", "arguments")),
        ("scoped_call_expression", X::Method("scope", "name", "arguments")),
        ("object_creation_expression", X::New("", "")),
        ("arguments", X::Args),
        ("argument", X::Inner("")),
        ("member_access_expression", X::Member("object", "name")),
        ("nullsafe_member_access_expression", X::Member("object", "name")),
        ("scoped_property_access_expression", X::Member("scope", "name")),
        ("class_constant_access_expression", X::Literal),
        ("subscript_expression", X::Index("", "")),
        ("variable_name", X::Name),
        ("name", X::Name),
        ("qualified_name", X::Expr(qualified)),
        ("relative_scope", X::Name),
        ("string", X::Text),
        ("encapsed_string", X::Text),
        ("heredoc", X::Inner("value")),
        ("heredoc_body", X::Text),
        ("nowdoc", X::Literal),
        ("string_content", X::Fragment),
        ("string_value", X::Fragment),
        ("escape_sequence", X::Fragment),
        ("shell_command_expression", X::Expr(shell)),
        ("binary_expression", X::Binary("left", "right")),
        ("unary_op_expression", X::Unary("argument")),
        ("error_suppression_expression", X::Inner("")),
        ("conditional_expression", X::Expr(conditional)),
        ("cast_expression", X::Expr(cast)),
        ("parenthesized_expression", X::Inner("")),
        ("array_creation_expression", X::Expr(array)),
        ("list_literal", X::List),
        ("array_element_initializer", X::Inner("")),
        // `echo a, b` writes one text; in the head of a loop nothing is made of it.
        ("sequence_expression", X::Text),
        ("include_expression", X::Keyword("include")),
        ("include_once_expression", X::Keyword("include")),
        ("require_expression", X::Keyword("include")),
        ("require_once_expression", X::Keyword("include")),
        ("echo_statement", X::Keyword("echo")),
        ("print_intrinsic", X::Keyword("echo")),
        ("exit_statement", X::Stmts(exit)),
        ("if_statement", X::If("condition", "body", "alternative")),
        ("else_if_clause", X::If("condition", "body", "-")),
        ("else_clause", X::Inner("body")),
        ("foreach_statement", X::Stmts(each)),
        ("for_statement", X::While("condition", "body")),
        ("while_statement", X::While("condition", "body")),
        ("do_statement", X::While("condition", "body")),
        ("match_expression", X::Switch("condition", "body")),
        ("switch_statement", X::Switch("condition", "body")),
        ("case_statement", X::Case("value", true)),
        ("default_statement", X::Case("", true)),
        ("try_statement", X::Try),
        ("catch_clause", X::Handler),
        ("type_list", X::Skip),
        ("finally_clause", X::Finally),
        ("return_statement", X::Return),
        ("throw_expression", X::Throw),
        ("break_statement", X::Leave),
        ("continue_statement", X::Leave),
        ("integer", X::Int),
        ("float", X::Literal),
        ("boolean", X::Expr(boolean)),
        ("null", X::Null),
    ],
};

fn make<'t>(node: Node<'t>, kind: Kind<'t>) -> Expr<'t> {
    Expr { line: line(node), kind }
}

fn boolean<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    make(node, Kind::Bool(lowering.source(node).eq_ignore_ascii_case("true")))
}

/// `\a\b\c` goes by its last name.
fn qualified<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let full = lowering.source(node);
    make(node, Kind::Name(full.rsplit('\\').next().unwrap_or(full)))
}

/// A command in backticks.
pub(super) fn shell<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let parts = lowering.parts(node).into_iter().map(|n| lowering.expr(n)).collect();
    let value = make(node, Kind::Join(parts));
    let callee = make(node, Kind::Name("`"));
    let call = Call {
        callee,
        args: vec![Arg { name: None, out: false, value }],
        new: false,
        end: last_line(node),
    };
    make(node, Kind::Call(Box::new(call)))
}

/// `a ? b : c`, `a ?: c`.
fn conditional<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let condition = lowering.field_expr(node, "condition", 0);
    let no = lowering.field_expr(node, "alternative", 2);
    if node.child_by_field_name("body").is_none() {
        return make(node, Kind::Any(vec![condition, no]));
    }
    let yes = lowering.field_expr(node, "body", 1);
    make(node, Kind::Pick(Box::new([condition, yes, no])))
}

/// A cast to a number leaves a number.
fn cast<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let ty = node.child_by_field_name("type").map_or("", |n| lowering.source(n));
    let value = lowering.field_expr(node, "value", 1);
    if ["int", "float", "bool", "double"].iter().any(|word| ty.contains(word)) {
        let number = make(node, Kind::Literal);
        return make(node, Kind::Seq(vec![value, number]));
    }
    value
}

/// `[a, b]`, or `['k' => v]`.
fn array<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let parts = lowering.parts(node);
    let keyed = |n: &Node<'t>| lowering.parts(*n).len() == 2;
    if !parts.iter().any(keyed) {
        let all = parts.into_iter().map(|n| lowering.expr(n)).collect();
        return make(node, Kind::List(all));
    }
    let mut pairs = Vec::new();
    for part in parts {
        let key = lowering.field_expr(part, "", 0);
        pairs.push((key, lowering.field_expr(part, "", 1)));
    }
    make(node, Kind::Map(pairs))
}

/// `exit("text")` prints it, and ends.
fn exit<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let args = lowering.parts(node).into_iter().map(|n| lowering.expr(n));
    let args = args.map(|value| Arg { name: None, out: false, value }).collect();
    let callee = make(node, Kind::Name("echo"));
    let call =
        make(node, Kind::Call(Box::new(Call { callee, args, new: false, end: last_line(node) })));
    out.push(Stmt { line: line(node), kind: Action::Throw(Some(call)) });
}

/// `foreach ($all as $key => $value)`.
fn each<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let parts = lowering.parts(node);
    let from = lowering.field_expr(node, "", 0);
    let name = parts.get(1).map(|n| match n.kind() {
        "pair" => lowering.parts(*n).pop().unwrap_or(*n),
        _ => *n,
    });
    let binds = name.map(|name| (lowering.expr(name), from));
    let body = lowering.block(node.child_by_field_name("body"));
    let kind = Action::Loop(Loop { binds, condition: None, body });
    out.push(Stmt { line: line(node), kind });
}

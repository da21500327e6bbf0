//! Kotlin. Few of its nodes have fields; parts are told by their kinds.

use tree_sitter::Node;

use super::{Grammar, Shape as X, csharp::boolean};
use crate::flow::{
    form::{Action, Arg, Assign, Call, Expr, Kind, Op, Param, Stmt},
    lower::{Lowering, last_line, line},
    lower_fn::returned,
};

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "Kotlin",
    returns_last: false,
    exported: |_, head| !head.contains("private "),
    shapes: &[
        ("line_comment", X::Skip),
        ("multiline_comment", X::Skip),
        ("shebang_line", X::Skip),
        ("package_header", X::Skip),
        ("import_list", X::Skip),
        ("file_annotation", X::Skip),
        ("annotation", X::Skip),
        ("label", X::Skip),
        ("modifiers", X::Skip),
        ("type_parameters", X::Skip),
        ("type_arguments", X::Skip),
        ("type_constraints", X::Skip),
        ("user_type", X::Skip),
        ("nullable_type", X::Skip),
        ("function_type", X::Skip),
        ("delegation_specifier", X::Skip),
        ("binding_pattern_kind", X::Skip),
        ("interpolation_expression_start", X::Skip),
        ("interpolation_expression_end", X::Skip),
        ("interpolation_identifier_start", X::Skip),
        ("source_file", X::Block),
        ("statements", X::Block),
        ("class_body", X::Block),
        ("control_structure_body", X::Inner("")),
        ("function_body", X::Inner("")),
        ("companion_object", X::Inner(":class_body")),
        ("class_declaration", X::Stmts(class)),
        ("object_declaration", X::Stmts(class)),
        (
            "function_declaration",
            X::Function(":simple_identifier", ":function_value_parameters", ":function_body"),
        ),
        ("anonymous_function", X::Function("-", ":function_value_parameters", ":function_body")),
        ("lambda_literal", X::Expr(lambda)),
        ("annotated_lambda", X::Inner(":lambda_literal")),
        ("parameter", X::Inner(":simple_identifier")),
        ("variable_declaration", X::Inner(":simple_identifier")),
        ("multi_variable_declaration", X::List),
        ("property_declaration", X::Stmts(property)),
        ("property_delegate", X::Inner("")),
        ("assignment", X::Expr(assignment)),
        ("directly_assignable_expression", X::Expr(target)),
        ("call_expression", X::Expr(call)),
        ("navigation_expression", X::Expr(target)),
        ("indexing_expression", X::Expr(target)),
        ("indexing_suffix", X::Inner("")),
        ("value_argument", X::Inner("")),
        ("spread_expression", X::Inner("")),
        ("parenthesized_expression", X::Inner("")),
        ("as_expression", X::Inner("")),
        ("postfix_expression", X::Inner("")),
        ("prefix_expression", X::Unary("")),
        ("additive_expression", X::Binary("", "")),
        ("multiplicative_expression", X::Binary("", "")),
        ("comparison_expression", X::Binary("", "")),
        ("equality_expression", X::Binary("", "")),
        ("conjunction_expression", X::Binary("", "")),
        ("disjunction_expression", X::Binary("", "")),
        ("elvis_expression", X::Binary("", "")),
        ("check_expression", X::Expr(check)),
        ("range_expression", X::Literal),
        ("callable_reference", X::Member("", "")),
        ("collection_literal", X::List),
        ("object_literal", X::Literal),
        ("if_expression", X::If("condition", "consequence", "alternative")),
        ("when_expression", X::Switch(":when_subject", "-")),
        ("when_subject", X::Inner("")),
        ("when_entry", X::Case("", false)),
        ("when_condition", X::Label),
        ("for_statement", X::Each("", "", "")),
        ("while_statement", X::While("", "")),
        ("try_expression", X::Try),
        ("catch_block", X::Handler),
        ("finally_block", X::Finally),
        ("jump_expression", X::Stmts(jump)),
        ("string_literal", X::Text),
        ("string_content", X::Fragment),
        ("interpolated_identifier", X::Name),
        ("interpolated_expression", X::Inner("")),
        ("character_literal", X::Literal),
        ("integer_literal", X::Int),
        ("boolean_literal", X::Expr(boolean)),
        ("null_literal", X::Null),
        ("simple_identifier", X::Name),
        ("type_identifier", X::Name),
        ("this_expression", X::Name),
        ("super_expression", X::Name),
    ],
};

/// A class; what its constructor takes are fields, too.
fn class<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    lowering.class_taking(
        node,
        [":type_identifier", ":class_body", ":primary_constructor", ":simple_identifier"],
        out,
    );
}

/// `val a: T = b`, `val (a, b) = c`, `val a by lazy { b }`.
fn property<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let mut parts = lowering.parts(node);
    parts.retain(|n| !matches!(n.kind(), "getter" | "setter"));
    let Some((declared, rest)) = parts.split_first() else { return };
    let ty = lowering.type_of(*declared);
    let value = match rest.last() {
        Some(value) => lowering.expr(*value),
        None => Expr { line: line(node), kind: Kind::Literal },
    };
    let target = lowering.expr(*declared);
    let kind = Action::Assign(Assign { target, ty, adds: false, value });
    out.push(Stmt { line: line(node), kind });
}

/// `a = b`, `a += b`.
fn assignment<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let target = lowering.field_expr(node, "", 0);
    let value = lowering.field_expr(node, "", 1);
    let adds = node.child(1).is_some_and(|sign| sign.kind() != "=");
    let assign = Assign { target, ty: None, adds, value };
    Expr { line: line(node), kind: Kind::Assign(Box::new(assign)) }
}

/// `a`, `a.b`, `a?.b`, `a[b]`.
fn target<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let parts = lowering.parts(node);
    let Some((object, rest)) = parts.split_first() else {
        return Expr { line: line(node), kind: Kind::Literal };
    };
    let object = lowering.expr(*object);
    let Some(suffix) = rest.last() else { return object };
    let kind = match lowering.field(*suffix, ":simple_identifier", 0) {
        Some(name) if suffix.kind() == "navigation_suffix" => {
            Kind::Member(Box::new(object), lowering.source(name))
        }
        _ => Kind::Index(Box::new(object), Box::new(lowering.expr(*suffix))),
    };
    Expr { line: line(*suffix), kind }
}

/// `f(a, name = b) { … }`. What is called by a great letter is made.
fn call<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let callee = lowering.field_expr(node, "", 0);
    let mut args = Vec::new();
    let suffix = lowering.field(node, ":call_suffix", 0).map(|n| lowering.parts(n));
    for part in suffix.unwrap_or_default() {
        if part.kind() != "value_arguments" {
            args.push(Arg { name: None, out: false, value: lowering.expr(part) });
            continue;
        }
        for arg in lowering.parts(part) {
            let parts = lowering.parts(arg);
            let is_named = arg.child(1).is_some_and(|n| n.kind() == "=");
            let name = parts.first().filter(|_| is_named).map(|n| lowering.source(*n));
            let Some(value) = parts.last() else { continue };
            args.push(Arg { name, out: false, value: lowering.expr(*value) });
        }
    }
    let lists = ["arrayOf", "listOf", "mutableListOf", "arrayListOf", "setOf"];
    if callee.name().is_some_and(|name| lists.contains(&name)) {
        let all = args.into_iter().map(|arg| arg.value).collect();
        return Expr { line: callee.line, kind: Kind::List(all) };
    }
    let new = callee.name().is_some_and(|name| name.starts_with(|c: char| c.is_uppercase()));
    let at = callee.line;
    Expr { line: at, kind: Kind::Call(Box::new(Call { callee, args, new, end: last_line(node) })) }
}

/// `a in b`, `a !in b`; of `a is T` nobody knows the answer.
fn check<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let parts = lowering.parts(node);
    let [left, right] = parts[..] else { return Expr { line: at, kind: Kind::Literal } };
    let between = lowering.text.get(left.end_byte()..right.start_byte()).unwrap_or_default();
    let op = if between.contains("!in") { Op::NotIn } else { Op::In };
    let two = Box::new([lowering.expr(left), lowering.expr(right)]);
    Expr { line: at, kind: Kind::Binary(op, two) }
}

/// `{ a, b -> … }`; its last expression is its value, its only parameter may go unnamed.
fn lambda<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let index = lowering.function(node, "-", ":lambda_parameters", ":statements");
    if let Some(function) = lowering.unit.functions.get_mut(index) {
        function.body.last_mut().into_iter().for_each(returned);
        if function.params.is_empty() {
            let target = Expr { line: line(node), kind: Kind::Name("it") };
            function.params.push(Param { target, ty: None, optional: false, marks: Vec::new() });
        }
    }
    Expr { line: line(node), kind: Kind::Function(index) }
}

/// `return a`, `throw a`, `break`, `continue`.
fn jump<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let value = lowering.parts(node).last().map(|n| lowering.expr(*n));
    let kind = match node.child(0).map_or("", |n| lowering.source(n)) {
        word if word.starts_with("return") => Action::Return(value),
        "throw" => Action::Throw(value),
        _ => Action::Leave,
    };
    out.push(Stmt { line: line(node), kind });
}

//! Go.

use tree_sitter::Node;

use super::{Grammar, Shape as X, java::assignment};
use crate::flow::{
    form::{Action, Case, Expr, Kind, Loop, Stmt},
    lower::{Lowering, line},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "Go",
    returns_last: false,
    exported: |name, _| name.starts_with(char::is_uppercase),
    shapes: &[
        ("comment", X::Skip),
        ("package_clause", X::Skip),
        ("type_declaration", X::Skip),
        ("inc_statement", X::Skip),
        ("dec_statement", X::Skip),
        ("empty_statement", X::Skip),
        ("source_file", X::Block),
        ("block", X::Block),
        ("statement_list", X::Block),
        ("expression_statement", X::Block),
        ("go_statement", X::Block),
        ("defer_statement", X::Block),
        ("function_declaration", X::Function("name", "parameters", "body")),
        ("method_declaration", X::Function("name", "parameters", "body")),
        ("func_literal", X::Function("-", "parameters", "body")),
        ("short_var_declaration", X::Assign("left", "right")),
        ("assignment_statement", X::Expr(assignment)),
        ("var_spec", X::Declare("name", "type", "value")),
        ("const_spec", X::Declare("name", "type", "value")),
        ("call_expression", X::Call("function", "arguments")),
        ("argument_list", X::Args),
        ("selector_expression", X::Member("operand", "field")),
        ("index_expression", X::Index("operand", "index")),
        ("slice_expression", X::Inner("operand")),
        ("type_conversion_expression", X::Inner("operand")),
        ("type_assertion_expression", X::Inner("operand")),
        ("parenthesized_expression", X::Inner("")),
        ("composite_literal", X::Inner("body")),
        ("literal_value", X::Map),
        ("literal_element", X::Inner("")),
        ("keyed_element", X::Pair("key", "value")),
        ("expression_list", X::Expr(list)),
        ("binary_expression", X::Binary("left", "right")),
        ("unary_expression", X::Unary("operand")),
        ("interpreted_string_literal", X::Text),
        ("interpreted_string_literal_content", X::Fragment),
        ("raw_string_literal", X::Text),
        ("raw_string_literal_content", X::Fragment),
        ("escape_sequence", X::Fragment),
        ("int_literal", X::Int),
        ("rune_literal", X::Literal),
        ("float_literal", X::Literal),
        ("true", X::Bool(true)),
        ("false", X::Bool(false)),
        ("nil", X::Null),
        ("identifier", X::Name),
        ("package_identifier", X::Name),
        ("field_identifier", X::Name),
        ("if_statement", X::Stmts(branch)),
        ("for_statement", X::Stmts(loops)),
        ("expression_switch_statement", X::Stmts(switch)),
        ("expression_case", X::Case("value", false)),
        ("default_case", X::Case("", false)),
        ("return_statement", X::Return),
        ("break_statement", X::Leave),
        ("continue_statement", X::Leave),
        ("import_spec", X::Stmts(import)),
    ],
};

/// Several values beside each other; a single one is itself.
fn list<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let mut all: Vec<_> = lowering.parts(node).into_iter().map(|n| lowering.expr(n)).collect();
    let kind = match (all.len(), all.pop()) {
        (_, None) => Kind::Literal,
        (1, Some(only)) => return only,
        (_, Some(last)) => {
            all.push(last);
            Kind::List(all)
        }
    };
    Expr { line: line(node), kind }
}

/// `if start; condition { } else { }`.
fn branch<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    out.append(&mut lowering.block(node.child_by_field_name("initializer")));
    let condition = lowering.field_expr(node, "condition", 0);
    let yes = lowering.block(node.child_by_field_name("consequence"));
    let no = lowering.block(node.child_by_field_name("alternative"));
    out.push(Stmt { line: line(node), kind: Action::If(condition, yes, no) });
}

/// `for a, b := range c { }`, `for start; condition; step { }`.
fn loops<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let mut binds = None;
    for part in lowering.parts(node) {
        match part.kind() {
            "for_clause" => {
                out.append(&mut lowering.block(part.child_by_field_name("initializer")))
            }
            "range_clause" => {
                let from = lowering.field_expr(part, "right", 1);
                let left = part.child_by_field_name("left");
                // The last name is the element; the one before it an index or a key.
                let name = left.and_then(|left| lowering.parts(left).pop());
                binds = name.map(|name| (lowering.expr(name), from));
            }
            _ => {}
        }
    }
    let body = lowering.block(node.child_by_field_name("body"));
    let kind = Action::Loop(Loop { binds, condition: None, body });
    out.push(Stmt { line: line(node), kind });
}

/// `switch start; value { }`; without a value each case is a condition.
fn switch<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    out.append(&mut lowering.block(node.child_by_field_name("initializer")));
    let subject = match node.child_by_field_name("value") {
        Some(value) => lowering.expr(value),
        None => Expr { line: line(node), kind: Kind::Literal },
    };
    let cases: Vec<Case<'t>> = lowering.cases(node);
    out.push(Stmt { line: line(node), kind: Action::Switch(subject, cases) });
}

/// `import name "a/b"`: goes by its last part.
fn import<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let Some(path) = node.child_by_field_name("path") else { return };
    let path = lowering.source(path).trim_matches(['"', '`']);
    let alias = node.child_by_field_name("name").map(|n| lowering.source(n));
    let is_version =
        |part: &&str| part.strip_prefix('v').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let last = path.rsplit('/').find(|part| !is_version(part)).unwrap_or(path);
    let name = alias.unwrap_or(last);
    // The version of a module says nothing of what it is.
    let path =
        path.rsplit_once('/').filter(|(_, end)| is_version(end)).map_or(path, |(path, _)| path);
    let kind = Action::Import { name, path: path.to_owned() };
    out.push(Stmt { line: line(node), kind });
}

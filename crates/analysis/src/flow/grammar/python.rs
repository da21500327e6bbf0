//! Python.

use tree_sitter::Node;

use super::{Grammar, Shape as X};
use crate::flow::{
    form::{Action, Assign, Expr, Kind, Stmt},
    lower::{Lowering, line},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "Python",
    returns_last: false,
    exported: |name, _| !name.starts_with('_') || name == "__init__",
    shapes: &[
        ("comment", X::Skip),
        ("type", X::Skip),
        ("string_start", X::Skip),
        ("string_end", X::Skip),
        ("format_specifier", X::Skip),
        ("type_conversion", X::Skip),
        ("pass_statement", X::Skip),
        ("global_statement", X::Skip),
        ("module", X::Block),
        ("block", X::Block),
        ("expression_statement", X::Block),
        ("function_definition", X::Function("name", "parameters", "body")),
        ("lambda", X::Function("-", "parameters", "body")),
        ("class_definition", X::Class("name", "body")),
        ("decorator", X::Stmts(decorator)),
        ("assignment", X::Declare("left", "type", "right")),
        ("augmented_assignment", X::Add("left", "right")),
        ("named_expression", X::Assign("name", "value")),
        ("call", X::Call("function", "arguments")),
        ("argument_list", X::Args),
        ("keyword_argument", X::Pair("name", "value")),
        ("attribute", X::Member("object", "attribute")),
        ("subscript", X::Index("value", "subscript")),
        ("string", X::Text),
        ("concatenated_string", X::Expr(adjacent)),
        ("string_content", X::Fragment),
        ("interpolation", X::Inner("expression")),
        ("binary_operator", X::Binary("left", "right")),
        ("boolean_operator", X::Binary("left", "right")),
        ("comparison_operator", X::Binary("", "")),
        ("not_operator", X::Unary("argument")),
        ("unary_operator", X::Unary("argument")),
        ("conditional_expression", X::Expr(conditional)),
        ("if_statement", X::If("condition", "consequence", "alternative")),
        ("elif_clause", X::If("condition", "consequence", "-")),
        ("else_clause", X::Inner("body")),
        ("for_statement", X::Each("left", "right", "body")),
        ("while_statement", X::While("condition", "body")),
        ("try_statement", X::Try),
        ("except_clause", X::Handler),
        ("except_group_clause", X::Handler),
        ("finally_clause", X::Finally),
        ("match_statement", X::Switch("subject", "body")),
        ("case_clause", X::Case("", false)),
        ("case_pattern", X::Label),
        ("as_pattern", X::Expr(bound_as)),
        ("as_pattern_target", X::Inner("")),
        ("return_statement", X::Return),
        ("raise_statement", X::Throw),
        ("break_statement", X::Leave),
        ("continue_statement", X::Leave),
        ("identifier", X::Name),
        ("integer", X::Int),
        ("float", X::Literal),
        ("true", X::Bool(true)),
        ("false", X::Bool(false)),
        ("none", X::Null),
        ("list", X::List),
        ("tuple", X::List),
        ("set", X::List),
        ("pattern_list", X::List),
        ("tuple_pattern", X::List),
        ("list_pattern", X::List),
        ("expression_list", X::List),
        ("dictionary", X::Map),
        ("pair", X::Pair("key", "value")),
        ("list_comprehension", X::Expr(comprehension)),
        ("set_comprehension", X::Expr(comprehension)),
        ("generator_expression", X::Expr(comprehension)),
        ("dictionary_comprehension", X::Expr(comprehension)),
        ("parenthesized_expression", X::Inner("")),
        ("await", X::Inner("")),
        ("list_splat", X::Inner("")),
        ("dictionary_splat", X::Inner("")),
        ("list_splat_pattern", X::Inner("")),
        ("dictionary_splat_pattern", X::Inner("")),
        ("import_statement", X::Stmts(import)),
        ("import_from_statement", X::Stmts(import)),
    ],
};

fn decorator<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, _: &mut Vec<Stmt<'t>>) {
    lowering.mark(node);
}

/// Literals beside each other are one text.
fn adjacent<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let parts = lowering.parts(node).into_iter().map(|n| lowering.expr(n)).collect();
    Expr { line: line(node), kind: Kind::Join(parts) }
}

/// `a if condition else b`.
fn conditional<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let yes = lowering.field_expr(node, "", 0);
    let condition = lowering.field_expr(node, "", 1);
    let no = lowering.field_expr(node, "", 2);
    Expr { line: line(node), kind: Kind::Pick(Box::new([condition, yes, no])) }
}

/// `value as name`, in `with` and `except`.
fn bound_as<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let value = lowering.field_expr(node, "", 0);
    let target = lowering.field_expr(node, "alias", 1);
    let assign = Assign { target, ty: None, adds: false, value };
    Expr { line: line(node), kind: Kind::Assign(Box::new(assign)) }
}

/// The loops of a comprehension, then what it collects.
fn comprehension<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let mut all = Vec::new();
    for part in lowering.parts(node) {
        match part.kind() {
            "for_in_clause" => {
                let target = lowering.field_expr(part, "left", 0);
                let from = lowering.field_expr(part, "right", 1);
                let assign = lowering.element(target, from);
                all.push(Expr { line: line(part), kind: Kind::Assign(Box::new(assign)) });
            }
            "if_clause" => all.push(lowering.expr(part)),
            _ => {}
        }
    }
    let body = match node.child_by_field_name("body") {
        Some(pair) if pair.kind() == "pair" => lowering.field_expr(pair, "value", 1),
        Some(body) => lowering.expr(body),
        None => return Expr { line: line(node), kind: Kind::Any(all) },
    };
    all.push(Expr { line: line(node), kind: Kind::Any(vec![body]) });
    Expr { line: line(node), kind: Kind::Seq(all) }
}

/// `import a.b as c`, `from a import b as c`; a whole package goes by its first name.
fn import<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let module = node.child_by_field_name("module_name").map(|n| lowering.source(n));
    let names: Vec<_> = node.children_by_field_name("name", &mut node.walk()).collect();
    for name in names {
        let alias = name.child_by_field_name("alias").map(|n| lowering.source(n));
        let full = name.child_by_field_name("name").unwrap_or(name);
        let full = lowering.source(full);
        let (name, path) = match (module, alias) {
            (Some(module), alias) => (alias.unwrap_or(full), format!("{module}.{full}")),
            (None, Some(alias)) => (alias, full.to_owned()),
            (None, None) => {
                let first = full.split('.').next().unwrap_or(full);
                (first, first.to_owned())
            }
        };
        out.push(Stmt { line: line(node), kind: Action::Import { name, path } });
    }
}

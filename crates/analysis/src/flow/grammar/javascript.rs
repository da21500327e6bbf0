//! JavaScript, TypeScript and TSX: one table, whose kinds each grammar knows in part.

use tree_sitter::Node;

use super::{Grammar, Shape as X};
use crate::flow::{
    form::{Action, Arg, Call, Expr, Kind, Loop, Stmt},
    lower::{Lowering, last_line, line},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "JavaScript",
    returns_last: false,
    exported: |name, head| !name.starts_with(['_', '#']) && !head.starts_with("private "),
    shapes: &[
        ("comment", X::Skip),
        ("type_annotation", X::Skip),
        ("type_arguments", X::Skip),
        ("interface_declaration", X::Skip),
        ("type_alias_declaration", X::Skip),
        ("program", X::Block),
        ("statement_block", X::Block),
        ("expression_statement", X::Block),
        ("lexical_declaration", X::Block),
        ("variable_declaration", X::Block),
        ("export_statement", X::Block),
        ("variable_declarator", X::Declare("name", "type", "value")),
        ("field_definition", X::Declare("property", "-", "value")),
        ("public_field_definition", X::Declare("name", "type", "value")),
        ("function_declaration", X::Function("name", "parameters", "body")),
        ("generator_function_declaration", X::Function("name", "parameters", "body")),
        ("method_definition", X::Function("name", "parameters", "body")),
        ("function_expression", X::Function("-", "parameters", "body")),
        ("generator_function", X::Function("-", "parameters", "body")),
        ("arrow_function", X::Function("-", "parameters", "body")),
        ("class_declaration", X::Class("name", "body")),
        ("abstract_class_declaration", X::Class("name", "body")),
        ("class", X::Class("name", "body")),
        ("decorator", X::Stmts(decorator)),
        ("assignment_expression", X::Assign("left", "right")),
        ("augmented_assignment_expression", X::Add("left", "right")),
        ("call_expression", X::Expr(call)),
        ("new_expression", X::New("constructor", "arguments")),
        ("arguments", X::Args),
        ("member_expression", X::Member("object", "property")),
        ("subscript_expression", X::Index("object", "index")),
        ("template_string", X::Text),
        ("template_substitution", X::Inner("")),
        ("string", X::Text),
        ("string_fragment", X::Fragment),
        ("escape_sequence", X::Fragment),
        ("binary_expression", X::Binary("left", "right")),
        ("unary_expression", X::Unary("argument")),
        ("update_expression", X::Literal),
        ("ternary_expression", X::Pick("condition", "consequence", "alternative")),
        ("if_statement", X::If("condition", "consequence", "alternative")),
        ("else_clause", X::Inner("")),
        ("for_in_statement", X::Each("left", "right", "body")),
        ("for_statement", X::Stmts(counted)),
        ("while_statement", X::While("condition", "body")),
        ("do_statement", X::While("condition", "body")),
        ("switch_statement", X::Switch("value", "body")),
        ("switch_case", X::Case("value", true)),
        ("switch_default", X::Case("", true)),
        ("try_statement", X::Try),
        ("catch_clause", X::Handler),
        ("finally_clause", X::Finally),
        ("return_statement", X::Return),
        ("throw_statement", X::Throw),
        ("break_statement", X::Leave),
        ("continue_statement", X::Leave),
        ("identifier", X::Name),
        ("import", X::Name),
        ("this", X::Name),
        ("property_identifier", X::Name),
        ("shorthand_property_identifier", X::Name),
        ("shorthand_property_identifier_pattern", X::Name),
        ("number", X::Int),
        ("regex", X::Literal),
        ("true", X::Bool(true)),
        ("false", X::Bool(false)),
        ("null", X::Null),
        ("undefined", X::Null),
        ("array", X::List),
        ("array_pattern", X::List),
        ("object", X::Map),
        ("object_pattern", X::Map),
        ("pair", X::Pair("key", "value")),
        ("pair_pattern", X::Pair("key", "value")),
        ("assignment_pattern", X::Inner("left")),
        ("object_assignment_pattern", X::Inner("left")),
        ("rest_pattern", X::Inner("")),
        ("spread_element", X::Inner("")),
        ("sequence_expression", X::List),
        ("parenthesized_expression", X::Inner("")),
        ("await_expression", X::Inner("")),
        ("as_expression", X::Inner("")),
        ("satisfies_expression", X::Inner("")),
        ("non_null_expression", X::Inner("")),
        ("import_statement", X::Stmts(import)),
        ("jsx_attribute", X::Expr(attribute)),
    ],
};

fn decorator<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, _: &mut Vec<Stmt<'t>>) {
    lowering.mark(node);
}

/// A call; a tag gets the values of its template beside the text, and is no text itself.
fn call<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let args = node.child_by_field_name("arguments");
    if let Some(template) = args.filter(|n| n.kind() == "template_string") {
        let parts = lowering.parts(template).into_iter().map(|n| lowering.expr(n)).collect();
        return Expr { line: line(node), kind: Kind::Seq(parts) };
    }
    let callee = lowering.field_expr(node, "function", 0);
    let args = lowering.args(args);
    let call = Call { callee, args, new: false, end: last_line(node) };
    Expr { line: line(node), kind: Kind::Call(Box::new(call)) }
}

/// `for (start; condition; step) body`.
fn counted<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    out.append(&mut lowering.block(node.child_by_field_name("initializer")));
    let body = lowering.block(node.child_by_field_name("body"));
    let kind = Action::Loop(Loop { binds: None, condition: None, body });
    out.push(Stmt { line: line(node), kind });
}

/// An attribute of an element is like a call: what it is set to may do harm.
fn attribute<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let parts = lowering.parts(node);
    let name = parts.first().map_or("", |n| lowering.source(*n));
    let value = parts.get(1).map(|n| lowering.expr(*n));
    let args = value.into_iter().map(|value| Arg { name: None, out: false, value }).collect();
    let callee = Expr { line: line(node), kind: Kind::Name(name) };
    let call = Call { callee, args, new: false, end: last_line(node) };
    Expr { line: line(node), kind: Kind::Call(Box::new(call)) }
}

/// `import a, { b as c } from "m"`, `import * as d from "m"`.
fn import<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let Some(source) = node.child_by_field_name("source") else { return };
    let module = lowering.source(source).trim_matches(['"', '\'', '`']);
    let module = module.strip_prefix("node:").unwrap_or(module);
    let at = line(node);
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        let named = node.child_by_field_name("name").map(|n| lowering.source(n));
        let alias = node.child_by_field_name("alias").map(|n| lowering.source(n));
        match node.kind() {
            "import_specifier" => {
                let Some(full) = named else { continue };
                let path = format!("{module}.{full}");
                let name = alias.unwrap_or(full);
                out.push(Stmt { line: at, kind: Action::Import { name, path } });
            }
            "identifier" => {
                let name = lowering.source(node);
                let kind = Action::Import { name, path: module.to_owned() };
                out.push(Stmt { line: at, kind });
            }
            _ => open.extend(lowering.parts(node)),
        }
    }
}

//! The node kinds of functions, classes, blocks and calls in the grammars.

use std::ops::Range;

use crate::parse::Tree;

const FUNCTIONS: &[&str] = &[
    "arrow_function",
    "constructor_declaration",
    "function_declaration",
    "function_definition",
    "function_expression",
    "function_item",
    "generator_function_declaration",
    "local_function_statement",
    "method",
    "method_declaration",
    "method_definition",
    "singleton_method",
];

const BLOCKS: &[&str] = &[
    "block",
    "block_body",
    "body_statement",
    "class_body",
    "compilation_unit",
    "compound_statement",
    "constructor_body",
    "declaration_list",
    "do",
    "do_group",
    "else",
    "module",
    "program",
    "source_file",
    "statement_block",
    "statement_list",
    "statements",
    "then",
    "translation_unit",
];

/// Nodes that are one token whatever their children.
pub(super) fn is_whole(kind: &str) -> bool {
    matches!(kind, "variable_name" | "char_literal" | "regex")
}

/// Whether a leaf of this kind is a part of a text in quotes.
pub(super) fn is_quoted(kind: &str) -> bool {
    let quoted = ["string", "content", "fragment", "escape", "heredoc", "text", "comment"];
    quoted.iter().any(|word| kind.contains(word))
}

/// Whether a leaf with this text, outside of quotes, is an identifier.
pub(super) fn is_name(text: &str) -> bool {
    !matches!(
        text,
        "true" | "false" | "True" | "False" | "null" | "nil" | "None" | "undefined" | "nullptr"
    )
}

pub(super) fn is_block(kind: &str) -> bool {
    BLOCKS.contains(&kind)
}

/// The name of a function, if it has one.
pub(super) fn function_name(node: &Tree<'_>, kind: &str) -> Option<String> {
    if !FUNCTIONS.contains(&kind) {
        return None;
    }
    if matches!(kind, "arrow_function" | "function_expression") {
        return assigned_name(node);
    }
    if let Some(name) = node.field("name") {
        let receiver = node.field("receiver").filter(|_| kind == "method_declaration");
        let of = receiver.map(|r| format!("{}.", receiver_type(&r.text()))).unwrap_or_default();
        return Some(format!("{of}{}", name.text()));
    }
    let own = node.children().find(|n| n.kind() == "simple_identifier");
    let declared = || declared_name(node.field("declarator")?);
    own.map(|n| n.text().into_owned()).or_else(declared)
}

/// `T` of `(t *T)`.
fn receiver_type(text: &str) -> &str {
    let last = text.rsplit([' ', '*', '(']).next().unwrap_or("");
    last.trim_end_matches(')').split('[').next().unwrap_or("")
}

/// The name inside a declarator of C.
fn declared_name(declarator: Tree<'_>) -> Option<String> {
    let mut at = declarator;
    for _ in 0..8 {
        match at.field("declarator") {
            Some(inner) => at = inner,
            None if at.kind().contains("identifier") => return Some(at.text().into_owned()),
            None => {
                let first = at.named_children().next();
                at = first?;
            }
        }
    }
    None
}

/// The name that an anonymous function is assigned to.
fn assigned_name(node: &Tree<'_>) -> Option<String> {
    let parent = node.parent()?;
    let field = match parent.kind().as_ref() {
        "variable_declarator" => "name",
        "pair" => "key",
        "assignment_expression" => "left",
        "public_field_definition" => "name",
        "field_definition" => "property",
        _ => return None,
    };
    Some(parent.field(field)?.text().into_owned())
}

/// The name of a class, or the like.
pub(super) fn container_name(node: &Tree<'_>, kind: &str) -> Option<String> {
    let held = ["class", "impl_item", "interface", "trait", "struct", "object_decl", "enum"];
    let module = matches!(kind, "module" | "namespace_definition" | "mod_item");
    if !module && !held.iter().any(|word| kind.starts_with(word)) {
        return None;
    }
    let name = node.field("name").or_else(|| node.field("type"));
    let name = name.or_else(|| node.children().find(|n| n.kind() == "type_identifier"))?;
    body(node).map(|_| name.text().into_owned())
}

/// Where a definition begins, its decorators and attributes included.
pub(super) fn start(node: &Tree<'_>) -> usize {
    let wrapped = |kind: &str| matches!(kind, "decorated_definition" | "export_statement");
    let outer = node.parent().filter(|p| wrapped(&p.kind()));
    let mut first = outer.map_or(node.range().start, |n| n.range().start);
    let mut at = node.prev();
    while let Some(before) = at.filter(|n| matches!(&*n.kind(), "attribute_item" | "decorator")) {
        first = before.range().start;
        at = before.prev();
    }
    first
}

pub(super) fn body<'t>(node: &Tree<'t>) -> Option<Tree<'t>> {
    let bodies = ["function_body", "class_body", "declaration_list", "enum_class_body"];
    node.field("body").or_else(|| node.children().find(|n| bodies.contains(&&*n.kind())))
}

pub(super) fn parameters<'t>(node: &Tree<'t>) -> Option<Tree<'t>> {
    let declared = || node.field("declarator")?.field("parameters");
    let listed = || node.children().find(|n| n.kind() == "function_value_parameters");
    node.field("parameters").or_else(declared).or_else(listed)
}

/// The condition and the body of an `if` statement.
pub(super) fn conditional(node: &Tree<'_>, kind: &str) -> Option<(Range<usize>, Range<usize>)> {
    let fields = || Some((node.field("condition")?, node.field("consequence")?));
    let (condition, body) = (kind == "if_statement").then(fields).flatten()?;
    Some((condition.range(), body.range()))
}

/// The callee, and the arguments with their brackets.
pub(super) fn call(node: &Tree<'_>, kind: &str) -> Option<(Range<usize>, Range<usize>)> {
    let calls = ["call", "new_expression", "method_invocation", "invocation_expression"];
    if !calls.contains(&kind) && !kind.contains("call_expression") {
        return None;
    }
    let arguments = node.field("arguments")?.range();
    Some((node.range().start..arguments.start, arguments))
}

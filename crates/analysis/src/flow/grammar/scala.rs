//! Scala 2 and 3. A block passed to a call is a function; a `match` is the value of one of its arms.

use std::borrow::Cow;

use tree_sitter::Node;

use super::{Grammar, Shape as X, csharp::boolean};
use crate::flow::{
    form::{Action, Arg, Assign, Call, Expr, Kind, Param, Stmt},
    lower::{Lowering, last_line, line, named},
    lower_expr::simple,
    lower_fn::returned,
};

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "Scala",
    returns_last: true,
    exported: |_, head| !head.contains("private"),
    shapes: &[
        ("comment", X::Skip),
        ("block_comment", X::Skip),
        ("import_declaration", X::Skip),
        ("export_declaration", X::Skip),
        ("annotation", X::Skip),
        ("modifiers", X::Skip),
        ("access_modifier", X::Skip),
        ("type_parameters", X::Skip),
        ("type_arguments", X::Skip),
        ("type_definition", X::Skip),
        ("extends_clause", X::Skip),
        ("end_marker", X::Skip),
        ("escape_sequence", X::Skip),
        ("package_clause", X::Inner("body")),
        ("compilation_unit", X::Block),
        ("template_body", X::Block),
        ("enum_body", X::Block),
        ("block", X::Block),
        ("indented_block", X::Block),
        ("class_definition", X::Stmts(class)),
        ("trait_definition", X::Stmts(class)),
        ("enum_definition", X::Stmts(class)),
        ("object_definition", X::Stmts(class)),
        ("package_object", X::Stmts(class)),
        ("function_definition", X::Stmts(function)),
        ("val_definition", X::Declare("pattern", "type", "value")),
        ("var_definition", X::Declare("pattern", "type", "value")),
        ("assignment_expression", X::Assign("left", "right")),
        ("call_expression", X::Expr(call)),
        ("instance_expression", X::Expr(made)),
        ("generic_function", X::Inner("function")),
        ("method_value", X::Inner("")),
        ("vararg", X::Inner("")),
        ("ascription_expression", X::Inner("")),
        ("parenthesized_expression", X::Inner("")),
        ("field_expression", X::Member("value", "field")),
        ("postfix_expression", X::Member("", "")),
        ("infix_expression", X::Expr(infix)),
        ("prefix_expression", X::Unary("")),
        ("lambda_expression", X::Expr(lambda)),
        ("case_block", X::Expr(lambda)),
        ("match_expression", X::Expr(chosen)),
        ("if_expression", X::If("condition", "consequence", "alternative")),
        ("for_expression", X::Expr(each)),
        ("while_expression", X::While("condition", "body")),
        ("try_expression", X::Try),
        ("catch_clause", X::Handler),
        ("finally_clause", X::Finally),
        ("return_expression", X::Return),
        ("throw_expression", X::Throw),
        ("tuple_expression", X::List),
        ("tuple_pattern", X::List),
        ("typed_pattern", X::Inner("pattern")),
        ("string", X::Text),
        ("interpolated_string_expression", X::Expr(interpolated)),
        ("interpolation", X::Inner("")),
        ("character_literal", X::Literal),
        ("integer_literal", X::Int),
        ("floating_point_literal", X::Literal),
        ("boolean_literal", X::Expr(boolean)),
        ("null_literal", X::Null),
        ("unit", X::Literal),
        ("wildcard", X::Literal),
        ("identifier", X::Name),
        ("operator_identifier", X::Name),
        ("type_identifier", X::Name),
    ],
};

/// String interpolators that only put text together; the others have what is put in quoted or bound, but for `#$name`.
const PLAIN: [&str; 3] = ["s", "f", "raw"];

/// What makes a collection of its arguments.
const LISTS: [&str; 5] = ["Seq", "List", "Vector", "Array", "Set"];

/// A class, trait or object; what its constructor takes are fields, too.
fn class<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    lowering.class_taking(node, ["name", "body", "class_parameters", "name"], out);
}

/// `def name(a: A)(implicit b: B) = …`
fn function<'t>(lowering: &mut Lowering<'t>, node: Node<'t>, out: &mut Vec<Stmt<'t>>) {
    let lists: Vec<_> = named(node).into_iter().filter(|n| n.kind() == "parameters").collect();
    let index = lowering.function(node, "name", ":parameters", "body");
    // Of Play: routes fill the parameters of what gives an `Action`.
    let body = node.child_by_field_name("body").map_or("", |n| lowering.source(n));
    if body.starts_with("Action")
        && let Some(function) = lowering.unit.functions.get_mut(index)
    {
        function.marks.push("Action");
    }
    for list in lists.into_iter().skip(1) {
        let mut more = lowering.params(Some(list));
        if let Some(function) = lowering.unit.functions.get_mut(index) {
            function.params.append(&mut more);
        }
    }
    out.push(Stmt { line: line(node), kind: Action::Function(index) });
}

/// `f(a, name = b)(c) { … }`
fn call<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let callee = lowering.field_expr(node, "function", 0);
    let args = arguments(lowering, node.child_by_field_name("arguments"));
    let at = callee.line;
    if callee.name().is_some_and(|name| LISTS.contains(&name)) {
        let all = args.into_iter().map(|arg| arg.value).collect();
        return Expr { line: at, kind: Kind::List(all) };
    }
    let call = Call { callee, args, new: false, end: last_line(node) };
    Expr { line: at, kind: Kind::Call(Box::new(call)) }
}

fn arguments<'t>(lowering: &mut Lowering<'t>, node: Option<Node<'t>>) -> Vec<Arg<'t>> {
    let Some(node) = node else { return Vec::new() };
    if node.kind() != "arguments" {
        return vec![Arg { name: None, out: false, value: block(lowering, node) }];
    }
    let mut args = Vec::new();
    for part in lowering.parts(node) {
        let name =
            part.child_by_field_name("left").filter(|_| part.kind() == "assignment_expression");
        let (name, value) = match name {
            Some(name) => (Some(lowering.source(name)), lowering.field_expr(part, "right", 0)),
            None => (None, lowering.expr(part)),
        };
        args.push(Arg { name, out: false, value });
    }
    args
}

/// A block that is passed: the function in it, or one without parameters.
fn block<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let parts = lowering.parts(node);
    match parts[..] {
        [only] if matches!(only.kind(), "lambda_expression" | "case_block") => lowering.expr(only),
        _ => lambda(lowering, node),
    }
}

/// `(a, b) => …`, `{ case … => … }`, or a block.
fn lambda<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let params = node.child_by_field_name("parameters");
    let index = lowering.function(node, "-", "parameters", "-");
    lowering.inside += 1;
    let mut body = Vec::new();
    if node.kind() == "case_block" {
        let subject = Expr { line: line(node), kind: Kind::Name(PASSED) };
        let arms = arms(lowering, node, PASSED);
        let kind = Kind::Seq(vec![subject, Expr { line: line(node), kind: Kind::Any(arms) }]);
        body.push(Stmt { line: line(node), kind: Action::Expr(Expr { line: line(node), kind }) });
    } else {
        let parts = lowering.parts(node).into_iter().filter(|part| Some(*part) != params);
        parts.for_each(|part| lowering.stmt(part, &mut body));
    }
    lowering.inside -= 1;
    body.last_mut().into_iter().for_each(returned);
    if let Some(function) = lowering.unit.functions.get_mut(index) {
        function.body = body;
        if node.kind() == "case_block" {
            let target = Expr { line: line(node), kind: Kind::Name(PASSED) };
            function.params.push(Param { target, ty: None, optional: false, marks: Vec::new() });
        }
    }
    Expr { line: line(node), kind: Kind::Function(index) }
}

/// What a `match` or a partial function chooses by, where it has no name of its own: a keyword, so that nothing else has it.
const PASSED: &str = "match";

/// `new A(b)(c)`, `new A { … }`
fn made<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let args = node.child_by_field_name("arguments");
    let ty = lowering.parts(node).into_iter().find(|part| Some(*part) != args);
    let name = ty.map_or("", |n| simple(lowering.source(n)));
    let callee = Expr { line: at, kind: Kind::Name(name) };
    let args = arguments(lowering, args);
    Expr {
        line: at,
        kind: Kind::Call(Box::new(Call { callee, args, new: true, end: last_line(node) })),
    }
}

/// `a + b`, `a += b`, `a getOrElse b`
fn infix<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let operator = node.child_by_field_name("operator");
    let sign = operator.map_or("", |n| lowering.source(n));
    if operator.is_some_and(|n| n.kind() == "identifier") {
        let object = lowering.field_expr(node, "left", 0);
        let callee = Expr { line: at, kind: Kind::Member(Box::new(object), sign) };
        let value = lowering.field_expr(node, "right", 2);
        let args = vec![Arg { name: None, out: false, value }];
        return Expr {
            line: at,
            kind: Kind::Call(Box::new(Call { callee, args, new: false, end: last_line(node) })),
        };
    }
    let kind = match sign {
        "+=" | "++=" => {
            let target = lowering.field_expr(node, "left", 0);
            let value = lowering.field_expr(node, "right", 2);
            Kind::Assign(Box::new(Assign { target, ty: None, adds: true, value }))
        }
        // Collections, paths and processes put together.
        "++" | ":+" | "+:" | "::" | ":::" | "->" | "/" | "&" | "#|" | "#&&" | "#>" => {
            Kind::Any(vec![
                lowering.field_expr(node, "left", 0),
                lowering.field_expr(node, "right", 2),
            ])
        }
        _ => lowering.binary(node, "left", "right"),
    };
    Expr { line: at, kind }
}

/// `a match { case … => … }`
fn chosen<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let subject = lowering.field_expr(node, "value", 0);
    let (name, subject) = match subject.kind {
        Kind::Name(name) => (name, subject),
        _ => {
            let target = Expr { line: at, kind: Kind::Name(PASSED) };
            let assign = Assign { target, ty: None, adds: false, value: subject };
            (PASSED, Expr { line: at, kind: Kind::Assign(Box::new(assign)) })
        }
    };
    let arms = match node.child_by_field_name("body") {
        Some(body) => arms(lowering, body, name),
        None => Vec::new(),
    };
    Expr { line: at, kind: Kind::Seq(vec![subject, Expr { line: at, kind: Kind::Any(arms) }]) }
}

/// The arms of a `match`: the names that a pattern binds stand for what it chooses by.
fn arms<'t>(lowering: &mut Lowering<'t>, body: Node<'t>, subject: &'t str) -> Vec<Expr<'t>> {
    let clauses = named(body).into_iter().filter(|n| n.kind() == "case_clause");
    let mut arms = Vec::new();
    for clause in clauses {
        let at = line(clause);
        let pattern = clause.child_by_field_name("pattern");
        let mut all = Vec::new();
        for name in pattern.map(|n| bound(lowering, n)).unwrap_or_default() {
            let target = Expr { line: at, kind: Kind::Name(name) };
            let value = Expr { line: at, kind: Kind::Name(subject) };
            let assign = Assign { target, ty: None, adds: false, value };
            all.push(Expr { line: at, kind: Kind::Assign(Box::new(assign)) });
        }
        for part in lowering.parts(clause).into_iter().filter(|part| Some(*part) != pattern) {
            all.push(lowering.expr(part));
        }
        arms.push(Expr { line: at, kind: Kind::Seq(all) });
    }
    arms
}

/// The names that a pattern binds, in order.
fn bound<'t>(lowering: &Lowering<'t>, pattern: Node<'t>) -> Vec<&'t str> {
    let mut names = Vec::new();
    let mut open = vec![pattern];
    while let Some(node) = open.pop() {
        match node.kind() {
            "identifier" => names.push(lowering.source(node)),
            "stable_identifier" | "type_identifier" | "string" => {}
            _ => open.extend(named(node).into_iter().rev()),
        }
    }
    names.retain(|name| name.starts_with(|c: char| c.is_lowercase() || c == '_'));
    names
}

/// `for { a <- b; c = d; if e } yield f`
fn each<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let mut all = Vec::new();
    let lists = named(node).into_iter().filter(|n| n.kind() == "enumerators");
    for part in lists.flat_map(named).filter(|n| n.kind() == "enumerator") {
        let [target, from] = lowering.parts(part)[..] else { continue };
        let taken = lowering.source(part).contains("<-");
        let (target, from) = (lowering.expr(target), lowering.expr(from));
        let assign = match taken {
            true => lowering.element(target, from),
            false => Assign { target, ty: None, adds: false, value: from },
        };
        all.push(Expr { line: line(part), kind: Kind::Assign(Box::new(assign)) });
    }
    all.push(lowering.field_expr(node, "body", 0));
    Expr { line: at, kind: Kind::Seq(all) }
}

/// `s"… $a ${b}"`; of `sql"…"` and its like, what is put in by `#$a` is text, all else is bound.
fn interpolated<'t>(lowering: &mut Lowering<'t>, node: Node<'t>) -> Expr<'t> {
    let at = line(node);
    let interpolator = node.child_by_field_name("interpolator").map_or("", |n| lowering.source(n));
    let plain = PLAIN.contains(&interpolator);
    let Some(text) = named(node).into_iter().find(|n| n.kind() == "interpolated_string") else {
        return Expr { line: at, kind: Kind::Literal };
    };
    let quotes = if lowering.source(text).starts_with("\"\"\"") { 3 } else { 1 };
    let (mut from, end) = (text.start_byte() + quotes, text.end_byte().saturating_sub(quotes));
    let mut parts = Vec::new();
    for part in named(text).into_iter().filter(|n| n.kind() == "interpolation") {
        let between = lowering.text.get(from..part.start_byte()).unwrap_or_default();
        from = part.end_byte();
        let raw = between.strip_suffix('#').filter(|_| !plain);
        let before = raw.unwrap_or(between);
        parts.push(Expr { line: line(part), kind: Kind::Str(Cow::Borrowed(before)) });
        if plain || raw.is_some() {
            parts.push(lowering.expr(part));
        }
    }
    let rest = lowering.text.get(from..end).unwrap_or_default();
    parts.push(Expr { line: at, kind: Kind::Str(Cow::Borrowed(rest)) });
    let whole = Expr { line: at, kind: Kind::Join(parts) };
    if plain {
        return whole;
    }
    let callee = Expr { line: at, kind: Kind::Name(interpolator) };
    let args = vec![Arg { name: None, out: false, value: whole }];
    Expr {
        line: at,
        kind: Kind::Call(Box::new(Call { callee, args, new: false, end: last_line(node) })),
    }
}

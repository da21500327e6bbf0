//! The names that a file gives a meaning to, wherever: parameters, variables, imports, functions.

use std::collections::HashSet;

use super::form::{Action, Case, Expr, Kind, Stmt, Unit};

/// Every name that is bound anywhere in the file.
pub(super) fn defined<'t>(unit: &Unit<'t>) -> HashSet<&'t str> {
    let mut names = HashSet::new();
    statements(&unit.body, &mut names);
    for function in &unit.functions {
        names.insert(function.name);
        function.params.iter().for_each(|p| bound(&p.target, &mut names));
        statements(&function.body, &mut names);
    }
    for class in &unit.classes {
        names.insert(class.name);
        statements(&class.fields, &mut names);
    }
    names
}

fn statements<'t>(block: &[Stmt<'t>], names: &mut HashSet<&'t str>) {
    for stmt in block {
        match &stmt.kind {
            Action::Expr(e) | Action::Return(Some(e)) | Action::Throw(Some(e)) => inner(e, names),
            Action::Assign(assign) => {
                bound(&assign.target, names);
                inner(&assign.value, names);
            }
            Action::Block(all) => statements(all, names),
            Action::If(condition, yes, no) => {
                inner(condition, names);
                statements(yes, names);
                statements(no, names);
            }
            Action::Loop(looped) => {
                looped.binds.iter().for_each(|(target, _)| bound(target, names));
                statements(&looped.body, names);
            }
            Action::Switch(_, cases) => cases.iter().for_each(|c: &Case<'t>| {
                c.tests.iter().for_each(|t| bound(t, names));
                statements(&c.body, names);
            }),
            Action::Try(body, handlers, end) => {
                statements(body, names);
                handlers.iter().for_each(|h| statements(h, names));
                statements(end, names);
            }
            Action::Import { name, .. } => {
                names.insert(name);
            }
            Action::Return(None) | Action::Throw(None) | Action::Leave | Action::Function(_) => {}
        }
    }
}

/// The names in a target.
fn bound<'t>(target: &Expr<'t>, names: &mut HashSet<&'t str>) {
    match &target.kind {
        Kind::Name(name) => {
            names.insert(name);
        }
        Kind::List(all) | Kind::Any(all) | Kind::Seq(all) => {
            all.iter().for_each(|e| bound(e, names));
        }
        Kind::Map(pairs) => pairs.iter().for_each(|(_, value)| bound(value, names)),
        Kind::Assign(assign) => bound(&assign.target, names),
        _ => {}
    }
}

/// The names bound inside an expression.
fn inner<'t>(expr: &Expr<'t>, names: &mut HashSet<&'t str>) {
    match &expr.kind {
        Kind::Assign(assign) => {
            bound(&assign.target, names);
            inner(&assign.value, names);
        }
        Kind::Any(all) | Kind::Seq(all) | Kind::List(all) => {
            all.iter().for_each(|e| inner(e, names));
        }
        Kind::Not(one) => inner(one, names),
        Kind::Binary(_, two) => two.iter().for_each(|e| inner(e, names)),
        Kind::Pick(three) => three.iter().for_each(|e| inner(e, names)),
        Kind::Call(call) => {
            inner(&call.callee, names);
            call.args.iter().for_each(|a| inner(&a.value, names));
        }
        Kind::Member(object, _) => inner(object, names),
        _ => {}
    }
}

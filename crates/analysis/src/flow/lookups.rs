//! Lookups that fail where nothing is found: past them, what was looked for is a key that is stored.

use super::{
    form::{Call, Expr, Kind},
    guard::Mark,
    run::Run,
};

/// How the names of such functions end: Prisma and TypeORM, Laravel, Django, Rails.
const FAILS: &[&str] = &["OrThrow", "OrFail", "_or_404", "find_by!"];

impl<'t> Run<'_, 't> {
    /// Marks what a call looked for.
    pub(super) fn looked_up(&mut self, name: &str, call: &Call<'t>) {
        if !FAILS.iter().any(|end| name.ends_with(end)) {
            return;
        }
        let mut marks = Vec::new();
        call.args.iter().for_each(|arg| asked_for(&arg.value, &mut marks));
        self.apply(&marks);
    }
}

/// The variables that are values of a query, in whatever tables.
fn asked_for<'t>(expr: &Expr<'t>, marks: &mut Vec<Mark<'t>>) {
    match &expr.kind {
        Kind::Name(name) => marks.push(Mark::Checked(name)),
        Kind::Map(pairs) => pairs.iter().for_each(|(_, value)| asked_for(value, marks)),
        Kind::List(all) | Kind::Any(all) => all.iter().for_each(|value| asked_for(value, marks)),
        _ => {}
    }
}

//! What a look at a value says of it wherever it is used: a lookup that fails where nothing is found (past it, what was
//! looked for is a key that is stored), a list that it is looked up in, a comparison of its type.

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

    /// Remembers a place that is looked up in a list: whoever looks thinks of what it may be.
    pub(super) fn list(&mut self, asked: &Expr<'t>) {
        if asked.name().is_none() {
            note(&mut self.frame().listed, asked);
        }
    }

    /// Remembers a place whose type is compared with that of a text: `typeof x !== 'string'`.
    pub(super) fn typed(&mut self, asked: &Expr<'t>, ty: &Expr<'t>) {
        let Kind::Call(call) = &asked.kind else { return };
        let (Some("typeof"), [arg]) = (call.callee.name(), call.args.as_slice()) else { return };
        if matches!(&ty.kind, Kind::Str(name) if name == "string") {
            note(&mut self.frame().texts, &arg.value);
        }
    }
}

/// Adds the place that an expression reads, up to a bound.
fn note(places: &mut Vec<String>, asked: &Expr<'_>) {
    const MOST: usize = 32;
    if let Some(place) =
        asked.place().filter(|place| places.len() < MOST && !places.contains(place))
    {
        places.push(place);
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

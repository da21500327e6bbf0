//! Branches, loops, cases and handlers: what is certain after them, and what may be.

use super::{
    env::Layer,
    form::{Case, Expr, Loop, Stmt},
    run::{Next, Run, truth},
    value::{Known, Value},
};

impl<'t> Run<'_, 't> {
    pub(super) fn branch(
        &mut self,
        condition: &Expr<'t>,
        yes: &[Stmt<'t>],
        no: &[Stmt<'t>],
    ) -> Next {
        let held = self.eval(condition);
        if let Some(held) = truth(&held) {
            return self.block(if held { yes } else { no });
        }
        let marks = self.guard(condition);
        self.env.push();
        self.apply(&marks.yes);
        let goes = self.block(yes);
        let yes = self.env.pop();
        self.env.push();
        self.apply(&marks.no);
        let other = self.block(no);
        let no = self.env.pop();
        self.after((goes, yes), (other, no))
    }

    /// What holds after two branches: only the ones that go on count.
    fn after(&mut self, one: (Next, Layer<'t>), other: (Next, Layer<'t>)) -> Next {
        match (one.0, other.0) {
            (Next::Goes, Next::Goes) => self.env.either(one.1, other.1),
            (Next::Goes, next) => {
                self.left(next, other.1);
                self.env.must(one.1);
            }
            (next, Next::Goes) => {
                self.left(next, one.1);
                self.env.must(other.1);
            }
            // A loop that is left goes on behind it, with what was set.
            (Next::Leaves, _) | (_, Next::Leaves) => {
                self.env.either(one.1, other.1);
                return Next::Leaves;
            }
            (Next::Ends, Next::Ends) => return Next::Ends,
        }
        Next::Goes
    }

    /// What a branch set that leaves the loop holds behind the loop.
    fn left(&mut self, next: Next, layer: Layer<'t>) {
        if next == Next::Leaves {
            self.frame().left.push(layer);
        }
    }

    /// The body twice, so that what it sets at its end is known at its start; inner loops, which run
    /// twice with it, once each time.
    pub(super) fn looped(&mut self, looped: &Loop<'t>) {
        let rounds = if self.frame().loops == 0 { 2 } else { 1 };
        self.frame().loops += 1;
        for _ in 0..rounds {
            if let Some((target, from)) = &looped.binds {
                let from = self.eval(from);
                let mut element = from.any_element();
                if !element.is_tainted() {
                    element = Value { path: element.path.clone(), ..from.bare() };
                }
                self.bind(target, element);
            }
            if let Some(condition) = &looped.condition {
                self.eval(condition);
            }
            self.env.push();
            self.block(&looped.body);
            let body = self.env.pop();
            self.env.may(body);
        }
        self.frame().loops -= 1;
        for layer in std::mem::take(&mut self.frame().left) {
            self.env.may(layer);
        }
    }

    pub(super) fn switch(&mut self, subject: &Expr<'t>, cases: &[Case<'t>]) -> Next {
        let value = self.eval(subject);
        let taken = self.certain_case(&value, cases);
        if let Some(taken) = taken {
            let next = self.fall(cases.get(taken..).unwrap_or_default());
            return if next == Next::Leaves { Next::Goes } else { next };
        }
        let mut all: Option<(Next, Layer<'t>)> = None;
        let mut default = false;
        for (at, case) in cases.iter().enumerate() {
            default |= case.tests.is_empty();
            self.env.push();
            for test in &case.tests {
                self.eval(test);
                let marks = self.guard_case(subject, test);
                self.apply(&marks);
            }
            let next = self.fall(cases.get(at..).unwrap_or_default());
            let next = if next == Next::Leaves { Next::Goes } else { next };
            let layer = self.env.pop();
            all = Some(match all.take() {
                None => (next, layer),
                Some(before) => self.both(before, (next, layer)),
            });
        }
        match all {
            None => Next::Goes,
            Some((next, layer)) if default => {
                self.env.must(layer);
                next
            }
            Some((_, layer)) => {
                self.env.may(layer);
                Next::Goes
            }
        }
    }

    /// Two branches as one.
    fn both(&mut self, one: (Next, Layer<'t>), other: (Next, Layer<'t>)) -> (Next, Layer<'t>) {
        self.env.push();
        let next = self.after(one, other);
        (next, self.env.pop())
    }

    /// The case that is taken, where both sides are constants.
    fn certain_case(&mut self, value: &Value, cases: &[Case<'t>]) -> Option<usize> {
        let is_constant = value.constant().is_some() || matches!(value.known, Known::Int(_));
        if !is_constant {
            return None;
        }
        let mut default = None;
        for (at, case) in cases.iter().enumerate() {
            if case.tests.is_empty() {
                default = Some(at);
            }
            for test in &case.tests {
                let test = self.eval(test);
                match super::fold::equal(value, &test.any_element()) {
                    Some(true) => return Some(at),
                    Some(false) => {}
                    None => match super::fold::equal(value, &test) {
                        Some(true) => return Some(at),
                        Some(false) => {}
                        None => return None,
                    },
                }
            }
        }
        default
    }

    /// A case and those it falls through to.
    fn fall(&mut self, cases: &[Case<'t>]) -> Next {
        for case in cases.iter().take(8) {
            let next = self.block(&case.body);
            if next != Next::Goes || !case.falls {
                return next;
            }
        }
        Next::Goes
    }

    pub(super) fn attempt(
        &mut self,
        body: &[Stmt<'t>],
        handlers: &[Vec<Stmt<'t>>],
        end: &[Stmt<'t>],
    ) -> Next {
        self.env.push();
        let mut next = self.block(body);
        let mut all = self.env.pop();
        for handler in handlers {
            // It may begin anywhere in the body: with what that set, or without.
            self.env.push();
            self.env.may(all.clone());
            let handled = self.block(handler);
            let layer = self.env.pop();
            (next, all) = self.both((next, all), (handled, layer));
        }
        if next == Next::Ends && handlers.is_empty() || next != Next::Ends {
            self.env.must(all);
        }
        // A return there hides what follows from errors, not from reviews.
        self.block(end);
        next
    }
}

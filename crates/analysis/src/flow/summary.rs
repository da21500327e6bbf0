//! Functions: their parameters as origins, what they give, and what calling them does.

use std::rc::Rc;

use super::{
    call::Made,
    clean,
    form::{Action, Function, Kind, Stmt},
    objects::Seed,
    parameter::is_number,
    run::{Frame, Hit, Run, State, Summary},
    value::{HOLE, Known, Origin, TAINTED, Value},
};

/// How many hits of a function are told to its callers.
const MAX_HITS: usize = 24;
/// How many hits a file may have in all.
const MAX_ALL: usize = 400;
/// How many functions are followed into each other; the others are followed by themselves.
const MAX_FRAMES: usize = 8;
/// How often a function written in place is followed: loops run twice.
const MAX_ROUNDS: u8 = 2;

impl<'t> Run<'_, 't> {
    /// Follows a function; `seed` is what its parameters may be, where it is passed to a call.
    pub(super) fn function(&mut self, at: usize, seed: Option<Seed>) {
        let unit = self.unit;
        let (Some(function), Some(rounds)) = (unit.functions.get(at), self.rounds.get_mut(at))
        else {
            return;
        };
        let in_place = function.name.is_empty();
        let most = if in_place { MAX_ROUNDS } else { 1 };
        let deep = self.frames.len() > MAX_FRAMES && !in_place;
        if matches!(self.states.get(at), Some(State::Active)) || *rounds >= most || deep {
            return;
        }
        *rounds += 1;
        let kept = (!in_place && !function.nested).then(|| self.env.leave());
        let summary = self.run_function(at, function, seed.as_ref());
        if let Some(kept) = kept {
            self.env.enter_again(kept);
        }
        if let Some(state) = self.states.get_mut(at) {
            *state = State::Done(Rc::new(summary));
        }
    }

    fn run_function(&mut self, at: usize, function: &Function<'t>, seed: Option<&Seed>) -> Summary {
        if let Some(state) = self.states.get_mut(at) {
            *state = State::Active;
        }
        let class = function.class.or_else(|| self.frame().class);
        let from = self.hits.len();
        self.env.push();
        self.frames.push(Frame { function: Some(at), class, ..Frame::default() });
        for (number, param) in function.params.iter().enumerate() {
            let seed = seed.and_then(|seed| seed.of(number));
            let value = self.parameter(at, number, function, param, seed);
            self.bind(&param.target, value);
        }
        self.block(&function.body);
        let gives = self.frames.pop().and_then(|f| f.gives).unwrap_or_default();
        let fills = self.fills(at, function);
        self.env.pop();
        let own = |hit: &&Hit| matches!(hit.origin, Origin::Param(of, _) if of == at);
        let hits = self.hits.get(from..).unwrap_or_default();
        let hits = hits.iter().filter(own).take(MAX_HITS).cloned().collect();
        Summary { gives, hits, fills }
    }

    /// Whether a function only gives a field, one that may hold what its object was made of.
    fn gives_field(&self, function: &Function<'t>) -> bool {
        let Some((name, says)) = given_field(function) else { return false };
        let Some(class) = function.class.and_then(|at| self.unit.classes.get(at)) else {
            return false;
        };
        let declared = class.fields.iter().find_map(|field| match &field.kind {
            Action::Assign(assign) if assign.target.name() == Some(name) => Some(assign),
            _ => None,
        });
        declared.map_or(says, |field| {
            let fixed = matches!(field.value.kind, Kind::Str(_) | Kind::Int(_) | Kind::Bool(_));
            !fixed && !is_number(field.ty)
        })
    }

    /// The value of a function of this file, and the harm its parameters do in it.
    pub(super) fn called(&mut self, at: usize, made: &Made<'_, 't>) -> Value {
        self.function(at, None);
        let Some(State::Done(summary)) = self.states.get(at) else { return self.unknown(made) };
        let summary = summary.clone();
        for hit in &summary.hits {
            if let Origin::Param(_, number) = hit.origin {
                let tainted = self.argument(at, number, made).is_tainted();
                *self.passed.entry((at, number)).or_default() |= tainted;
            }
            self.passed_on(hit, at, made);
        }
        for (number, value) in &summary.fills {
            let target = made.call.args.get(self.position(at, *number)).map(|arg| &arg.value);
            if let Some(target) = target.filter(|target| target.place().is_some()) {
                let filled = self.seen_from(at, made, value);
                let whole = self.grown(&self.argument(at, *number, made), &[filled]);
                self.store(target, whole);
            }
        }
        let mut gives = self.seen_from(at, made, &summary.gives);
        let gets = made.name.starts_with("get")
            || self.unit.functions.get(at).is_some_and(|f| self.gives_field(f));
        if made.args.is_empty() && gets && made.object.is_tainted() {
            gives.take(&made.object);
        }
        gives.known = match &summary.gives.known {
            Known::Text(text) if !gives.is_tainted() => {
                Known::Text(text.replace(TAINTED, HOLE.encode_utf8(&mut [0; 4])).into())
            }
            Known::List(_) | Known::Map(_) if summary.gives.is_tainted() => Known::Unknown,
            known => known.clone(),
        };
        gives
    }

    /// The origins of a value inside a called function, seen from the call.
    fn seen_from(&self, at: usize, made: &Made<'_, 't>, inside: &Value) -> Value {
        let vouched = clean::is_vouched_for(&made.name.to_ascii_lowercase());
        let mut seen = Value { path: inside.path.clone(), ..Value::default() };
        for taint in inside.taints() {
            match taint.origin {
                Origin::Param(of, number) if of == at => {
                    let mut value = self.argument(at, number, made).bare();
                    value.each(|t| {
                        t.step(made.line, &format!("through `{}`", made.path));
                        t.clean |= taint.clean;
                        t.weak |= taint.weak || vouched;
                        t.vague |= taint.vague;
                        t.composed |= taint.composed;
                        t.clean != u32::MAX
                    });
                    seen.take(&value);
                }
                _ => seen.add(taint.clone()),
            }
        }
        seen
    }

    /// A hit inside a called function, seen from the call.
    fn passed_on(&mut self, hit: &Hit, at: usize, made: &Made<'_, 't>) {
        let Origin::Param(_, number) = hit.origin else { return };
        let mut value = self.argument(at, number, made);
        if let Some(sink) = hit.whole {
            value.each(|t| {
                t.step(made.line, &format!("passed to `{}`", made.path));
                t.weak |= hit.weak;
                t.vague |= hit.vague;
                true
            });
            return self.check(sink, &value, (hit.line, hit.end), &hit.sink);
        }
        for taint in value.taints() {
            if taint.clean & (1 << hit.harm) != 0 {
                continue;
            }
            let mut way = taint.way();
            way.push((made.line, format!("passed to `{}`", made.path).into()));
            way.extend(hit.way.iter().cloned());
            self.hit(Hit {
                origin: taint.origin,
                way,
                weak: hit.weak || taint.weak,
                vague: hit.vague || taint.vague,
                ..hit.clone()
            });
        }
    }

    /// The argument for a parameter.
    fn argument(&self, at: usize, number: usize, made: &Made<'_, 't>) -> Value {
        let Some(function) = self.unit.functions.get(at) else { return Value::default() };
        let name = function.params.get(number).and_then(|p| p.target.name());
        if let Some(named) = made.args.iter().find(|a| a.name.is_some() && a.name == name) {
            return named.value.clone();
        }
        let found = made.args.get(self.position(at, number));
        found.filter(|a| a.name.is_none()).map(|a| a.value.clone()).unwrap_or_default()
    }

    /// Which argument a parameter is; none for the receiver.
    fn position(&self, at: usize, number: usize) -> usize {
        let first = self.unit.functions.get(at).and_then(|function| function.params.first());
        let bound = first.and_then(|param| param.target.name());
        number.wrapping_sub(usize::from(matches!(bound, Some("self" | "cls"))))
    }

    /// Keeps a hit, unless it is known or there are too many.
    pub(super) fn hit(&mut self, hit: Hit) {
        let same = |h: &Hit| (h.harm, h.line, h.origin) == (hit.harm, hit.line, hit.origin);
        let flaws = |h: &Hit| (h.whole.is_some(), h.text_only, h.weak, h.vague);
        let worse = |h: &Hit| flaws(h) > flaws(&hit);
        match self.hits.iter().position(same) {
            // The surer one counts.
            Some(known) => {
                if let Some(known) = self.hits.get_mut(known).filter(|h| worse(h)) {
                    *known = hit;
                }
            }
            None if self.hits.len() < MAX_ALL => self.hits.push(hit),
            None => {}
        }
    }
}

/// The field that is all a function gives, and whether it says whose.
fn given_field<'t>(function: &Function<'t>) -> Option<(&'t str, bool)> {
    let [Stmt { kind: Action::Return(Some(given)), .. }] = function.body.as_slice() else {
        return None;
    };
    match &given.kind {
        Kind::Name(name) => Some((*name, name.starts_with('@'))),
        Kind::Member(owner, name) if matches!(owner.name(), Some("this" | "self" | "$this")) => {
            Some((*name, true))
        }
        _ => None,
    }
}

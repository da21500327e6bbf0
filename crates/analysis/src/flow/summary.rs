//! Functions: their parameters as origins, what they give, and what calling them does.

use std::rc::Rc;

use super::{
    call::Made,
    clean,
    form::{Function, Kind, Param},
    lower_expr::simple,
    lower_fn::INJECTED,
    model::Reach,
    run::{Frame, Hit, Run, State, Summary},
    shape::one_segment,
    value::{HOLE, Known, Origin, TAINTED, Taint, Value},
};

/// How many hits of a function are told to its callers.
const MAX_HITS: usize = 24;
/// How many hits a file may have in all.
const MAX_ALL: usize = 400;
/// How many functions are followed into each other; the others are followed by themselves.
const MAX_FRAMES: usize = 8;
/// How often a function written in place is followed: loops run twice.
const MAX_ROUNDS: u8 = 2;

/// Parameters that a call is made on or with; they are no data.
const HANDLES: &[&str] = &[
    "self",
    "cls",
    "this",
    "ctx",
    "context",
    "db",
    "tx",
    "conn",
    "connection",
    "cursor",
    "client",
    "request",
    "req",
    "res",
    "response",
    "session",
    "logger",
    "log",
    "app",
    "next",
    "err",
    "error",
    "callback",
    "cb",
    "done",
    "config",
    "options",
    "opts",
    "settings",
    "_",
    "w",
    "r",
    "c",
    "t",
    "engine",
    "repo",
    "repository",
    "kwargs",
    "$this",
    "env",
    "table",
    "schema",
];

/// Types whose values cannot hold a text.
const NUMBERS: &[&str] = &[
    "int",
    "integer",
    "long",
    "short",
    "float",
    "double",
    "bool",
    "boolean",
    "guid",
    "uuid",
    "decimal",
    "datetime",
    "number",
    "int64",
    "int32",
    "uint",
    "bigdecimal",
    "date",
    "localdate",
];

/// Types whose values are text, or may hold it.
const TEXTS: &[&str] = &[
    "string",
    "str",
    "text",
    "object",
    "any",
    "bytes",
    "byte",
    "charsequence",
    "mixed",
    "interface",
    "anystr",
    "optional",
    "list",
    "array",
    "iterable",
    "union",
    "dict",
    "map",
    "record",
];

impl<'t> Run<'_, 't> {
    /// Follows a function; `seed` is what its parameters may be, where it is passed to a call.
    pub(super) fn function(&mut self, at: usize, seed: Option<&Value>) {
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
        let summary = self.run_function(at, function, seed);
        if let Some(kept) = kept {
            self.env.enter_again(kept);
        }
        if let Some(state) = self.states.get_mut(at) {
            *state = State::Done(Rc::new(summary));
        }
    }

    fn run_function(
        &mut self,
        at: usize,
        function: &Function<'t>,
        seed: Option<&Value>,
    ) -> Summary {
        if let Some(state) = self.states.get_mut(at) {
            *state = State::Active;
        }
        let class = function.class.or_else(|| self.frame().class);
        let from = self.hits.len();
        self.env.push();
        self.frames.push(Frame { function: Some(at), class, ..Frame::default() });
        for (number, param) in function.params.iter().enumerate() {
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

    /// What a parameter is when nobody knows the caller.
    fn parameter(
        &mut self,
        at: usize,
        number: usize,
        function: &Function<'t>,
        param: &Param<'t>,
        seed: Option<&Value>,
    ) -> Value {
        let line = param.target.line;
        let ty = param.ty.map(simple).unwrap_or_default();
        let name = param.target.name().unwrap_or_default();
        let mut value = Value::named(match self.language {
            "Python" | "JavaScript" if ty.ends_with("Request") || is_request(param) => "request",
            _ if ty.is_empty() => name,
            _ => ty,
        });
        // What is passed beside values of a request are services, by their type.
        let typed = self.language == "CSharp" && param.ty.is_some();
        if let Some(seed) = seed.filter(|_| !typed || is_data(name, param.ty, self.language)) {
            value.take(seed);
        }
        let numbered = ["int", "float", "uuid"].map(|kind| format!("<{kind}:{name}>"));
        let is_number = |mark: &&str| numbered.iter().any(|part| mark.contains(part.as_str()));
        if param.marks.iter().any(|mark| mark.contains(INJECTED))
            || function.marks.iter().any(is_number)
        {
            return value;
        }
        if words(param.ty).any(|word| NUMBERS.contains(&word.as_str())) {
            return Value::default();
        }
        if let Some(reach) = self.filled_from_request(function, param) {
            let label = if name.is_empty() { "parameter" } else { name };
            self.taint(&mut value, reach, line, label);
            let segment = format!("{{{name}}}");
            if self.language == "Python" && function.marks.iter().any(|m| m.contains(&segment)) {
                one_segment(&mut value);
            }
        } else if !function.name.is_empty() && is_data(name, param.ty, self.language) {
            let note = format!("parameter `{name}`");
            value.add(Taint::new(Origin::Param(at, number), line, &note));
        }
        value
    }

    /// Whether a framework fills a parameter from a request.
    fn filled_from_request(&self, function: &Function<'t>, param: &Param<'t>) -> Option<Reach> {
        let has = |marks: &[&str], wanted: &str| marks.iter().any(|m| is_marked(m, wanted));
        let name = param.target.name().unwrap_or_default();
        let marked = self.model.marks.iter().find(|(mark, _)| has(&param.marks, mark));
        if let Some((_, reach)) = marked {
            return Some(*reach);
        }
        let ty = param.ty.map(simple).unwrap_or_default();
        let class = self.by_class.get(ty).and_then(|at| self.unit.classes.get(*at));
        let is_body = ty == "UploadFile" || class.is_some_and(|c| c.head.contains("BaseModel"));
        if HANDLES.contains(&name) || !is_body && !is_text(param.ty) && param.ty.is_some() {
            return None;
        }
        let handled = self.model.handlers.iter().find(|(mark, _)| has(&function.marks, mark));
        let class = function.class.and_then(|c| self.unit.classes.get(c));
        let controller = self.language == "CSharp"
            && function.exported
            && class.is_some_and(|c| c.head.contains("Controller") && !c.head.contains("static "));
        handled.map(|(_, reach)| *reach).or(controller.then_some(Reach::Request))
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
        if made.args.is_empty() && made.name.starts_with("get") && made.object.is_tainted() {
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

/// Whether a parameter is a request taken apart: `({ body, query }, res) => …`.
fn is_request(param: &Param<'_>) -> bool {
    const PARTS: &[&str] = &["body", "query", "params", "cookies", "headers"];
    let Kind::Map(pairs) = &param.target.kind else { return false };
    let mut keys = pairs.iter().map(|(key, _)| &key.kind);
    keys.any(|key| matches!(key, Kind::Str(key) if PARTS.contains(&&**key)))
}

/// The words of a type, in small letters.
fn words(ty: Option<&str>) -> impl Iterator<Item = String> {
    let ty = ty.unwrap_or_default();
    let words = ty.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    words.map(str::to_ascii_lowercase)
}

fn is_text(ty: Option<&str>) -> bool {
    words(ty).any(|word| TEXTS.contains(&word.as_str()))
}

/// Whether a parameter may hold what somebody else wrote.
fn is_data(name: &str, ty: Option<&str>, language: &str) -> bool {
    let name = name.trim_start_matches(['$', '*']);
    let typed = match ty {
        Some(_) => is_text(ty),
        None => !matches!(language, "Java" | "Go" | "CSharp"),
    };
    // What the fields of a form are kept in.
    let fields = language == "Php" && ty == Some("array") && matches!(name, "request" | "req");
    typed && !name.is_empty() && (fields || !HANDLES.contains(&name))
}

/// Whether annotations as written hold one of this name.
pub(super) fn is_marked(marks: &str, wanted: &str) -> bool {
    marks.split(['@', '[']).any(|mark| {
        let end = |c: char| c == '(' || c == ']' || c == ',' || c.is_whitespace();
        let name = mark.split(end).next().unwrap_or_default();
        name.rsplit('.').next() == Some(wanted)
    })
}

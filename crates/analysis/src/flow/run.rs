//! Follows values through a file: statements in order, branches joined, loops twice, each function
//! once.
//!
//! A function is followed by itself, its parameters being origins; where it is called in the same
//! file, what it gives and the harm it does are read from that (its summary). Bounded by
//! [`MAX_STEPS`]; what was cut off is named in [`Followed`].

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::{
    env::{Env, Layer},
    form::{Action, Expr, Kind, Stmt, Unit},
    model::{Model, Reach},
    value::{Known, Origin, Value},
};

/// How many expressions are evaluated in a file.
const MAX_STEPS: u32 = 400_000;

/// How deep expressions, statements and calls are followed into each other; each level costs stack.
const DEEPEST: u32 = 160;

/// A source met in the file.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) reach: Reach,
    pub(super) label: String,
    pub(super) line: u32,
}

/// A value that reaches a sink.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) harm: usize,
    pub(super) origin: Origin,
    pub(super) way: Vec<(u32, Rc<str>)>,
    pub(super) line: u32,
    pub(super) end: u32,
    pub(super) sink: String,
    pub(super) weak: bool,
    pub(super) vague: bool,
    /// Whether it is the text of a statement, which may be used anywhere.
    pub(super) text_only: bool,
    /// The sink that a parameter reaches as it is: what callers pass tells whether it does harm.
    pub(super) whole: Option<usize>,
    /// The least reach of an origin that matters there: a parameter that has less counts for what callers pass.
    pub(super) least: Reach,
}

/// What a function gives and does, as far as its parameters decide it.
#[derive(Debug, Clone, Default)]
pub(super) struct Summary {
    pub(super) gives: Value,
    pub(super) hits: Vec<Hit>,
    /// What it puts into containers that it is passed, by the number of the parameter.
    pub(super) fills: Vec<(usize, Value)>,
}

#[derive(Debug, Default)]
pub(super) enum State {
    #[default]
    Open,
    /// Being followed: a call of itself.
    Active,
    Done(Rc<Summary>),
}

/// A function being followed.
#[derive(Debug, Default)]
pub(super) struct Frame<'t> {
    /// What branches set that left the loop.
    pub(super) left: Vec<Layer<'t>>,
    pub(super) function: Option<usize>,
    pub(super) class: Option<usize>,
    pub(super) gives: Option<Value>,
    pub(super) loops: u32,
    /// Places other than names that were looked up in a list: `$_GET[tab]`.
    pub(super) listed: Vec<String>,
    /// Places that were asked whether they hold a text.
    pub(super) texts: Vec<String>,
}

/// What came of a file.
#[derive(Debug, Default)]
pub(super) struct Followed {
    pub(super) hits: Vec<Hit>,
    pub(super) sources: Vec<Source>,
    /// Parameters, by function and number, that calls in this file pass something to, and whether any of it is from outside.
    pub(super) passed: HashMap<(usize, usize), bool>,
    /// Whether the bounds were met before the end.
    pub(super) cut_off: bool,
}

/// Whether what comes after a block is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Next {
    #[default]
    Goes,
    /// Left by `break` or `continue`.
    Leaves,
    /// Left by a return or an error.
    Ends,
}

/// A file being followed.
pub(super) struct Run<'u, 't> {
    pub(super) unit: &'u Unit<'t>,
    pub(super) model: &'static Model,
    pub(super) text: &'t str,
    pub(super) language: &'static str,
    pub(super) env: Env<'t>,
    pub(super) states: Vec<State>,
    pub(super) frames: Vec<Frame<'t>>,
    pub(super) hits: Vec<Hit>,
    pub(super) sources: Vec<Source>,
    pub(super) passed: HashMap<(usize, usize), bool>,
    pub(super) by_name: HashMap<&'t str, Vec<usize>>,
    pub(super) by_class: HashMap<&'t str, usize>,
    pub(super) fields: Vec<Layer<'t>>,
    /// Names that the file gives a meaning to, somewhere.
    pub(super) defined: HashSet<&'t str>,
    /// How often each function was followed.
    pub(super) rounds: Vec<u8>,
    steps: u32,
    depth: u32,
    /// Whether something lay too deep.
    too_deep: bool,
}

/// Follows the values of a whole file.
pub(super) fn follow<'t>(
    unit: &Unit<'t>,
    model: &'static Model,
    language: &'static str,
    text: &'t str,
) -> Followed {
    let mut run = Run {
        unit,
        model,
        text,
        language,
        env: Env::new(),
        states: unit.functions.iter().map(|_| State::Open).collect(),
        frames: vec![Frame::default()],
        hits: Vec::new(),
        sources: Vec::new(),
        passed: HashMap::new(),
        by_name: HashMap::new(),
        by_class: unit.classes.iter().enumerate().map(|(at, c)| (c.name, at)).collect(),
        fields: unit.classes.iter().map(|_| Layer::new()).collect(),
        defined: HashSet::new(),
        rounds: vec![0; unit.functions.len()],
        steps: MAX_STEPS,
        depth: 0,
        too_deep: false,
    };
    for (at, function) in unit.functions.iter().enumerate().filter(|(_, f)| !f.name.is_empty()) {
        run.by_name.entry(function.name).or_default().push(at);
    }
    run.defined = super::names::defined(unit);
    run.block(&unit.body);
    run.classes();
    for at in 0..unit.functions.len() {
        run.function(at, None);
    }
    let mut hits = std::mem::take(&mut run.hits);
    hits.retain(|hit| hit.whole.is_none() && run.reach(hit.origin) >= hit.least);
    let cut_off = run.steps == 0 || run.too_deep || unit.too_deep;
    Followed { hits, sources: run.sources, passed: run.passed, cut_off }
}

impl<'t> Run<'_, 't> {
    /// Counts a step; false once there are none left.
    pub(super) fn may_go_on(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.steps > 0
    }

    /// Does `what` a level deeper; where that is too deep, nothing.
    pub(super) fn deeper<T: Default>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= DEEPEST {
            self.too_deep = true;
            return T::default();
        }
        self.depth += 1;
        let done = what(self);
        self.depth -= 1;
        done
    }

    pub(super) fn frame(&mut self) -> &mut Frame<'t> {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// Fields by what they are declared and set to: first where they stand, then in constructors.
    fn classes(&mut self) {
        const MAKERS: [&str; 4] = ["__init__", "constructor", "initialize", "__construct"];
        for at in 0..self.unit.classes.len() {
            let Some(class) = self.unit.classes.get(at) else { continue };
            self.env.push();
            self.frames.push(Frame { class: Some(at), ..Frame::default() });
            self.block(&class.fields);
            self.frames.pop();
            let mut fields = self.env.pop();
            fields.values_mut().for_each(without_parameters);
            if let Some(known) = self.fields.get_mut(at) {
                *known = fields;
            }
        }
        for at in 0..self.unit.functions.len() {
            let Some(function) = self.unit.functions.get(at) else { continue };
            let class = function.class.and_then(|c| self.unit.classes.get(c));
            let makes = MAKERS.contains(&function.name)
                || class.is_some_and(|c| !c.name.is_empty() && c.name == function.name);
            if makes && function.class.is_some() {
                self.function(at, None);
            }
        }
    }

    /// Statements in order.
    pub(super) fn block(&mut self, block: &[Stmt<'t>]) -> Next {
        for stmt in block {
            if !self.may_go_on() {
                return Next::Ends;
            }
            let next = self.deeper(|me| me.stmt(stmt));
            if next != Next::Goes {
                return next;
            }
        }
        Next::Goes
    }

    fn stmt(&mut self, stmt: &Stmt<'t>) -> Next {
        match &stmt.kind {
            Action::Expr(value) => {
                self.eval(value);
                self.vouched(value);
                return self.ends(value);
            }
            Action::Assign(assign) => {
                self.assign(assign);
            }
            Action::Block(block) => return self.block(block),
            Action::If(condition, yes, no) => return self.branch(condition, yes, no),
            Action::Loop(looped) => self.looped(looped),
            Action::Switch(subject, cases) => return self.switch(subject, cases),
            Action::Try(body, handlers, end) => return self.attempt(body, handlers, end),
            Action::Return(value) => {
                let value = value.as_ref().map(|v| self.eval(v)).unwrap_or_default();
                self.gives(stmt.line, value);
                return Next::Ends;
            }
            Action::Leave => return Next::Leaves,
            Action::Throw(value) => {
                if let Some(value) = value {
                    self.eval(value);
                }
                return Next::Ends;
            }
            Action::Function(at) => {
                if self.frames.len() > 1 {
                    self.function(*at, None);
                }
            }
            Action::Import { name, path } => self.env.set(name, Value::named(path)),
        }
        Next::Goes
    }

    /// Whether a statement that is only a call does not come back.
    fn ends(&self, value: &Expr<'t>) -> Next {
        const LAST: &[&str] =
            &["abort", "exit", "die", "fail", "panic", "Fatal", "Fatalf", "notFound", "halt"];
        let Kind::Call(call) = &value.kind else { return Next::Goes };
        let name = match &call.callee.kind {
            Kind::Name(name) | Kind::Member(_, name) => name,
            _ => return Next::Goes,
        };
        if LAST.contains(name) { Next::Ends } else { Next::Goes }
    }

    fn gives(&mut self, line: u32, mut value: Value) {
        value.each(|t| {
            t.step(line, "returned");
            true
        });
        self.returned(line, &value);
        let frame = self.frame();
        frame.gives = Some(match frame.gives.take() {
            Some(before) => before.join(&value),
            None => value,
        });
    }
}

/// Whether a condition is known to hold.
pub(super) fn truth(value: &Value) -> Option<bool> {
    match value.known {
        Known::Bool(held) => Some(held),
        _ => None,
    }
}

/// Takes away what only one call decides.
pub(super) fn without_parameters(value: &mut Value) {
    value.each(|t| matches!(t.origin, Origin::Source(_)));
}

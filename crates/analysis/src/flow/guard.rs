//! Conditions that say something about a value: equal to a constant, one of a list, checked by a
//! function. Such a value is no longer as free as it was where the condition holds, or does not.

use super::{
    form::{Call, Expr, Kind, Op},
    run::Run,
    value::{Known, Value},
};

/// What is known of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark<'t> {
    /// One of certain values.
    Fixed(&'t str),
    /// Checked for something.
    Checked(&'t str),
}

/// What holds where a condition does, and where it does not.
#[derive(Debug, Default)]
pub(super) struct Marks<'t> {
    pub(super) yes: Vec<Mark<'t>>,
    pub(super) no: Vec<Mark<'t>>,
}

/// Functions that ask whether something is one of a list.
const MEMBERSHIP: &[&str] = &[
    "includes",
    "include?",
    "contains",
    "Contains",
    "in_array",
    "has",
    "containsKey",
    "ContainsKey",
    "hasOwnProperty",
    "key?",
    "has_key?",
    "has_key",
    "array_key_exists",
    "member?",
    "indexOf",
    "containsValue",
    "Includes",
    "anyMatch",
    "some",
];

/// Names of functions that say nothing about what a value may do.
const NO_CHECKS: &[&str] = &[
    "isset",
    "empty",
    "isEmpty",
    "IsNullOrEmpty",
    "IsNullOrWhiteSpace",
    "isBlank",
    "is_null",
    "len",
    "strlen",
    "nil?",
    "blank?",
    "present?",
    "empty?",
    "exists",
    "Exists",
    "isNull",
    "isNotEmpty",
    "isPresent",
    "get",
    "bool",
    "isArray",
    "is_array",
    "is_string",
    "hasNext",
    "hasNextLine",
    "hasMoreElements",
    "hasMoreTokens",
    "hasText",
    "hasLength",
    "next",
    "size",
    "length",
    "getParameter",
    "equalsIgnoreCase",
    "has_attr",
    "hasattr",
    "is_dir",
    "is_file",
    "file_exists",
    "isDirectory",
    "isFile",
    "existsSync",
    "isinstance",
    "callable",
    "debug",
];

/// Parts of names of functions that check.
const CHECKS: &[&str] = &[
    "valid",
    "check",
    "match",
    "test",
    "safe",
    "allow",
    "permit",
    "is_",
    "is",
    "has",
    "ctype",
    "verify",
    "authoriz",
    "starts",
    "start_with",
    "ends",
    "end_with",
    "white",
    "accept",
    "trusted",
    "filter",
    "numeric",
    "digit",
    "alnum",
    "within",
    "relative",
    "search",
    "contains",
    "includes",
    "find",
    "index",
];

/// Parts of names of functions that let so little through that nothing can be hidden in it.
const NARROW: &[&str] = &["numeric", "digit", "ctype", "is_int", "isint", "alnum", "uuid"];

impl<'t> Run<'_, 't> {
    /// What a condition says about names.
    pub(super) fn guard(&mut self, condition: &Expr<'t>) -> Marks<'t> {
        match &condition.kind {
            Kind::Not(inner) => {
                let marks = self.guard(inner);
                Marks { yes: marks.no, no: marks.yes }
            }
            Kind::Binary(op, two) => self.compared(*op, &two[0], &two[1]),
            Kind::Call(call) => self.asked(call),
            Kind::Assign(assign) => self.guard(&assign.value),
            Kind::Any(all) if all.len() == 1 => self.guard(&all[0]),
            _ => Marks::default(),
        }
    }

    fn compared(&mut self, op: Op, left: &Expr<'t>, right: &Expr<'t>) -> Marks<'t> {
        match op {
            Op::And | Op::Or => {
                let (mut a, b) = (self.guard(left), self.guard(right));
                // Where both must hold each says something; where one may, only what both say.
                let (all, both) =
                    if op == Op::And { (&mut a.yes, &mut a.no) } else { (&mut a.no, &mut a.yes) };
                let (more, other) = if op == Op::And { (b.yes, b.no) } else { (b.no, b.yes) };
                all.extend(more);
                both.retain(|m| other.contains(m));
                // A check is a check, however it is joined with others.
                both.extend(other.into_iter().filter(|m| matches!(m, Mark::Checked(_))));
                a
            }
            Op::Eq | Op::Ne if compares_paths(left) || compares_paths(right) => {
                let names = names_in(left).into_iter().chain(names_in(right));
                let marks: Vec<_> = names.map(Mark::Checked).collect();
                Marks { yes: marks.clone(), no: marks }
            }
            Op::Eq | Op::Ne => {
                self.typed(left, right);
                self.typed(right, left);
                let fixed = self.fixed(left, right).or_else(|| self.fixed(right, left));
                let mark = match fixed {
                    Some(name) => Some(Mark::Fixed(name)),
                    None => self.host(left, right).or_else(|| self.host(right, left)),
                };
                turned(op == Op::Ne, mark.into_iter().collect(), Vec::new())
            }
            Op::In | Op::NotIn => {
                let listed = !self.eval(right).is_tainted();
                if listed {
                    self.list(left);
                }
                let (yes, no) = match (root(left), root(right)) {
                    (Some(name), _) if listed => (vec![Mark::Fixed(name)], Vec::new()),
                    (_, Some(name)) => (vec![Mark::Checked(name)], vec![Mark::Checked(name)]),
                    _ => Default::default(),
                };
                turned(op == Op::NotIn, yes, no)
            }
            Op::Match => {
                let names = root(left).into_iter().chain(root(right));
                let marks: Vec<_> = names.map(Mark::Checked).collect();
                Marks { yes: marks.clone(), no: marks }
            }
            // How long something is says a little.
            Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                let mut marks = self.guard(left);
                marks.yes.append(&mut self.guard(right).yes);
                marks
            }
            _ => Marks::default(),
        }
    }

    /// The name on one side, where the other is a constant that says something.
    fn fixed(&mut self, name: &Expr<'t>, constant: &Expr<'t>) -> Option<&'t str> {
        let name = name.name()?;
        let value = self.eval(constant);
        let fixed = match value.known {
            Known::Text(_) => value.constant().is_some_and(|text| !text.is_empty()),
            Known::Int(_) | Known::Bool(_) => true,
            _ => !value.is_tainted() && self.is_constant(constant),
        };
        fixed.then_some(name)
    }

    /// Whether it names a constant of the program; of Go, what the function does not define.
    fn is_constant(&self, expr: &Expr<'t>) -> bool {
        let free = |name: &str| name != "nil" && self.env.get(name).is_none();
        expr.is_large() || self.language == "Go" && expr.name().is_some_and(free)
    }

    /// The address on one side whose host is compared with something of our own.
    fn host(&mut self, address: &Expr<'t>, own: &Expr<'t>) -> Option<Mark<'t>> {
        const PARTS: &[&str] = &["origin", "host", "hostname", "netloc", "Host", "Authority"];
        const EVENTS: &[&str] = &["event", "evt", "ev", "e", "message", "msg"];
        let Kind::Member(object, part) = &address.kind else { return None };
        // Which window a message came from.
        let is_sender = *part == "source" && object.name().is_some_and(|n| EVENTS.contains(&n));
        let is_own = (PARTS.contains(part) || is_sender) && !self.eval(own).is_tainted();
        root(address).filter(|_| is_own).map(Mark::Checked)
    }

    /// A call that asks something about names.
    fn asked(&mut self, call: &Call<'t>) -> Marks<'t> {
        let (receiver, name) = match &call.callee.kind {
            Kind::Member(object, name) => (root(object), *name),
            Kind::Name(name) => (None, *name),
            _ => return Marks::default(),
        };
        let args: Vec<&'t str> = call.args.iter().filter_map(|a| root(&a.value)).collect();
        if matches!(name, "equals" | "Equals" | "equalsIgnoreCase" | "equal?" | "eql?") {
            // Only what is compared itself is known then, not what it is a part of.
            let own = match &call.callee.kind {
                Kind::Member(object, _) => object.name(),
                _ => None,
            };
            let names = own.into_iter().chain(call.args.iter().filter_map(|a| a.value.name()));
            let one_constant = receiver.is_none()
                || call.args.iter().any(|a| matches!(a.value.kind, Kind::Str(_)))
                || matches!(&call.callee.kind, Kind::Member(o, _) if matches!(o.kind, Kind::Str(_)));
            let yes = names.filter(|_| one_constant).map(Mark::Fixed).collect();
            return Marks { yes, no: Vec::new() };
        }
        if NO_CHECKS.contains(&name) {
            return Marks::default();
        }
        // `sliceContains(name, all)`
        let lists = receiver.is_none() && call.args.len() == 2 && name.ends_with("Contains");
        if lists || MEMBERSHIP.contains(&name) {
            let asked = receiver.filter(|r| self.env.get(r).is_some_and(Value::is_tainted));
            return match asked {
                Some(name) => {
                    Marks { yes: vec![Mark::Checked(name)], no: vec![Mark::Checked(name)] }
                }
                None => {
                    call.args.iter().for_each(|arg| self.list(&arg.value));
                    Marks { yes: args.into_iter().map(Mark::Fixed).collect(), no: Vec::new() }
                }
            };
        }
        let low = name.to_ascii_lowercase();
        // Every address begins so, whatever its host.
        if low.starts_with("start") && self.asks_scheme(call) {
            return Marks {
                yes: Vec::new(),
                no: receiver.map(Mark::Checked).into_iter().collect(),
            };
        }
        if !CHECKS.iter().any(|word| low.contains(word)) {
            return Marks::default();
        }
        if NARROW.iter().any(|word| low.contains(word)) {
            call.args.iter().for_each(|arg| self.list(&arg.value));
        }
        let marks: Vec<_> = receiver.into_iter().chain(args).map(Mark::Checked).collect();
        Marks { yes: marks.clone(), no: marks }
    }

    /// Whether the arguments are schemes: `http://`.
    fn asks_scheme(&mut self, call: &Call<'t>) -> bool {
        let scheme = |value: &Value| {
            let text = value.constant().map(|text| text.trim_end_matches(['/', ':']));
            matches!(text, Some("http" | "https"))
        };
        let values: Vec<Value> = call.args.iter().map(|a| self.eval(&a.value)).collect();
        !values.is_empty()
            && values.iter().all(|value| match &value.known {
                Known::List(all) => !all.is_empty() && all.iter().all(scheme),
                _ => scheme(value),
            })
    }

    /// What a case of a switch says about its subject.
    pub(super) fn guard_case(&mut self, subject: &Expr<'t>, test: &Expr<'t>) -> Vec<Mark<'t>> {
        match subject.name() {
            Some(name) if !matches!(test.kind, Kind::Name(_)) => vec![Mark::Fixed(name)],
            Some(_) => Vec::new(),
            None => self.guard(test).yes,
        }
    }

    /// What a call that stands alone vouches for: `validate(x)`.
    pub(super) fn vouched(&mut self, statement: &Expr<'t>) {
        const VOUCH: &[&str] =
            &["validat", "check", "assert", "ensure", "verify", "require", "abort_if", "guard"];
        let Kind::Call(call) = &statement.kind else { return };
        let name = match &call.callee.kind {
            Kind::Name(name) | Kind::Member(_, name) => name.to_ascii_lowercase(),
            _ => return,
        };
        if VOUCH.iter().any(|word| name.starts_with(word)) {
            let names = call.args.iter().filter_map(|a| root(&a.value));
            let mut marks: Vec<_> = names.map(Mark::Checked).collect();
            if self.language == "Kotlin" {
                // `require(a in all)` goes on only where that holds.
                call.args.iter().for_each(|arg| marks.append(&mut self.guard(&arg.value).yes));
            }
            self.apply(&marks);
        }
    }

    /// Takes what is known into the variables.
    pub(super) fn apply(&mut self, marks: &[Mark<'t>]) {
        for mark in marks {
            let (Mark::Fixed(name) | Mark::Checked(name)) = mark;
            let Some(value) = self.env.get(name).filter(|v| v.is_tainted()) else { continue };
            let mut value = value.clone();
            // What was checked may be a part of another value, or made from it.
            self.env.weaken(&value);
            self.file_checked(&value);
            if matches!(mark, Mark::Fixed(_)) {
                value = value.cleaned();
            }
            value.weaken();
            self.env.set(name, value);
        }
    }
}

/// Whether a call tells what two paths have in common.
fn compares_paths(expr: &Expr<'_>) -> bool {
    const NAMES: &[&str] = &["commonpath", "commonprefix", "relpath"];
    let Kind::Call(call) = &expr.kind else { return false };
    matches!(call.callee.kind, Kind::Member(_, name) | Kind::Name(name) if NAMES.contains(&name))
}

/// The variables in the arguments of a call, those in a list among them.
fn names_in<'t>(expr: &Expr<'t>) -> Vec<&'t str> {
    let Kind::Call(call) = &expr.kind else { return Vec::new() };
    let values = call.args.iter().map(|a| &a.value);
    let each = |value: &Expr<'t>| match &value.kind {
        Kind::List(all) => all.iter().filter_map(root).collect(),
        _ => root(value).into_iter().collect::<Vec<_>>(),
    };
    values.flat_map(each).collect()
}

fn turned<'t>(turn: bool, yes: Vec<Mark<'t>>, no: Vec<Mark<'t>>) -> Marks<'t> {
    if turn { Marks { yes: no, no: yes } } else { Marks { yes, no } }
}

/// The variable an expression is, or is a plain part of.
fn root<'t>(expr: &Expr<'t>) -> Option<&'t str> {
    match &expr.kind {
        Kind::Name(name) => Some(name),
        // Of an address the scheme says nothing about where it leads.
        Kind::Member(_, "scheme" | "Scheme" | "protocol") => None,
        Kind::Member(object, _) => root(object),
        Kind::Call(call) => match &call.callee.kind {
            Kind::Member(object, _) if call.args.is_empty() => root(object),
            _ => call.args.first().and_then(|arg| root(&arg.value)),
        },
        _ => None,
    }
}

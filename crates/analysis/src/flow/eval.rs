//! The value of an expression.

use std::{collections::BTreeMap, rc::Rc};

use super::{
    clean, fold,
    form::{Expr, Kind, Op},
    model::{Meaning, Place, Reach},
    run::{Run, Source, State, truth},
    value::{Known, Origin, Taint, Value},
};
use crate::page_scripts;

/// Names that languages and hosts define.
const HOST: &[&str] = &[
    "window",
    "document",
    "process",
    "console",
    "module",
    "exports",
    "require",
    "global",
    "self",
    "navigator",
    "event",
    "super",
    "cls",
    "this",
    "NaN",
    "Infinity",
    "arguments",
    "app",
    "db",
    "root",
    "_",
    "__dirname",
    "__filename",
    "settings",
    "config",
    "conf",
];

impl<'t> Run<'_, 't> {
    /// The value of an expression.
    pub(super) fn eval(&mut self, expr: &Expr<'t>) -> Value {
        if !self.may_go_on() {
            return Value::default();
        }
        self.deeper(|me| {
            let mut value = me.value(expr);
            if value.is_tainted() && is_noted(&me.frame().listed, expr) {
                value.weaken();
            }
            if value.is_tainted() && is_noted(&me.frame().texts, expr) {
                clean::text(&mut value);
            }
            value
        })
    }

    fn value(&mut self, expr: &Expr<'t>) -> Value {
        match &expr.kind {
            Kind::Name(name) => self.name(name, expr.line, true),
            Kind::Str(text) => Value::text(text),
            Kind::Int(number) => Value::of(Known::Int(*number)),
            Kind::Bool(value) => Value::of(Known::Bool(*value)),
            Kind::Null => Value::of(Known::Null),
            Kind::Literal => Value::default(),
            Kind::Join(parts) => {
                let parts: Vec<Value> = parts.iter().map(|p| self.eval(p)).collect();
                let whole = fold::put_together(&parts);
                self.statement(&whole, expr.line);
                whole
            }
            Kind::Member(object, name) => {
                let object = self.object(object);
                self.member(&object, name, expr.line)
            }
            Kind::Index(object, index) => {
                let object = self.object(object);
                let index = self.eval(index);
                let mut element = fold::element(&object, &index);
                if let Some(key) = index.constant() {
                    // An element that is a source by its key, or whatever its key.
                    let path = object.path.as_deref().unwrap_or_default();
                    for path in [format!("{path}[{key}]"), format!("{path}.[]")] {
                        if !element.is_tainted() {
                            self.source(&mut element, &path, expr.line);
                        }
                    }
                    clean::from_key(key, &mut element);
                }
                element
            }
            Kind::Call(call) => self.call(call, expr.line),
            Kind::Function(at) => {
                let function = self.unit.functions.get(*at);
                // What has a name is followed when all of the file is known.
                if function.is_some_and(|f| f.name.is_empty() || f.nested) {
                    self.function(*at, None);
                }
                Value::of(Known::Function(*at))
            }
            Kind::Assign(assign) => self.assign(assign),
            _ => self.combined(expr),
        }
    }

    fn combined(&mut self, expr: &Expr<'t>) -> Value {
        match &expr.kind {
            Kind::List(all) => Value::list(all.iter().map(|e| self.eval(e)).collect()),
            Kind::Map(pairs) => self.map(pairs),
            Kind::Seq(all) => all.iter().fold(Value::default(), |_, one| self.eval(one)),
            Kind::Any(all) => {
                let mut any = Value::default();
                for one in all {
                    let value = self.eval(one);
                    any.take(&value);
                }
                any
            }
            Kind::Pick(three) => self.pick(three),
            Kind::Binary(op, two) => self.binary(*op, two),
            Kind::Not(one) => {
                let value = self.eval(one);
                truth(&value).map_or_else(Value::default, |held| Value::of(Known::Bool(!held)))
            }
            _ => Value::default(),
        }
    }

    /// The value of what stands before a dot: a name there is no value that goes anywhere.
    pub(super) fn object(&mut self, expr: &Expr<'t>) -> Value {
        match &expr.kind {
            Kind::Name(name) => self.name(name, expr.line, false),
            _ => self.eval(expr),
        }
    }

    pub(super) fn name(&mut self, name: &'t str, line: u32, used: bool) -> Value {
        if let Some(value) = self.env.get(name) {
            return value.clone();
        }
        let class = self.frame().class;
        let field = class.and_then(|c| self.fields.get(c)).and_then(|fields| fields.get(name));
        if let Some(value) = field {
            return value.clone();
        }
        let mut value = Value::named(name);
        let function = self.by_name.get(name).and_then(|all| all.first());
        if let Some(at) = function.filter(|at| {
            self.unit.functions.get(**at).is_some_and(|f| f.class.is_none() || f.class == class)
        }) {
            let at = *at;
            // A name of Ruby is a call.
            if self.language == "Ruby" {
                self.function(at, None);
                let Some(State::Done(summary)) = self.states.get(at) else { return value };
                return summary.gives.clone();
            }
            value.known = Known::Function(at);
            return value;
        }
        self.source(&mut value, name, line);
        if used && !value.is_tainted() && self.undefined(name) {
            self.taint(&mut value, Reach::Parameter, line, name);
        }
        value
    }

    /// Whether nothing in the file says what a name is.
    fn undefined(&self, name: &str) -> bool {
        // The scripts of a page share their names.
        let is_elsewhere = || {
            self.language == "Python" && self.text.contains("import *")
                || page_scripts::is_page(self.text)
        };
        matches!(self.language, "Python" | "JavaScript")
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && !self.defined.contains(name)
            && !HOST.contains(&name)
            && !is_elsewhere()
    }

    /// What a member of a value is.
    pub(super) fn member(&mut self, object: &Value, name: &str, line: u32) -> Value {
        if let Known::Map(fields) = &object.known
            && (fields.contains_key(name) || !whole(name))
        {
            if let Some(field) = fields.get(name) {
                return field.clone();
            }
            let mut rest = fold::element(object, &Value::text(name));
            // Another member of a request of which one was set.
            if let Some(path) = object.path.as_deref()
                && !rest.is_tainted()
            {
                let path = format!("{path}.{name}");
                self.source(&mut rest, &path, line);
                if matches!(rest.known, Known::Unknown) {
                    rest.path = Value::named(&path).path;
                }
            }
            return rest;
        }
        let path = object.path.as_deref().unwrap_or_default();
        let mut value = object.bare();
        if name == "default" && self.language == "JavaScript" {
            return object.clone();
        }
        if matches!(name, "length" | "size" | "count" | "Length" | "Count" | "nil?" | "blank?") {
            return Value::default();
        }
        value.path = Value::named(&format!("{path}.{name}")).path;
        if path.ends_with("eaders") && name == "host" {
            clean::own_host(&mut value);
        }
        let path = value.path.clone();
        if let Some(path) = path {
            self.source(&mut value, &path, line);
            // A field of what was sent, of Laravel.
            if self.language == "Php"
                && !value.is_tainted()
                && self.is_request(object)
                // Without a type it may be a row of a table of requests.
                && object.path.as_deref().is_none_or(|path| !path.starts_with('$'))
                && !matches!(name, "user" | "session" | "server" | "method")
            {
                self.taint(&mut value, Reach::Request, line, &path);
            }
            self.member_meanings(&mut value, object, &path, line);
        }
        clean::answers(name, &mut value);
        value
    }

    /// Members that are calls without brackets: cleaners and sinks.
    fn member_meanings(&mut self, value: &mut Value, object: &Value, path: &Rc<str>, line: u32) {
        let model = self.model;
        if !value.is_tainted() {
            return;
        }
        for meaning in model.meanings(path) {
            match meaning {
                Meaning::Clean(harms) => value.spare(*harms),
                Meaning::Sink(sink, places) if places.contains(&Place::This) => {
                    self.check(*sink, object, (line, line), path);
                }
                _ => {}
            }
        }
    }

    /// Adds what `path` gives, where it is a source.
    pub(super) fn source(&mut self, value: &mut Value, path: &str, line: u32) {
        let model = self.model;
        // Every header has a name of its own.
        let header = path.split_once("[HTTP_").map(|(before, _)| format!("{before}[HTTP_*]"));
        let known = header.as_deref().unwrap_or(path);
        let reach = model.meanings(known).find_map(|m| match m {
            Meaning::Read(reach) => Some(*reach),
            _ => None,
        });
        if let Some(reach) = reach {
            self.taint(value, reach, line, path);
        }
    }

    /// Adds a source of this reach.
    pub(super) fn taint(&mut self, value: &mut Value, reach: Reach, line: u32, label: &str) {
        let found = self.sources.iter().position(|s| (s.line, s.label.as_str()) == (line, label));
        let at = found.unwrap_or_else(|| {
            self.sources.push(Source { reach, label: label.to_owned(), line });
            self.sources.len() - 1
        });
        let note = match reach {
            Reach::Request => format!("`{label}`: from the request"),
            Reach::Parameter => format!("`{label}`: from outside"),
            Reach::Local => format!("`{label}`: from the surroundings"),
        };
        let clean = clean::of_source(label);
        value.add(Taint { clean, ..Taint::new(Origin::Source(at), line, &note) });
        if value.known_text().is_none() {
            value.known = Known::Unknown;
        }
    }

    fn map(&mut self, pairs: &[(Expr<'t>, Expr<'t>)]) -> Value {
        let mut fields: BTreeMap<Rc<str>, Value> = BTreeMap::new();
        let mut rest = Value::default();
        for (at, (key, value)) in pairs.iter().enumerate() {
            let spread = matches!(key.kind, Kind::Literal);
            let line = key.line;
            let key = self.eval(key);
            let mut value = self.eval(value);
            if let Some(name) = key.constant() {
                clean::past_host(name, &mut value);
                clean::operator(name, &mut value);
                self.set_in_map(name, &value, line);
            }
            match (key.constant(), &key.known) {
                (Some(key), _) => fields.insert(key.into(), value),
                (_, Known::Int(number)) => fields.insert(number.to_string().into(), value),
                _ if spread => {
                    rest.take(&value);
                    fields.insert(format!("\u{1}{at}").into(), value)
                }
                _ => fields.insert(format!("\u{1}{at}").into(), value),
            };
        }
        let mut map = Value::map(fields);
        map.take(&rest);
        map
    }

    fn pick(&mut self, three: &[Expr<'t>; 3]) -> Value {
        let [condition, yes, no] = three;
        let held = self.eval(condition);
        match truth(&held) {
            Some(true) => return self.eval(yes),
            Some(false) => return self.eval(no),
            None => {}
        }
        let marks = self.guard(condition);
        self.env.push();
        self.apply(&marks.yes);
        let yes = self.eval(yes);
        self.env.pop();
        self.env.push();
        self.apply(&marks.no);
        let no = self.eval(no);
        self.env.pop();
        yes.join(&no)
    }

    fn binary(&mut self, op: Op, two: &[Expr<'t>; 2]) -> Value {
        let [left, right] = two;
        let (a, b) = (self.eval(left), self.eval(right));
        match op {
            Op::Or | Op::Else => match (truth(&a), truth(&b)) {
                (Some(true), _) => a,
                (Some(false), _) => b,
                _ => a.join(&b),
            },
            Op::And => match truth(&a) {
                Some(true) => b,
                Some(false) => a,
                None => Value { path: b.path.clone(), ..b.bare() },
            },
            Op::Rem if a.known_text().is_some() || a.is_tainted() => {
                let whole = fold::percent(&a, &b);
                self.statement(&whole, left.line);
                whole
            }
            Op::Push => {
                let mut sum = a.clone();
                sum.take(&b);
                let target = self.grown(&a, &[b]);
                self.store(left, target);
                sum
            }
            _ => fold::compute(op, &a, &b),
        }
    }
}

/// Whether an expression reads one of the places that a condition said something about.
fn is_noted(places: &[String], expr: &Expr<'_>) -> bool {
    !places.is_empty() && expr.place().is_some_and(|place| places.contains(&place))
}

/// Whether a member of this name stands for all of a container.
fn whole(name: &str) -> bool {
    const NAMES: &[&str] = &["values", "keys", "items", "entries", "first", "last", "rest", "each"];
    NAMES.contains(&name) || name.starts_with("to_") || name.starts_with("to")
}

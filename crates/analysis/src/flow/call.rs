//! Calls: what they are made on and with, what is known of the callee, what they give.

use super::{
    clean, fold,
    form::{Call, Expr, Kind},
    model::{Meaning, Place, Reach, harms},
    run::Run,
    shell,
    value::{Harms, Known, Value},
};

/// An argument, evaluated.
#[derive(Debug)]
pub(super) struct Passed<'t> {
    pub(super) name: Option<&'t str>,
    pub(super) value: Value,
}

/// A call, with what was evaluated for it.
pub(super) struct Made<'c, 't> {
    pub(super) call: &'c Call<'t>,
    /// What a method is called on.
    pub(super) object: Value,
    pub(super) name: &'t str,
    /// What the callee is called.
    pub(super) path: String,
    pub(super) args: Vec<Passed<'t>>,
    pub(super) line: u32,
}

impl<'t> Run<'_, 't> {
    /// The value that a call gives.
    pub(super) fn call(&mut self, call: &Call<'t>, line: u32) -> Value {
        let (object, callee, name) = self.callee(&call.callee);
        let mut path = callee.path.as_deref().unwrap_or(name).to_owned();
        if call.new {
            path = format!("new {path}");
        }
        let args = self.args(call, &object);
        let made = Made { call, object, name, path, args, line };
        self.sinks(&made);
        let mut value = self.given(&made, &callee);
        self.looked_up(name, call);
        // What a method makes of a whole request beside its object may be anything.
        let whole = |v: &Value| v.path.as_deref().is_some_and(|path| path.ends_with("Context"));
        if made.object.is_tainted()
            && made.args.iter().any(|a| whole(&a.value) || self.is_request(&a.value))
        {
            value.each(|t| {
                t.vague = true;
                true
            });
        }
        if let Some(key) = made.args.first().and_then(|a| a.value.constant()) {
            // What is got by its key is the element of that key.
            if made.name == "get" && !value.is_tainted() {
                let path = made.object.path.as_deref().unwrap_or_default();
                self.source(&mut value, &format!("{path}[{key}]"), line);
            }
            clean::from_key(key, &mut value);
        }
        for arg in call.args.iter().filter(|arg| arg.out) {
            let set = self.handed_out(&made, &value);
            self.bind(&arg.value, set);
        }
        value
    }

    fn given(&mut self, made: &Made<'_, 't>, callee: &Value) -> Value {
        if let Some(value) = self.built_in(made) {
            return value;
        }
        if let Some(value) = self.modelled(made) {
            return value;
        }
        match self.resolve(made, callee) {
            Some(at) => self.called(at, made),
            None => self.unknown(made),
        }
    }

    /// Receiver, function, and the name it is called by.
    fn callee(&mut self, callee: &Expr<'t>) -> (Value, Value, &'t str) {
        match &callee.kind {
            Kind::Member(object, name) => {
                let object = self.object(object);
                let known = match &object.known {
                    Known::Map(fields) => fields.get(*name).cloned(),
                    _ => None,
                };
                let path = format!("{}.{name}", object.path.as_deref().unwrap_or_default());
                (object, known.unwrap_or_else(|| Value::named(&path)), name)
            }
            Kind::Name(name) => (Value::default(), self.name(name, callee.line, false), name),
            // `(0, eval)(…)`
            Kind::List(all) if matches!(all[..], [Expr { kind: Kind::Int(_), .. }, _]) => {
                self.callee(&all[1])
            }
            // Of Scala, the function in `f(a) { b => … }` gets what `f` made of `a`.
            _ if self.language == "Scala" => {
                let made = self.eval(callee);
                (made.clone(), made, "")
            }
            _ => (Value::default(), self.eval(callee), ""),
        }
    }

    fn args(&mut self, call: &Call<'t>, object: &Value) -> Vec<Passed<'t>> {
        let mut closures = Vec::new();
        let mut args = Vec::new();
        for arg in &call.args {
            let value = match &arg.value.kind {
                Kind::Function(at) => {
                    closures.push(*at);
                    Value::of(Known::Function(*at))
                }
                _ => self.eval(&arg.value),
            };
            args.push(Passed { name: arg.name, value });
        }
        let seed = self.seed(call, object);
        for at in closures {
            self.function(at, Some(seed.clone()));
        }
        args
    }

    /// Reports what reaches a sink.
    fn sinks(&mut self, made: &Made<'_, 't>) {
        let model = self.model;
        let markup = made.args.iter().any(|arg| arg.value.holds_tag());
        // What is printed on the console is no page.
        let plain = ["System.out.", "System.err."].iter().any(|of| made.path.starts_with(of))
            || made.args.iter().any(is_plain_text);
        for meaning in model.meanings(&made.path) {
            let Meaning::Sink(sink, places) = meaning else { continue };
            let Some(spec) = model.sinks.get(*sink) else { continue };
            if spec.with.as_deref().is_some_and(|name| !is_on(made, name))
                || spec.without.as_deref().is_some_and(|name| is_given(made, name))
                || !spec.beside.is_empty()
                    && !spec.beside.iter().any(|text| stands_beside(made, text))
                || spec.shell && !shell::runs(made)
                || plain && harms().get(spec.harm).is_some_and(|h| h.id == "cross-site-scripting")
            {
                continue;
            }
            for value in places.iter().flat_map(|place| placed(made, place)) {
                self.check_in(*sink, value, (made.line, made.call.end), &made.path, markup);
            }
        }
    }

    /// What the model says that a call gives.
    fn modelled(&mut self, made: &Made<'_, 't>) -> Option<Value> {
        let model = self.model;
        let mut found = None;
        for meaning in model.meanings(&made.path) {
            let value = match meaning {
                Meaning::Gives(reach) => {
                    let mut value = self.result(made);
                    self.taint(&mut value, *reach, made.line, &format!("{}()", made.path));
                    value
                }
                Meaning::Clean(harms) => clean::without(self.through(made), *harms),
                Meaning::Format => {
                    let value = self.formatted(made);
                    self.statement(&value, made.line);
                    value
                }
                Meaning::Pass => self.through(made),
                Meaning::Read(_) | Meaning::Object | Meaning::Sink(..) | Meaning::Set(_) => {
                    continue;
                }
            };
            found = Some(value);
            if !matches!(meaning, Meaning::Pass) {
                break;
            }
        }
        found
    }

    fn formatted(&self, made: &Made<'_, 't>) -> Value {
        let values: Vec<Value> = made.args.iter().map(|a| a.value.clone()).collect();
        // Of Java, a locale may come first.
        let is_locale = |v: &Value| v.path.as_deref().is_some_and(|p| p.contains("Locale"));
        let values = match values.as_slice() {
            [first, rest @ ..] if self.language == "Java" && is_locale(first) => rest,
            all => all,
        };
        let Some((template, rest)) = values.split_first() else { return Value::default() };
        if self.language == "CSharp" || made.path == "MessageFormat.format" {
            return fold::braces(template, rest, &[]);
        }
        fold::formatted(template, rest)
    }

    /// The arguments and the receiver, as they come out again.
    fn through(&self, made: &Made<'_, 't>) -> Value {
        let clean = self.mapped(made) | self.rooted(made);
        if clean == Harms::MAX {
            return self.result(made);
        }
        // What is taken out of a container is not the key.
        let taken =
            matches!(made.name, "get" | "Get" | "fetch" | "dig" | "getOrDefault" | "getOrElse");
        if taken && !made.object.is_tainted() {
            return self.result(made);
        }
        let mut all: Vec<&Value> = made.args.iter().map(|a| &a.value).collect();
        let own = |base: &Value| base.path.as_deref().is_some_and(|p| p.ends_with("equest.url"));
        // Resolved against where it was asked, an address leads to this host.
        if made.path == "new URL" && all.get(1).is_some_and(|base| own(base)) {
            all.truncate(1);
        }
        if all.is_empty() || made.object.is_tainted() {
            all.push(&made.object);
        }
        if let [only] = all.as_slice() {
            let mut value = (*only).clone();
            if matches!(value.known, Known::List(_) | Known::Map(_)) {
                value = value.bare();
            }
            if !matches!(made.name, "promisify" | "stub") {
                value.path = self.result(made).path;
            }
            return clean::without(value, clean);
        }
        let all: Vec<Value> = all.into_iter().cloned().collect();
        clean::without(Value { path: self.result(made).path, ..fold::vague_text(&all) }, clean)
    }

    /// A value without origins, called after the call.
    pub(super) fn result(&self, made: &Made<'_, 't>) -> Value {
        match made.path.strip_prefix("new ") {
            Some(class) => Value::named(class),
            None => Value::named(&format!("{}()", made.path)),
        }
    }

    /// The function of this file that is called, if it is certain which.
    fn resolve(&self, made: &Made<'_, 't>, callee: &Value) -> Option<usize> {
        if let Known::Function(at) = callee.known {
            return Some(at);
        }
        if made.call.new {
            return None;
        }
        let named = self.by_name.get(made.name)?;
        let class = self.frames.last().and_then(|f| f.class);
        let of = |at: &&usize| self.unit.functions.get(**at).and_then(|f| f.class);
        let object = made.object.path.as_deref().unwrap_or_default();
        let class = match object {
            "self" | "this" | "$this" | "static" | "cls" => class,
            "" if matches!(made.call.callee.kind, Kind::Name(_)) => {
                let free = named.iter().find(|at| of(at).is_none());
                return free.or_else(|| named.iter().find(|at| of(at) == class)).copied();
            }
            other => {
                let other = other.trim_end_matches("()").rsplit('.').next().unwrap_or(other);
                Some(*self.by_class.get(other)?)
            }
        };
        class?;
        named.iter().find(|at| of(at) == class).copied()
    }

    /// Whether a call makes something of a whole request.
    fn wraps_request(&self, made: &Made<'_, 't>, name: &str) -> bool {
        const WORDS: &[&str] = &["request", "param", "header", "body", "wrap", "query", "form"];
        let named = made.call.new || WORDS.iter().any(|word| name.contains(word));
        named && made.args.iter().any(|a| self.is_request(&a.value))
    }

    pub(super) fn is_request(&self, value: &Value) -> bool {
        let path = value.path.as_deref().unwrap_or_default();
        self.model.meanings(path).any(|m| matches!(m, Meaning::Object))
    }

    /// A call of something not known: what goes in may come out.
    pub(super) fn unknown(&mut self, made: &Made<'_, 't>) -> Value {
        let mut value = self.result(made);
        let low = made.path.rsplit('.').next().unwrap_or(made.name).to_ascii_lowercase();
        if self.wraps_request(made, &low) {
            self.taint(&mut value, Reach::Request, made.line, &made.path);
            value.each(|t| {
                t.vague = !low.contains("request");
                true
            });
        }
        let mut passed = Value::default();
        value.take(&made.object);
        // What is looked up, or let through by a filter, is the receiver's.
        let filters = low == "filter" && matches!(made.call.callee.kind, Kind::Member(..));
        if !filters && !looks_up(&low) {
            made.args.iter().for_each(|a| passed.take(&a.value));
        } else if !made.object.is_tainted() {
            return value;
        }
        let pattern = made.args.first().and_then(|a| a.value.constant()).unwrap_or_default();
        let fixed = made.args.get(1).is_some_and(|with| !with.value.is_tainted());
        let leaves_words = made.name == "preg_replace" && fixed && clean::leaves_words(pattern);
        let by_name = clean::cleaned_by(&made.path.to_ascii_lowercase());
        let clean = if leaves_words { Harms::MAX } else { by_name };
        let keeps = made.call.new && self.by_class.contains_key(made.name);
        passed.each(|t| {
            t.step(made.line, &format!("through `{}`", made.path));
            // What an object of the file's own is made of is kept in it.
            t.vague |= clean == 0 && !keeps;
            true
        });
        value.take(&passed);
        if clean::is_vouched_for(&low) {
            value.weaken();
        }
        clean::without(value, clean)
    }
}

/// Whether a call of this name looks something up: what comes out is not what went in.
fn looks_up(name: &str) -> bool {
    const WORDS: &str = "find load fetch select exists lookup query count authenticate where filter_by login \
                         verify compare is_ has_ check search xpath execute result send log";
    // What is got by these names is a part of what is passed.
    const FROM_REQUEST: &[&str] = &[
        "param", "header", "cookie", "query", "value", "body", "text", "string", "path", "name",
        "bytes",
    ];
    const WHOLE: &[&str] = &["first", "one", "all", "save", "delete", "create", "update"];
    WORDS.split_ascii_whitespace().any(|word| name.starts_with(word))
        || WHOLE.contains(&name)
        || name.starts_with("get") && !FROM_REQUEST.iter().any(|word| name.contains(word))
}

/// The arguments that a place stands for.
fn placed<'m>(made: &'m Made<'_, '_>, place: &Place) -> Vec<&'m Value> {
    let positional = || made.args.iter().filter(|a| a.name.is_none()).map(|a| &a.value);
    match place {
        Place::At(at) => positional().nth(*at).into_iter().collect(),
        Place::From(at) => positional().skip(*at).collect(),
        Place::Each => made.args.iter().map(|a| &a.value).collect(),
        Place::This => vec![&made.object],
        Place::Named(name) => {
            let given = made.args.iter().find(|a| a.name == Some(name)).map(|a| &a.value);
            let optional = made.args.iter().filter_map(|a| match &a.value.known {
                Known::Map(fields) => fields.get(name.as_str()),
                _ => None,
            });
            given.into_iter().chain(optional).collect()
        }
    }
}

/// Whether there is an argument or an option of this name.
fn is_given(made: &Made<'_, '_>, name: &str) -> bool {
    !placed(made, &Place::Named(name.to_owned())).is_empty()
}

/// Whether an argument or an option of this name is true.
fn is_on(made: &Made<'_, '_>, name: &str) -> bool {
    let on = |value: &&Value| match &value.known {
        Known::Bool(on) => *on,
        Known::Int(number) => *number != 0,
        Known::Text(text) => !text.is_empty(),
        _ => false,
    };
    placed(made, &Place::Named(name.to_owned())).iter().any(on)
}

/// Whether an argument says that text is sent.
fn is_plain_text(given: &Passed<'_>) -> bool {
    let path = given.value.path.as_deref().unwrap_or_default();
    let named = path.ends_with("Text.Plain") || path.contains("text/plain");
    named || given.value.constant() == Some("text/plain")
}

/// Whether an argument is this text.
fn stands_beside(made: &Made<'_, '_>, text: &str) -> bool {
    // `HttpHeaders.LOCATION` stands for the name that it is called by.
    let called = |value: &Value| {
        let last = value.path.as_deref().and_then(|path| path.rsplit('.').next());
        last.is_some_and(|name| name.replace('_', "-").eq_ignore_ascii_case(text))
    };
    let same =
        |v: &Value| v.constant().is_some_and(|own| own.eq_ignore_ascii_case(text)) || called(v);
    made.args.iter().any(|a| same(&a.value))
}

//! What objects hold: a function to be called, properties by their setters, and what a function puts into the containers
//! that it is passed.

use std::ops::Range;

use super::{
    built_in::is_container,
    call::Made,
    clean, fold,
    form::{Arg, Call, Expr, Function, Kind, Param},
    model::Reach,
    run::{Run, State},
    value::{Known, Origin, Taint, Value},
};

/// Methods that call the function they are called on.
const CALLS: &[&str] = &["get", "apply", "call", "accept", "test", "invoke", "Invoke"];

/// What ASP.NET is given functions by that it calls with values of the request.
const ROUTES: &[&str] = &["MapGet", "MapPost", "MapPut", "MapDelete", "MapPatch"];

/// Methods that call a function with each element, and its place.
const BY_ELEMENT: &[&str] = &[
    "map",
    "flatMap",
    "filter",
    "some",
    "every",
    "find",
    "findIndex",
    "Select",
    "Where",
    "each_with_index",
];

/// What the parameters of a function may be that is passed to a call.
#[derive(Debug, Clone)]
pub(super) struct Seed {
    value: Value,
    /// The numbers of those that it goes for.
    numbers: Range<usize>,
}

impl Seed {
    fn all(value: Value) -> Self {
        Self { value, numbers: 0..usize::MAX }
    }

    /// What the parameter of this number may be.
    pub(super) fn of(&self, number: usize) -> Option<&Value> {
        self.numbers.contains(&number).then_some(&self.value)
    }
}

impl<'t> Run<'_, 't> {
    /// What the parameters of functions may be that are passed to a call.
    pub(super) fn seed(&mut self, call: &Call<'t>, object: &Value) -> Seed {
        let (Kind::Member(_, name) | Kind::Name(name)) = &call.callee.kind else {
            return Seed::all(object.any_element().bare());
        };
        let listens = self.listens(call, object, name);
        if self.language == "CSharp" && ROUTES.contains(name) || listens {
            let mut seed = Value::default();
            self.taint(&mut seed, Reach::Request, call.callee.line, name);
            if listens {
                // What a browser asks for, or how long it takes, harms no server.
                let harms = clean::bit("request-forgery") | clean::bit("regex-injection");
                seed = clean::without(seed, harms);
            }
            return Seed::all(seed);
        }
        if self.routes_segments(call, object, name) {
            let mut value = Value::default();
            self.taint(&mut value, Reach::Request, call.callee.line, name);
            return Seed { value, numbers: 2..3 };
        }
        let value = object.any_element().bare();
        // A map of Ruby passes each key and what stands under it.
        let alone = self.language != "Ruby" || *name == "each_with_index";
        if alone && BY_ELEMENT.contains(name) {
            Seed { value, numbers: 0..1 }
        } else {
            Seed::all(value)
        }
    }

    /// Whether a function gets parts of an address beside its request, of Slim.
    fn routes_segments(&self, call: &Call<'t>, object: &Value, name: &str) -> bool {
        const METHODS: &[&str] = &["get", "post", "put", "patch", "delete", "any", "map"];
        let app = object.path.as_deref().unwrap_or_default();
        let is_app =
            ["$app", "$group", "AppFactory.create()", "RouteCollectorProxy"].contains(&app);
        // `{name}`, or one with an expression that lets anything in.
        let free = |part: &str| {
            let part = part.split('}').next().unwrap_or(part).trim_start();
            let is_name = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            is_name && part.split_once(':').is_none_or(|(_, pattern)| pattern.contains(['.', '^']))
        };
        let takes_text = |arg: &Arg<'t>| match &arg.value.kind {
            Kind::Str(route) => route.split('{').skip(1).any(free),
            _ => false,
        };
        self.language == "Php"
            && METHODS.contains(&name)
            && is_app
            && call.args.iter().any(takes_text)
    }

    /// Whether a function is called with messages that other pages send.
    fn listens(&self, call: &Call<'t>, object: &Value, name: &str) -> bool {
        let path = object.path.as_deref().unwrap_or_default();
        let event = call.args.first().map(|arg| &arg.value.kind);
        self.language == "JavaScript"
            && match name {
                "addEventListener" => {
                    matches!(path, "" | "window")
                        && matches!(event, Some(Kind::Str(event)) if event == "message")
                }
                "addListener" => path.ends_with("runtime.onMessageExternal"),
                _ => false,
            }
    }

    /// What a call that gave `value` sets its `out` argument to.
    pub(super) fn handed_out(&self, made: &Made<'_, 't>, value: &Value) -> Value {
        if ["TryGet", "TryRemove"].iter().any(|start| made.name.starts_with(start)) {
            // What is taken out of a container is not the key.
            let key = made.args.first().map(|a| &a.value);
            return key.map_or_else(Value::default, |key| fold::element(&made.object, key));
        }
        value.bare()
    }

    /// What a method gives by what its object holds.
    pub(super) fn of_object(&mut self, made: &Made<'_, 't>, target: &Expr<'t>) -> Option<Value> {
        match made.object.known {
            Known::Function(at) if CALLS.contains(&made.name) => self.called_by(at, made),
            _ if matches!(self.language, "Java" | "Php") => self.property(made, target),
            _ => None,
        }
    }

    /// What a function that is kept in a variable gives of these arguments.
    fn called_by(&mut self, at: usize, made: &Made<'_, 't>) -> Option<Value> {
        let mut seed = Value::default();
        made.args.iter().for_each(|arg| seed.take(&arg.value));
        self.function(at, Some(Seed::all(seed)));
        match self.states.get(at) {
            Some(State::Done(summary)) => Some(summary.gives.clone()),
            _ => None,
        }
    }

    /// A property by its setter, once that got something from outside, and by its getter from then on.
    fn property(&mut self, made: &Made<'_, 't>, target: &Expr<'t>) -> Option<Value> {
        let of = |prefix: &str| {
            let name = made.name.strip_prefix(prefix)?;
            name.starts_with(|c: char| c.is_ascii_uppercase()).then(|| format!("{name}()"))
        };
        let known = match &made.object.known {
            Known::Map(fields) => Some(fields),
            _ => None,
        };
        match made.args.as_slice() {
            [] => {
                let (fields, name) = (known?, of("get")?);
                let by_setters = fields.keys().any(|key| key.ends_with("()"));
                by_setters.then(|| fields.get(name.as_str()).cloned().unwrap_or_default())
            }
            [only] if known.is_some() || only.value.is_tainted() && !made.object.is_tainted() => {
                let whole = fold::with_field(&made.object, Some(&of("set")?), only.value.clone());
                self.store(target, whole);
                Some(Value::default())
            }
            _ => None,
        }
    }

    /// What a function that just ran left in the containers it was passed.
    pub(super) fn fills(&self, at: usize, function: &Function<'t>) -> Vec<(usize, Value)> {
        let filled = |(number, param): (usize, &Param<'t>)| {
            let value = self.env.get(param.target.name()?)?;
            let new = |t: &Taint| t.origin != Origin::Param(at, number);
            let filled = is_container(value) && value.taints().iter().any(new);
            filled.then(|| (number, value.bare()))
        };
        function.params.iter().enumerate().filter_map(filled).collect()
    }
}

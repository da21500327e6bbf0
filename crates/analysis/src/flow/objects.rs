//! What objects hold: a function to be called, properties by their setters, and what a function puts into the containers
//! that it is passed.

use super::{
    built_in::is_container,
    call::Made,
    fold,
    form::{Call, Expr, Function, Kind, Param},
    model::Reach,
    run::{Run, State},
    value::{Known, Origin, Taint, Value},
};

/// Methods that call the function they are called on.
const CALLS: &[&str] = &["get", "apply", "call", "accept", "test", "invoke", "Invoke"];

/// What ASP.NET is given functions by that it calls with values of the request.
const ROUTES: &[&str] = &["MapGet", "MapPost", "MapPut", "MapDelete", "MapPatch"];

impl<'t> Run<'_, 't> {
    /// What the parameters of functions may be that are passed to a call.
    pub(super) fn seed(&mut self, call: &Call<'t>, object: &Value) -> Value {
        match &call.callee.kind {
            Kind::Member(_, name) if self.language == "CSharp" && ROUTES.contains(name) => {
                let mut seed = Value::default();
                self.taint(&mut seed, Reach::Request, call.callee.line, name);
                seed
            }
            _ => object.any_element().bare(),
        }
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
        self.function(at, Some(&seed));
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

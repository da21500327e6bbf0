//! Assignments: what variables, members and elements hold, and what setting them does.

use super::{
    clean, fold,
    form::{Assign, Expr, Kind},
    lower_expr::simple,
    model::Meaning,
    run::Run,
    value::{Known, Value},
};

impl<'t> Run<'_, 't> {
    /// Gives a value to a target; its value is the one given.
    pub(super) fn assign(&mut self, assign: &Assign<'t>) -> Value {
        let mut value = self.eval(&assign.value);
        if assign.adds {
            let before = self.eval(&assign.target);
            value = fold::put_together(&[before, value]);
        }
        if let Some(ty) = assign.ty {
            let ty = simple(ty);
            let plain = matches!(
                ty,
                "var" | "String" | "string" | "str" | "any" | "Object" | "object" | "val"
            );
            if !plain && !ty.is_empty() {
                value.path = Value::named(ty).path;
            }
        }
        self.bind(&assign.target, value.clone());
        value
    }

    /// Binds a target, which may be a pattern, to a value.
    pub(super) fn bind(&mut self, target: &Expr<'t>, mut value: Value) {
        match &target.kind {
            Kind::List(all) | Kind::Any(all) => {
                for (at, one) in all.iter().enumerate() {
                    let index = Value::of(Known::Int(i64::try_from(at).unwrap_or(0)));
                    let mut element = fold::element(&value, &index);
                    if matches!(value.known, Known::Unknown) {
                        // Several results: the first is the value, the others come with it.
                        element.path = value.path.clone().filter(|_| at == 0);
                    }
                    self.bind(one, element);
                }
            }
            Kind::Map(pairs) => {
                for (key, one) in pairs {
                    let element = match &key.kind {
                        Kind::Str(name) => self.member(&value, name, target.line),
                        _ => value.bare(),
                    };
                    self.bind(one, element);
                }
            }
            Kind::Assign(inner) => self.bind(&inner.target, value),
            _ => {
                let name = describe(target);
                value.each(|t| {
                    t.step(target.line, &format!("set: `{name}`"));
                    true
                });
                self.set_sink(target, &value);
                self.store(target, value);
            }
        }
    }

    /// Setting some members does harm by itself.
    fn set_sink(&mut self, target: &Expr<'t>, value: &Value) {
        if !value.is_tainted() {
            return;
        }
        let (object, name, key) = match &target.kind {
            Kind::Member(object, name) => (object, *name, None),
            // Where to go afterwards, and in which language, is what everybody keeps so.
            Kind::Index(_, key) if self.eval(key).constant().is_some_and(is_preference) => return,
            Kind::Index(object, key) => {
                (object, "[]", self.eval(key).constant().map(str::to_owned))
            }
            _ => {
                if let Kind::Name(name) = target.kind {
                    self.sets(name, value, target.line);
                }
                return;
            }
        };
        let object = self.object(object);
        let path = object.path.as_deref().unwrap_or_default();
        if let Some(key) = key {
            self.sets(&format!("{path}[{key}]"), value, target.line);
        }
        let path = format!("{path}.{name}");
        self.sets(&path, value, target.line);
    }

    /// A field of an object that is written as it is passed or given back.
    pub(super) fn set_in_map(&mut self, name: &str, value: &Value, line: u32) {
        if value.is_tainted() {
            self.sets(&format!("{{}}{name}"), value, line);
        }
    }

    fn sets(&mut self, path: &str, value: &Value, line: u32) {
        let model = self.model;
        for meaning in model.meanings(path) {
            if let Meaning::Set(sink) = meaning {
                self.check(*sink, value, (line, line), path);
            }
        }
    }

    /// Stores a value in a variable, or in a member or element of one.
    pub(super) fn store(&mut self, target: &Expr<'t>, mut value: Value) {
        match &target.kind {
            Kind::Name(name) => self.env.set(name, value),
            Kind::Member(object, name) => {
                clean::past_host(name, &mut value);
                let owner = self.object(object);
                let owner = fold::with_field(&owner, Some(name), value);
                self.store(object, owner);
            }
            Kind::Index(object, index) => {
                let owner = self.object(object);
                let index = self.eval(index);
                let key = index.constant().map(str::to_owned).or(match index.known {
                    Known::Int(number) => Some(number.to_string()),
                    _ => None,
                });
                let owner = fold::with_field(&owner, key.as_deref(), value);
                self.store(object, owner);
            }
            _ => {}
        }
    }
}

/// Whether a key is for something that the user may choose.
fn is_preference(key: &str) -> bool {
    const WORDS: &[&str] = &[
        "next", "return", "origin", "redirect", "url", "lang", "locale", "theme", "back", "flash",
    ];
    let key = key.to_ascii_lowercase();
    WORDS.iter().any(|word| key.contains(word))
}

/// What a target is called, for people.
fn describe(target: &Expr<'_>) -> String {
    match &target.kind {
        Kind::Name(name) => (*name).to_owned(),
        Kind::Member(object, name) => format!("{}.{name}", describe(object)),
        Kind::Index(object, _) => format!("{}[…]", describe(object)),
        _ => "…".to_owned(),
    }
}

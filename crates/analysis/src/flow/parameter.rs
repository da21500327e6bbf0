//! Parameters: what they are when nobody knows the caller.

use super::{
    clean,
    form::{Function, Kind, Param},
    lower_expr::simple,
    lower_fn::INJECTED,
    model::Reach,
    run::Run,
    value::{Origin, Taint, Value},
};

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

/// Parameters of JavaScript whose names say more than their types.
const NAMED: &[&str] = &["req", "request", "event", "res", "response", "reply"];

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
    /// What a parameter is when nobody knows the caller.
    pub(super) fn parameter(
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
            // A type of the file's own says less than the name.
            "JavaScript" if NAMED.contains(&name) && is_handler(function) => name,
            // `APIGatewayProxyEvent`, `S3Event`: what an event holds has the same names in all of them.
            "JavaScript" if name == "event" && ty.ends_with("Event") => name,
            // What is called by this type's name compiles a text.
            "JavaScript" if ty == "Function" => name,
            "Kotlin" if name == "call" => name,
            _ if ty.is_empty() => name,
            _ => ty,
        });
        // What is passed beside values of a request are services, by their type.
        let typed = self.language == "CSharp" && param.ty.is_some();
        if let Some(seed) = seed.filter(|_| !typed || is_data(name, param.ty, self.language)) {
            value.take(seed);
        }
        let numbered = ["int", "float", "uuid"].map(|kind| format!("<{kind}:{name}>"));
        let names_number = |mark: &&str| numbered.iter().any(|part| mark.contains(part.as_str()));
        if param.marks.iter().any(|mark| mark.contains(INJECTED))
            || function.marks.iter().any(names_number)
        {
            return value;
        }
        let fields = param.ty.is_some_and(|ty| ty.trim_start_matches([':', ' ']).starts_with('{'));
        if !fields && is_number(param.ty) {
            return Value::default();
        }
        if let Some(reach) = self.filled_from_request(function, param) {
            let label = if name.is_empty() { "parameter" } else { name };
            self.taint(&mut value, reach, line, label);
            let segment = format!("{{{name}}}");
            if self.language == "Python" && function.marks.iter().any(|m| m.contains(&segment)) {
                clean::one_segment(&mut value);
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
        let name = param.target.name().unwrap_or("{}");
        if function.class.is_none() {
            let names: Vec<_> = function.params.iter().map(|p| p.target.name()).collect();
            let called = &self.model.called;
            if let Some(called) = called.iter().find(|c| c.fills(name, &names, self.text)) {
                return Some(called.reach);
            }
        }
        let marked = self.model.marks.iter().find(|(mark, _)| has(&param.marks, mark));
        if let Some((_, reach)) = marked {
            return Some(*reach);
        }
        let ty = param.ty.map(simple).unwrap_or_default();
        let class = self.by_class.get(ty).and_then(|at| self.unit.classes.get(*at));
        let is_body = ty == "UploadFile" || class.is_some_and(|c| c.head.contains("BaseModel"));
        let text = is_text(param.ty);
        if HANDLES.contains(&name) && !text || !is_body && !text && param.ty.is_some() {
            return None;
        }
        let handled = self.model.handlers.iter().find(|(mark, _)| has(&function.marks, mark));
        let class = function.class.and_then(|c| self.unit.classes.get(c));
        let controller = self.language == "CSharp"
            && function.exported
            && class.is_some_and(|c| is_action(function.name, c.head));
        handled.map(|(_, reach)| *reach).or(controller.then_some(Reach::Request))
    }
}

/// Whether a function takes a request together with what answers it, or an event with its context.
fn is_handler(function: &Function<'_>) -> bool {
    let mut names = function.params.iter().filter_map(|p| p.target.name());
    function.params.len() > 1
        && names
            .all(|name| NAMED.contains(&name) || matches!(name, "context" | "next" | "callback"))
}

/// Whether requests call this method of a class of C# that is declared so.
fn is_action(method: &str, head: &str) -> bool {
    let bases = head.split_once(':').map_or("", |(_, bases)| bases);
    let mut bases = bases.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_page = method.starts_with("On");
    let called = head.contains("Controller")
        || bases.any(|base| base == "Hub" || base == "PageModel" && is_page);
    called && !head.contains("static ")
}

/// Whether a parameter is a request taken apart: `({ body, query }, res) => …`.
fn is_request(param: &Param<'_>) -> bool {
    const PARTS: &[&str] = &["body", "query", "params", "cookies", "headers"];
    // What else is taken out of a request, or out of what a framework passes with it.
    const BESIDE: &str = "req request res response reply ctx url path method ip user session file files log app \
                          set status redirect locals store resolvedUrl locale error";
    let Kind::Map(pairs) = &param.target.kind else { return false };
    let keys = pairs.iter().filter_map(|(key, _)| match &key.kind {
        Kind::Str(key) if PARTS.contains(&&**key) => Some(true),
        Kind::Str(key) if BESIDE.split_ascii_whitespace().any(|name| name == &**key) => None,
        _ => Some(false),
    });
    let (parts, others): (Vec<bool>, Vec<bool>) = keys.partition(|part| *part);
    // Options of a function may have one such name among many.
    !parts.is_empty() && others.len() <= parts.len()
}

/// The words of a type, in small letters.
fn words(ty: Option<&str>) -> impl Iterator<Item = String> {
    let ty = ty.unwrap_or_default();
    let words = ty.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    words.map(str::to_ascii_lowercase)
}

/// Whether a type is one whose values cannot hold a text.
pub(super) fn is_number(ty: Option<&str>) -> bool {
    words(ty).any(|word| NUMBERS.contains(&word.as_str()))
}

fn is_text(ty: Option<&str>) -> bool {
    words(ty).any(|word| TEXTS.contains(&word.as_str()))
}

/// Whether a parameter may hold what somebody else wrote.
pub(super) fn is_data(name: &str, ty: Option<&str>, language: &str) -> bool {
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

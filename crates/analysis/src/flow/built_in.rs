//! Methods that languages and their libraries share: containers that grow, elements taken out, text
//! joined and replaced.

use std::collections::BTreeMap;

use super::{
    call::{Made, Passed},
    clean, fold,
    form::{Expr, Kind},
    model::Reach,
    run::Run,
    value::{Harms, Known, Value},
};

/// What `a.append(x).append(y)` grows: a builder gives itself back.
fn chain_start<'e, 't>(target: &'e Expr<'t>) -> &'e Expr<'t> {
    let Kind::Call(call) = &target.kind else { return target };
    match &call.callee.kind {
        Kind::Member(inner, "append" | "Append" | "AppendLine" | "AppendFormat") => {
            chain_start(inner)
        }
        _ => target,
    }
}

/// Functions of Go that read what was sent into what they are given.
const FILLS: &[&str] = &[
    "Decode",
    "Unmarshal",
    "Bind",
    "BindJSON",
    "BindQuery",
    "BodyParser",
    "QueryParser",
    "ShouldBind",
    "ShouldBindJSON",
    "ShouldBindQuery",
    "ShouldBindUri",
];

impl<'t> Run<'_, 't> {
    /// What a call of a common method gives; `None` for any other.
    pub(super) fn built_in(&mut self, made: &Made<'_, 't>) -> Option<Value> {
        let first = made.args.first().map(|a| &a.value);
        let is_name = matches!(made.call.callee.kind, Kind::Name(_));
        if made.name == "require" && made.args.len() == 1 && is_name {
            let module = first?.constant()?;
            return Some(Value::named(module.strip_prefix("node:").unwrap_or(module)));
        }
        if self.language == "Php" && first.and_then(Value::constant) == Some("php://input") {
            let mut value = Value::default();
            self.taint(&mut value, Reach::Request, made.line, "php://input");
            return Some(value);
        }
        if self.language == "Go" && made.name == "append" && is_name {
            let values: Vec<Value> = made.args.iter().skip(1).map(|a| a.value.clone()).collect();
            return Some(self.grown(first?, &values));
        }
        if self.language == "Go" && FILLS.contains(&made.name) {
            return self.filled(made);
        }
        let Kind::Member(target, _) = &made.call.callee.kind else { return None };
        let values = || made.args.iter().map(|a| a.value.clone()).collect::<Vec<_>>();
        if let "String.join" | "String.Join" | "string.Join" = made.path.as_str() {
            let (between, parts) = made.args.split_first()?;
            let list = match parts {
                [Passed { value: list @ Value { known: Known::List(_), .. }, .. }] => list.clone(),
                parts => Value::list(parts.iter().map(|a| a.value.clone()).collect()),
            };
            return Some(joined(&list, &between.value));
        }
        if let Some(value) = self.of_object(made, target) {
            return Some(value);
        }
        if let Some(list) = inserted(made) {
            self.keep(made, target, Value::list(list));
            return Some(Value::default());
        }
        match made.name {
            "Add" if made.args.len() == 2 && matches!(made.object.known, Known::Map(_)) => {
                self.put(made, target)
            }
            "append" | "push" | "add" | "Add" | "Append" | "AppendLine" | "addFirst"
            | "addLast" | "unshift" | "insert" | "extend" | "addAll" | "write" | "WriteString"
            | "update" | "putAll" | "push_back" | "offer" | "offerFirst" | "offerLast"
            | "appendleft" | "addElement" | "Enqueue" | "AppendFormat" | "concat!" | "merge!"
            | "setdefault" => {
                let plain = matches!(made.name, "add" | "Add" | "update" | "insert" | "write");
                if plain && !is_container(&made.object) {
                    return None;
                }
                let mut args = values();
                if made.name == "insert" && args.len() == 2 {
                    args.remove(0);
                }
                let grown = self.grown(&made.object, &args);
                self.store(chain_start(target), grown.clone());
                Some(grown)
            }
            "put" | "putIfAbsent" | "set" | "setAttribute" | "setProperty" | "Set"
                if made.args.len() > 1 =>
            {
                self.put(made, target)
            }
            _ => self.taken_out(made, target),
        }
    }

    /// The last argument under a key, which the others are.
    fn put(&mut self, made: &Made<'_, 't>, target: &Expr<'t>) -> Option<Value> {
        let mut args: Vec<Value> = made.args.iter().map(|a| a.value.clone()).collect();
        let value = args.pop()?;
        let index = match args.as_slice() {
            [Value { known: Known::Int(at), .. }] => Some(at.to_string()),
            _ => None,
        };
        let key = keys(&args).or(index);
        if let ("putIfAbsent", Known::Map(map), Some(key)) =
            (made.name, &made.object.known, key.as_deref())
            && let Some(there) = map.get(key)
        {
            return Some(there.clone());
        }
        let whole = fold::with_field(&made.object, key.as_deref(), value);
        self.store(target, whole);
        Some(Value::default())
    }

    /// What the receiver holds from now on; it is called as before.
    fn keep(&mut self, made: &Made<'_, 't>, target: &Expr<'t>, holds: Value) {
        self.store(target, Value { path: made.object.path.clone(), ..holds });
    }

    /// What is read into the last argument: out of the others, the receiver, or a request.
    fn filled(&mut self, made: &Made<'_, 't>) -> Option<Value> {
        let into = &made.call.args.last()?.value;
        into.place()?;
        let mut value = made.args.last()?.value.clone();
        made.args.iter().rev().skip(1).for_each(|a| value.take(&a.value));
        value.take(&made.object);
        let of_request = made
            .object
            .path
            .as_deref()
            .is_some_and(|p| p.ends_with("Context") || p.ends_with("Ctx"));
        if of_request {
            self.taint(&mut value, Reach::Request, made.line, &made.path);
        }
        if value.is_tainted() {
            self.store(into, value);
        }
        Some(Value::default())
    }

    /// Elements, characters, text.
    fn taken_out(&mut self, made: &Made<'_, 't>, target: &Expr<'t>) -> Option<Value> {
        let first = made.args.first().map(|a| &a.value);
        let number = first.is_some_and(|v| matches!(v.known, Known::Int(_)));
        match (made.name, &made.object.known) {
            ("get" | "getOrDefault" | "getProperty" | "fetch" | "Get" | "dig", Known::Map(map)) => {
                let args: Vec<Value> = made.args.iter().map(|a| a.value.clone()).collect();
                let whole = keys(&args).and_then(|key| map.get(key.as_str()).cloned());
                let single = first.map(|key| fold::element(&made.object, key));
                whole.or(single)
            }
            (
                "get" | "charAt" | "elementAt" | "ElementAt" | "at",
                Known::List(_) | Known::Text(_),
            ) if number => first.map(|index| fold::element(&made.object, index)),
            ("getFirst" | "peekFirst" | "firstElement" | "First", Known::List(list))
                if first.is_none() =>
            {
                list.first().cloned()
            }
            ("getLast" | "peekLast" | "lastElement" | "Last", Known::List(list))
                if first.is_none() =>
            {
                list.last().cloned()
            }
            ("clear" | "Clear", Known::List(_)) => {
                self.keep(made, target, Value::list(Vec::new()));
                Some(Value::default())
            }
            ("clear" | "Clear", Known::Map(_)) => {
                self.keep(made, target, Value::map(BTreeMap::new()));
                Some(Value::default())
            }
            ("remove" | "Remove" | "delete", Known::Map(map)) => {
                let mut rest = (**map).clone();
                let taken = rest.remove(first?.constant()?);
                self.keep(made, target, Value::map(rest));
                Some(taken.unwrap_or_default())
            }
            (
                "pop" | "shift" | "remove" | "removeFirst" | "RemoveAt" | "poll" | "pollFirst"
                | "removeLast" | "pollLast" | "Dequeue" | "popleft",
                Known::List(list),
            ) => {
                const FRONT: &[&str] =
                    &["shift", "remove", "removeFirst", "poll", "pollFirst", "Dequeue", "popleft"];
                let last = list.len().checked_sub(1)?;
                let at = match first.map(|v| &v.known) {
                    Some(Known::Int(at)) => usize::try_from(*at).ok()?,
                    Some(_) => return None,
                    None if FRONT.contains(&made.name) => 0,
                    None => last,
                };
                let mut rest = (**list).clone();
                let taken = (at < rest.len()).then(|| rest.remove(at))?;
                self.keep(made, target, Value::list(rest));
                Some(taken)
            }
            ("format", Known::Text(_)) if !matches!(self.language, "Kotlin" | "Scala") => {
                let (mut values, mut named) = (Vec::new(), Vec::new());
                for Passed { name, value } in &made.args {
                    match (name, &value.known) {
                        (Some(name), _) => named.push((*name, value.clone())),
                        // `**fields`
                        (None, Known::Map(fields)) => {
                            named.extend(
                                fields.iter().map(|(name, field)| (&**name, field.clone())),
                            );
                            values.push(value.clone());
                        }
                        (None, _) => values.push(value.clone()),
                    }
                }
                let whole = fold::braces(&made.object, &values, &named);
                self.statement(&whole, made.line);
                Some(whole)
            }
            // `"… %s".formatted(…)` of Java, `"… %s".format(…)` of Kotlin and Scala.
            ("formatted" | "format", Known::Text(_)) => {
                let values: Vec<Value> = made.args.iter().map(|a| a.value.clone()).collect();
                let whole = fold::formatted(&made.object, &values);
                self.statement(&whole, made.line);
                Some(whole)
            }
            ("join", Known::Text(_)) => first.map(|list| joined(list, &made.object)),
            ("join", Known::List(_)) => {
                Some(joined(&made.object, &first.cloned().unwrap_or_else(|| Value::text(","))))
            }
            ("concat", _) if !matches!(made.object.known, Known::List(_)) => {
                let mut parts = vec![made.object.clone()];
                parts.extend(made.args.iter().map(|a| a.value.clone()));
                Some(fold::put_together(&parts))
            }
            (
                "replace" | "replaceAll" | "replaceFirst" | "Replace" | "ReplaceAll" | "gsub"
                | "sub" | "tr" | "delete",
                _,
            ) => Some(replaced(made)),
            _ => None,
        }
    }

    /// A container or a builder of text with more in it.
    pub(super) fn grown(&mut self, object: &Value, values: &[Value]) -> Value {
        let path = object.path.clone();
        let builds = is_builder(path.as_deref());
        let mut grown = match &object.known {
            Known::List(list) => {
                let mut list = (**list).clone();
                list.extend(values.iter().cloned());
                Value::list(list)
            }
            Known::Text(_) => {
                let mut parts = vec![object.clone()];
                parts.extend(values.iter().cloned());
                fold::put_together(&parts)
            }
            _ if builds && !object.is_tainted() => fold::put_together(values),
            _ if builds => {
                let mut parts = vec![object.clone()];
                parts.extend(values.iter().cloned());
                fold::put_together(&parts)
            }
            Known::Map(_) => {
                let mut all = Value::default();
                values.iter().for_each(|v| all.take(v));
                fold::with_field(object, None, all)
            }
            _ if !object.is_tainted() && is_list(path.as_deref()) => Value::list(values.to_vec()),
            _ => {
                let mut object = object.clone();
                values.iter().for_each(|v| object.take(v));
                object
            }
        };
        grown.path = path;
        grown
    }
}

/// A list with a value put elsewhere than at its end.
fn inserted(made: &Made<'_, '_>) -> Option<Vec<Value>> {
    let Known::List(list) = &made.object.known else { return None };
    let args: Vec<&Value> = made.args.iter().map(|a| &a.value).collect();
    let (at, value) = match (made.name, args.as_slice()) {
        ("addFirst" | "offerFirst" | "unshift" | "appendleft", [value]) => (0, *value),
        ("add" | "insert" | "Insert", [Value { known: Known::Int(at), .. }, value]) => {
            (usize::try_from(*at).ok()?, *value)
        }
        _ => return None,
    };
    let mut list = (**list).clone();
    list.insert(at.min(list.len()), value.clone());
    Some(list)
}

/// Whether something of this name puts text together.
fn is_builder(path: Option<&str>) -> bool {
    const BUILDERS: &[&str] = &["StringBuilder", "StringBuffer", "StringIO", "String"];
    // Of Go, `strings.Builder` and `bytes.Buffer`.
    const TYPES: &[&str] = &["Builder", "Buffer"];
    path.is_some_and(|p| TYPES.contains(&p) || BUILDERS.iter().any(|b| p.contains(b)))
}

/// Whether a value is certainly a container, or text being put together.
pub(super) fn is_container(value: &Value) -> bool {
    let known = matches!(value.known, Known::List(_) | Known::Map(_) | Known::Text(_));
    let path = value.path.as_deref();
    let made = path.is_some_and(|p| p.ends_with("Set") || p.ends_with("set()"));
    known || made || is_list(path) || is_builder(path)
}

/// Whether something of this name is a list that was just made.
fn is_list(path: Option<&str>) -> bool {
    const LISTS: &[&str] = &["List", "Vector", "Deque", "Queue", "Stack"];
    path.is_some_and(|p| LISTS.iter().any(|list| p.ends_with(list)))
}

/// Several constant keys as one.
fn keys(args: &[Value]) -> Option<String> {
    let keys: Option<Vec<&str>> = args.iter().map(Value::constant).collect();
    keys.filter(|k| !k.is_empty()).map(|k| k.join("\u{3}"))
}

fn joined(list: &Value, between: &Value) -> Value {
    let Known::List(all) = &list.known else { return fold::vague_text(std::slice::from_ref(list)) };
    let mut parts = Vec::new();
    for (at, one) in all.iter().enumerate() {
        if at > 0 {
            parts.push(between.clone());
        }
        parts.push(one.clone());
    }
    fold::put_together(&parts)
}

/// Parts of a text replaced: a placeholder filled, or a character taken out that does harm.
fn replaced(made: &Made<'_, '_>) -> Value {
    let args: Vec<&Value> = made.args.iter().map(|a| &a.value).collect();
    let searched = args.first().and_then(|v| v.constant());
    let filled = args.get(1).copied().cloned().unwrap_or_default();
    let mut value = match (made.object.known_text(), searched) {
        (Some(text), Some(part)) if !part.is_empty() => {
            let with = filled.shown();
            let mut value = Value::text(&text.replace(part, &with));
            value.take(&made.object);
            value.take(&filled);
            value
        }
        _ => {
            let mut value = made.object.bare();
            value.take(&filled);
            value
        }
    };
    let on_class = args.is_empty() || matches!(made.path.as_str(), "re.sub" | "Regex.Replace");
    if on_class {
        args.iter().for_each(|v| value.take(v));
    }
    // Elsewhere a text is no pattern, or only the first place is replaced.
    let everywhere = made.name == "replaceAll" || made.path == "re.sub";
    let words = everywhere && !filled.is_tainted() && searched.is_some_and(clean::leaves_words);
    let clean = if words { Harms::MAX } else { searched.map_or(0, clean::cleaned_without) };
    // Of a text builder, by place.
    let placed = made.args.len() == 3 && is_builder(made.object.path.as_deref());
    let pattern = !placed && searched.is_none_or(|s| s.contains(['[', '\\', '^'])) || on_class;
    value.each(|t| {
        t.clean |= clean;
        t.weak |= pattern;
        true
    });
    value
}

//! Values computed from values: text put together, constants, elements of containers.

use std::{collections::BTreeMap, rc::Rc};

use super::{
    form::Op,
    value::{HOLE, Known, TAINTED, Value},
};

/// Text or numbers added up.
pub(super) fn put_together(parts: &[Value]) -> Value {
    if let Some(sum) = sum(parts) {
        return Value::of(Known::Int(sum));
    }
    if parts.iter().any(|p| matches!(p.known, Known::List(_))) {
        return lists(parts);
    }
    let text: String = parts.iter().map(Value::shown).collect::<Vec<_>>().concat();
    let mut whole = Value::text(&text);
    parts.iter().for_each(|p| whole.take(p));
    let beside = |c: char| c != HOLE && c != TAINTED && !c.is_whitespace();
    if text.contains(beside) {
        whole.each(|t| {
            t.composed = true;
            true
        });
    }
    whole
}

fn sum(parts: &[Value]) -> Option<i64> {
    let mut sum = 0_i64;
    for part in parts {
        let Known::Int(number) = part.known else { return None };
        sum = sum.checked_add(number)?;
    }
    (!parts.is_empty()).then_some(sum)
}

fn lists(parts: &[Value]) -> Value {
    let mut all = Vec::new();
    for part in parts {
        match &part.known {
            Known::List(list) => all.extend(list.iter().cloned()),
            _ => all.push(part.any_element()),
        }
    }
    Value::list(all)
}

/// `template % values`: what stands for a number takes nothing over.
pub(super) fn percent(template: &Value, values: &Value) -> Value {
    if matches!(template.known, Known::Int(_)) {
        return Value::default();
    }
    match &values.known {
        Known::List(list) => formatted(template, list),
        _ => formatted(template, std::slice::from_ref(values)),
    }
}

/// A template of `printf` with its values.
pub(super) fn formatted(template: &Value, values: &[Value]) -> Value {
    let Some(text) = template.known_text() else {
        let mut all = vec![template.clone()];
        all.extend(values.iter().cloned());
        return vague_text(&all);
    };
    let mut parts = Vec::new();
    let (mut rest, mut at) = (text, 0);
    while let Some((before, after)) = rest.split_once('%') {
        parts.push(Value::text(before));
        let flags = after.trim_start_matches(|c: char| c.is_ascii_digit() || "+-# .$*".contains(c));
        let flags = match flags.strip_prefix('(') {
            Some(named) => named.split_once(')').map_or(flags, |(_, after)| after),
            None => flags,
        };
        let mut chars = flags.chars();
        match chars.next() {
            Some('%') => parts.push(Value::text("%")),
            Some('d' | 'i' | 'f' | 'x' | 'X' | 'u' | 'b' | 'e' | 'g' | 't' | 'c') => {
                parts.push(Value::default());
                at += 1;
            }
            Some(_) => {
                let value = values.get(at).or_else(|| values.first().filter(|_| at > 0));
                parts.push(value.map(Value::any_element_or_self).unwrap_or_default());
                at += 1;
            }
            None => {}
        }
        rest = chars.as_str();
    }
    parts.push(Value::text(rest));
    put_together(&parts)
}

/// A template with `{}` or `{name}` and its values.
pub(super) fn braces(template: &Value, values: &[Value], named: &[(&str, Value)]) -> Value {
    let Some(text) = template.known_text() else {
        let mut all = vec![template.clone()];
        all.extend(values.iter().cloned());
        all.extend(named.iter().map(|(_, v)| v.clone()));
        return vague_text(&all);
    };
    let mut parts = Vec::new();
    let (mut rest, mut at) = (text, 0);
    while let Some((before, after)) = rest.split_once('{') {
        parts.push(Value::text(before));
        let Some((inside, after)) = after.split_once('}') else {
            rest = after;
            break;
        };
        let name = inside.split([':', '!', '.', '[', ',']).next().unwrap_or_default();
        let value = match name.parse::<usize>() {
            Ok(number) => values.get(number),
            Err(_) if name.is_empty() => values.get(at),
            Err(_) => named.iter().find(|(n, _)| *n == name).map(|(_, v)| v),
        };
        parts.push(value.cloned().unwrap_or_default());
        at += 1;
        rest = after;
    }
    parts.push(Value::text(rest));
    put_together(&parts)
}

/// Text of which only the origins are known.
pub(super) fn vague_text(parts: &[Value]) -> Value {
    let mut whole = Value::default();
    parts.iter().for_each(|p| whole.take(p));
    whole.each(|t| {
        t.composed |= parts.len() > 1;
        true
    });
    whole
}

/// Arithmetic and comparisons of constants; anything else is a value without origins.
pub(super) fn compute(op: Op, a: &Value, b: &Value) -> Value {
    if let (Known::Int(x), Known::Int(y)) = (&a.known, &b.known) {
        let (x, y) = (*x, *y);
        let number = match op {
            Op::Sub => x.checked_sub(y),
            Op::Mul => x.checked_mul(y),
            Op::Div => x.checked_div(y),
            Op::Rem => x.checked_rem(y),
            _ => None,
        };
        let held = match op {
            Op::Lt => Some(x < y),
            Op::Le => Some(x <= y),
            Op::Gt => Some(x > y),
            Op::Ge => Some(x >= y),
            _ => None,
        };
        if let Some(known) = number.map(Known::Int).or(held.map(Known::Bool)) {
            return Value::of(known);
        }
    }
    if op == Op::Div && (a.is_tainted() || b.is_tainted()) {
        // Paths are put together so.
        let whole = vague_text(&[a.clone(), b.clone()]);
        return Value { path: a.path.clone(), ..whole };
    }
    let held = match op {
        Op::Eq => equal(a, b),
        Op::Ne => equal(a, b).map(|held| !held),
        Op::In => contained(a, b),
        Op::NotIn => contained(a, b).map(|held| !held),
        _ => None,
    };
    held.map_or_else(Value::default, |held| Value::of(Known::Bool(held)))
}

/// Whether two constants are equal.
pub(super) fn equal(a: &Value, b: &Value) -> Option<bool> {
    match (&a.known, &b.known) {
        (Known::Int(a), Known::Int(b)) => Some(a == b),
        (Known::Text(_), Known::Text(_)) => Some(a.constant()? == b.constant()?),
        _ => None,
    }
}

/// Whether a constant lies in another: only what certainly does, or does not.
fn contained(a: &Value, b: &Value) -> Option<bool> {
    let part = a.constant()?;
    b.constant().map(|whole| whole.contains(part))
}

/// An element of a container, or a character of a text.
pub(super) fn element(object: &Value, index: &Value) -> Value {
    match (&object.known, &index.known) {
        (Known::List(list), Known::Int(at)) => {
            let at =
                if *at < 0 { at.saturating_add(list.len().try_into().unwrap_or(0)) } else { *at };
            let found = usize::try_from(at).ok().and_then(|at| list.get(at));
            return found.cloned().unwrap_or_default();
        }
        (Known::Map(map), Known::Text(_)) if index.constant().is_some() => {
            let found = index.constant().and_then(|key| map.get(key));
            return found.cloned().unwrap_or_else(|| rest_of(map));
        }
        (Known::Map(map), Known::Int(number)) => {
            let found = map.get(number.to_string().as_str());
            return found.cloned().unwrap_or_else(|| rest_of(map));
        }
        (Known::Text(_), Known::Int(at)) => {
            let at = usize::try_from(*at).ok();
            let found = object.constant().zip(at).and_then(|(text, at)| text.chars().nth(at));
            if let Some(found) = found {
                return Value::text(found.encode_utf8(&mut [0; 4]));
            }
        }
        _ => {}
    }
    let mut any = object.any_element();
    if any.path.is_none() {
        let path = object.path.as_deref().unwrap_or_default();
        any.path = Value::named(&format!("{path}[]")).path;
    }
    any
}

/// What a map holds under keys that are not known.
fn rest_of(map: &BTreeMap<Rc<str>, Value>) -> Value {
    let mut rest = Value::default();
    map.iter().filter(|(key, _)| key.starts_with(HOLE)).for_each(|(_, value)| rest.take(value));
    rest
}

/// A container with one field set; without a key, with something more in it.
pub(super) fn with_field(owner: &Value, key: Option<&str>, value: Value) -> Value {
    let mut whole = match (&owner.known, key) {
        (Known::Map(map), key) => {
            let mut map = (**map).clone();
            map.insert(key.unwrap_or("\u{1}").into(), value);
            Value::map(map)
        }
        (Known::List(list), Some(key)) if key.parse().is_ok_and(|at: usize| at < list.len()) => {
            let mut list = (**list).clone();
            if let Some(place) = key.parse().ok().and_then(|at: usize| list.get_mut(at)) {
                *place = value;
            }
            Value::list(list)
        }
        (Known::Unknown | Known::Null, Some(key)) if !owner.is_tainted() => {
            Value::map(BTreeMap::from([(key.into(), value)]))
        }
        _ => {
            let mut owner = owner.clone();
            owner.take(&value);
            owner
        }
    };
    whole.path.clone_from(&owner.path);
    whole
}

impl Value {
    /// What is put into a text for it: of a list any element, else itself.
    fn any_element_or_self(&self) -> Self {
        match self.known {
            Known::List(_) | Known::Map(_) => self.any_element(),
            _ => self.clone(),
        }
    }
}

//! What is known of a value: where it may come from, what it is called, and what it is where that is
//! certain.
//!
//! Everything is bounded: origins, steps, elements, text and nesting. What goes beyond is forgotten on
//! the side that finds nothing, but for containers, which keep the origins of their elements.

use std::{collections::BTreeMap, rc::Rc};

/// In a known text, a part that is not known and not from outside.
pub(super) const HOLE: char = '\u{1}';
/// In a known text, a part that is from outside.
pub(super) const TAINTED: char = '\u{2}';

const MAX_ORIGINS: usize = 4;
const MAX_STEPS: u8 = 10;
const MAX_ELEMENTS: usize = 48;
const MAX_TEXT: usize = 1_500;
const MAX_NESTING: u8 = 6;

/// A set of kinds of harm, a bit each.
pub(super) type Harms = u32;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// A source, by its number in this file.
    Source(usize),
    /// A parameter of a function: both by number.
    Param(usize, usize),
}

/// One origin of a value, and what happened to it on the way.
#[derive(Debug, Clone)]
pub(super) struct Taint {
    pub(super) origin: Origin,
    pub(super) steps: Option<Rc<Step>>,
    /// The kinds of harm it can no longer do.
    pub(super) clean: Harms,
    /// Whether something checked it, or replaced parts of it.
    pub(super) weak: bool,
    /// Whether it passed through something unknown.
    pub(super) vague: bool,
    /// Whether it was put together with other text.
    pub(super) composed: bool,
}

/// A step of the way, and those before it.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) line: u32,
    pub(super) note: Rc<str>,
    pub(super) before: Option<Rc<Step>>,
    count: u8,
}

/// What a value is, where that is certain.
#[derive(Debug, Clone, Default)]
pub(super) enum Known {
    #[default]
    Unknown,
    Null,
    Bool(bool),
    Int(i64),
    /// Text, with [`HOLE`] and [`TAINTED`] for what is put in.
    Text(Rc<str>),
    List(Rc<Vec<Value>>),
    Map(Rc<BTreeMap<Rc<str>, Value>>),
    /// A function of this file.
    Function(usize),
}

/// A value.
#[derive(Debug, Clone, Default)]
pub(super) struct Value {
    pub(super) taints: Option<Rc<Vec<Taint>>>,
    /// What it is called: names, members and calls that lead to it, or its type.
    pub(super) path: Option<Rc<str>>,
    pub(super) known: Known,
    pub(super) nesting: u8,
}

impl Taint {
    /// Fresh from its origin.
    pub(super) fn new(origin: Origin, line: u32, note: &str) -> Self {
        let steps = Some(Rc::new(Step { line, note: note.into(), before: None, count: 1 }));
        Self { origin, steps, clean: 0, weak: false, vague: false, composed: false }
    }

    /// One step further.
    pub(super) fn step(&mut self, line: u32, note: &str) {
        let last = self.steps.as_ref();
        let count = last.map_or(0, |s| s.count);
        let named = note.strip_prefix("set: ").unwrap_or(note);
        let known = last.is_some_and(|s| s.line == line && s.note.ends_with(named));
        if count < MAX_STEPS && !known {
            let step =
                Step { line, note: note.into(), before: self.steps.take(), count: count + 1 };
            self.steps = Some(Rc::new(step));
        }
    }

    /// Lines and notes, from the origin on.
    pub(super) fn way(&self) -> Vec<(u32, Rc<str>)> {
        let mut way = Vec::new();
        let mut open = self.steps.as_deref();
        while let Some(step) = open {
            way.push((step.line, step.note.clone()));
            open = step.before.as_deref();
        }
        way.reverse();
        way
    }

    fn join(&mut self, other: &Self) {
        if self.clean.count_ones() > other.clean.count_ones() || self.weak && !other.weak {
            self.steps.clone_from(&other.steps);
        }
        self.clean &= other.clean;
        self.weak &= other.weak;
        self.vague &= other.vague;
        self.composed |= other.composed;
    }
}

impl Value {
    pub(super) fn of(known: Known) -> Self {
        Self { known, ..Self::default() }
    }

    pub(super) fn named(path: &str) -> Self {
        let path = (path.len() <= 200).then(|| path.into());
        Self { path, ..Self::default() }
    }

    pub(super) fn text(text: &str) -> Self {
        let fits = text.len() <= MAX_TEXT;
        Self::of(if fits { Known::Text(text.into()) } else { Known::Unknown })
    }

    /// A list, with the origins of its elements.
    pub(super) fn list(elements: Vec<Self>) -> Self {
        let mut list = Self::default();
        elements.iter().for_each(|e| list.take(e));
        let nesting = elements.iter().map(|e| e.nesting).max().unwrap_or(0) + 1;
        if nesting < MAX_NESTING && elements.len() <= MAX_ELEMENTS {
            list.known = Known::List(Rc::new(elements));
            list.nesting = nesting;
        }
        list
    }

    /// A map, with the origins of its values.
    pub(super) fn map(fields: BTreeMap<Rc<str>, Self>) -> Self {
        let mut map = Self::default();
        fields.values().for_each(|e| map.take(e));
        let nesting = fields.values().map(|e| e.nesting).max().unwrap_or(0) + 1;
        if nesting < MAX_NESTING && fields.len() <= MAX_ELEMENTS {
            map.known = Known::Map(Rc::new(fields));
            map.nesting = nesting;
        }
        map
    }

    pub(super) fn taints(&self) -> &[Taint] {
        self.taints.as_deref().map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_tainted(&self) -> bool {
        self.taints.is_some()
    }

    /// Adds an origin.
    pub(super) fn add(&mut self, taint: Taint) {
        let all = Rc::make_mut(self.taints.get_or_insert_default());
        if let Some(known) = all.iter_mut().find(|t| t.origin == taint.origin) {
            known.join(&taint);
        } else if all.len() < MAX_ORIGINS {
            all.push(taint);
        }
    }

    /// Takes in the origins of another value.
    pub(super) fn take(&mut self, other: &Self) {
        if self.taints.is_none() {
            self.taints.clone_from(&other.taints);
        } else if !same(self.taints.as_ref(), other.taints.as_ref()) {
            other.taints().iter().for_each(|t| self.add(t.clone()));
        }
    }

    /// Changes every origin; those for which `change` answers false go.
    pub(super) fn each(&mut self, mut change: impl FnMut(&mut Taint) -> bool) {
        let Some(taints) = self.taints.as_mut() else { return };
        Rc::make_mut(taints).retain_mut(|t| change(t));
        if taints.is_empty() {
            self.taints = None;
        }
    }

    /// Takes these kinds of harm away; an origin that does none any more goes.
    pub(super) fn spare(&mut self, harms: Harms) {
        self.each(|t| {
            t.clean |= harms;
            t.clean != Harms::MAX
        });
    }

    /// Makes every origin less sure.
    pub(super) fn weaken(&mut self) {
        self.each(|t| {
            t.weak = true;
            true
        });
    }

    /// The same origins, with nothing known.
    pub(super) fn bare(&self) -> Self {
        Self { taints: self.taints.clone(), ..Self::default() }
    }

    /// Without any origin, elements included.
    pub(super) fn cleaned(&self) -> Self {
        let known = match &self.known {
            Known::List(_) | Known::Map(_) => Known::Unknown,
            Known::Text(text) => Known::Text(text.replace(TAINTED, "\u{1}").into()),
            known => known.clone(),
        };
        Self { taints: None, path: self.path.clone(), known, nesting: 0 }
    }

    /// The text it is, with holes, for putting into another.
    pub(super) fn shown(&self) -> Rc<str> {
        match &self.known {
            Known::Text(text) => text.clone(),
            Known::Int(number) => number.to_string().into(),
            Known::Bool(value) => value.to_string().into(),
            _ if self.is_tainted() => "\u{2}".into(),
            _ => "\u{1}".into(),
        }
    }

    /// The text it is, with holes.
    pub(super) fn known_text(&self) -> Option<&str> {
        match &self.known {
            Known::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a tag of a page stands in the text it is.
    pub(super) fn holds_tag(&self) -> bool {
        let named = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        self.known_text().is_some_and(|text| text.split('<').skip(1).any(named))
    }

    /// The text it is, where all of it is known.
    pub(super) fn constant(&self) -> Option<&str> {
        self.known_text().filter(|text| !text.contains([HOLE, TAINTED]))
    }

    /// Either of two values.
    pub(super) fn join(mut self, other: &Self) -> Self {
        let tainted = self.is_tainted();
        self.take(other);
        if self.path != other.path {
            self.path = self.path.take().or_else(|| other.path.clone());
        }
        let known = std::mem::take(&mut self.known);
        self.known = match (&known, &other.known) {
            // Of an object that may be another the fields keep where they come from.
            (Known::Map(map), Known::Unknown) if !other.is_tainted() => origins(map),
            (Known::Unknown, Known::Map(map)) if !tainted => origins(map),
            _ => either(known, &other.known),
        };
        self.nesting = self.nesting.max(other.nesting);
        self
    }

    /// What any element may be.
    pub(super) fn any_element(&self) -> Self {
        let mut any = self.bare();
        let elements: Vec<&Self> = match &self.known {
            Known::List(list) => list.iter().collect(),
            Known::Map(map) => map.values().collect(),
            _ => Vec::new(),
        };
        if let Some((first, rest)) = elements.split_first() {
            any = rest.iter().fold((*first).clone(), |all, one| all.join(one));
        }
        any
    }
}

fn same(a: Option<&Rc<Vec<Taint>>>, b: Option<&Rc<Vec<Taint>>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Rc::ptr_eq(a, b),
        (_, None) => true,
        (None, _) => false,
    }
}

/// The fields of an object without what is known of them but where they come from.
fn origins(map: &BTreeMap<Rc<str>, Value>) -> Known {
    Known::Map(Rc::new(map.iter().map(|(key, value)| (key.clone(), value.bare())).collect()))
}

fn either(a: Known, b: &Known) -> Known {
    match (a, b) {
        (Known::Text(a), Known::Text(b)) if a == *b || a.contains(TAINTED) => Known::Text(a),
        (Known::Text(_), Known::Text(b)) if b.contains(TAINTED) => Known::Text(b.clone()),
        (Known::Int(a), Known::Int(b)) if a == *b => Known::Int(a),
        (Known::Bool(a), Known::Bool(b)) if a == *b => Known::Bool(a),
        (Known::Null, Known::Null) => Known::Null,
        (Known::Function(a), Known::Function(b)) if a == *b => Known::Function(a),
        (Known::List(a), Known::List(b)) if Rc::ptr_eq(&a, b) => Known::List(a),
        (Known::List(a), Known::List(b)) if a.len() == b.len() => {
            Known::List(Rc::new(a.iter().zip(b.iter()).map(|(a, b)| a.clone().join(b)).collect()))
        }
        (Known::Map(a), Known::Map(b)) if Rc::ptr_eq(&a, b) => Known::Map(a),
        (Known::Map(a), Known::Map(b)) => {
            let mut all = (*a).clone();
            for (key, value) in b.iter() {
                let joined = match all.remove(key) {
                    Some(old) => old.join(value),
                    None => value.clone(),
                };
                all.insert(key.clone(), joined);
            }
            if all.len() <= MAX_ELEMENTS { Known::Map(Rc::new(all)) } else { Known::Unknown }
        }
        _ => Known::Unknown,
    }
}

//! What is known of languages, libraries and frameworks: sources, sinks, what cleans a value, what
//! passes one on. Data, in `models/`; compiled once in a process, each language when first needed.
//!
//! A pattern names what a value is called: `request.args` is that name alone or after others and a
//! dot, `.execute` any member of that name, `^eval` that name alone, `{}next` a field of an object
//! written in place. `()` stands for a call, so `connect().cursor` is a member of what `connect` gave.
//! After a sink's pattern stand the arguments that do harm: positions, `1+`, names, `*` for each,
//! `this` for the receiver.

use std::{collections::HashMap, sync::OnceLock};

use serde::Deserialize;

use super::value::Harms;
use crate::{Confidence, Severity};

/// How far somebody else decides what a source gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reach {
    /// The environment, files, a database, the one who starts the program.
    Local,
    /// A parameter of what may be called from anywhere, or a name that this file does not define.
    Parameter,
    /// A request.
    Request,
}

/// A kind of harm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Harm {
    /// The rule's name.
    pub(super) id: String,
    pub(super) cwe: u32,
    pub(super) severity: Severity,
    /// How sure a flow from a request is.
    pub(super) confidence: Confidence,
    /// The least reach of a source that matters.
    pub(super) from: Reach,
    /// Whether a parameter does no harm where it is the whole.
    #[serde(default)]
    pub(super) composed: bool,
    pub(super) title: String,
    pub(super) problem: String,
    pub(super) advice: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceData {
    reach: Reach,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    calls: Vec<String>,
    /// Marks on a parameter that say that it is filled from a request.
    #[serde(default)]
    marks: Vec<String>,
    /// Marks on a function all of whose parameters are.
    #[serde(default)]
    handlers: Vec<String>,
    /// What a request as a whole is called; what wraps it gives parts of it.
    #[serde(default)]
    objects: Vec<String>,
    /// The first parameters of a function outside of any class: `event*, context`. What has the star is filled;
    /// `{}` is taken apart where it stands.
    #[serde(default)]
    params: Vec<String>,
    /// For `params`: the file holds one of these.
    #[serde(default)]
    only: Vec<String>,
}

/// Functions that somebody else calls, told by what their first parameters are called.
#[derive(Debug)]
pub(super) struct Called {
    names: Vec<String>,
    only: Vec<String>,
    pub(super) reach: Reach,
}

impl Called {
    /// Whether the parameter of this name is filled in a function with these, in this file.
    pub(super) fn fills(&self, name: &str, params: &[Option<&str>], text: &str) -> bool {
        let fits = |(at, wanted): (usize, &String)| {
            params.get(at).is_some_and(|own| own.unwrap_or("{}") == wanted.trim_end_matches('*'))
        };
        let filled = |wanted: &String| wanted.strip_suffix('*') == Some(name);
        self.names.iter().any(filled)
            && self.names.iter().enumerate().all(fits)
            && (self.only.is_empty() || self.only.iter().any(|word| text.contains(word.as_str())))
    }
}

/// A sink.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sink {
    #[serde(rename = "harm")]
    named: String,
    /// The number of that harm.
    #[serde(skip)]
    pub(super) harm: usize,
    #[serde(default)]
    calls: Vec<String>,
    #[serde(default)]
    sets: Vec<String>,
    /// Marks on a function whose value does the harm.
    #[serde(default)]
    returns: Vec<String>,
    /// The file holds one of these.
    #[serde(default)]
    pub(super) only: Vec<String>,
    /// None of these is said where it counts: in the function, outside of all, or in one that it names.
    #[serde(default)]
    pub(super) unless: Vec<String>,
    /// An argument or an option of this name is true.
    #[serde(default)]
    pub(super) with: Option<String>,
    /// An option of this name takes the harm away.
    #[serde(default)]
    pub(super) without: Option<String>,
    /// An argument is one of these texts, whatever its case.
    #[serde(default)]
    pub(super) beside: Vec<String>,
    /// It takes a part of a statement: what is put in is not a whole one.
    #[serde(default)]
    pub(super) fragment: bool,
    /// The arguments start a shell and give it something to run.
    #[serde(default)]
    pub(super) shell: bool,
    /// The value is put into markup.
    #[serde(default)]
    pub(super) markup: bool,
    /// The least reach of a source that matters here, where that is more than for the harm.
    #[serde(default)]
    pub(super) from: Option<Reach>,
    /// A parameter that is called as plain text matters, too.
    #[serde(default)]
    pub(super) text: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CleanData {
    /// Kinds of harm; none for all.
    #[serde(default)]
    harms: Vec<String>,
    calls: Vec<String>,
}

/// Texts in which a flow is found, and others in which none is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The rule.
    pub harm: String,
    /// Texts with a flow that is shown by default.
    #[serde(default)]
    pub bad: Vec<String>,
    /// Texts without.
    #[serde(default)]
    pub good: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelData {
    #[serde(default)]
    sources: Vec<SourceData>,
    #[serde(default)]
    sinks: Vec<Sink>,
    #[serde(default)]
    cleans: Vec<CleanData>,
    #[serde(default)]
    passes: Vec<String>,
    #[serde(default)]
    formats: Vec<String>,
}

/// Which arguments of a sink do harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    At(usize),
    From(usize),
    Named(String),
    Each,
    This,
}

/// What a name means.
#[derive(Debug, Clone)]
pub(super) enum Meaning {
    Read(Reach),
    Gives(Reach),
    /// A request as a whole.
    Object,
    Sink(usize, Vec<Place>),
    Set(usize),
    Clean(Harms),
    Pass,
    Format,
}

/// What is known of a language.
#[derive(Debug, Default)]
pub(super) struct Model {
    by_last: HashMap<String, Vec<(String, Meaning)>>,
    pub(super) sinks: Vec<Sink>,
    pub(super) marks: Vec<(String, Reach)>,
    pub(super) handlers: Vec<(String, Reach)>,
    pub(super) called: Vec<Called>,
    pub(super) returns: Vec<(String, usize)>,
}

/// What `build.rs` made of a file in `models`.
macro_rules! json {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name, ".json"))
    };
}

const HARMS: &str = json!("harms");
const SHARED: &str = json!("shared");

/// Each language's model, and its examples.
const MODELS: &[(&str, &[&str], &str)] = &[
    ("Python", &[json!("python")], json!("python.examples")),
    ("JavaScript", &[json!("javascript")], json!("javascript.examples")),
    ("Java", &[json!("java")], json!("java.examples")),
    ("Go", &[json!("go")], json!("go.examples")),
    ("Php", &[json!("php")], json!("php.examples")),
    ("Ruby", &[json!("ruby")], json!("ruby.examples")),
    ("CSharp", &[json!("csharp")], json!("csharp.examples")),
    // What is written for Java is called from Kotlin and Scala.
    ("Kotlin", &[json!("java"), json!("kotlin")], json!("kotlin.examples")),
    ("Scala", &[json!("java"), json!("scala")], json!("scala.examples")),
];

/// Every kind of harm, its number being its place.
pub(super) fn harms() -> &'static [Harm] {
    static ALL: OnceLock<Vec<Harm>> = OnceLock::new();
    ALL.get_or_init(|| serde_json::from_str(HARMS).unwrap_or_default())
}

/// The model of a language.
pub(super) fn of(language: &str) -> Option<&'static Model> {
    static ALL: [OnceLock<Model>; MODELS.len()] = [const { OnceLock::new() }; MODELS.len()];
    let at = MODELS.iter().position(|(name, _, _)| *name == language)?;
    let (_, texts, _) = MODELS.get(at)?;
    Some(ALL.get(at)?.get_or_init(|| {
        let mut model = Model::default();
        for text in [SHARED].iter().chain(*texts) {
            // What is broken finds nothing, which its examples rule out.
            if let Ok(data) = serde_json::from_str::<ModelData>(text) {
                model.add(data);
            }
        }
        model
    }))
}

/// The examples of each language.
///
/// # Errors
/// When a file cannot be read.
pub fn examples() -> Result<Vec<(&'static str, Vec<Example>)>, String> {
    serde_json::from_str::<Vec<Harm>>(HARMS).map_err(|e| e.to_string())?;
    serde_json::from_str::<ModelData>(SHARED).map_err(|e| e.to_string())?;
    let read = |(name, texts, examples): &(&'static str, &[&str], &str)| {
        let wrong = |error| format!("{name}: {error}");
        for text in *texts {
            serde_json::from_str::<ModelData>(text).map_err(wrong)?;
        }
        Ok((*name, serde_json::from_str(examples).map_err(wrong)?))
    };
    MODELS.iter().map(read).collect()
}

/// The texts in which a flow of this kind is found, or the others.
pub fn examples_of(harm: &str, bad: bool) -> Vec<String> {
    let all = examples().unwrap_or_default();
    let of_harm = all.into_iter().flat_map(|(_, all)| all).filter(|e| e.harm == harm);
    of_harm.flat_map(|e| if bad { e.bad } else { e.good }).collect()
}

impl Model {
    fn add(&mut self, data: ModelData) {
        for source in data.sources {
            let reach = source.reach;
            source.reads.iter().for_each(|p| self.name(p, &Meaning::Read(reach)));
            source.calls.iter().for_each(|p| self.name(p, &Meaning::Gives(reach)));
            source.objects.iter().for_each(|p| self.name(p, &Meaning::Object));
            self.marks.extend(source.marks.into_iter().map(|m| (m, reach)));
            self.handlers.extend(source.handlers.into_iter().map(|m| (m, reach)));
            for names in source.params {
                let names = names.split(',').map(|name| name.trim().to_owned()).collect();
                self.called.push(Called { names, only: source.only.clone(), reach });
            }
        }
        for sink in data.sinks {
            self.sink(sink);
        }
        for clean in data.cleans {
            let harms = match clean.harms.as_slice() {
                [] => Harms::MAX,
                names => names.iter().filter_map(|n| number(n)).fold(0, |all, n| all | 1 << n),
            };
            clean.calls.iter().for_each(|p| self.name(p, &Meaning::Clean(harms)));
        }
        data.passes.iter().for_each(|p| self.name(p, &Meaning::Pass));
        data.formats.iter().for_each(|p| self.name(p, &Meaning::Format));
    }

    fn sink(&mut self, data: Sink) {
        let Some(harm) = number(&data.named) else { return };
        let at = self.sinks.len();
        for call in &data.calls {
            let (pattern, places) = call.split_once('(').unwrap_or((call, "*)"));
            // What is called may itself be a member of a call.
            let (pattern, places) = match call.rsplit_once('(') {
                Some((pattern, places)) => (pattern, places),
                None => (pattern, places),
            };
            let places = places.trim_end_matches(')').split('|').map(place).collect();
            self.name(pattern, &Meaning::Sink(at, places));
        }
        data.sets.iter().for_each(|p| self.name(p, &Meaning::Set(at)));
        self.returns.extend(data.returns.iter().map(|mark| (mark.clone(), at)));
        self.sinks.push(Sink { harm, ..data });
    }

    fn name(&mut self, pattern: &str, meaning: &Meaning) {
        let last = last(pattern).trim_start_matches('^').to_owned();
        self.by_last.entry(last).or_default().push((pattern.to_owned(), meaning.clone()));
    }

    /// What the model says of `path`. What it knows by its whole name (`re.search`) is no method of that name
    /// (`.search`).
    pub(super) fn meanings<'m>(&'m self, path: &'m str) -> impl Iterator<Item = &'m Meaning> {
        let named = self.by_last.get(last(path)).into_iter().flatten();
        let is_called = |meaning: &Meaning| !matches!(meaning, Meaning::Read(_));
        let whole = !path.starts_with('.')
            && named.clone().any(|(pattern, meaning)| pattern == path && is_called(meaning));
        let fits = move |name: &str| matches(name, path) && !(whole && name.starts_with('.'));
        named.filter(move |(pattern, _)| fits(pattern)).map(|(_, meaning)| meaning)
    }
}

/// The part after the last dot that is not inside brackets.
pub(super) fn last(path: &str) -> &str {
    path.strip_prefix("new ").unwrap_or(path).rsplit('.').next().unwrap_or(path)
}

fn matches(pattern: &str, path: &str) -> bool {
    if let Some(whole) = pattern.strip_prefix('^') {
        return whole == path;
    }
    // `new Response` of a module is one, too.
    if let Some(class) = pattern.strip_prefix("new ") {
        return path.strip_prefix("new ").is_some_and(|path| matches(class, path));
    }
    path.strip_suffix(pattern).is_some_and(|before| match before {
        "" => true,
        _ => before.ends_with(['.', '/']) || pattern.starts_with('.'),
    })
}

fn number(harm: &str) -> Option<usize> {
    harms().iter().position(|h| h.id == harm)
}

fn place(text: &str) -> Place {
    let from = text.strip_suffix('+').and_then(|n| n.parse().ok());
    match (text, from, text.parse()) {
        ("*", ..) => Place::Each,
        ("this", ..) => Place::This,
        (_, Some(from), _) => Place::From(from),
        (_, _, Ok(at)) => Place::At(at),
        _ => Place::Named(text.to_owned()),
    }
}

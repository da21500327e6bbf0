//! Every field of a log line and every metric is documented, and nothing else is.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{
    Source, none,
    paths::{is_ident, is_punct, tokens},
    shipped,
};

const DOCS: &str = include_str!("../../../docs/operations.md");

/// The first cells of the tables of a section, of those that are names.
pub fn documented(section: &str) -> BTreeSet<String> {
    let (_, rest) = DOCS.split_once(&format!("\n## {section}\n")).unwrap();
    let text = rest.split("\n## ").next().unwrap();
    let names = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    names.map(str::to_owned).collect()
}

const MACROS: [&str; 10] = [
    "trace",
    "debug",
    "info",
    "warn",
    "error",
    "trace_span",
    "debug_span",
    "info_span",
    "warn_span",
    "error_span",
];

/// What is logged somewhere in these sources: names of fields, and where one is written with `?`.
#[derive(Default)]
struct Logged {
    fields: BTreeSet<String>,
    debugged: Vec<String>,
}

impl Logged {
    fn of(sources: &[Source]) -> Self {
        let mut logged = Self::default();
        for source in sources {
            logged.read(&source.path, tokens(&source.path, &source.text));
        }
        logged
    }

    fn read(&mut self, path: &str, stream: TokenStream) {
        let list: Vec<_> = stream.into_iter().collect();
        for (at, token) in list.iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            let called = at > 4
                && is_punct(list.get(at - 1), '!')
                && MACROS.iter().any(|name| is_ident(&list[at - 2], name))
                && is_ident(&list[at - 5], "tracing");
            if called && group.delimiter() == Delimiter::Parenthesis {
                self.take_fields(path, group.stream());
            } else {
                self.read(path, group.stream());
            }
        }
    }

    /// `%name`, `name`, `name = value`; the message and what fills it come last.
    fn take_fields(&mut self, path: &str, stream: TokenStream) {
        let list: Vec<_> = stream.into_iter().collect();
        for (at, part) in list.split(|token| is_punct(Some(token), ',')).enumerate() {
            match part.first() {
                // A span begins with its name.
                Some(TokenTree::Literal(_)) if at == 0 => continue,
                Some(TokenTree::Literal(_)) | None => return,
                Some(_) => {}
            }
            let Some(name) = part.iter().position(|token| matches!(token, TokenTree::Ident(_)))
            else {
                continue;
            };
            if is_punct(part.get(name + 1), ':') {
                continue;
            }
            let value = part.iter().position(|token| is_punct(Some(token), '='));
            let debugged = is_punct(part.get(value.map_or(0, |at| at + 1)), '?');
            let name = part[name].to_string();
            if debugged {
                self.debugged.push(format!("{path}: field `{name}` is written by `Debug`"));
            }
            self.fields.insert(name);
        }
    }
}

#[test]
fn the_fields_of_logs_are_those_of_the_docs() {
    let logged = Logged::of(&shipped());
    none(&logged.debugged);
    assert_eq!(logged.fields, documented("Logs"));
}

#[test]
fn the_metrics_are_those_of_the_docs() {
    // Names of Pub/Sub's attributes look the same.
    let sources = shipped().into_iter().filter(|source| !source.path.contains("/pubsub/"));
    let mut named = BTreeSet::new();
    for source in sources {
        let parts = source.text.split("\"verdict_").skip(1);
        named.extend(parts.map(|part| format!("verdict_{}", part.split('"').next().unwrap())));
    }
    let documented = documented("Metrics");
    let own = documented.into_iter().filter(|name| name.starts_with("verdict_"));
    assert_eq!(named, own.collect());
}

#[test]
fn fields_are_found_in_every_form() {
    let text = r#"fn f() {
        tracing::info!(%run, workflow, wait_s = x(1, 2)?, "said {}", not_a_field);
        if true { tracing::debug!(target: "t", a.b = 1, error = ?why, "said"); }
        tracing::info_span!("message", trace_id, run = Empty);
    }"#;
    let source = Source { path: "a.rs".to_owned(), text: text.to_owned() };
    let logged = Logged::of(&[source]);
    let fields: Vec<_> = logged.fields.iter().map(String::as_str).collect();
    assert_eq!(fields, ["a", "error", "run", "trace_id", "wait_s", "workflow"]);
    assert_eq!(logged.debugged, ["a.rs: field `error` is written by `Debug`"]);
}

//! A result of a log as a finding: its place, its weight in our words, and what it says without the
//! secrets in it.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::{
    ChangedPaths, ToolUse, harm,
    log::{Location, Message, Outcome, Properties, Region, Rule, Run},
    name,
    paths::Paths,
};
use crate::{
    analysis::{
        Category, Confidence, Finding, FlowStep, MaskedText, Severity, Side, Source, quote,
    },
    workflows::review::rule_book::cwe_in,
};

/// Titles are cut after so many characters.
const MAX_TITLE_CHARS: usize = 160;

/// Messages are cut after so many characters.
const MAX_BODY_CHARS: usize = 4_000;

/// Names of rules are cut after so many characters.
const MAX_RULE_CHARS: usize = 200;

/// Of the way of a value so many steps are kept.
const MAX_STEPS: usize = 30;

/// The weakness that secrets in texts are, where a tool names none.
const HARDCODED_CREDENTIALS: u32 = 798;

/// How sure a tool is that does not say so.
const DEFAULT_CONFIDENCE: u8 = 70;

/// How sure a tool is, by its words, in hundredths.
const CONFIDENCES: [(&str, u8); 7] = [
    ("very-high", 95),
    ("high", 85),
    ("medium", 70),
    ("low", 40),
    ("high confidence", 85),
    ("medium confidence", 70),
    ("low confidence", 40),
];

/// Reads the results of one run.
pub(super) struct Reading<'r> {
    run: &'r Run,
    paths: Paths<'r>,
    changed: &'r ChangedPaths,
    /// The tool in the names of its rules.
    slug: String,
}

impl<'r> Reading<'r> {
    pub(super) fn new(run: &'r Run, root: &Path, changed: &'r ChangedPaths) -> Self {
        let slug = slug(&name(&run.tool.driver.name));
        Self { run, paths: Paths::new(run, root), changed, slug }
    }

    /// The tool, nothing counted yet.
    pub(super) fn tool(&self) -> ToolUse {
        let driver = &self.run.tool.driver;
        let version = driver.semantic_version.as_ref().or(driver.version.as_ref());
        let mut invocations = self.run.invocations.iter().flatten();
        let failed = invocations.any(|one| one.execution_successful == Some(false));
        let said = || "its log says that it did not run to its end".to_owned();
        ToolUse {
            name: name(&driver.name),
            version: version.map(|version| name(version)),
            missing: failed.then(said),
            ..ToolUse::default()
        }
    }

    /// The result as a finding; `None` when it is not about lines of a changed file.
    pub(super) fn finding(&self, outcome: &Outcome) -> Option<Finding> {
        let mut places = outcome.locations.iter().flatten();
        let (path, start_line, end_line, region) = places.find_map(|place| self.lines(place))?;
        let rule = self.run.rule_of(outcome);
        let id = outcome.id().or(rule.map(|rule| &*rule.id)).unwrap_or("unnamed");
        let id = id_of(&masked(id));
        let cwe = weakness(rule, outcome);
        let message = text_of(&outcome.message, rule).unwrap_or_default();
        let described = rule.and_then(description).unwrap_or_default();
        let about = format!("{id} {described} {message}");
        let secret = harm::is_secret(cwe, &about);
        let cwe = cwe.or(secret.then_some(HARDCODED_CREDENTIALS));
        // What finds secrets likes to show them, out of the context that tells what they are.
        let message = if secret || message.trim().is_empty() { described } else { message };
        let (title, mut body) = title_and_body(&masked(&without_links(&message)));
        let title = if title.is_empty() { format!("Reported as {id}") } else { title };
        if let Some(cwe) = cwe.filter(|cwe| cwe_in(&body) != Some(*cwe)) {
            body = format!("{body} (CWE-{cwe})").trim_start().to_owned();
        }
        let tool = self.tool();
        let version = tool.version.map(|version| format!(" {version}")).unwrap_or_default();
        let by = format!("Found by {}{version} as `{id}`.", tool.name);
        let body = if body.is_empty() { by } else { format!("{body}\n\n{by}") };
        let security = cwe.is_some() || harm::is_known(&about) || says_security(rule, outcome);
        let category = if security { Category::Security } else { Category::Pattern };
        let snippet = region.snippet.as_ref().filter(|_| !secret).and_then(|s| s.text.as_deref());
        let snippet = snippet.and_then(|text| masked(text).lines().next().map(quote));
        Some(Finding {
            fingerprint: String::new(),
            agent: category.into(),
            rule: format!("{}/{id}", self.slug),
            path,
            side: Side::Right,
            start_line,
            end_line,
            severity: severity(rule, outcome),
            confidence: confidence(rule, outcome),
            title,
            body,
            suggestion: None,
            quote: snippet.unwrap_or_default(),
            source: Source::Tool,
            flow: if secret { Vec::new() } else { self.flow(outcome) },
            unless: Default::default(),
        })
    }

    /// The changed file, and the lines of it, that a location names.
    fn lines<'l>(&self, location: &'l Location) -> Option<(String, u32, u32, &'l Region)> {
        let place = location.physical_location.as_ref()?;
        let region = place.region.as_ref()?;
        let start = u32::try_from(region.start_line?).ok().filter(|line| *line > 0)?;
        let end = region.end_line.and_then(|line| u32::try_from(line).ok()).unwrap_or(start);
        // A region that ends before the first character of a line has nothing of it.
        let end = if end > start && region.end_column == Some(1) { end - 1 } else { end };
        let paths = self.paths.of(place.artifact_location.as_ref()?);
        let path = paths.iter().find_map(|path| self.changed.get(path))?;
        Some((path.clone(), start, end.max(start), region))
    }

    /// The way of a value, as the tool tells it.
    fn flow(&self, outcome: &Outcome) -> Vec<FlowStep> {
        let step = |location: &Location| {
            let place = location.physical_location.as_ref()?;
            let line = u32::try_from(place.region.as_ref()?.start_line?).ok()?;
            let paths = self.paths.of(place.artifact_location.as_ref()?);
            let known = paths.iter().find_map(|path| self.changed.get(path)).cloned();
            let path = known.or_else(|| paths.first().map(|path| masked(path).to_string()))?;
            let note = location.message.as_ref().and_then(|message| message.text.as_deref());
            let note = line_of(&masked(&without_links(note.unwrap_or_default())), MAX_TITLE_CHARS);
            Some(FlowStep { path, line: line.max(1), note })
        };
        outcome.steps().filter_map(step).take(MAX_STEPS).collect()
    }
}

fn masked(text: &str) -> MaskedText {
    MaskedText::from(text)
}

/// `text` masked, in one line of so many characters.
pub(super) fn line(text: &str, chars: usize) -> String {
    line_of(&masked(text), chars)
}

fn line_of(text: &MaskedText, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, chars)
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The name of a tool as the beginning of its rules' names.
fn slug(name: &str) -> String {
    let sound = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = name.chars().map(sound).collect();
    let parts: Vec<&str> = slug.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "tool".to_owned() } else { parts.join("-") }
}

/// The name of a rule in one word.
fn id_of(id: &str) -> String {
    let sound =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ':');
    let id: String = id.trim().chars().map(|c| if sound(c) { c } else { '-' }).collect();
    id.chars().take(MAX_RULE_CHARS).collect()
}

/// What a message says: its text, or what its rule has under its id, arguments put in.
fn text_of(message: &Message, rule: Option<&Rule>) -> Option<String> {
    let text = message.text.as_deref().or_else(|| {
        let strings = rule?.message_strings.as_ref()?;
        strings.get(message.id.as_deref()?)?.text.as_deref()
    })?;
    let mut text = text.to_owned();
    for (number, argument) in message.arguments.iter().flatten().enumerate() {
        text = text.replace(&format!("{{{number}}}"), argument);
    }
    Some(text)
}

/// What a rule says about itself, shortly.
fn description(rule: &Rule) -> Option<String> {
    let texts = [&rule.short_description, &rule.full_description].into_iter().flatten();
    let mut texts = texts.filter_map(|message| message.text.as_ref());
    texts.find(|text| !text.trim().is_empty()).or(rule.name.as_ref()).cloned()
}

/// `text` with the words of its embedded links (`[words](1)`) in their place.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let open = rest[..at].rfind('[');
        let close = rest[at..].find(')').map(|end| at + end);
        let (Some(open), Some(close)) = (open, close) else { break };
        out.push_str(&rest[..open]);
        out.push_str(&rest[open + 1..at]);
        rest = &rest[close + 1..];
    }
    out + rest
}

/// The first sentence, and the whole text where there is more in it.
fn title_and_body(text: &MaskedText) -> (String, String) {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default().trim();
    let mut ends = first.match_indices(". ").map(|(end, _)| &first[..end]);
    // Dots that stand for something left out end no sentence.
    let sentence = ends.find(|sentence| !sentence.ends_with('.')).unwrap_or(first);
    let title = cut(sentence.trim_end_matches('.'), MAX_TITLE_CHARS);
    let more = text.trim_end_matches('.').chars().count() > title.chars().count();
    let body = if more { cut(text, MAX_BODY_CHARS) } else { String::new() };
    (title, body)
}

fn properties<'p>(
    rule: Option<&'p Rule>,
    outcome: &'p Outcome,
) -> impl Iterator<Item = &'p Properties> {
    outcome.properties.iter().chain(rule.and_then(|rule| rule.properties.as_ref()))
}

/// The weakness that a result is an instance of, wherever it is named.
fn weakness(rule: Option<&Rule>, outcome: &Outcome) -> Option<u32> {
    let mut words = properties(rule, outcome).flat_map(Properties::words);
    words.find_map(|word| cwe_in(&word.to_ascii_uppercase())).or_else(|| {
        let related = rule.and_then(|rule| rule.relationships.as_ref()).into_iter().flatten();
        let mut references = related.map(|r| &r.target).chain(outcome.taxa.iter().flatten());
        references.find_map(|reference| {
            let id = reference.id.as_deref()?;
            let list = reference.tool_component.as_ref().and_then(|c| c.name.as_deref());
            let number = || id.parse().ok().filter(|_| list == Some("CWE"));
            cwe_in(&id.to_ascii_uppercase()).or_else(number)
        })
    })
}

/// Whether the tool files a result under security.
fn says_security(rule: Option<&Rule>, outcome: &Outcome) -> bool {
    score(rule, outcome).is_some()
        || properties(rule, outcome).flat_map(Properties::words).any(|word| word == "security")
}

/// From 0 to 10, as for CVSS.
fn score(rule: Option<&Rule>, outcome: &Outcome) -> Option<f64> {
    let mut scores = properties(rule, outcome).filter_map(|p| p.security_severity.as_ref());
    scores.find_map(|score| match score {
        Value::String(text) => text.trim().parse().ok(),
        number => number.as_f64(),
    })
}

/// By the score where there is one, in GitHub's bounds, else by the level.
fn severity(rule: Option<&Rule>, outcome: &Outcome) -> Severity {
    match score(rule, outcome) {
        Some(9.0..) => return Severity::Critical,
        Some(7.0..) => return Severity::High,
        Some(4.0..) => return Severity::Medium,
        Some(0.1..) => return Severity::Low,
        Some(0.0..) => return Severity::Info,
        _ => {}
    }
    let usual = || rule?.default_configuration.as_ref()?.level.as_deref();
    match outcome.level.as_deref().or_else(usual).unwrap_or("warning") {
        "error" => Severity::High,
        "note" => Severity::Low,
        "none" => Severity::Info,
        _ => Severity::Medium,
    }
}

/// How sure the tool is of the result, or else of the rule.
fn confidence(rule: Option<&Rule>, outcome: &Outcome) -> Confidence {
    let of_word = |word: &str| {
        let word = word.to_ascii_lowercase();
        CONFIDENCES.iter().find(|(known, _)| *known == word).map(|(_, hundredths)| *hundredths)
    };
    let own = outcome.properties.as_ref().and_then(|p| p.issue_confidence.as_ref()?.as_str());
    let tags: BTreeSet<&str> = properties(rule, outcome).flat_map(Properties::words).collect();
    let tag = tags.into_iter().filter(|tag| tag.contains(' ')).find_map(of_word);
    let mut precisions = properties(rule, outcome).filter_map(|p| p.precision.as_ref()?.as_str());
    let known = own.and_then(of_word).or(tag).or_else(|| precisions.find_map(of_word));
    Confidence::hundredths(known.unwrap_or(DEFAULT_CONFIDENCE))
}

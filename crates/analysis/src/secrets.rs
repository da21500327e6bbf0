//! Credentials in texts: found, and masked in place so that every line and column stays.
//!
//! Masking comes before anything else happens to a text. What a finding says about a secret is
//! its kind and its place, never the secret, its hash or a part of it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    ops::{Deref, Range},
    sync::Arc,
};

use super::{
    Category, Confidence, Finding, LineSet, Lines, Severity, Side, Source,
    finding::quote,
    secret_kinds::{Kind, LONGEST_NAMED, kinds, listed},
};
use checksum::checksum;
use chosen::{chosen, is_name, names_password};
use known_samples::is_known_sample;
use made_up::{beside_its_pattern, is_code, is_listed, made_up};
use weigh::{CLIENT_IDS, NO_SECRETS, digits, entropy, is_hex_secret, mixed, placeholder};

/// Each byte of a secret becomes this one; line ends stay.
const MASK: u8 = b'*';

/// Confidence, in hundredths, in a token whose checksum is right.
const CHECKED: u8 = 99;

/// Kinds of which the name stands first on its line.
const IN_SETTINGS: &[&str] = &["token-in-settings", "password-in-settings"];

/// What names of texts hold that people read: `label.newPassword`.
const LABELS: &[&str] =
    &["label", "lbl", "msg", "message", "error", "hint", "title", "tooltip", "placeholder"];

/// Fewest bytes of a generated value that only a name tells.
const SHORTEST_GENERATED: usize = 10;

/// What tells another tool to let a secret pass: somebody has thought about it, which counts but
/// stays below the usual threshold.
const TOLD: &[&str] = &["nosec", "NOSONAR", "gitleaks:allow", "pragma: allowlist secret"];

/// A text whose secrets are masked: made from any text, by masking it. Whatever quotes, rewrites or
/// shows a text asks for one, so that no secret gets into a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct MaskedText(Arc<str>);

impl MaskedText {
    /// Lines of this text.
    pub(crate) fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        Self(lines.flat_map(|line| [line, "\n"]).collect::<String>().into())
    }
}

impl Deref for MaskedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for MaskedText {
    fn from(text: T) -> Self {
        mask(text.into()).text
    }
}

impl fmt::Display for MaskedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl AsRef<str> for MaskedText {
    fn as_ref(&self) -> &str {
        self
    }
}

/// A text without its secrets, and where they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// The text, of the same length, with the same lines.
    pub text: MaskedText,
    secrets: Vec<Secret>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Secret {
    kind: usize,
    range: Range<usize>,
    /// Whether it is of letters alone: a word rather than something random.
    word: bool,
    /// Whether it says itself that it opened something for a short time, or a sample.
    spent: bool,
    /// Whether its checksum is right, where its format has one.
    checksum: Option<bool>,
    /// Where the same stands first in the text.
    first: usize,
}

impl Secret {
    fn join(&mut self, other: Self) {
        self.kind = self.kind.min(other.kind);
        self.range = self.range.start.min(other.range.start)..self.range.end.max(other.range.end);
    }
}

/// Masks every secret in `text`.
pub fn mask(text: String) -> Masked {
    let secrets = find(&text);
    if secrets.is_empty() {
        return Masked { text: MaskedText(text.into()), secrets };
    }
    let mut bytes = text.into_bytes();
    for secret in &secrets {
        for byte in &mut bytes[secret.range.clone()] {
            if !matches!(*byte, b'\n' | b'\r') {
                *byte = MASK;
            }
        }
    }
    // Ranges end on character boundaries, so this replaces nothing.
    Masked { text: MaskedText(String::from_utf8_lossy(&bytes).into()), secrets }
}

/// The secrets of `text`.
pub fn values(text: &str) -> HashSet<String> {
    find(text).iter().filter_map(|it| text.get(it.range.clone())).map(unfolded).collect()
}

/// A secret without line ends and indentation: a key of several lines may be folded or quoted otherwise.
fn unfolded(secret: &str) -> String {
    secret.replace("\\n", "").split_whitespace().collect()
}

/// The lines of `text` on which a secret begins that is one of `known`.
pub fn known_lines(text: &str, known: &HashSet<String>) -> LineSet {
    let value = |it: &&Secret| text.get(it.range.clone()).map(unfolded);
    let is_known = |it: &&Secret| value(it).is_some_and(|it| known.contains(&it));
    let (lines, found) = (Lines::new(text), find(text));
    let known = found.iter().filter(is_known).map(|secret| lines.at(secret.range.start));
    known.map(|line| line..=line).collect()
}

/// Whether there is a kind of credential of this name.
pub fn is_kind(id: &str) -> bool {
    kinds().all.iter().any(|kind| kind.id == id)
}

/// A kind of credential, as its findings show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindInfo {
    /// The rule's id: `secret-`, and the kind's own.
    pub rule: String,
    /// What a finding is called.
    pub title: String,
    /// How much one matters.
    pub severity: Severity,
    /// How sure it is, unless a checksum tells.
    pub confidence: Confidence,
}

impl KindInfo {
    /// Every kind that is looked for.
    pub fn all() -> impl Iterator<Item = Self> {
        kinds().all.iter().map(Self::of)
    }

    fn of(kind: &Kind) -> Self {
        Self {
            rule: format!("secret-{}", kind.id),
            title: format!("This looks like a committed secret: {}", kind.name),
            severity: kind.severity,
            confidence: Confidence::hundredths(kind.confidence),
        }
    }
}

/// Why a committed secret is a problem.
pub const PROBLEM: &str = "Whoever can read the repository, its history or a clone of it can use this \
                           credential (CWE-798).";

/// What to do about one.
pub const ADVICE: &str = "Revoke it where it was issued: taking it out of the file leaves it in the \
                          history. Read it from the environment or a secret store instead.";

impl Masked {
    /// Whether anything was masked.
    pub fn any(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// One finding per secret that begins on a touched line, where it first stands in the text; fingerprints not yet set. In tests
    /// and examples the mere look of a credential is not reported: made-up ones live there.
    pub fn findings(&self, path: &str, touched: &LineSet) -> Vec<Finding> {
        let lines = Lines::new(&self.text);
        let mut said = HashSet::new();
        let reported = |secret: &&Secret| {
            let line = lines.at(secret.range.start);
            let generic = kinds().all[secret.kind].generic;
            let listed = generic && is_listed(&lines, line, secret.range.len());
            let code = kinds().all[secret.kind].id == "password-in-settings" && is_code(path);
            let sample =
                listed || code || made_up(secret, path, &lines) || beside_its_pattern(&lines, line);
            !sample && said.insert(secret.first) && touched.contains(line)
        };
        self.secrets.iter().filter(reported).filter_map(|s| finding(s, path, &lines)).collect()
    }

    /// One finding per secret in this text, which is the name of a file; fingerprints not yet set.
    pub fn name_findings(&self) -> Vec<Finding> {
        let lines = Lines::new(&self.text);
        let found = self.secrets.iter().filter_map(|secret| finding(secret, &self.text, &lines));
        let about_the_file = |found: Finding| Finding {
            title: format!("{}, in the file's name", found.title),
            start_line: 0,
            end_line: 0,
            quote: String::new(),
            ..found
        };
        found.map(about_the_file).collect()
    }
}

fn finding(secret: &Secret, path: &str, lines: &Lines<'_>) -> Option<Finding> {
    let kind = KindInfo::of(&kinds().all[secret.kind]);
    let line = lines.at(secret.range.start);
    let text = lines.get(line)?;
    let mut finding = Finding {
        fingerprint: String::new(),
        agent: Category::Security.into(),
        rule: kind.rule,
        path: path.to_owned(),
        side: Side::Right,
        start_line: line,
        end_line: line,
        severity: kind.severity,
        confidence: if secret.checksum == Some(true) {
            Confidence::hundredths(CHECKED)
        } else {
            kind.confidence
        },
        title: kind.title,
        body: format!("{PROBLEM}\n\n{ADVICE}"),
        suggestion: None,
        quote: quote(text),
        source: Source::Secret,
        flow: Vec::new(),
        unless: Default::default(),
    };
    if TOLD.iter().any(|word| text.contains(word)) {
        finding.soften();
    }
    Some(finding)
}

/// Whether every listed kind can be looked for.
pub fn all_kinds_work() -> bool {
    kinds().all.iter().filter(|kind| kind.regex().is_some()).count() == listed()
}

/// Every secret, in order, none overlapping another. What overlaps is one, of the most specific kind and
/// as long as all of it together, so that no kind leaves in sight what another would have masked. Only
/// what a name alone tells stays away from what is known better.
fn find(text: &str) -> Vec<Secret> {
    let mut found: BTreeMap<usize, Secret> = BTreeMap::new();
    for (index, kind) in kinds().possible(text) {
        for range in matches(kind, text).filter(|range| !range.is_empty()) {
            let before = found.range(..range.end).rev();
            let overlapping = before.take_while(|(_, other)| range.start < other.range.end);
            let overlapping: Vec<usize> = overlapping.map(|(start, _)| *start).collect();
            if kind.generic && !overlapping.is_empty() {
                continue;
            }
            let mut secret =
                Secret { kind: index, range, word: false, spent: false, checksum: None, first: 0 };
            for other in overlapping.iter().filter_map(|start| found.remove(start)) {
                secret.join(other);
            }
            let value = text.get(secret.range.clone()).unwrap_or_default();
            secret.checksum = checksum(value);
            secret.word = value.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
            secret.spent = kind.id == "json-web-token" && weigh::is_spent(value);
            found.insert(secret.range.start, secret);
        }
    }
    let mut values: HashMap<&str, usize> = HashMap::new();
    for (start, secret) in &mut found {
        let value = text.get(secret.range.clone()).unwrap_or_default();
        secret.first = *values.entry(value).or_insert(*start);
    }
    found.into_values().collect()
}

fn matches<'t>(kind: &'t Kind, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let found = kind.regex().map(|regex| regex.captures_iter(text.as_bytes()));
    let whole = |range: Range<usize>| {
        text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end)
    };
    found.into_iter().flatten().flat_map(move |captures| {
        let named = captures.name("secret").or_else(|| captures.name("single"));
        let groups = || captures.iter().skip(1).flatten().find(|group| !group.is_empty());
        let value = named.or_else(groups).or_else(|| captures.get(0));
        let all = value.map(|value| {
            let value = whole(value.range());
            let start = captures.get(0).map_or(0, |all| whole(all.range()).start);
            let start = if kind.generic { weigh::name_start(text, start) } else { start };
            let name = &text[start..value.start];
            let values = if kind.id == "kubernetes-secret" {
                weigh::values(text, value)
            } else {
                vec![value]
            };
            let placed = !IN_SETTINGS.contains(&kind.id) || weigh::is_setting(text, start);
            let fits =
                move |range: &Range<usize>| placed && is_secret(kind, name, &text[range.clone()]);
            values.into_iter().filter(fits)
        });
        all.into_iter().flatten()
    })
}

/// Whether what fits the expression of a kind is random enough, and no stand-in for a secret.
fn is_secret(kind: &Kind, name: &str, value: &str) -> bool {
    if kind.id == "private-key" {
        // A header alone, as in code that looks for one, is no key.
        return value.bytes().filter(u8::is_ascii_alphanumeric).count() >= 40;
    }
    // `vendor_VERSION=<commit>`: the loosest kinds go by a name nearby.
    let name = name.to_ascii_lowercase();
    let random = entropy(value) >= kind.entropy || is_hex_secret(kind, &name, value);
    let generated = random
        && (!kind.generic
            || (SHORTEST_GENERATED..=LONGEST_NAMED).contains(&value.len()) && mixed(value))
        && (!kind.digits || digits(value) >= 2);
    let fits = match kind.id {
        "password-in-settings" => {
            chosen(value) && !is_name(value) && !LABELS.iter().any(|word| name.contains(word))
        }
        "bearer-token" | "assigned-token" => generated && mixed(value) && !is_name(value),
        _ if kind.by_place => (generated && mixed(value) || chosen(value)) && !is_name(value),
        // `field("password", "//input[1]")`: what is beside a name is not always its value.
        "hardcoded-credential" if name.contains(',') && is_name(value) => false,
        "hardcoded-credential" => generated || names_password(&name) && chosen(value),
        _ => generated,
    };
    let named = kind.generic || kind.digits;
    let harmless = kind.weigh && placeholder(value)
        || NO_SECRETS.iter().any(|word| name.contains(word))
        || named && CLIENT_IDS.iter().any(|word| name.contains(word))
        || weigh::is_public(value)
        || weigh::is_site_key(&name, value)
        || kind.generic && weigh::is_reference(value)
        || is_known_sample(value)
        || kind.id == "kubernetes-secret" && weigh::encodes_placeholder(value)
        || kind.id.starts_with("curl") && weigh::is_role(value);
    fits && !harmless
}

mod checksum;
mod chosen;
mod known_samples;
mod made_up;
mod weigh;

#[cfg(test)]
mod tests;

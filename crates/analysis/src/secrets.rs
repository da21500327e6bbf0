//! Credentials in texts: found, and masked in place so that every line and column stays.
//!
//! Masking comes before anything else happens to a text. What a finding says about a secret is
//! its kind and its place, never the secret, its hash or a part of it.

use std::{collections::BTreeMap, ops::Range};

use super::{
    Category, Confidence, Finding, LineSet, Lines, Side, Source,
    finding::quote,
    globs,
    lines::is_comment,
    secret_kinds::{Kind, kinds, listed},
};

/// Each byte of a secret becomes this one; line ends stay.
const MASK: u8 = b'*';

/// What tells another tool to let a secret pass: somebody has thought about it, which counts but
/// stays below the usual threshold.
const TOLD: &[&str] = &["nosec", "NOSONAR", "gitleaks:allow", "pragma: allowlist secret"];

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// The text, of the same length, with the same lines.
    pub text: String,
    secrets: Vec<Secret>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Secret {
    kind: usize,
    range: Range<usize>,
    /// Whether it is of letters alone: a word rather than something random.
    word: bool,
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
        return Masked { text, secrets };
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
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Masked { text, secrets }
}

/// Whether there is a kind of credential of this name.
pub fn is_kind(id: &str) -> bool {
    kinds().all.iter().any(|kind| kind.id == id)
}

impl Masked {
    /// Whether anything was masked.
    pub fn any(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// One finding per secret that begins on a touched line; fingerprints not yet set. In tests
    /// and examples the mere look of a credential is not reported: made-up ones live there.
    pub fn findings(&self, path: &str, touched: &LineSet) -> Vec<Finding> {
        let lines = Lines::new(&self.text);
        let reported = |secret: &&Secret| {
            let line = lines.at(secret.range.start);
            let at = lines.get(line).unwrap_or_default();
            let generic = kinds().all[secret.kind].generic;
            let listed = generic && is_listed(&lines, line, secret.range.len());
            let sample = listed || made_up(secret, path, at) || beside_its_pattern(&lines, line);
            touched.contains(line) && !sample
        };
        self.secrets.iter().filter(reported).filter_map(|s| finding(s, path, &lines)).collect()
    }
}

fn finding(secret: &Secret, path: &str, lines: &Lines<'_>) -> Option<Finding> {
    let kind = &kinds().all[secret.kind];
    let line = lines.at(secret.range.start);
    let text = lines.get(line)?;
    let mut finding = Finding {
        fingerprint: String::new(),
        agent: Category::Security,
        rule: format!("secret-{}", kind.id),
        path: path.to_owned(),
        side: Side::Right,
        start_line: line,
        end_line: line,
        severity: kind.severity,
        confidence: Confidence::hundredths(kind.confidence),
        title: format!("This looks like a committed secret: {}", kind.name),
        body: "Whoever can read the repository, its history or a clone of it can use this \
               credential (CWE-798).\n\nRevoke it where it was issued: taking it out of the file \
               leaves it in the history. Read it from the environment or a secret store instead."
            .to_owned(),
        suggestion: None,
        quote: quote(text),
        source: Source::Secret,
        flow: Vec::new(),
    };
    if TOLD.iter().any(|word| text.contains(word)) {
        finding.soften();
    }
    Some(finding)
}

/// Whether path and line tell that this credential opens nothing: one made up for tests and
/// explanations, or one that its vendor means to be public.
fn made_up(secret: &Secret, path: &str, line: &str) -> bool {
    const PUBLIC: &[&str] = &["authdomain", "messagingsenderid"];
    const INVENTED: &[&str] = &["test", "fake", "dummy", "example", "sample", "mock"];
    let kind = &kinds().all[secret.kind];
    let test = globs::is_test(path);
    let line = line.to_ascii_lowercase();
    let shown = globs::is_translation(path);
    let explains = || globs::is_markup(path) || line.contains("example");
    match kind.id {
        // Keys made for tests are committed on purpose.
        "private-key" => {
            let name = line.split("-----begin").next().unwrap_or_default();
            let dev = path.split('/').any(|folder| matches!(folder, "dev" | ".devcontainer"));
            let file = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
            let sample = ["example", "sample"].iter().any(|word| file.contains(word));
            test || dev || sample || INVENTED.iter().any(|word| name.contains(word))
        }
        // The key of a page that talks to Firebase is in every visitor's hands.
        "google-api-key" if PUBLIC.iter().any(|word| line.contains(word)) => true,
        "connection-password" => {
            test || shown || stands_alone(path) || opens_nothing(&line, secret.word)
        }
        "hardcoded-credential" => {
            test || shown
                || stands_alone(path)
                || explains()
                || line.contains("hash")
                || line.contains("encrypted")
        }
        "json-web-token" => test || explains(),
        _ => test && kind.confidence < 90,
    }
}

/// Whether a connection string, its password masked, leads nowhere: to this machine, or with a mere
/// word for a password to a container beside this one or from a comment.
fn opens_nothing(line: &str, word: bool) -> bool {
    const HERE: &[&str] = &["localhost", "127.0.0.1", "host.docker.internal"];
    let mut hosts = line.split("*@").skip(1).map(|rest| {
        rest.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_'))
            .next()
            .unwrap_or_default()
    });
    let leads_nowhere = |host: &str| HERE.contains(&host) || word && !host.contains('.');
    word && is_comment(line) || hosts.any(leads_nowhere)
}

/// Whether a line beside it holds a hexadecimal value as long as this one: a list of digests.
fn is_listed(lines: &Lines<'_>, line: u32, length: usize) -> bool {
    let digest = |word: &str| word.len() == length && word.bytes().all(|b| b.is_ascii_hexdigit());
    let holds = |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric()).any(digest);
    length >= 32
        && [line.saturating_sub(1), line + 1].iter().filter_map(|n| lines.get(*n)).any(holds)
}

/// Whether an expression with counted characters stands around: a sample of what a scanner looks
/// for.
fn beside_its_pattern(lines: &Lines<'_>, line: u32) -> bool {
    let counted = |text: &str| {
        let classes = text.split("]{").skip(1);
        text.contains('[')
            && classes.into_iter().any(|c| c.starts_with(|d: char| d.is_ascii_digit()))
    };
    (line.saturating_sub(4)..=line + 1).filter_map(|n| lines.get(n)).any(counted)
}

/// Whether what a path holds is set up for one run and gone after it: databases of CI, seeds.
fn stands_alone(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let ci = |folder: &str| {
        matches!(
            folder,
            ".ci"
                | "ci"
                | ".github"
                | ".circleci"
                | ".devcontainer"
                | "dev"
                | "devel"
                | "development"
                | "dev-docs"
        )
    };
    let ends = [".example", ".sample", ".dist", ".template", ".tmpl", ".test", ".testing", ".ci"];
    folders.split('/').any(|folder| ci(folder) || folder.contains("seed"))
        || name.contains("seeder")
        || ends.iter().any(|end| name.ends_with(end))
        || name.starts_with("docker-compose")
            && ["ci", "test", "dev", "cypress"].iter().any(|w| name.contains(w))
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
            let mut secret = Secret { kind: index, range, word: false };
            for other in overlapping.iter().filter_map(|start| found.remove(start)) {
                secret.join(other);
            }
            let value = text.get(secret.range.clone()).unwrap_or_default();
            secret.word = value.bytes().all(|b| b.is_ascii_alphabetic());
            found.insert(secret.range.start, secret);
        }
    }
    found.into_values().collect()
}

fn matches<'t>(kind: &'t Kind, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let found = kind.regex().map(|regex| regex.captures_iter(text));
    found.into_iter().flatten().filter_map(move |captures| {
        let named = captures.name("secret").or_else(|| captures.name("single"));
        let groups = || captures.iter().skip(1).flatten().find(|group| !group.is_empty());
        let value = named.or_else(groups).or_else(|| captures.get(0))?;
        if kind.id == "private-key" {
            // A header alone, as in code that looks for one, is no key.
            let body = value.as_str().bytes().filter(u8::is_ascii_alphanumeric).count();
            return (body >= 40).then(|| value.range());
        }
        let random = entropy(value.as_str()) >= kind.entropy;
        let random = random && (!kind.generic || mixed(value.as_str()));
        let real = !kind.weigh || !placeholder(value.as_str());
        // `vendor_VERSION=<commit>`: the loosest kinds go by a name nearby.
        let name = text[captures.get(0)?.start()..value.start()].to_ascii_lowercase();
        let real = real && !["version", "commit", "_sha", "_rev"].iter().any(|w| name.contains(w));
        (random && real).then(|| value.range())
    })
}

/// Shannon entropy in bits per byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let share = |n: &u32| f64::from(*n) / total;
    counts.iter().filter(|n| **n > 0).map(share).map(|p| -p * p.log2()).sum()
}

/// Letters and digits both: words, paths and names of keys seldom are.
fn mixed(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    digits >= 2 && text.bytes().any(|b| b.is_ascii_alphabetic()) && !text.contains("://")
}

/// Stand-ins, references to a variable, and the vendors' own documentation examples.
fn placeholder(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "example",
        "sample",
        "dummy",
        "placeholder",
        "changeme",
        "change_me",
        "change-me",
        "your_",
        "your-",
        "yourpass",
        "xxxx",
        "****",
        "....",
        "redacted",
        "insert",
        "fake",
        "mock",
        "notreal",
        "not_a_real",
        "test_key",
        "todo",
        "0000000",
        "1234567",
        "abcdef",
        "password",
        "secret_here",
        "required|",
        "nullable|",
        "|string",
        "process.env",
        "os.environ",
        "getenv",
    ];
    let low = text.to_ascii_lowercase();
    let reference = ["${", "{{", "<", "$(", "%(", "%{", "#{", "{", "$", "@", "env."];
    WORDS.iter().any(|w| low.contains(w))
        || reference.iter().any(|r| low.starts_with(r))
        || low.contains("${")
        || low.contains("{{")
        || distinct(&low) <= 4
}

fn distinct(text: &str) -> usize {
    let mut seen = [false; 256];
    text.bytes().for_each(|b| seen[usize::from(b)] = true);
    seen.iter().filter(|s| **s).count()
}

#[cfg(test)]
mod tests;

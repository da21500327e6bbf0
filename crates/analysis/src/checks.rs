//! Checks that need no grammar: conflict markers, hidden characters, work left undone, and what
//! happened to a file as a whole.

use ast_grep_language::SupportLang;

use super::{
    Finding, Lines, Side, Source, SourceText,
    check_info::{
        BIDI_CONTROL, CONFLICT_MARKER, CheckInfo, INVISIBLE_CHARACTER, LARGE_BINARY,
        LOOK_ALIKE_LETTER, TODO_WITHOUT_REFERENCE, UNEXPECTED_EXECUTABLE,
    },
    finding::quote,
    globs,
    language::{Lang, is_markup},
    lines::{has_word, is_comment},
};

const MIB: u64 = 1024 * 1024;

/// Binary content from this size on is worth a word: pictures and documents are meant to be there.
fn is_large(path: &str, size: u64) -> bool {
    size >= if globs::is_media(path) { 20 * MIB } else { 5 * MIB }
}

/// Kinds of file that nobody runs.
const NEVER_RUN: &[&str] = &[
    "md", "txt", "rst", "json", "toml", "yaml", "yml", "xml", "html", "css", "svg", "png", "jpg",
    "jpeg", "gif", "ico", "pdf", "rs", "go", "java", "c", "h", "cpp", "hpp", "ts", "tsx", "lock",
];

/// Everything that can be said about the touched lines of a text; fingerprints not yet set.
pub fn text(source: SourceText<'_>, lines: &Lines<'_>) -> Vec<Finding> {
    let mut findings = conflicts(source, lines);
    let prose = globs::is_prose(source.path);
    let data = prose || globs::is_data(source.path) || is_markup(source.text);
    let code = !data && !globs::is_test(source.path);
    for (number, line) in lines.touched(source.touched) {
        let at = At { path: source.path, number, line };
        if code {
            findings.extend(hidden(&at));
            findings.extend(look_alike(&at));
        }
        if !prose {
            findings.extend(undone(&at));
        }
    }
    findings
}

/// What happened to a file as a whole.
#[derive(Debug, Clone, Copy)]
pub struct FileFacts<'a> {
    /// Its path.
    pub path: &'a str,
    /// Whether its content is binary.
    pub binary: bool,
    /// Whether its content is new or replaced.
    pub content_changed: bool,
    /// Its size in bytes, where known.
    pub size: Option<u64>,
    /// Whether the change made it executable.
    pub became_executable: bool,
    /// Its text, where it has one that was read.
    pub text: Option<&'a str>,
}

/// What can be said about a file as a whole; fingerprints not yet set.
pub fn file(facts: FileFacts<'_>) -> Vec<Finding> {
    let at = At { path: facts.path, number: 0, line: "" };
    let mut findings = Vec::new();
    let large = |size: &u64| facts.binary && facts.content_changed && is_large(facts.path, *size);
    if let Some(size) = facts.size.filter(large) {
        let title = format!("A binary file of {} MiB is added to the history", size / MIB);
        findings.push(Finding { title, ..at.finding(&LARGE_BINARY) });
    }
    let script = facts.text.is_some_and(|t| t.starts_with("#!"));
    let own = !globs::is_vendored(facts.path) && !globs::is_generated(facts.path);
    if facts.became_executable && own && !script && is_never_run(facts.path) {
        let extension = extension(facts.path);
        let title = format!("A .{extension} file becomes executable");
        findings.push(Finding { title, ..at.finding(&UNEXPECTED_EXECUTABLE) });
    }
    findings
}

/// Whether a file of this name is no program that the system starts.
pub fn is_never_run(path: &str) -> bool {
    NEVER_RUN.contains(&extension(path)) && !path.split('/').any(|folder| folder == "bin")
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Where a check stands: in a line, or with number 0 about the file as a whole.
pub(super) struct At<'a> {
    pub(super) path: &'a str,
    pub(super) number: u32,
    pub(super) line: &'a str,
}

impl At<'_> {
    pub(super) fn finding(&self, check: &CheckInfo) -> Finding {
        Finding {
            fingerprint: String::new(),
            agent: check.category.into(),
            rule: check.id.to_owned(),
            path: self.path.to_owned(),
            side: Side::Right,
            start_line: self.number,
            end_line: self.number,
            severity: check.severity,
            confidence: check.confidence,
            title: check.title.to_owned(),
            body: check.body(),
            suggestion: None,
            quote: quote(self.line),
            source: Source::Check,
            flow: Vec::new(),
            unless: Default::default(),
        }
    }
}

/// Where more conflicts than this begin is not told.
const MAX_CONFLICTS_NAMED: usize = 10;

/// The first touched opening marker that is followed by the other two, which names where else there is one.
fn conflicts(source: SourceText<'_>, lines: &Lines<'_>) -> Vec<Finding> {
    if !source.text.contains("<<<<<<< ") {
        return Vec::new();
    }
    let touched: Vec<(u32, &str)> = lines.touched(source.touched).collect();
    let mut findings = Vec::new();
    // From the end, so that what follows a line is known when it is reached.
    let (mut ends, mut parts) = (false, false);
    for (number, line) in touched.iter().rev() {
        ends |= line.starts_with(">>>>>>> ");
        parts |= ends && *line == "=======";
        if parts && line.starts_with("<<<<<<< ") {
            let at = At { path: source.path, number: *number, line };
            findings.push(at.finding(&CONFLICT_MARKER));
        }
    }
    findings.reverse();
    if let [first, others @ ..] = &mut findings[..]
        && !others.is_empty()
    {
        let told = others.iter().take(MAX_CONFLICTS_NAMED).map(|f| f.start_line.to_string());
        let told = told.collect::<Vec<_>>().join(", ");
        first
            .body
            .push_str(&format!(" There are {} more in this file: line {told}.", others.len()));
        findings.truncate(1);
    }
    // What a test reads may be the outcome of a merge.
    let is_page = |lang: Lang| lang == Lang::Known(SupportLang::Html);
    let read =
        globs::is_test(source.path) && Lang::of(source.path, source.text).is_none_or(is_page);
    // In a text that explains merges.
    let fenced = |finding: &Finding| {
        let before = (1..finding.start_line).filter_map(|n| lines.get(n));
        before.filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1
    };
    let shown = |finding: &&mut Finding| read || fenced(finding);
    findings.iter_mut().filter(shown).for_each(Finding::soften);
    findings
}

fn hidden(at: &At<'_>) -> Option<Finding> {
    if at.line.is_ascii() {
        return None;
    }
    let bidi = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if let Some(c) = at.line.chars().find(|c| bidi(*c)) {
        let body = format!(
            "U+{:04X} changes the order in which the line is shown, so it reads otherwise than it \
             runs (CWE-1007).\n\nRemove it, or write it as an escape.",
            u32::from(c)
        );
        return Some(Finding { body, ..at.finding(&BIDI_CONTROL) });
    }
    let unseen =
        |c: char| matches!(c, '\u{200b}' | '\u{2060}' | '\u{00ad}' | '\u{e0001}'..='\u{e007f}');
    if is_written_so(at.line) {
        return None;
    }
    let c = at.line.chars().find(|c| unseen(*c))?;
    let body = format!(
        "U+{:04X} cannot be seen, yet it is part of the text: comparisons and searches fail for no \
         visible reason.\n\nRemove it, or write it as an escape.",
        u32::from(c)
    );
    Some(Finding { body, ..at.finding(&INVISIBLE_CHARACTER) })
}

/// A name of Latin letters and others that look like them: two names may differ and read the same.
fn look_alike(at: &At<'_>) -> Option<Finding> {
    /// Cyrillic and Greek letters that most fonts draw as Latin ones.
    const ALIKE: &str = "аеорсухіјѕһԁԛԝАВЕЅІЈКМНОРСТУХοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";
    if at.line.is_ascii() || is_comment(at.line) {
        return None;
    }
    let words = at.line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mixed = |word: &&str| {
        word.chars().any(|c| c.is_ascii_alphabetic())
            && !word.is_ascii()
            && word.chars().all(|c| c.is_ascii() || ALIKE.contains(c))
    };
    let word = words.into_iter().find(mixed)?;
    let letter = word.chars().find(|c| !c.is_ascii())?;
    let body = format!(
        "In `{word}` the letter U+{:04X} looks like a Latin one and is another, so this is not the \
         name it reads as (CWE-1007).\n\nWrite it with Latin letters.",
        u32::from(letter)
    );
    Some(Finding { body, ..at.finding(&LOOK_ALIKE_LETTER) })
}

/// Whether what cannot be seen belongs there: after the black flag of a region, between the words of
/// a script without blanks; or whether it does nothing, in a comment.
fn is_written_so(line: &str) -> bool {
    let unspaced = |c: char| matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    is_comment(line) || line.chars().any(|c| c == '\u{1f3f4}' || unspaced(c))
}

/// TODO, FIXME or XXX in a comment, without an issue, a name or an address to follow it up.
fn undone(at: &At<'_>) -> Option<Finding> {
    let comment = ["//", "#", "/*", "* ", "--", "<!--", ";;"]
        .iter()
        .filter_map(|open| at.line.find(open))
        .min()?;
    let text = at.line.get(comment..)?;
    let word = ["TODO", "FIXME", "XXX"].into_iter().find(|w| has_word(text, w))?;
    let followed = text.contains("://")
        || text.contains(&format!("{word}("))
        || text.as_bytes().windows(2).any(|w| w[0] == b'#' && w[1].is_ascii_digit())
        || text
            .as_bytes()
            .windows(3)
            .any(|w| w[0].is_ascii_uppercase() && w[1] == b'-' && w[2].is_ascii_digit());
    (!followed).then(|| {
        let title = format!("{word} without a reference");
        Finding { title, ..at.finding(&TODO_WITHOUT_REFERENCE) }
    })
}

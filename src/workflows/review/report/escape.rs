//! Texts of others in Markdown: shown as they are, and nothing else.
//!
//! Whatever a path, a quoted line, a title or a body holds, in the rendered page it is text: no
//! link, image, heading, list or HTML, no mention, reference or command to a bot. Only code between
//! backticks stays code. What a forge would act upon is shown as code, since it acts on none there.

use super::tame;

/// Several lines of text, code between backticks aside. Blank lines part paragraphs.
pub fn prose(text: &str) -> String {
    let lines: Vec<String> = text.trim().lines().map(|line| sentence(line.trim())).collect();
    lines.join("\n")
}

/// One line of text.
pub(super) fn sentence(line: &str) -> String {
    let line = tame(line).to_string();
    let line = line.trim();
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        words(&rest[..at], &mut out);
        let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let (ticks, after) = rest[at..].split_at(run);
        match closing(after, ticks) {
            Some(end) if !after[..end].trim().is_empty() => {
                push_code(after[..end].trim(), &mut out);
                rest = &after[end + run..];
            }
            _ => {
                out.push_str(&"\\`".repeat(run));
                rest = after;
            }
        }
    }
    words(rest, &mut out);
    guard_start(out)
}

/// Where a run of exactly these backticks begins.
fn closing(text: &str, ticks: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('`')?;
        let run = text[at..].len() - text[at..].trim_start_matches('`').len();
        if run == ticks.len() {
            return Some(at);
        }
        at += run;
    }
}

fn words(text: &str, out: &mut String) {
    for word in text.split_inclusive(' ') {
        let (word, space) = word.strip_suffix(' ').map_or((word, ""), |word| (word, " "));
        if acts(word, out.is_empty()) {
            push_code(word, out);
        } else {
            escape(word, out);
        }
        out.push_str(space);
    }
}

/// Code after whatever came before. Backticks that met would be counted as one fence, which ends
/// elsewhere.
fn push_code(text: &str, out: &mut String) {
    if out.ends_with('`') {
        out.push(' ');
    }
    out.push_str(&code(text));
}

/// Whether a forge, or a bot on it, would make something of a word.
fn acts(word: &str, first: bool) -> bool {
    let lower = word.to_ascii_lowercase();
    let numbered = |mark: &str| {
        lower
            .match_indices(mark)
            .any(|(at, _)| lower[at + mark.len()..].starts_with(char::is_numeric))
    };
    let command = first && word.starts_with('/') && word.len() > 1;
    let link = ["://", "www.", "mailto:", "xmpp:"].iter().any(|mark| lower.contains(mark));
    command || link || word.contains('@') || ["#", "gh-", "!"].into_iter().any(numbered)
}

fn escape(word: &str, out: &mut String) {
    for c in word.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '$' | '&' | '^'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Keeps a line from being a list, a rule or a heading.
fn guard_start(mut line: String) -> String {
    if line.starts_with(['-', '+', '=', ':']) {
        line.insert(0, '\\');
    }
    let digits = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    if digits > 0 && line[digits..].starts_with(['.', ')']) {
        line.insert(digits, '\\');
    }
    line
}

/// Text as code within a line.
pub(super) fn code(text: &str) -> String {
    let text = tame(text).to_string();
    let fence = "`".repeat(longest_run(&text, '`') + 1);
    let edge = |c: char| c == '`' || c == ' ';
    let pad = if text.starts_with(edge) || text.ends_with(edge) { " " } else { "" };
    if text.is_empty() { String::new() } else { format!("{fence}{pad}{text}{pad}{fence}") }
}

/// Text as code in a table's cell, where a bar would begin the next one.
pub(super) fn cell(text: &str) -> String {
    if !text.contains(['|', '\\', '`']) {
        return code(text);
    }
    let mut out = String::from("<code>");
    for c in tame(text).to_string().chars() {
        if c.is_ascii_punctuation() {
            out.push_str(&format!("&#{};", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out + "</code>"
}

/// Lines as a block of code.
pub(super) fn block<'a>(language: &str, lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: Vec<String> = lines.into_iter().map(|line| tame(line).to_string()).collect();
    let longest = lines.iter().map(|line| longest_run(line, '`')).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    let sound = language.chars().all(|c| c.is_ascii_alphanumeric()) && language.len() <= 12;
    let language = if sound { language } else { "" };
    format!("{fence}{language}\n{}\n{fence}\n", lines.join("\n"))
}

fn longest_run(text: &str, mark: char) -> usize {
    text.split(|c| c != mark).map(str::len).max().unwrap_or(0)
}

/// Plain text for SARIF and for remarks beside lines, in which only a link in brackets has a meaning.
pub fn plain(text: &str) -> String {
    let lines: Vec<String> = text.trim().lines().map(|line| tame(line).to_string()).collect();
    lines.join("\n").replace("](", "] (")
}

//! Where the values come from that a statement or a command is put together from.
//!
//! No analysis of data flow: words of the functions around a place, followed from one line to
//! another. It says "its own" only where a function stands around and nothing leads from what is
//! put in to a parameter, the object, a request or what stands in a database; whoever reads that
//! code sees at once where the value was made.

use std::collections::BTreeSet;

use super::parse::Tree;

/// Names of what somebody else supplies, whatever the function takes.
const OUTSIDE: &[&str] = &[
    "req", "request", "params", "param", "query", "input", "body", "form", "payload", "event",
    "self", "this", "@", "_get", "_post", "_request", "_cookie", "_server", "row", "rows",
    "record", "user", "message", "url", "stdin", "argv",
];
/// What a call is made on or with; it is not put into the text.
const HANDLES: &[&str] = &["ctx", "context", "db", "tx", "conn", "connection", "cursor", "client"];
/// Followed from one name to the next at most so often.
const STEPS: usize = 64;
/// Lines of a function that are looked at.
const LINES: usize = 2_000;

/// Whether all that is put into `found` was made by the function itself.
pub(super) fn is_own(found: &Tree<'_>) -> bool {
    let functions: Vec<Tree<'_>> = found.ancestors().filter(is_function).collect();
    let Some(outermost) = functions.last() else { return false };
    let outermost = outermost.text();
    let put_in = inserted(found);
    let parameters: Vec<String> = functions.iter().flat_map(parameters).collect();
    let parameters: BTreeSet<&str> = parameters.iter().flat_map(|text| words(text)).collect();
    let outside = |word: &str| {
        parameters.contains(word) || OUTSIDE.contains(&word.to_ascii_lowercase().as_str())
    };
    !put_in.is_empty() && !leads_out(&put_in, &outermost, outside)
}

/// Whether one of the words, or one that its value was made from in `text`, is from outside.
fn leads_out(put_in: &[String], text: &str, outside: impl Fn(&str) -> bool) -> bool {
    let made: Vec<(&str, &str)> = text.lines().take(LINES).filter_map(made).collect();
    let mut known: BTreeSet<&str> = put_in.iter().map(String::as_str).collect();
    let mut open: Vec<&str> = known.iter().copied().collect();
    for _ in 0..STEPS {
        let Some(word) = open.pop() else { return false };
        if outside(word) {
            return true;
        }
        let from = made.iter().filter(|(name, _)| words(name).any(|w| w == word));
        open.extend(from.flat_map(|(_, value)| words(value)).filter(|w| known.insert(*w)));
    }
    true
}

/// What a line gives a value, and what it gives it: an assignment, a loop, something added, a buffer
/// that is written to.
fn made(line: &str) -> Option<(&str, &str)> {
    const ADDS: &[&str] = &[".append(", ".push(", ".push_str(", ".extend(", ".add(", " << "];
    let looped =
        [" in ", " of ", " : "].into_iter().filter(|_| line.trim_start().starts_with("for"));
    let added = ADDS.iter().copied();
    let split = || looped.chain(added).find_map(|sign| line.split_once(sign));
    built(line).or_else(split).or_else(|| written(line)).or_else(|| assignment(line))
}

/// What a line of Kotlin's `buildString { append(a) }` adds to it.
fn built(line: &str) -> Option<(&str, &str)> {
    let appended = |call| line.trim_start().strip_prefix(call);
    let value = ["append(", "appendLine("].into_iter().find_map(appended)?;
    Some(("buildString", value))
}

/// The buffer that a function of C writes to, and what it writes.
fn written(line: &str) -> Option<(&str, &str)> {
    const WRITES: &[&str] =
        &["sprintf(", "snprintf(", "strcpy(", "strcat(", "strncpy(", "strncat("];
    let at = WRITES.iter().find_map(|call| line.split_once(call));
    at.and_then(|(_, arguments)| arguments.split_once(','))
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let bytes = line.as_bytes();
    let lone = |at: &usize| {
        let near = |n: usize| bytes.get(n).copied().unwrap_or(b' ');
        let before = at.checked_sub(1).map_or(b' ', near);
        !b"=!<>".contains(&before) && !b"=>~".contains(&near(at + 1))
    };
    let at = line.match_indices('=').map(|(at, _)| at).find(lone)?;
    Some((line.get(..at)?, line.get(at + 1..)?))
}

/// The names in the arguments of a call, or in the whole where it is none.
fn inserted(found: &Tree<'_>) -> Vec<String> {
    let root = found.field("arguments").unwrap_or_else(|| found.clone());
    let is_name = |node: &Tree<'_>| node.is_leaf() && is_identifier(&node.kind());
    let names = root.dfs().filter(is_name).map(|node| node.text().into_owned());
    names.filter(|name| !HANDLES.contains(&name.as_str())).collect()
}

fn is_identifier(kind: &str) -> bool {
    kind.ends_with("identifier")
        || kind.ends_with("variable")
        || matches!(kind, "name" | "this" | "self")
}

fn is_function(node: &Tree<'_>) -> bool {
    let kind = node.kind();
    ["function", "method", "lambda", "closure", "constructor", "func_literal", "do_block"]
        .iter()
        .any(|word| kind.contains(word))
        && !kind.contains("call")
        && !kind.contains("invocation")
        && !kind.contains("name")
}

/// The texts of what a function takes.
fn parameters(function: &Tree<'_>) -> Vec<String> {
    let takes = |node: &Tree<'_>| node.kind().contains("parameter");
    // A pointer that is returned stands around the name and what the function takes.
    let declared = function.field("declarator").into_iter().flat_map(|mut declared| {
        while let Some(inner) = declared.field("declarator") {
            declared = inner;
        }
        let outer = declared.ancestors().next();
        outer.into_iter().flat_map(|d| d.children().collect::<Vec<_>>()).collect::<Vec<_>>()
    });
    let arrow = function.field("parameter");
    function
        .children()
        .chain(declared)
        .filter(takes)
        .chain(arrow)
        .map(|n| n.text().into_owned())
        .collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty())
}

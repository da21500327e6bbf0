//! A close taken away while the opening stays.

use ast_grep_language::SupportLang as S;

use super::{
    Claim, Unless,
    about::CLOSE,
    compared::{Both, Compared, Said},
    syntax::{Token, same},
    words,
};
use crate::Lang;

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    if compared.test || compared.pair.removed.is_empty() {
        return Vec::new();
    }
    let functions = compared.functions();
    let per = |both: &Both<'_>| unwrapped(compared, *both).or_else(|| call_gone(compared, *both));
    functions.iter().filter_map(per).collect()
}

/// Whether a word closes something, or hands the closing on.
fn closes(word: &str) -> bool {
    let low = word.to_ascii_lowercase();
    let handed = [
        "enter_context",
        "addcleanup",
        "cleanup",
        "aclosing",
        "using",
        "use",
        "__exit__",
        "ensure",
        "finally",
    ];
    ["close", "dispose", "release", "shutdown", "disconnect", "destroy"]
        .iter()
        .any(|w| low.contains(w))
        || handed.contains(&low.as_str())
}

/// `with open(p) as f:` that became `f = open(p)`, and the same in Java and C#.
fn unwrapped(compared: &Compared<'_>, both: Both<'_>) -> Option<Claim> {
    let (base, head) = (&compared.base, &compared.head);
    let new = head.of(&both.head.body);
    if new.iter().any(|t| closes(t.text)) {
        return None;
    }
    for (name, opening, line) in wrapped(base.of(&both.base.body)) {
        if !compared.removed(line) {
            continue;
        }
        let plain = new.windows(opening.len() + 2).enumerate().find(|(at, w)| {
            let bare = at.checked_sub(1).is_none_or(|b| !matches!(new[b].text, "with" | "using"));
            w[0].text == name && w[1].text == "=" && same(&w[2..], opening) && bare
        });
        let Some((at, found)) = plain else { continue };
        let now = found[0].line;
        if !compared.added(now) || is_tried(&new[..at]) || handed_on(compared, new, name) {
            continue;
        }
        return Some(claim(compared, name, line, now));
    }
    None
}

/// Whether the tokens end in the parentheses of a `try`.
fn is_tried(before: &[Token<'_>]) -> bool {
    let mut depth = 0_i32;
    let open = before.iter().rposition(|t| {
        match t.text {
            ")" => depth += 1,
            "(" => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    open.and_then(|o| o.checked_sub(1)).is_some_and(|at| before[at].text == "try")
}

/// What a construct that closes by itself opens: the name, the opening's tokens, the line.
fn wrapped<'s, 't>(tokens: &'s [Token<'t>]) -> Vec<(&'t str, &'s [Token<'t>], u32)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map_or("", |t| t.text);
        let line: Vec<usize> =
            (at + 1..tokens.len()).take_while(|i| tokens[*i].line == token.line).collect();
        let Some(last) = line.last().map(|l| l + 1) else { continue };
        let rest = &tokens[at + 1..last];
        if token.text == "with" && !rest.iter().any(|t| t.text == ",") {
            let Some(as_at) = rest.iter().rposition(|t| t.text == "as") else { continue };
            if let Some(name) = rest.get(as_at + 1).filter(|n| n.name && as_at >= 3) {
                found.push((name.text, &rest[..as_at], token.line));
            }
        } else if token.text == "using" || token.text == "try" && next == "(" {
            let Some(equals) = rest.iter().position(|t| t.text == "=") else { continue };
            let name = equals.checked_sub(1).map(|n| &rest[n]).filter(|n| n.name);
            let opening = balanced(&rest[equals + 1..]);
            if let Some(name) = name.filter(|_| opening.len() >= 3) {
                found.push((name.text, opening, token.line));
            }
        }
    }
    found
}

/// The tokens up to the bracket that closes one opened before.
fn balanced<'s, 't>(tokens: &'s [Token<'t>]) -> &'s [Token<'t>] {
    let mut depth = 0_i32;
    let end = tokens.iter().position(|t| {
        match t.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "{" if depth == 0 => return true,
            _ => {}
        }
        depth < 0
    });
    &tokens[..end.unwrap_or(tokens.len())]
}

/// A close that was a call of its own.
fn call_gone(compared: &Compared<'_>, both: Both<'_>) -> Option<Claim> {
    let (base, head) = (&compared.base, &compared.head);
    let (old, new) = (base.of(&both.base.body), head.of(&both.head.body));
    if new.iter().any(|t| closes(t.text)) {
        return None;
    }
    let (name, line) = closed(old).into_iter().find(|(_, line)| compared.removed(*line))?;
    let touched = compared.added_names(&both.head.all).contains(name);
    let lines: Vec<u32> = old.iter().filter(|t| closes(t.text)).map(|t| t.line).collect();
    // Lines about it that went and did not close it: it is another thing now.
    let more =
        old.iter().any(|t| t.text == name && compared.removed(t.line) && !lines.contains(&t.line));
    if touched || more || handed_on(compared, new, name) {
        return None;
    }
    let at = new.iter().enumerate().position(|(at, t)| t.text == name && opens(new, at))?;
    Some(claim(compared, name, line, new[at].line))
}

/// Names that are closed by a call, each with its line.
fn closed<'t>(tokens: &[Token<'t>]) -> Vec<(&'t str, u32)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let called = tokens.get(at + 1).is_some_and(|t| t.text == "(");
        let method = at.checked_sub(1).is_some_and(|b| matches!(tokens[b].text, "." | "->"));
        if matches!(token.text, "close" | "Close" | "dispose" | "Dispose") && method {
            // `resp.Body.Close()` closes `resp`.
            let mut root = at;
            while root >= 2 && tokens[root - 1].text == "." && tokens[root - 2].name {
                root -= 2;
            }
            let own = !matches!(tokens[root].text, "self" | "this") && tokens[root].name;
            if own && root < at && at - root <= 4 {
                found.push((tokens[root].text, token.line));
            }
        } else if matches!(token.text, "fclose" | "close")
            && called
            && !method
            && let Some(name) = tokens.get(at + 2).filter(|t| t.name)
        {
            found.push((name.text, token.line));
        }
    }
    found
}

/// Whether the name at `at` is set to what a call returns.
fn opens(tokens: &[Token<'_>], at: usize) -> bool {
    let line = tokens[at].line;
    let rest: Vec<&str> =
        tokens[at + 1..].iter().take_while(|t| t.line == line).map(|t| t.text).collect();
    let set = rest.iter().position(|w| matches!(*w, "=" | ":="));
    let before = set
        .is_some_and(|s| rest[..s].iter().all(|w| *w == "," || words::names(w).next().is_some()));
    before && rest.contains(&"(") && at.checked_sub(1).is_none_or(|b| tokens[b].text != ".")
}

/// Whether somebody else may close it: it is returned, kept, or passed on as it is. In C every use
/// passes it on.
fn handed_on(compared: &Compared<'_>, tokens: &[Token<'_>], name: &str) -> bool {
    let c = matches!(compared.language, Lang::Known(S::C));
    let hands = |before: &str| match before {
        "return" | "=" | ":=" | "yield" | ":" | "=>" | "{" | "[" => true,
        "(" | "," | "&" => !c,
        _ => false,
    };
    tokens.iter().enumerate().any(|(at, t)| {
        let before = at.checked_sub(1).and_then(|b| tokens.get(b)).map_or("", |t| t.text);
        let after = tokens.get(at + 1).map_or("", |t| t.text);
        let used = matches!(after, "." | "->" | "=" | ":=" | "[");
        t.text == name && !used && hands(before) && !opens(tokens, at)
    })
}

fn claim(compared: &Compared<'_>, name: &str, old: u32, line: u32) -> Claim {
    let said = Said::body(format!(
        "Line {old} of the base made sure that `{name}` is closed. That is gone, and nothing in \
         this function closes it now."
    ));
    Claim { finding: compared.finding(&CLOSE, (line, line), said), unless: Unless::default() }
}

//! A condition turned round while what it decides stays the same.
//!
//! A correction looks the same as a mistake here. So the finding stays below the usual threshold,
//! unless the new condition contradicts what it decides: an error returned because there is none,
//! a value reached because it is missing, a request refused because it is allowed.

use std::collections::HashMap;

use super::{
    Claim, Unless,
    about::CONDITION,
    compared::{Compared, Said},
    syntax::{Conditional, Syntax, Token, bare, same, told},
    words::{self, NullCheck},
};
use crate::{Confidence, Severity};

/// Pairs of operators of which one does the opposite of the other, or moves a limit by one.
const OPPOSITE: &[(&str, &str)] = &[
    ("==", "!="),
    ("===", "!=="),
    ("<", ">="),
    (">", "<="),
    ("<", ">"),
    ("<=", ">="),
    ("<", "<="),
    (">", ">="),
    ("&&", "||"),
    ("and", "or"),
    ("in", "not in"),
    ("is", "is not"),
    ("-eq", "-ne"),
    ("-z", "-n"),
    ("=", "!="),
    ("-lt", "-ge"),
    ("-gt", "-le"),
];

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    if compared.pair.removed.is_empty() {
        return Vec::new();
    }
    let mut claims = Vec::new();
    let mut befores = by_rest(&compared.base);
    for now in &compared.head.conditionals {
        let lines = compared.head.line_span(&now.condition);
        if compared.pair.added.first_in(lines.0, lines.1).is_none() {
            continue;
        }
        let Some(candidates) = befores.get_mut(&rest(&compared.head, now)) else { continue };
        let turned = candidates.iter().position(|before| is_turned(compared, before, now));
        if let Some(at) = turned {
            let before = candidates.remove(at);
            claims.push(claim(compared, before, now));
        }
    }
    claims
}

/// What a condition decides, with the function it stands in.
fn rest<'t>(syntax: &Syntax<'t>, conditional: &Conditional) -> Vec<&'t str> {
    let function = syntax.function_at(conditional.condition.start);
    let before = syntax.of(&(conditional.all.start..conditional.condition.start));
    let after = syntax.of(&(conditional.condition.end..conditional.all.end));
    let plain = |word: &'t str| match word {
        "unless" => "if",
        "until" => "while",
        word => word,
    };
    let texts = |tokens: &[Token<'t>]| tokens.iter().map(|t| plain(t.text)).collect::<Vec<_>>();
    let mut rest = vec![if function.is_some() { "in a function" } else { "" }];
    rest.extend(texts(before));
    rest.push("condition");
    rest.extend(texts(after));
    rest
}

fn by_rest<'s, 't>(syntax: &'s Syntax<'t>) -> HashMap<Vec<&'t str>, Vec<&'s Conditional>> {
    let mut found: HashMap<_, Vec<_>> = HashMap::new();
    for conditional in &syntax.conditionals {
        let rest = rest(syntax, conditional);
        if rest.len() >= 6 {
            found.entry(rest).or_default().push(conditional);
        }
    }
    found
}

fn is_turned(compared: &Compared<'_>, before: &Conditional, now: &Conditional) -> bool {
    let (base, head) = (compared.base.of(&before.condition), compared.head.of(&now.condition));
    let named = |syntax: &Syntax<'_>, c: &Conditional| {
        syntax.function_at(c.condition.start).map(|f| syntax.functions[f].path.clone())
    };
    let (first, last) = compared.base.line_span(&before.condition);
    compared.pair.removed.first_in(first, last).is_some()
        && named(&compared.base, before) == named(&compared.head, now)
        && match before.inverted == now.inverted {
            true => !same(base, head) && flipped(&bare(base), &bare(head)),
            false => same(base, head),
        }
}

/// Whether one operator or one negation makes the difference.
fn flipped(before: &[&str], now: &[&str]) -> bool {
    if before.len() == now.len() {
        let mut differing = before.iter().zip(now).filter(|(a, b)| a != b);
        let first = differing.next();
        let pair = first.filter(|_| differing.next().is_none());
        let turns = |(a, b): (&&str, &&str)| {
            OPPOSITE.iter().any(|(x, y)| (x, y) == (a, b) || (y, x) == (a, b))
        };
        return pair.is_some_and(turns);
    }
    let (short, long) = if before.len() < now.len() { (before, now) } else { (now, before) };
    let at = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    long.len() == short.len() + 1
        && matches!(long[at], "!" | "not")
        && short[at..] == long[at + 1..]
}

fn claim(compared: &Compared<'_>, before: &Conditional, now: &Conditional) -> Claim {
    let old = told(compared.base.of(&before.condition));
    let contradiction = contradiction(&compared.head, now);
    let sure = contradiction.is_some() && !compared.test;
    let why = contradiction.unwrap_or_else(|| "Nothing else of the statement changed.".into());
    let said = Said {
        title: None,
        body: format!("Before this change the condition was `{}`. {why}", short(&old)),
        severity: sure.then_some(Severity::High),
        confidence: sure.then_some(Confidence::hundredths(80)),
    };
    let lines = compared.head.line_span(&now.condition);
    let first = (lines.0..=lines.1).find(|l| compared.added(*l)).unwrap_or(lines.0);
    let finding = compared.finding(&CONDITION, (first, first), said);
    Claim { finding, unless: Unless::default() }
}

fn short(text: &str) -> String {
    let mut cut: String = text.chars().take(80).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut.replace('`', "'")
}

/// Why the condition as it is now cannot be meant, if that can be seen.
fn contradiction(head: &Syntax<'_>, now: &Conditional) -> Option<String> {
    let condition = bare(head.of(&now.condition));
    let body = head.of(&now.body);
    if let Some(check) = words::null_check(&condition, now.inverted)
        && check.holds_without
    {
        return without_value(&check, body);
    }
    half_checked(&condition)
        .or_else(|| past_end(head, now, &condition))
        .or_else(|| refused(&condition, body))
}

/// The body needs the value of which the condition says that it is missing.
fn without_value(check: &NullCheck<'_>, body: &[Token<'_>]) -> Option<String> {
    let path = check.path.concat();
    let is_error = check.path.len() == 1 && matches!(path.as_str(), "err" | "error");
    let returned = body.iter().any(|t| t.text == "return")
        && words::occurrences(body, &check.path).next().is_some()
        && !body.iter().any(|t| matches!(t.text, "=" | ":="));
    if is_error && check.explicit && returned {
        return Some(format!("Now `{path}` is returned where there is none."));
    }
    let at = words::reached(body, &check.path)?;
    let set = words::occurrences(&body[..at], &check.path).any(|o| {
        body.get(o + check.path.len()).is_some_and(|t| matches!(t.text, "=" | ":=" | "||="))
    });
    (!set).then(|| format!("Now `{path}` is used exactly where it is missing."))
}

/// `a == null && a.b`, `a != null || a.b`: the second half needs what the first rules out.
fn half_checked(condition: &[&str]) -> Option<String> {
    for (at, operator) in condition.iter().enumerate() {
        let or = matches!(*operator, "||" | "or");
        if !or && !matches!(*operator, "&&" | "and") {
            continue;
        }
        let first = condition[..at].iter().rposition(|w| matches!(*w, "&&" | "||" | "and" | "or"));
        let left = &condition[first.map_or(0, |f| f + 1)..at];
        let Some(check) = words::null_check(left, false).filter(|c| c.explicit) else { continue };
        let right = &condition[at + 1..];
        let used = right.windows(check.path.len() + 1).enumerate().any(|(i, window)| {
            let (path, after) = window.split_at(check.path.len());
            let alone = i == 0 || !matches!(right[i - 1], "." | "->" | "?." | "&.");
            path == check.path && matches!(after[0], "." | "->" | "[") && alone
        });
        // With `or` the second half runs when the first does not hold.
        if used && check.holds_without != or {
            let path = check.path.concat();
            return Some(format!("Now the second half uses `{path}` exactly where it is missing."));
        }
    }
    None
}

/// `i <= list.length` around `list[i]`.
fn past_end(head: &Syntax<'_>, now: &Conditional, condition: &[&str]) -> Option<String> {
    let at = condition.iter().position(|w| *w == "<=")?;
    let [index] = condition[..at] else { return None };
    let limit = &condition[at + 1..];
    let counts = |w: &&str| matches!(*w, "len" | "length" | "Length" | "size" | "Count" | "count");
    let names_length = limit.first().is_some_and(counts) || limit.last().is_some_and(counts);
    if !now.repeats || !names_length || limit.contains(&"-") {
        return None;
    }
    let list = limit.iter().find(|w| !counts(w))?;
    let body = head.of(&now.body);
    let taken = body
        .windows(4)
        .any(|w| w[0].text == *list && w[1].text == "[" && w[2].text == index && w[3].text == "]");
    taken.then(|| format!("Now the last round takes `{list}[{index}]` past the end."))
}

/// What refuses is reached by those who are allowed.
fn refused(condition: &[&str], body: &[Token<'_>]) -> Option<String> {
    let positive = match condition {
        ["!" | "not", ..] => false,
        words => !words.iter().any(|w| {
            matches!(
                *w,
                "!" | "not"
                    | "!="
                    | "!=="
                    | "=="
                    | "==="
                    | "&&"
                    | "||"
                    | "and"
                    | "or"
                    | "false"
                    | "False"
            )
        }),
    };
    let granted = |w: &&str| {
        let low = w.to_ascii_lowercase();
        let denies =
            ["not", "un", "den", "forbid", "dis", "miss", "no_"].iter().any(|p| low.starts_with(p));
        words::is_access(w) && !denies && !low.contains("error")
    };
    let refuses = body.iter().take(60).any(|t| {
        let low = t.text.to_ascii_lowercase();
        [
            "forbidden",
            "unauthorized",
            "unauthorised",
            "permissiondenied",
            "permission_denied",
            "accessdenied",
            "access_denied",
        ]
        .iter()
        .any(|w| low.contains(w))
            || matches!(t.text, "401" | "403")
    });
    let asks = condition.iter().find(|w| granted(w))?;
    (positive && refuses && words::exits(body))
        .then(|| format!("Now those for whom `{asks}` holds are refused."))
}

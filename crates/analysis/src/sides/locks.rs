//! A lock taken away while what it protected stays, and a lock that is taken and no longer given
//! back.

use ast_grep_language::SupportLang as S;

use super::{
    Claim, Unless,
    about::{LOCK, UNLOCK},
    compared::{Both, Compared, Said},
    syntax::Token,
};
use crate::Lang;

/// A lock taken or given back.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step<'t> {
    /// The last name of what is locked.
    lock: &'t str,
    line: u32,
    at: usize,
}

/// Where a lock can be forgotten: Rust's types leave no room for it.
pub(super) fn reads(language: Lang) -> bool {
    !matches!(language, Lang::Known(S::Rust | S::Bash | S::Php))
}

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    if !reads(compared.language) || compared.test || compared.pair.removed.is_empty() {
        return Vec::new();
    }
    let functions = compared.functions();
    let taken = taken(&compared.base.tokens);
    // Whoever takes several away protects it in another way.
    let alone = taken.iter().filter(|s| compared.removed(s.line)).count() == 1;
    let gone = |both: &Both<'_>| alone.then(|| lock_gone(compared, *both)).flatten();
    let per = |both: &Both<'_>| gone(both).or_else(|| release_gone(compared, *both));
    functions.iter().filter_map(per).collect()
}

fn lock_gone(compared: &Compared<'_>, both: Both<'_>) -> Option<Claim> {
    let (base, head) = (&compared.base, &compared.head);
    let before = taken(base.of(&both.base.all));
    let step = before.iter().find(|s| compared.removed(s.line))?;
    let all = taken(&head.tokens);
    let inside = taken(head.of(&both.head.all));
    let moved = all.iter().any(|s| compared.added(s.line));
    let speaks = compared.added_tokens().any(|t| {
        let low = t.text.to_ascii_lowercase();
        ["lock", "mutex", "atomic", "concurrent", "synchron", "volatile"]
            .iter()
            .any(|w| low.contains(w))
    });
    let said = both.head.name().to_ascii_lowercase();
    // The same lock elsewhere: what it protects is still shared.
    let elsewhere = all.iter().any(|s| s.lock == step.lock);
    if !inside.is_empty() || moved || speaks || !elsewhere || said.contains("lock") {
        return None;
    }
    let rest = base.of(&(both.base.all.start + step.at + 1..both.base.body.end));
    let after = |t: &&Token<'_>| {
        step.at < both.base.parameters.start - both.base.all.start || t.line > step.line
    };
    let back: Vec<u32> = rest.iter().filter(|t| gives_back(t.text)).map(|t| t.line).collect();
    let rest = rest.iter().filter(after).filter(|t| !back.contains(&t.line));
    let rest: Vec<Token<'_>> = rest.copied().collect();
    let line = compared.stays(both, &rest)?;
    let said = Said::body(format!(
        "Line {} of the base took `{}` around this. That is gone, what it protected stays, and the \
         rest of the file still takes the lock.",
        step.line, step.lock
    ));
    let finding = compared.finding(&LOCK, (line, line), said);
    Some(Claim { finding, unless: Unless::default() })
}

fn release_gone(compared: &Compared<'_>, both: Both<'_>) -> Option<Claim> {
    let (base, head) = (&compared.base, &compared.head);
    let (old, new) = (base.of(&both.base.all), head.of(&both.head.all));
    let gone = given_back(old).into_iter().find(|s| compared.removed(s.line))?;
    let took = taken(old).iter().any(|s| s.lock == gone.lock);
    let step = taken(new).into_iter().find(|s| s.lock == gone.lock && explicit(new, s))?;
    let still = given_back(new).iter().any(|s| s.lock == gone.lock);
    let moved = compared.added_tokens().any(|t| gives_back(t.text));
    let said = both.head.name().to_ascii_lowercase();
    let meant = ["lock", "acquire", "begin", "enter", "start"].iter().any(|w| said.contains(w));
    if !took || still || moved || meant {
        return None;
    }
    let said = Said::body(format!(
        "Line {} of the base gave `{}` back. That is gone, and the lock is still taken here.",
        gone.line, gone.lock
    ));
    let finding = compared.finding(&UNLOCK, (step.line, step.line), said);
    Some(Claim { finding, unless: Unless::default() })
}

/// Whether this lock must be given back by a call.
fn explicit(tokens: &[Token<'_>], step: &Step<'_>) -> bool {
    let word = tokens.get(step.at).map_or("", |t| t.text);
    matches!(word, "Lock" | "RLock" | "lock" | "acquire" | "readLock" | "writeLock")
        || word.ends_with("_lock")
}

/// Every lock that is taken.
fn taken<'t>(tokens: &[Token<'t>]) -> Vec<Step<'t>> {
    let step = |at: usize| {
        let token = tokens.get(at)?;
        let text = |offset: usize| tokens.get(at + offset).map_or("", |t| t.text);
        let before = |offset: usize| at.checked_sub(offset).and_then(|b| tokens.get(b));
        let of = |lock: &'t str| Some(Step { lock, line: token.line, at });
        match token.text {
            "Lock" | "RLock" | "lock" | "acquire" | "synchronize" | "withLock"
                if before(1).is_some_and(|t| matches!(t.text, "." | "->")) =>
            {
                of(before(2).map_or("", |t| t.text))
                    .filter(|s| text(1) == "(" || !s.lock.is_empty())
            }
            "synchronized" | "lock" if text(1) == "(" => of(closing(tokens, at + 1)),
            "synchronized" if before(1).is_none_or(|t| t.text != ".") => of("this"),
            "lock_guard" | "unique_lock" | "scoped_lock" => {
                let open = (at..tokens.len().min(at + 16))
                    .find(|i| matches!(tokens[*i].text, "(" | "{"))?;
                of(closing(tokens, open))
            }
            "with" => {
                let colon = (at..tokens.len().min(at + 8)).find(|i| tokens[*i].text == ":")?;
                let last = tokens.get(colon.checked_sub(1)?)?;
                let low = last.text.to_ascii_lowercase();
                (low.ends_with("lock") || low.ends_with("mutex")).then(|| of(last.text))?
            }
            word if word.ends_with("_mutex_lock") || word == "mtx_lock" => {
                of(closing(tokens, at + 1))
            }
            _ => None,
        }
    };
    (0..tokens.len()).filter_map(step).collect()
}

/// Every lock that is given back by a call.
fn given_back<'t>(tokens: &[Token<'t>]) -> Vec<Step<'t>> {
    let step = |at: usize| {
        let token = tokens.get(at)?;
        let of = |lock: &'t str| Some(Step { lock, line: token.line, at });
        let called = at.checked_sub(1).is_some_and(|b| matches!(tokens[b].text, "." | "->"));
        match token.text {
            "Unlock" | "RUnlock" | "unlock" | "release" if called => {
                of(tokens.get(at.checked_sub(2)?)?.text)
            }
            word if word.ends_with("_mutex_unlock") || word == "mtx_unlock" => {
                of(closing(tokens, at + 1))
            }
            _ => None,
        }
    };
    (0..tokens.len()).filter_map(step).collect()
}

fn gives_back(word: &str) -> bool {
    matches!(word, "Unlock" | "RUnlock" | "unlock" | "release" | "defer" | "finally" | "try")
        || word.ends_with("_unlock")
}

/// The last name before the bracket that closes the one at `open`.
fn closing<'t>(tokens: &[Token<'t>], open: usize) -> &'t str {
    let mut depth = 0_i32;
    let mut last = "";
    for token in tokens.iter().skip(open).take(24) {
        match token.text {
            "(" | "{" => depth += 1,
            ")" | "}" => depth -= 1,
            text if token.name || text == "this" => last = text,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    last
}

//! Shells: whether a call starts one, and gives it a text to run.

use super::{
    call::Made,
    value::{Known, TAINTED, Value},
};

/// Programs that run a text that they are given, by themselves or in another place.
const INTERPRETERS: &[&str] =
    &["python", "perl", "ruby", "node", "php", "env", "su", "ssh", "sudo"];

/// What another program may be told to start: `docker exec web sh -c …`.
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "zsh", "ksh", "cmd", "cmd.exe", "powershell", "pwsh"];

/// Whether the arguments of a call start a shell with something to run.
pub(super) fn runs(made: &Made<'_, '_>) -> bool {
    let mut words = Vec::new();
    made.args.iter().for_each(|arg| spread(&arg.value, &mut words));
    gives_text(&words)
}

/// A command: in a list, the program, or what a shell is given to run.
pub(super) fn command(value: &Value) -> bool {
    let Known::List(list) = &value.known else { return true };
    let spoken = |word: &Value| {
        let before = word.known_text().and_then(|text| text.split_once(TAINTED));
        before.is_some_and(|(before, _)| before.trim_start().contains(' '))
    };
    gives_text(&list.iter().collect::<Vec<_>>())
        || list.first().is_some_and(Value::is_tainted)
        || list.iter().any(spoken)
}

/// The words of a command, those in lists and options among them.
fn spread<'v>(value: &'v Value, words: &mut Vec<&'v Value>) {
    match &value.known {
        Known::List(list) => list.iter().for_each(|word| spread(word, words)),
        Known::Map(fields) => fields.values().for_each(|field| spread(field, words)),
        _ => words.push(value),
    }
}

/// Whether a program is given a text to run. One that is known, and neither runs any nor starts a shell, is not.
fn gives_text(words: &[&Value]) -> bool {
    let is_flag =
        |word: &&Value| matches!(word.constant(), Some("-c" | "/c" | "/C" | "-Command" | "eval"));
    let starts_shell = |word: &&Value| program(word).is_some_and(|name| SHELLS.contains(&name));
    let runs_none = |name: &str| !INTERPRETERS.iter().any(|it| name.contains(it));
    let first = words.first().filter(|word| !is_flag(word));
    let other = first.and_then(|word| program(word)).is_some_and(runs_none);
    words.iter().any(is_flag) && (!other || words.iter().any(starts_shell))
}

/// The name of a program, without its folder.
fn program(word: &Value) -> Option<&str> {
    let name = word.constant()?.rsplit(['/', '\\']).next()?;
    (!name.is_empty()).then_some(name)
}

//! Shells: whether a call starts one, and gives it a text to run.

use super::{
    call::Made,
    value::{Known, TAINTED, Value},
};

/// Whether the arguments start a shell with something to run.
pub(super) fn runs(made: &Made<'_, '_>) -> bool {
    let is_flag = |value: &Value| matches!(value.constant(), Some("-c" | "/c" | "/C" | "-Command"));
    let starts_shell = made.args.iter().any(|arg| match &arg.value.known {
        Known::List(list) => list.iter().any(names_shell),
        _ => names_shell(&arg.value),
    });
    let runs_other = !starts_shell && made.args.first().is_some_and(|arg| is_no_shell(&arg.value));
    !runs_other
        && made.args.iter().any(|a| match &a.value.known {
            Known::List(list) => list.iter().any(is_flag),
            Known::Map(fields) => fields.values().any(|field| match &field.known {
                Known::List(list) => list.iter().any(is_flag),
                _ => is_flag(field),
            }),
            _ => is_flag(&a.value),
        })
}

/// A command: in a list, the program, or what a shell is given to run.
pub(super) fn command(value: &Value) -> bool {
    let Known::List(list) = &value.known else { return true };
    let runs_other = list.first().is_some_and(is_no_shell) && !list.iter().any(names_shell);
    let shell = !runs_other
        && list.iter().any(|word| {
            let word = word.constant().unwrap_or_default();
            matches!(word, "-c" | "/c" | "/C" | "-Command" | "eval")
        });
    let spoken = |word: &Value| {
        let before = word.known_text().and_then(|text| text.split_once(TAINTED));
        before.is_some_and(|(before, _)| before.trim_start().contains(' '))
    };
    shell || list.first().is_some_and(Value::is_tainted) || list.iter().any(spoken)
}

/// Whether a word is a shell that another program is to start: `docker exec web sh -c …`.
fn names_shell(word: &Value) -> bool {
    const SHELLS: &[&str] =
        &["sh", "bash", "dash", "ash", "zsh", "ksh", "cmd", "cmd.exe", "powershell", "pwsh"];
    let name = word.constant().map(|name| name.rsplit(['/', '\\']).next().unwrap_or(name));
    name.is_some_and(|name| SHELLS.contains(&name))
}

/// Whether a program is known, and runs no text that it is given.
fn is_no_shell(program: &Value) -> bool {
    const INTERPRETERS: &[&str] = &[
        "sh",
        "bash",
        "cmd",
        "powershell",
        "pwsh",
        "python",
        "perl",
        "ruby",
        "node",
        "php",
        "env",
        "su",
        "ssh",
        "sudo",
    ];
    let name = program.constant().map(|name| name.rsplit(['/', '\\']).next().unwrap_or(name));
    name.is_some_and(|name| !name.is_empty() && !INTERPRETERS.iter().any(|it| name.contains(it)))
}

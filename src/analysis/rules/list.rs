//! The built-in rules: one line each.

macro_rules! rules {
    ($($file:literal),+ $(,)?) => { &[$(($file, include_str!($file))),+] };
}

/// Every built-in rule file: its path in this folder, and its text.
pub const BUILT_IN: &[(&str, &str)] = rules![
    "logic/go-defer-in-loop.yml",
    "logic/go-waitgroup-add-inside.yml",
    "logic/java-string-identity.yml",
    "logic/js-async-foreach.yml",
    "logic/js-async-promise-executor.yml",
    "logic/js-compare-nan.yml",
    "logic/js-focused-test.yml",
    "logic/py-assert-tuple.yml",
    "logic/py-is-literal.yml",
    "logic/py-mutable-default.yml",
    "logic/rust-blocking-sleep-in-async.yml",
    "pattern/java-empty-catch.yml",
    "pattern/js-debugger.yml",
    "pattern/py-debugger.yml",
    "pattern/py-swallowed-error.yml",
    "pattern/rust-dbg-macro.yml",
    "pattern/rust-todo-macro.yml",
    "security/go-sql-injection.yml",
    "security/go-tls-unchecked.yml",
    "security/java-sql-injection.yml",
    "security/js-shell-injection.yml",
    "security/js-tls-unchecked.yml",
    "security/py-requests-no-verify.yml",
    "security/py-shell-injection.yml",
    "security/py-sql-injection.yml",
    "security/py-yaml-load.yml",
    "security/rust-tls-unchecked.yml",
    "style/py-compare-none.yml",
    "style/py-compare-not-none.yml",
    "style/py-empty-fstring.yml",
];

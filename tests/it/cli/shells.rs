//! What shells and `man` get to know of the command line.

use std::process::Command;

use crate::support::{Done, Machine};

fn bash(machine: &Machine, script: &str) -> Done {
    let mut command: Command = machine.command_after(script, &[]);
    command.env("VERDICT", env!("CARGO_BIN_EXE_verdict"));
    Machine::finish(command)
}

/// Bash reads the script and completes with it.
#[test]
fn bash_completes() {
    let machine = Machine::new();
    let complete = |words: &str| {
        let script = format!(
            "set -eu; \"$VERDICT\" completions bash > v.bash; bash -n v.bash; source v.bash; \
             COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _verdict verdict \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             echo \"${{COMPREPLY[@]}}\"; exit"
        );
        let done = bash(&machine, &script);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{words}");
        done.stdout.trim().to_owned()
    };
    assert_eq!(complete("verdict rev"), "review");
    assert_eq!(complete("verdict review --fail"), "--fail-on");
    assert_eq!(complete("verdict review --format ''"), "text json markdown sarif github");
    assert_eq!(complete("verdict runs wa"), "watch");
}

/// Every shell has a script of its own, and settings that are wrong do not keep it from being had.
#[test]
fn completions_need_no_settings() {
    let machine = Machine::new();
    machine.text("verdict.toml", "nonsense = 1\n");
    for (shell, word) in [
        ("bash", "complete -F _verdict"),
        ("zsh", "#compdef verdict"),
        ("fish", "complete -c verdict"),
        ("elvish", "edit:completion:arg-completer[verdict]"),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName 'verdict'"),
    ] {
        let done = machine.run(&["completions", shell]);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(done.stdout.contains(word), "{shell}");
    }
    assert_eq!(machine.run(&["review"]).code, Some(2), "it does need them");
    let done = machine.run(&["completions", "tcsh"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("bash, elvish, fish, powershell, zsh"), "{}", done.stderr);
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let machine = Machine::new();
    let page = |args: &[&str]| {
        let done = machine.run(&[&["man"], args].concat());
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{args:?}");
        done.stdout
    };
    assert!(page(&[]).starts_with(".ie \\n(.g .ds Aq \\(aq"));
    assert!(page(&[]).contains(".TH verdict 1"));
    assert!(page(&["review"]).contains(".TH verdict-review 1"));
    assert!(page(&["runs", "list"]).contains(".TH verdict-runs-list 1"));
    let done = machine.run(&["man", "opera"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
    assert_eq!(done.stderr, "verdict: there is no subcommand `opera`\n");
}

//! What shells and `man` get to know of the command line.

use std::process::Command;

use clap::Parser as _;
use verdict::cli::Cli;

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
    assert_eq!(complete("verdict review --format ''"), "text json markdown sarif github gitlab");
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

/// The paths of all subcommands, as the binary's help lists them.
fn subcommands(machine: &Machine, path: &[String], all: &mut Vec<Vec<String>>) {
    let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
    args.push("--help");
    let help = machine.run(&args).stdout;
    all.push(path.to_vec());
    let Some((_, rest)) = help.split_once("\nCommands:\n") else { return };
    let rows = rest.lines().take_while(|line| !line.is_empty());
    // A description may go on in the next line, further in.
    let rows = rows.filter_map(|row| row.strip_prefix("  ").filter(|row| !row.starts_with(' ')));
    let names = rows.filter_map(|row| row.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        subcommands(machine, &[path, &[name.to_owned()]].concat(), all);
    }
}

/// What verdict was called with by the lines of a script, whatever stands around it.
fn calls(machine: &Machine, line: &str) -> Vec<Vec<String>> {
    let script = format!(
        "verdict() {{ printf '%s\\0' verdict \"$@\" >> calls; echo >> calls; }}; {{ {line}\n}} 2>/dev/null; exit 0"
    );
    let mut command: Command = machine.command_after(&script, &[]);
    command.stdin(std::process::Stdio::null());
    Machine::finish(command);
    let file = machine.folder().join("calls");
    let calls = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("`{line}` calls nothing"));
    std::fs::remove_file(file).unwrap();
    let words = |call: &str| call.trim_end_matches('\0').split('\0').map(str::to_owned).collect();
    calls.lines().map(words).collect()
}

/// Each help and each manual page ends with examples that the command line takes, and each page says
/// what exit codes mean.
#[test]
fn every_subcommand_has_examples() {
    let machine = Machine::new();
    for folder in ["man/man1", "bash-completion/completions"] {
        std::fs::create_dir_all(machine.folder().join("home/.local/share").join(folder)).unwrap();
    }
    let mut all = Vec::new();
    subcommands(&machine, &[], &mut all);
    assert!(all.len() > 30 && all.contains(&vec!["runs".to_owned(), "fork".to_owned()]), "{all:?}");
    for path in &all {
        let args: Vec<&str> = path.iter().map(String::as_str).collect();
        let help = machine.run(&[args.as_slice(), &["--help"]].concat()).stdout;
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{path:?}"));
        let lines = examples.lines().filter(|line| !line.starts_with("  # "));
        let lines: Vec<&str> = lines.map(str::trim).collect();
        assert!(!lines.is_empty(), "{path:?}");
        let page = machine.run(&[&["man"], args.as_slice()].concat()).stdout;
        assert!(page.contains(".SH \"EXIT STATUS\"") && page.contains(".SH EXAMPLES"), "{page}");
        for line in lines {
            assert!(line.len() <= 78, "{line}: wrapped at 80 columns");
            for call in calls(&machine, line) {
                assert!(call[1..].starts_with(path), "`{line}` is none of {path:?}");
                let parsed = Cli::try_parse_from(&call);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
            let escaped = line.replace('-', "\\-").replace('\'', "\\*(Aq");
            assert!(page.contains(&escaped), "{line}: {page}");
        }
    }
    let page = machine.run(&["man", "review"]).stdout;
    assert!(page.contains("\\fB1\\fR\nThe review was made, and there is a finding"), "{page}");
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

//! What a person at a terminal sees: colours, width, progress that leaves nothing behind.

use super::{fixture, reviewed};
use crate::{
    review::support::Repo,
    support::{Done, Machine},
};

const ESC: char = '\u{1b}';

/// `verdict review` and more of a shell's line on a terminal of so many columns; what the terminal
/// was sent.
fn on_a_terminal(machine: &Machine, repo: &Repo, columns: u32, more: &str) -> Done {
    let line = format!(
        "stty cols {columns}; {} review HEAD^! --fresh --repo {} {more}",
        env!("CARGO_BIN_EXE_verdict"),
        repo.path().display()
    );
    machine.on_a_terminal(&line, ("", ""))
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string().replace('\r', "")
}

#[test]
fn a_terminal_is_coloured_and_fit() {
    let (machine, repo) = (Machine::new(), fixture());
    let wide = on_a_terminal(&machine, &repo, 110, "2>/dev/null");
    assert!(wide.stdout.contains("\u{1b}[31mhigh\u{1b}[0m"), "{wide:?}");
    let narrow = on_a_terminal(&machine, &repo, 60, "2>/dev/null");
    let (wide, narrow) = (plain(&wide.stdout), plain(&narrow.stdout));
    assert!(wide.contains(
        "A value that holds a quote, or a word of SQL, changes what the statement does."
    ));
    let of_body = |line: &&str| line.starts_with("  A ") || line.starts_with("  Leave ");
    assert!(narrow.lines().filter(of_body).all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(narrow.lines().count() > wide.lines().count());
}

/// The usual variables count, in the usual order.
#[test]
fn variables_turn_colours_on_and_off() {
    let repo = fixture();
    let colours = |name: &str, value: &str| {
        let machine = Machine::new().with_variable(name, value);
        let piped = reviewed(&machine, &repo, &[]).stdout.contains(ESC);
        (piped, on_a_terminal(&machine, &repo, 80, "2>/dev/null").stdout.contains(ESC))
    };
    assert_eq!(colours("LANG", "C.UTF-8"), (false, true));
    assert_eq!(colours("NO_COLOR", "1"), (false, false));
    assert_eq!(colours("CLICOLOR", "0"), (false, false));
    assert_eq!(colours("CLICOLOR_FORCE", "1"), (true, true));
}

/// Progress is told while it lasts, and only to a terminal: at the end the screen is as before.
#[test]
fn progress_leaves_nothing_behind() {
    let (machine, repo) = (Machine::new(), fixture());
    let sent = on_a_terminal(&machine, &repo, 80, "-o report.txt").stdout;
    assert!(sent.contains("ingest"), "{sent:?}");
    let mut screen = vt100::Parser::new(40, 80, 0);
    screen.process(sent.as_bytes());
    assert_eq!(screen.screen().contents(), "");
    assert!(machine.folder().join("report.txt").exists());

    let machine = Machine::new();
    let done = reviewed(&machine, &repo, &["-o", "report.txt"]);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
}

//! `--output`: a file, all at once.

use std::{fs, os::unix::fs::PermissionsExt};

use super::{Repo, fixture, reviewed};
use crate::support::Machine;

#[test]
fn a_report_goes_to_a_file() {
    let (machine, repo) = (Machine::new(), fixture());
    let printed = reviewed(&machine, &repo, &["--format", "sarif"]).stdout;
    let done = reviewed(&machine, &repo, &["--format", "sarif", "-o", "report.sarif"]);
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(0), "", ""));
    let file = machine.folder().join("report.sarif");
    assert_eq!(fs::read_to_string(&file).unwrap(), printed);
    let readable = fs::metadata(&file).unwrap().permissions().mode() & 0o044;
    assert_ne!(readable, 0, "others may read it, as any new file");

    // Where it stands already, it is replaced with its rights, through a link, and nothing is left.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&file, machine.folder().join("link")).unwrap();
    let done = reviewed(&machine, &repo, &["-o", "link", "--fail-on", "low"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("verdict: changes_requested") && !text.contains('\u{1b}'), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(machine.folder().join("link")).unwrap().is_symlink());
    let names = fs::read_dir(machine.folder()).unwrap();
    let names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.starts_with(".verdict-")), "{names:?}");
}

/// `-` is stdout, and a device is written to as it is.
#[test]
fn a_report_goes_to_what_is_no_file() {
    let (machine, repo) = (Machine::new(), fixture());
    // The first one measures its times, the others tell them.
    reviewed(&machine, &repo, &[]);
    let printed = reviewed(&machine, &repo, &["--format", "json"]).stdout;
    for place in ["-", "/dev/stdout"] {
        let done = reviewed(&machine, &repo, &["--format", "json", "--output", place]);
        assert_eq!(
            (done.code, done.stdout),
            (Some(0), printed.clone()),
            "{place}: {}",
            done.stderr
        );
    }
}

/// R6: a secret in a file's name is found, and shown by no format, no log and no state.
#[test]
fn a_secret_in_a_name_is_masked() {
    let (machine, repo) = (Machine::new(), Repo::new());
    let [one, other] =
        ["Q", "R"].map(|end| format!("ghp_q8Zr1LmT5vXwY2nBc7Dk9FgHj3KpQsUaEi6{end}"));
    repo.write(&format!("old/{one}.txt"), "x\n").commit("base");
    repo.remove(&format!("old/{one}.txt"))
        .write(&format!("new/{one}.txt"), "x\n")
        .write(&format!("keys/{one}.py"), "try:\n    f()\nexcept:\n    pass\n")
        .write(&format!("keys/{other}.py"), "breakpoint()\n")
        .commit("change");
    let masked = "*".repeat(one.len());
    for format in ["text", "json", "markdown", "sarif", "github"] {
        let more: &[&str] = &["--format", format, "--all", "--fresh"];
        let path = repo.path().display().to_string();
        let args = [&["review", "HEAD^!", "--repo", &path], more].concat();
        let mut command = machine.command(&args);
        let done = Machine::finish({
            command.env("RUST_LOG", "trace");
            command
        });
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        for shown in [&done.stdout, &done.stderr] {
            assert!(!shown.contains("q8Zr1LmT5vXw"), "{format}: {shown}");
        }
        let shown = done.stdout.replace('\\', "").replace("%2A", "*");
        for seen in
            [&format!("keys/{masked}.py"), &format!("keys/2~{masked}.py"), "py-swallowed-error"]
        {
            assert!(shown.contains(seen), "{format}, {seen}: {shown}");
        }
        assert!(shown.contains("in the file's name"), "{format}: {shown}");
    }
    let state = machine.run(&["runs", "list", "--format", "json"]).stdout;
    assert!(state.contains("completed") && !state.contains("q8Zr1LmT5vXw"), "{state}");
}

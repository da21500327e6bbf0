//! `--output`: a file, all at once.

use std::{fs, os::unix::fs::PermissionsExt};

use super::{fixture, reviewed};
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

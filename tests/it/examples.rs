//! Every example runs, and prints what it promises. They are built together with the tests.

use std::{path::PathBuf, process::Command};

/// Beside this binary's folder.
fn folder() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.ancestors().nth(2).unwrap().join("examples")
}

fn output(example: &str) -> String {
    let path = folder().join(format!("{example}{}", std::env::consts::EXE_SUFFIX));
    let missing = "a test run of one target builds no examples: `cargo build --examples`";
    let output = Command::new(&path)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e} ({missing})", path.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn hello_graph() {
    insta::assert_snapshot!(output("hello_graph"), @"
    hello, world — by way of hello → name
    hello, graph — by way of hello → name
    ");
}

#[test]
fn fan_out() {
    insta::assert_snapshot!(output("fan_out"), @r#"
    4 tasks of `count`; the last one sent ended first: true
    merged in order: [("a", 1), ("quick", 5), ("brown", 5), ("foxtrot", 7)]
    longest: foxtrot
    "#);
}

#[test]
fn interrupt_resume() {
    insta::assert_snapshot!(output("interrupt_resume"), @r#"
    monday: waits for an answer "May this be released?"
    friday: completed
    "#);
}

#[test]
fn streaming() {
    insta::assert_snapshot!(output("streaming"), @"
    search reports candidates: 65
    search ended at try 1 with 65
    step 1 is over
    check failed (busy) at try 1, and is tried again
    check ended at try 2 with 1
    step 2 is over
    the run is over
    ");
}

#[test]
fn error_path() {
    insta::assert_snapshot!(output("error_path"), @"
    start
    flaky made it at try 3
    instead of optional: `optional` cannot do this
    handler saw: `optional` cannot do this; `vital` cannot do this
    Completed
    ");
}

/// Every program under `examples/` is run above, and is short.
#[test]
fn every_example_is_run_and_short() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let own = include_str!("examples.rs");
    for file in std::fs::read_dir(root).unwrap() {
        let path = file.unwrap().path();
        // A folder holds cases to try verdict on.
        if path.is_dir() {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(own.contains(&format!("output(\"{name}\")")), "{name} is not run");
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines < 80, "{name} has {lines} lines");
    }
}

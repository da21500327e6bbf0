//! Repositories of an enormous size, reviewed by the real program: every file accounted for, and
//! no more memory than was measured. At full size with `VERDICT_TEST_BOMBS` (docs/testing.md).

use serde_json::Value;

use super::Import;
use crate::{
    review::{
        measured::{self, Reviewed},
        support::Repo,
    },
    support::Machine,
};

/// `small` in an ordinary test run, `full` when asked.
pub(super) fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("VERDICT_TEST_BOMBS").is_some() { full } else { small }
}

async fn reviewed(repo: &Repo) -> Reviewed {
    measured::reviewed(&Machine::new(), repo).await
}

/// A file of zeros that is small in the repository and enormous outside.
#[tokio::test]
async fn a_gigabyte_of_nothing() {
    let repo = Repo::new();
    let mib = size(80, 1024);
    Import::new(&repo)
        .commit()
        .file("grown.py", "x = 1\n")
        .commit()
        .file("a.py", "breakpoint()\n")
        .zeros("zeros.bin", mib)
        .zeros("zeros.py", mib)
        .zeros("grown.py", mib)
        .finish();
    let reviewed = reviewed(&repo).await;
    for path in ["zeros.bin", "zeros.py", "grown.py"] {
        assert_eq!(reviewed.row(path)["status"], "skipped");
        assert_eq!(reviewed.row(path)["reason"], "too large to be compared");
    }
    assert_eq!(reviewed.row("a.py")["status"], "done");
    let rules: Vec<&Value> =
        reviewed.said["findings"].as_array().unwrap().iter().map(|f| &f["rule"]).collect();
    assert_eq!(rules, ["py-debugger", "large-binary", "large-binary", "large-binary"]);
    reviewed.within(200, 300);
}

/// More files than a listing on any code host shows, and 200,000 changed lines at full size.
#[tokio::test]
async fn thousands_of_files() {
    let repo = Repo::new();
    let (files, lines) = (3_500, size(4, 58));
    let text = |n: usize| format!("value_{n} = compute({n})\n").repeat(lines);
    let base = Import::new(&repo).commit().file("a.py", "");
    let all = (0..files)
        .fold(base.commit(), |to, n| to.file(format!("src/{:02}/{n}.py", n % 40), text(n)));
    all.file("last.py", "breakpoint()\n").finish();
    let reviewed = reviewed(&repo).await;
    assert_eq!((reviewed.rows("done"), reviewed.rows("skipped")), (files + 1, 0));
    let lines_of = |row: &Value| row["lines"].as_u64().unwrap();
    let touched: u64 = reviewed.said["coverage"].as_array().unwrap().iter().map(lines_of).sum();
    assert_eq!(touched, (files * lines) as u64 + 1);
    assert_eq!(reviewed.said["findings"][0]["path"], "last.py");
    assert_eq!(reviewed.said["findings"].as_array().unwrap().len(), 1);
    reviewed.within(400, 300);
}

/// A file of 100,000 lines: one changed, then every second one.
#[tokio::test]
async fn long_files_and_many_hunks() {
    let repo = Repo::new();
    let lines = size(20_000, 100_000);
    let text = |change: &dyn Fn(usize) -> bool| -> String {
        (0..lines).map(|n| if change(n) { "y = 22\n" } else { "x = 1\n" }).collect()
    };
    let with = |text: String| format!("{text}breakpoint()\n");
    Import::new(&repo)
        .commit()
        .file("one.py", text(&|_| false))
        .file("half.py", text(&|_| false))
        .commit()
        .file("one.py", with(text(&|n| n == 7)))
        .file("half.py", with(text(&|n| n % 2 == 0)))
        .finish();
    let reviewed = reviewed(&repo).await;
    assert_eq!(reviewed.row("one.py")["lines"], 2);
    assert_eq!(reviewed.row("half.py")["lines"], lines / 2 + 1);
    let lines_of = |f: &Value| f["start_line"].as_u64().unwrap();
    let found: Vec<u64> =
        reviewed.said["findings"].as_array().unwrap().iter().map(lines_of).collect();
    assert_eq!(found, [lines as u64 + 1; 2]);
    reviewed.within(400, 300);
}

/// More than 10,000 findings: the worst are shown, the others counted, and those that are not even
/// kept are told where they are.
#[tokio::test]
async fn ten_thousand_findings() {
    let repo = Repo::new();
    let files = size(4, 100);
    let base = Import::new(&repo).commit().file("z.py", "");
    let flood = |n: usize| {
        format!("c{n}.check_hostname = False\nc{n}.verify_mode = ssl.CERT_NONE\n").repeat(3_000)
    };
    let all = (0..files).fold(base.commit(), |to, n| to.file(format!("{n:03}.py"), flood(n)));
    all.file("z.py", "import os\n\n\ndef f(x):\n    exec(input())\n").finish();
    let reviewed = reviewed(&repo).await;
    assert_eq!(reviewed.said["findings"].as_array().unwrap().len(), 30);
    assert_eq!(reviewed.said["findings"][0]["path"], "z.py", "the worst comes first");
    assert_eq!(reviewed.said["left_out"]["over_cap"], 1_000 + 1 - 30);
    let told = "more findings of rules that found 500 before";
    let reason =
        |n: usize| reviewed.row(&format!("{n:03}.py"))["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason(0), format!("5000 {told}"));
    assert_eq!(reason(files - 1), format!("6000 {told}"));
    assert_eq!(reviewed.row("z.py")["reason"], Value::Null);
    reviewed.within(400, 300);
}

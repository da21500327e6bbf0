//! Repositories made to break a review: what is changed in them, their histories, what they would
//! like to have executed, and what they would like to have done without end.

mod bombs;
mod depth;
mod histories;
mod hostile;
mod own;
mod shapes;

use std::{
    io::{BufWriter, Write},
    process::{Child, ChildStdin, Command, Stdio},
};

use verdict::{
    analysis::Side,
    workflows::review::{
        ReviewState,
        report::{coverage, findings},
    },
};

use super::support::Repo;

/// Commits on `main` written straight into a repository, whatever their paths: no file system has
/// to hold them.
struct Import {
    child: Child,
    out: BufWriter<ChildStdin>,
}

impl Import {
    fn new(repo: &Repo) -> Self {
        let mut child = Command::new("git")
            .args(["fast-import", "--quiet"])
            .current_dir(repo.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufWriter::new(child.stdin.take().unwrap());
        Self { child, out }
    }

    /// The next commit; what follows is in it, with everything that was there before.
    fn commit(mut self) -> Self {
        let head = "commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\n";
        self.out.write_all(head.as_bytes()).unwrap();
        self.out.write_all(b"data 1\nx\n").unwrap();
        self
    }

    fn file(self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.entry("100644", path, content)
    }

    fn entry(mut self, mode: &str, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.head(mode, "inline", path.as_ref());
        let content = content.as_ref();
        writeln!(self.out, "data {}", content.len()).unwrap();
        self.out.write_all(content).unwrap();
        self.out.write_all(b"\n").unwrap();
        self
    }

    fn module(mut self, path: &str, digit: char) -> Self {
        self.head("160000", &digit.to_string().repeat(40), path.as_bytes());
        self
    }

    /// A file of this many bytes, all zero.
    fn zeros(mut self, path: &str, mib: usize) -> Self {
        self.head("100644", "inline", path.as_bytes());
        writeln!(self.out, "data {}", mib << 20).unwrap();
        let block = vec![0; 1 << 20];
        (0..mib).for_each(|_| self.out.write_all(&block).unwrap());
        self.out.write_all(b"\n").unwrap();
        self
    }

    fn delete(mut self, path: &str) -> Self {
        writeln!(self.out, "D {path}").unwrap();
        self
    }

    fn head(&mut self, mode: &str, what: &str, path: &[u8]) {
        write!(self.out, "M {mode} {what} ").unwrap();
        if path.contains(&b'\n') || path.starts_with(b"\"") {
            let quoted = String::from_utf8_lossy(path).replace('\\', "\\\\").replace('"', "\\\"");
            write!(self.out, "\"{}\"", quoted.replace('\n', "\\n")).unwrap();
        } else {
            self.out.write_all(path).unwrap();
        }
        self.out.write_all(b"\n").unwrap();
    }

    fn finish(self) {
        let Self { mut child, out } = self;
        drop(out.into_inner().unwrap());
        assert!(child.wait().unwrap().success());
    }
}

/// `path status reason` of every changed path.
fn rows(state: &ReviewState) -> Vec<String> {
    let row = |r: verdict::workflows::review::report::Coverage| {
        format!("{} {:?} {}", r.path, r.status, r.reason.unwrap_or_default()).trim_end().to_owned()
    };
    coverage(state).into_iter().map(row).collect()
}

fn verdict_of(state: &ReviewState) -> &'static str {
    state.judgement.as_ref().unwrap().verdict.word()
}

/// Every finding quotes the line of the head that it names.
fn anchored(repo: &Repo, state: &ReviewState) {
    let change = state.ingested.as_ref().unwrap();
    for finding in findings(state) {
        if finding.is_whole_file() || finding.side == Side::Left {
            continue;
        }
        let file = change.files.iter().find(|f| f.change.path == finding.path).unwrap();
        let output = repo.try_git(["cat-file", "blob", &file.change.head.blob]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.split('\n').nth(finding.start_line as usize - 1).unwrap();
        assert!(line.trim_end_matches('\r').starts_with(&finding.quote), "{finding:?}");
        let touched = file.change.added().any(|lines| lines.contains(&finding.start_line));
        assert!(touched, "{finding:?}");
    }
}

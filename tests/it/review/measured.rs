//! Reviews by the real program, and the memory they take.

use std::time::Duration;

use serde_json::Value;

use crate::{
    review::support::Repo,
    support::{Machine, Process},
};

/// The most memory that a living process has held, in MiB.
fn peak(pid: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<usize>().ok()? / 1024)
}

/// What a review said and took.
pub(super) struct Reviewed {
    pub(super) said: Value,
    /// The most memory held by the program and by any git that it ran, in MiB.
    program: usize,
    git: usize,
}

impl Reviewed {
    pub(super) fn rows(&self, status: &str) -> usize {
        let rows = self.said["coverage"].as_array().unwrap();
        rows.iter().filter(|row| row["status"] == status).count()
    }

    pub(super) fn row(&self, path: &str) -> &Value {
        self.said["coverage"].as_array().unwrap().iter().find(|r| r["path"] == path).unwrap()
    }

    pub(super) fn within(&self, program: usize, git: usize) {
        println!("peak: verdict {} MiB, git {} MiB", self.program, self.git);
        assert!(self.program < program, "verdict held {} MiB", self.program);
        assert!(self.git < git, "git held {} MiB", self.git);
    }
}

/// Reviews the last commit on this machine.
pub(super) async fn reviewed(machine: &Machine, repo: &Repo) -> Reviewed {
    let (out, path) = (machine.folder().join("out.json"), repo.path());
    let setup = format!("exec >'{}'", out.display());
    let args = ["review", "HEAD^!", "--format", "json", "--repo", path.to_str().unwrap()];
    let mut process = Process::start(machine.command_after(&setup, &args));
    let (mut program, mut git) = (0, 0);
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    while !process.has_ended() {
        tick.tick().await;
        let leader = process.pid();
        program = program.max(peak(leader).unwrap_or(0));
        let others = crate::support::living(leader).into_iter().filter(|pid| *pid != leader);
        git = others.filter_map(peak).fold(git, usize::max);
    }
    let status = process.ends().await;
    assert_eq!(status.code(), Some(0), "{}", process.said().await);
    let said = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    Reviewed { said, program, git }
}

//! A server of the test's own, run by its script under `tests/services`.
//!
//! The script serves as long as the pipe to it is open, so it ends with this process however that
//! ends. It leads a process group, of which nothing is left when the service is dropped.

use std::{
    collections::HashMap,
    fs,
    io::Write,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use tempfile::TempDir;
use tokio::time::Instant;

use super::{PATIENCE, eventually, group, within};

/// A server with a folder of its own; the same ports and data each time it is started.
pub struct Service {
    script: PathBuf,
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
    running: Option<Running>,
}

struct Running {
    script: Child,
    _pipe: ChildStdin,
}

impl Service {
    /// Not yet started. `name` is the script's.
    pub fn new(name: &str) -> Self {
        Self::told(name, &[])
    }

    /// The same, with variables that its script reads.
    pub fn told(name: &str, variables: &[(&'static str, &str)]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services").join(name);
        let variables =
            variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self { script, folder: tempfile::tempdir().unwrap(), variables, running: None }
    }

    /// Starts it and waits until it takes requests. Answers the variables that tell where it is.
    pub async fn start(&mut self) -> HashMap<String, String> {
        assert!(self.running.is_none(), "{} runs already", self.script.display());
        let _ = fs::remove_file(self.file("ready"));
        let mut command = Command::new(&self.script);
        command.arg("run").arg(self.folder.path()).stdin(Stdio::piped()).stdout(Stdio::null());
        command.stderr(fs::File::create(self.file("run.log")).unwrap());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let mut script = command.process_group(0).spawn().unwrap();
        let pipe = script.stdin.take().unwrap();
        self.running = Some(Running { script, _pipe: pipe });
        let told = within(PATIENCE * 2, "the service is up", async || {
            let ended = self.running.as_mut()?.script.try_wait().unwrap();
            assert!(ended.is_none(), "{}", self.read("run.log"));
            fs::read_to_string(self.file("ready")).ok()
        });
        let variables = |text: String| {
            let pairs = text.lines().filter_map(|line| line.split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        variables(told.await)
    }

    /// Ends it in good order.
    pub async fn stop(&mut self) {
        let mut running = self.running.take().unwrap();
        let pid = running.script.id();
        group::signal("TERM", &pid.to_string());
        eventually("the service ends", async || running.script.try_wait().unwrap()).await;
        gone(pid).await;
    }

    /// SIGKILL, to all of it at once.
    pub async fn kill(&mut self) {
        let pid = self.pid();
        self.end();
        gone(pid).await;
    }

    /// SIGSTOP to the server: its connections stay open, and nothing answers. Comes back when its
    /// last thread stands.
    pub fn freeze(&self) {
        let pid = self.read("server.pid");
        group::signal("STOP", pid.trim());
        let began = Instant::now();
        while !group::stopped(pid.trim()) {
            assert!(began.elapsed() < PATIENCE, "{} does not stop", self.script.display());
            std::thread::yield_now();
        }
    }

    /// It goes on where it stood.
    pub fn thaw(&self) {
        group::signal("CONT", self.read("server.pid").trim());
    }

    /// Runs another verb of the script, to its end.
    pub async fn control(&self, verb: &str, args: &[&str]) {
        let mut command = tokio::process::Command::new(&self.script);
        command.arg(verb).arg(self.folder.path()).args(args).stdin(Stdio::null());
        let output = command.output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{verb} {args:?}: {said}");
    }

    /// What the server has written to its log.
    pub fn log(&self) -> String {
        self.read("server.log")
    }

    /// Where it keeps its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The leader of its group.
    pub fn pid(&self) -> u32 {
        self.running.as_ref().unwrap().script.id()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    fn end(&mut self) {
        if let Some(mut running) = self.running.take() {
            group::signal("KILL", &format!("-- -{}", running.script.id()));
            let _ = running.script.wait();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if std::thread::panicking() && self.running.is_some() {
            let log = self.read("server.log");
            let tail: Vec<_> = log.lines().rev().take(20).collect();
            for line in tail.iter().rev() {
                let _ = writeln!(std::io::stderr(), "{}: {line}", self.script.display());
            }
        }
        self.end();
    }
}

async fn gone(pid: u32) {
    let none = async || group::living(pid).is_empty().then_some(());
    eventually("all of the service is gone", none).await;
}

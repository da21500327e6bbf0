//! A machine of its own for the `verdict` binary.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use verdict::{
    checkpoint::SqliteStore,
    db::{Sqlite, SqliteOptions},
    queue::embedded::{Embedded, Options},
};

use super::{Process, eventually, rows};

/// A state folder, a home, a folder for temporary files, and settings.
pub struct Machine {
    folder: TempDir,
    settings: Vec<(String, String)>,
}

/// A process that ended.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// Standard output as JSON, of a process that did well.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        serde_json::from_str(&self.stdout).unwrap()
    }
}

impl Machine {
    /// With leases, visibility and sweeps short enough to wait for, and any free port.
    pub fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap(), settings: Vec::new() };
        for folder in ["state", "home", "tmp"] {
            fs::create_dir(machine.folder.path().join(folder)).unwrap();
        }
        machine
            .set("server.listen", "127.0.0.1:0")
            .set("worker.lease", "1s")
            .set("worker.sweep", "200ms")
            .set("worker.sweep_margin", "300ms")
            .set("worker.grace", "10s")
            .set("queue.visibility", "500ms")
    }

    pub fn set(mut self, key: &str, value: &str) -> Self {
        let variable = verdict::config::variable_of(key);
        self.settings.retain(|(name, _)| *name != variable);
        self.settings.push((variable, value.to_owned()));
        self
    }

    /// A variable of the environment that is no setting.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The database of the store and the queue.
    pub fn file(&self) -> PathBuf {
        self.folder().join("state/verdict/verdict.db")
    }

    /// The binary with these arguments, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        self.around(Command::new(env!("CARGO_BIN_EXE_verdict")), args)
    }

    /// The binary under a shell that first does `setup`.
    pub fn command_after(&self, setup: &str, args: &[&str]) -> Command {
        let mut shell = Command::new("bash");
        let script = format!("{setup}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_verdict")]);
        self.around(shell, args)
    }

    fn around(&self, mut command: Command, args: &[&str]) -> Command {
        let at = |name: &str| self.folder().join(name);
        command
            .args(args)
            .current_dir(self.folder())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", at("home"))
            .env("XDG_STATE_HOME", at("state"))
            .env("TMPDIR", at("tmp"))
            .envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn start(&self, args: &[&str]) -> Process {
        Process::start(self.command(args))
    }

    /// `verdict serve`, up and taking work.
    pub async fn serve(&self) -> Process {
        let mut process = self.start(&["serve"]);
        process.says("serving").await;
        process
    }

    /// Serves until the queue is empty, for as long as it gets shorter, and stops in good order.
    pub async fn serve_all(&self) {
        let mut process = self.serve().await;
        let mut left = i64::MAX;
        while left > 0 {
            let before = left;
            left = eventually("the queue gets shorter", async || {
                let now = rows(&self.file()).await.messages;
                (now == 0 || now < before).then_some(now)
            })
            .await;
        }
        process.terminate();
        let status = process.ends().await;
        assert_eq!(status.code(), Some(0), "{}", process.said().await);
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Done {
        Self::finish(self.command(args))
    }

    /// A shell's line on a terminal of 80 columns. Once `question` is shown there, `typed` is typed, and
    /// then the key that ends the input. What the terminal showed is standard output; the code is that
    /// of the line.
    pub fn on_a_terminal(&self, line: &str, (question, typed): (&str, &str)) -> Done {
        let line = format!("stty cols 80 rows 40; {line}");
        let mut command = self.command_after(&format!("exec script -qec '{line}' /dev/null"), &[]);
        command.env("TERM", "xterm-256color").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut keys, mut terminal) = (child.stdin.take(), child.stdout.take().unwrap());
        let (mut shown, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let length = terminal.read(&mut buffer).unwrap();
            if length == 0 {
                break;
            }
            shown.extend_from_slice(&buffer[..length]);
            if String::from_utf8_lossy(&shown).contains(question)
                && let Some(mut keys) = keys.take()
            {
                // What asks nothing may have ended by now.
                let _ = keys.write_all(typed.as_bytes());
            }
        }
        let code = child.wait().unwrap().code();
        Done { code, stdout: String::from_utf8_lossy(&shown).into_owned(), stderr: String::new() }
    }

    pub fn finish(mut command: Command) -> Done {
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Done {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The database, opened here beside whatever processes have it open.
    pub async fn open(&self) -> Sqlite {
        let options = SqliteOptions { busy_timeout: Duration::from_secs(30), ..Default::default() };
        Sqlite::open(self.file(), options).await.unwrap()
    }

    pub async fn store(&self) -> SqliteStore {
        SqliteStore::new(self.open().await)
    }

    pub async fn queue(&self) -> Embedded {
        Embedded::open(self.open().await, Options::default())
    }

    /// A file with this text, for arguments.
    pub fn text(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.folder().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

//! One process and its group.

use std::{
    io::{BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
};

use tokio::sync::mpsc;

use super::{eventually, group};

/// A running process, the leader of its group.
pub struct Process {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
    said: Vec<String>,
    ended: Option<ExitStatus>,
}

impl Process {
    /// Starts it. What it writes, to either stream, is read line by line.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().unwrap();
        let (sender, lines) = mpsc::unbounded_channel();
        read(child.stdout.take().unwrap(), sender.clone());
        read(child.stderr.take().unwrap(), sender);
        Self { child, lines, said: Vec::new(), ended: None }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line with `word` in it; answers the line.
    pub async fn says(&mut self, word: &str) -> String {
        loop {
            let next = tokio::time::timeout(super::PATIENCE, self.lines.recv()).await;
            let Ok(Some(line)) = next else {
                panic!("it never said `{word}`, but:\n{}", self.said.join("\n"))
            };
            self.said.push(line.clone());
            if line.contains(word) {
                return line;
            }
        }
    }

    /// Everything it said so far; all it ever said, once it has ended.
    pub async fn said(&mut self) -> String {
        if self.ended.is_some() {
            while let Some(line) = self.lines.recv().await {
                self.said.push(line);
            }
        }
        while let Ok(line) = self.lines.try_recv() {
            self.said.push(line);
        }
        self.said.join("\n")
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.ended = self.ended.or_else(|| self.child.try_wait().unwrap());
        self.ended.is_some()
    }

    /// Waits for its end, and that nothing of it is left.
    pub async fn ends(&mut self) -> ExitStatus {
        eventually("the process ends", async || self.has_ended().then_some(())).await;
        self.nothing_left().await;
        self.ended.unwrap()
    }

    /// Its end, if it comes within that time.
    pub async fn ends_within(&mut self, time: std::time::Duration) -> bool {
        tokio::time::timeout(time, self.ends()).await.is_ok()
    }

    /// SIGKILL, to it alone. Answers whether that, and nothing before, ended it.
    pub async fn kill(&mut self) -> bool {
        if self.has_ended() {
            return false;
        }
        self.child.kill().unwrap();
        self.ended = Some(self.child.wait().unwrap());
        self.nothing_left().await;
        self.ended.unwrap().code().is_none()
    }

    /// Asks it to stop.
    pub fn terminate(&self) {
        group::signal("TERM", &self.pid().to_string());
    }

    /// SIGSTOP, to it alone; it stands still when this comes back.
    pub fn freeze(&self) {
        let pid = self.pid().to_string();
        group::signal("STOP", &pid);
        while !group::stopped(&pid) {
            thread::yield_now();
        }
    }

    /// SIGCONT: it goes on where it stood.
    pub fn thaw(&self) {
        group::signal("CONT", &self.pid().to_string());
    }

    /// What it had started goes with it.
    async fn nothing_left(&self) {
        let none = async || group::living(self.pid()).is_empty().then_some(());
        eventually("what the process had started ends too", none).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.has_ended() && group::living(self.pid()).is_empty() {
            return;
        }
        group::signal("KILL", &format!("-- -{}", self.pid()));
        let _ = self.child.wait();
        if !thread::panicking() {
            panic!("process {} was left running", self.pid());
        }
    }
}

fn read(stream: impl Read + Send + 'static, lines: mpsc::UnboundedSender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { return };
            if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
}

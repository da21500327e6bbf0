//! The `git` program, run so that nothing of the repository is executed: no hooks, no pager, no
//! external diff, no text conversion, no filters, no file-system monitor, no network, no prompts.

use std::{
    fmt,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
    time::timeout,
};

use super::{
    batch::Sizes,
    error::{GitError, Result, names_the_machine, not_started},
};

/// How git is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOptions {
    /// The program.
    pub program: PathBuf,
    /// What one git process may take.
    pub timeout: Duration,
}

impl Default for GitOptions {
    fn default() -> Self {
        Self { program: "git".into(), timeout: Duration::from_secs(120) }
    }
}

/// Settings that would otherwise let a repository run something, hide something or cost too much.
const OVERRIDES: &[&str] = &[
    // `forge::COMPARED_BYTES`; git reads larger ones in pieces.
    "core.bigFileThreshold=64m",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.quotePath=true",
    "credential.helper=",
    "diff.external=",
    "diff.submodule=short",
    "protocol.allow=never",
    "submodule.recurse=false",
];

/// What is allowed beyond that when a remote is fetched from. A redirect would take the
/// Authorization header elsewhere.
const NETWORK_OVERRIDES: &[&str] = &[
    "protocol.http.allow=always",
    "protocol.https.allow=always",
    "http.followRedirects=false",
    "fetch.fsckObjects=true",
];

/// What of the caller's environment git may see: where the machine's and the user's settings stand.
/// Any other variable of git's could point it elsewhere or make it run something.
const KEPT: &[&str] = &[
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
];

/// How much of what git complains about is kept.
const COMPLAINT_BYTES: usize = 4096;

/// git in one repository.
#[derive(Debug, Clone)]
pub(super) struct Git {
    pub(super) options: GitOptions,
    pub(super) repo: PathBuf,
    /// Whether paths are just that; otherwise they may carry pathspec magic.
    pub(super) literal_paths: bool,
    /// The object store, when the work tree and the index are to be left out of it.
    pub(super) apart: Option<PathBuf>,
    /// The index in place of the repository's own.
    pub(super) index: Option<PathBuf>,
    /// Whether HTTP may be spoken, and with which Authorization header.
    pub(super) network: Option<Network>,
    /// What is known of the repository's blobs.
    pub(super) sizes: Arc<Sizes>,
}

/// How git may reach a server.
#[derive(Clone)]
pub(super) struct Network {
    authorization: Option<String>,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

impl Git {
    pub(super) fn new(options: &GitOptions, repo: &Path) -> Self {
        Self {
            options: options.clone(),
            repo: repo.to_owned(),
            literal_paths: true,
            apart: None,
            index: None,
            network: None,
            sizes: Arc::default(),
        }
    }

    /// The same, allowed to speak HTTP with its remote, and with nothing else.
    pub(super) fn with_network(&self, authorization: Option<&str>) -> Self {
        let network = Network { authorization: authorization.map(str::to_owned) };
        Self { network: Some(network), ..self.clone() }
    }

    /// The same with another index file.
    pub(super) fn with_index(&self, file: PathBuf) -> Self {
        Self { index: Some(file), ..self.clone() }
    }

    /// The same repository without its work tree and index, so that no attributes checked out or
    /// staged there are listened to. (Newer versions of git have a flag for that.)
    pub(super) async fn apart(&self) -> Result<Self> {
        let folder = match self.plain_folder() {
            Some(folder) => folder,
            None => {
                let asked = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
                let folder = self.output(&asked).await?;
                String::from_utf8_lossy(&folder).trim_end_matches('\n').into()
            }
        };
        Ok(Self { apart: Some(folder), ..self.clone() })
    }

    /// The folder `.git` of a repository that shares it with no other work tree; git need not be asked.
    fn plain_folder(&self) -> Option<PathBuf> {
        let folder = self.repo.join(".git");
        let is_whole = folder.join("HEAD").is_file()
            && folder.join("objects").is_dir()
            && folder.join("refs").is_dir();
        (is_whole && !folder.join("commondir").exists()).then_some(folder)
    }

    /// Runs `args` and answers what it wrote; not for answers that hold content.
    pub(super) async fn output(&self, args: &[&str]) -> Result<Vec<u8>> {
        let run = self.command(args).stdin(Stdio::null()).output();
        let output = self.bounded(args, run).await?.map_err(|e| self.start_error(&e))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(self.failed(args, output.status, &output.stderr))
    }

    /// As [`Git::output`], trimmed; `None` when git says no, whatever the reason.
    pub(super) async fn ask(&self, args: &[&str]) -> Result<Option<String>> {
        match self.output(args).await {
            Ok(out) => Ok(Some(String::from_utf8_lossy(&out).trim().to_owned())),
            Err(GitError::Git { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Runs `args`, hands every line it writes (at most `prefix` bytes of each) to `each`.
    pub(super) async fn lines<F>(&self, args: &[&str], prefix: usize, mut each: F) -> Result<()>
    where
        F: FnMut(&[u8]) -> Result<()> + Send,
    {
        let work = async {
            let (child, mut out) = self.spawn(args, Stdio::null())?;
            let mut line = Vec::with_capacity(prefix);
            while read_line(&mut out, &mut line, prefix).await.map_err(|e| self.io(args, &e))? {
                if let Err(error) = each(&line) {
                    // A line cut in two by the end of the process reads like a wrong one.
                    let _ = tokio::io::copy(&mut out, &mut tokio::io::sink()).await;
                    return Err(self.end(args, child).await.err().unwrap_or(error));
                }
            }
            self.end(args, child).await
        };
        self.bounded(args, work).await?
    }

    /// Starts a process that is asked through its standard input.
    pub(super) fn converse(
        &self,
        args: &[&str],
    ) -> Result<(Running, ChildStdin, BufReader<ChildStdout>)> {
        let (mut running, out) = self.spawn(args, Stdio::piped())?;
        let input = running.child.stdin.take();
        let input = input.ok_or(GitError::Garbled("start", "no input".into()))?;
        Ok((running, input, out))
    }

    /// Waits for the end of a process whose output has been read.
    pub(super) async fn end(&self, args: &[&str], mut running: Running) -> Result<()> {
        let status = running.child.wait().await.map_err(|e| self.io(args, &e))?;
        if status.success() {
            return Ok(());
        }
        Err(self.failed(args, status, &running.complaints.await.unwrap_or_default()))
    }

    /// The end of a process whose answer was `read`. Of an answer that is not whole the process says
    /// why, if it knows.
    pub(super) async fn end_after<T>(
        &self,
        args: &[&str],
        running: Running,
        read: Result<T>,
    ) -> Result<T> {
        match read {
            Ok(whole) => self.end(args, running).await.map(|()| whole),
            Err(error @ GitError::CutShort { .. }) => {
                Err(self.end(args, running).await.err().unwrap_or(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Gives `work` the time one process may take.
    pub(super) async fn bounded<T>(
        &self,
        args: &[&str],
        work: impl Future<Output = T>,
    ) -> Result<T> {
        timeout(self.options.timeout, work).await.map_err(|_| GitError::Timeout {
            command: subcommand(args),
            repo: self.repo.clone(),
            seconds: self.options.timeout.as_secs(),
        })
    }

    pub(super) fn io(&self, args: &[&str], error: &std::io::Error) -> GitError {
        self.cut_short(args, error.to_string())
    }

    pub(super) fn cut_short(&self, args: &[&str], message: impl Into<String>) -> GitError {
        GitError::CutShort {
            command: subcommand(args),
            repo: self.repo.clone(),
            message: message.into(),
        }
    }

    fn spawn(&self, args: &[&str], input: Stdio) -> Result<(Running, BufReader<ChildStdout>)> {
        let mut child = self
            .command(args)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| self.start_error(&e))?;
        let out = child.stdout.take().ok_or(GitError::Garbled("start", "no output".into()))?;
        let err = child.stderr.take().ok_or(GitError::Garbled("start", "no errors".into()))?;
        let running = Running { child, complaints: tokio::spawn(complaints(err)) };
        Ok((running, BufReader::with_capacity(64 * 1024, out)))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.options.program);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("GIT_") && !KEPT.contains(&name.as_ref()) {
                command.env_remove(name.as_ref());
            }
        }
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_GRAFT_FILE", "/dev/null")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_LITERAL_PATHSPECS", if self.literal_paths { "1" } else { "0" })
            .env("GIT_ASKPASS", "false")
            .env("GIT_PAGER", "cat")
            .env("LC_ALL", "C")
            .arg("--no-pager");
        match &self.apart {
            None => command.arg("-C").arg(&self.repo),
            Some(folder) => {
                // A folder that holds no attributes, and an index that is not there.
                let refs = folder.join("refs");
                command
                    .env("GIT_DIR", folder)
                    .env("GIT_WORK_TREE", &refs)
                    .env("GIT_INDEX_FILE", refs.join("no-index"))
                    .arg("-C")
                    .arg(&refs)
            }
        };
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        let http: &[&str] = if self.network.is_some() { NETWORK_OVERRIDES } else { &[] };
        for setting in OVERRIDES.iter().chain(http) {
            command.arg("-c").arg(setting);
        }
        // In the environment, since every user of a machine can read command lines.
        if let Some(header) = self.network.as_ref().and_then(|net| net.authorization.as_ref()) {
            command
                .env("GIT_CONFIG_COUNT", "1")
                .env("GIT_CONFIG_KEY_0", "http.extraHeader")
                .env("GIT_CONFIG_VALUE_0", format!("Authorization: {header}"));
        }
        command.args(args).kill_on_drop(true);
        command
    }

    fn start_error(&self, error: &std::io::Error) -> GitError {
        not_started(&self.options.program, error)
    }

    fn failed(&self, args: &[&str], status: ExitStatus, stderr: &[u8]) -> GitError {
        if let Some(signal) = status.signal() {
            return self.cut_short(args, format!("ended by signal {signal}"));
        }
        let text = String::from_utf8_lossy(stderr);
        if text.contains("dubious ownership") {
            return GitError::Untrusted(self.repo.clone());
        }
        if text.contains("cannot change to") && !self.repo.exists() {
            return GitError::Gone(self.repo.clone());
        }
        let said = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("no message");
        let said = said.trim_start_matches("fatal: ").trim_start_matches("error: ");
        let message: String = said.chars().take(300).collect();
        if names_the_machine(&text) {
            return self.cut_short(args, message);
        }
        GitError::Git { command: subcommand(args), repo: self.repo.clone(), message }
    }
}

/// A process, and what it complains about: read while it runs, so that a flood of it cannot stop the
/// process.
pub(super) struct Running {
    child: Child,
    complaints: JoinHandle<Vec<u8>>,
}

async fn complaints(mut from: ChildStderr) -> Vec<u8> {
    let (mut kept, mut chunk) = (Vec::new(), [0; COMPLAINT_BYTES]);
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        kept.extend_from_slice(&chunk[..read.min(COMPLAINT_BYTES - kept.len())]);
    }
    kept
}

fn subcommand(args: &[&str]) -> String {
    args.iter().find(|a| !a.starts_with('-')).copied().unwrap_or_default().to_owned()
}

/// Reads one line into `line` without its newline, keeping `prefix` bytes of it at most.
/// False at the end.
async fn read_line(
    out: &mut BufReader<ChildStdout>,
    line: &mut Vec<u8>,
    prefix: usize,
) -> std::io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let chunk = out.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = chunk.iter().position(|b| *b == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        line.extend_from_slice(&part[..part.len().min(prefix.saturating_sub(line.len()))]);
        let used = end.map_or(chunk.len(), |e| e + 1);
        out.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Writes `ids`, one per line; the writing side of a batch conversation.
pub(super) async fn feed(mut input: ChildStdin, ids: Vec<String>) -> std::io::Result<()> {
    for id in ids {
        input.write_all(id.as_bytes()).await?;
        input.write_all(b"\n").await?;
    }
    input.shutdown().await
}

//! The process of a tool: a group of its own, without a network where the system allows it, with an
//! environment that holds nothing of ours. It ends with its value, and so does whatever it started.

use std::{
    env,
    ffi::OsString,
    io::ErrorKind,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    time::timeout,
};

use super::{ToolReport, checkout::Checkout, finding::line};
use crate::base::{Fault, Result};

/// How a process gets namespaces of its own: of users, so that it needs no right; of networks, in which
/// nothing is up; of processes, which all end with the first.
const UNSHARE: [&str; 7] =
    ["--user", "--map-current-user", "--net", "--pid", "--fork", "--kill-child", "--"];

/// How long trying that out may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// How much of what a tool complains about is kept.
const COMPLAINT_BYTES: usize = 4096;

/// How much of it is told.
const COMPLAINT_CHARS: usize = 300;

/// A tool that ended.
pub(super) struct Ended {
    pub(super) output: Vec<u8>,
    pub(super) status: ExitStatus,
    /// The last line it complained with, masked.
    pub(super) complaint: String,
}

/// The program of this name on the PATH.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        let about = path.metadata();
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    let named = folders().into_iter().map(|folder| folder.join(program));
    // An absolute path stays what it is.
    named.into_iter().find(is_program)
}

/// The folders of the PATH. A relative one would lead into the reviewed files.
fn folders() -> Vec<PathBuf> {
    let path =
        env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"));
    env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

/// The program that cuts others off from the network, or why it does not work here.
pub(super) async fn probe() -> Result<PathBuf, String> {
    let unshare = find("unshare").ok_or("`unshare` of util-linux is not on the PATH")?;
    let mut command = Command::new(&unshare);
    command.args(UNSHARE).arg("true").stdin(Stdio::null()).kill_on_drop(true);
    match timeout(PROBE_TIMEOUT, command.output()).await {
        Ok(Ok(done)) if done.status.success() => Ok(unshare),
        Ok(Ok(done)) => Err(complaint(&done.stderr)),
        Ok(Err(error)) => Err(format!("{}: {error}", unshare.display())),
        Err(_) => Err("`unshare` does not end".to_owned()),
    }
}

/// Runs a program in a checkout until it ends.
///
/// # Errors
/// When it cannot be started, writes too much, or is ended by a signal.
pub(super) async fn run(
    program: &Path,
    arguments: &[String],
    checkout: &Checkout,
    unshare: Option<&Path>,
) -> Result<Ended> {
    let mut command = match unshare {
        None => Command::new(program),
        Some(unshare) => {
            let mut command = Command::new(unshare);
            command.args(UNSHARE).arg(program);
            command
        }
    };
    let path = env::join_paths(folders()).unwrap_or_default();
    command
        .args(arguments)
        .current_dir(checkout.files())
        .env_clear()
        .env("PATH", path)
        .env("HOME", checkout.home())
        .envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, checkout.temporary())))
        .env("LC_ALL", "C.UTF-8")
        // Or Python takes modules from the reviewed files.
        .env("PYTHONSAFEPATH", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let child = command.spawn().map_err(|error| not_started(program, &error))?;
    let mut group = Group { id: group_of(&child), child };
    let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
    let (output, complaints) = tokio::try_join!(output(stdout), complaints(stderr))?;
    let status = group.child.wait().await.map_err(|error| unreadable(&error))?;
    let complaint = complaint(&complaints);
    if let Some(signal) = status.signal() {
        return Err(Fault::transient(format!("it was ended by signal {signal}")));
    }
    if unshare.is_some() && status.code() == Some(1) && complaint.starts_with("unshare: ") {
        // It worked when it was tried out.
        return Err(Fault::outage(format!("{complaint}; the machine has run short")));
    }
    Ok(Ended { output, status, complaint })
}

/// What an error of the system says about starting a program. What runs short is not the job's fault.
fn not_started(program: &Path, error: &std::io::Error) -> Fault {
    let text = format!("{} could not be started: {error}", program.display());
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::ArgumentListTooLong => {
            Fault::permanent(text)
        }
        _ => Fault::outage(format!("{text}; the machine has run short: raise its limits")),
    }
}

fn unreadable(error: &std::io::Error) -> Fault {
    Fault::transient(format!("it cannot be followed: {error}"))
}

async fn output(from: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    let Some(from) = from else { return Ok(all) };
    let most = ToolReport::MAX_LOG_BYTES;
    let read = from.take(most + 1).read_to_end(&mut all).await;
    let read = read.map_err(|error| unreadable(&error))?;
    match u64::try_from(read).is_ok_and(|read| read <= most) {
        true => Ok(all),
        false => Err(Fault::permanent(format!("it wrote more than {} MiB", most >> 20))),
    }
}

/// The end of what it complains about, read to the end: a flood of it must not stop the process.
async fn complaints(from: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>> {
    let (mut kept, mut chunk) = (Vec::new(), [0; COMPLAINT_BYTES]);
    let Some(mut from) = from else { return Ok(kept) };
    while let read @ 1.. = from.read(&mut chunk).await.map_err(|error| unreadable(&error))? {
        kept.extend_from_slice(&chunk[..read]);
        kept.drain(..kept.len().saturating_sub(COMPLAINT_BYTES));
    }
    Ok(kept)
}

fn complaint(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let last = text.lines().rev().find(|one| !one.trim().is_empty());
    line(last.unwrap_or("it says nothing"), COMPLAINT_CHARS)
}

/// A process and whatever it started, ended together.
struct Group {
    child: Child,
    /// That of the process, and of the group it leads.
    id: Option<Pid>,
}

fn group_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // A group that has ended by itself is not there any more.
            let _: rustix::io::Result<()> = kill_process_group(id, Signal::KILL);
        }
    }
}

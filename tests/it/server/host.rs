//! R4, W3: when the machine is at fault, the job is not. The real binary, with a `git` that can be
//! taken away or told to fail.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::json;
use verdict::graph::{Head, RunStatus, Store, store::RunFilter};

use super::{post, readiness, serve, stop};
use crate::{
    crash::fixture::{many_commits, repository},
    review::support::Repo,
    support::{Machine, eventually, rows},
};

/// A machine whose `git` is a script: it does as the file `trouble` says, if that is there, and is
/// git otherwise.
pub struct Shaky {
    pub machine: Machine,
    git: PathBuf,
    trouble: PathBuf,
}

/// Tries again soon, and for as long as the trouble lasts.
fn patient(machine: Machine) -> Machine {
    machine.set("worker.backoff", "100ms").set("worker.attempts", "1000")
}

impl Shaky {
    pub fn new() -> Self {
        Self::on(patient(Machine::new()))
    }

    pub fn on(machine: Machine) -> Self {
        let (folder, trouble) = (machine.folder().join("bin"), machine.folder().join("trouble"));
        fs::create_dir(&folder).unwrap();
        let git = folder.join("git");
        let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join("git"))
            .find(|git| git.exists())
            .unwrap();
        let (shown, real) = (trouble.display(), real.display());
        let script = format!(
            "#!/bin/bash\nPATH=/usr/local/bin:/usr/bin:/bin\n\
             [ -e {shown} ] && . {shown}\nexec {real} \"$@\"\n"
        );
        fs::write(&git, script).unwrap();
        fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.display().to_string();
        Self { machine: machine.with_variable("PATH", &path), git, trouble }
    }

    /// From now on git does this.
    pub fn trouble(&self, script: &str) {
        fs::write(&self.trouble, script).unwrap();
    }

    /// From now on git hangs when it is asked for contents, for as long as whoever started it lives,
    /// and makes this file first.
    pub fn hang_at_contents(&self, asked: &Path) {
        let hang = "while kill -0 $PPID 2>/dev/null; do sleep 0.05; done; exit 1";
        self.trouble(&format!(
            "case \"$*\" in *'cat-file --batch '*) touch {}; {hang};; esac",
            asked.display()
        ));
    }

    fn enqueue(&self, repo: &Repo) {
        self.enqueue_range(repo, "HEAD~1", "HEAD");
    }

    fn enqueue_range(&self, repo: &Repo, base: &str, head: &str) {
        let input = json!({"repo": repo.path(), "base": base, "head": head});
        let job = json!({"workflow": "review", "input": input});
        let file = self.machine.text("job.json", job.to_string());
        assert_eq!(self.machine.run(&["enqueue", &file]).code, Some(0));
    }

    /// Waits until everything is done, and that nothing was given up.
    async fn all_done(&self) -> Vec<Head> {
        eventually("the queue is empty", async || {
            (rows(&self.machine.file()).await.messages == 0).then_some(())
        })
        .await;
        assert_eq!(self.machine.run(&["dlq", "list", "--format", "json"]).json(), json!([]));
        let heads = self.machine.store().await.list(&RunFilter::default()).await.unwrap();
        for head in &heads {
            assert_eq!(head.status, RunStatus::Completed, "{head:?}");
        }
        heads
    }
}

#[tokio::test]
async fn a_missing_git_pauses_the_worker_and_costs_no_job_anything() {
    let (repo, shaky) = (repository(), Shaky::new());
    let aside = shaky.git.with_extension("away");
    fs::rename(&shaky.git, &aside).unwrap();
    let (server, at) = serve(&shaky.machine, "worker").await;
    for _ in 0..3 {
        shaky.enqueue(&repo);
    }
    eventually("it says what is missing", async || {
        let checks = readiness(at, false).await;
        let why = checks["worker"].as_str().unwrap();
        (why.contains("git could not be started") && why.contains("install it")).then_some(())
    })
    .await;
    fs::rename(&aside, &shaky.git).unwrap();
    readiness(at, true).await;
    let heads = shaky.all_done().await;
    assert!(heads.iter().all(|head| head.executions == 0), "{heads:?}");
    stop(server).await;
}

#[tokio::test]
async fn a_git_that_the_machine_ends_or_hinders_is_tried_again() {
    for trouble in [
        // As by the kernel when memory runs out.
        "kill -KILL $$",
        "echo 'fatal: unable to read tree: Input/output error' >&2; exit 128",
        "echo 'error: cannot fork() for rev-list: Resource temporarily unavailable' >&2; exit 128",
        // Only contents are affected, in the middle of an answer.
        "case \"$*\" in *'cat-file --batch '*) printf 'abc'; kill -KILL $$;; esac",
    ] {
        let (repo, shaky) = (repository(), Shaky::new());
        shaky.trouble(trouble);
        let (mut server, _) = serve(&shaky.machine, "worker").await;
        shaky.enqueue(&repo);
        let line = server.says("cut short").await;
        assert!(
            line.contains("put off") || line.contains("retr") || line.contains("WARN"),
            "{line}"
        );
        fs::remove_file(&shaky.trouble).unwrap();
        shaky.all_done().await;
        stop(server).await;
    }
}

#[tokio::test]
async fn a_volume_that_is_not_mounted_is_waited_for() {
    let (repo, machine) = (repository(), patient(Machine::new()));
    let volume = machine.folder().join("volume");
    fs::create_dir(&volume).unwrap();
    let here = volume.join("repo");
    let shaky = Shaky::on(machine.set("forge.local.allow", &volume.display().to_string()));
    let (mut server, _) = serve(&shaky.machine, "worker").await;
    let input = json!({"repo": here, "base": "HEAD~1", "head": "HEAD"});
    let job = json!({"workflow": "review", "input": input}).to_string();
    let file = shaky.machine.text("job.json", job);
    assert_eq!(shaky.machine.run(&["enqueue", &file]).code, Some(0));
    let line = server.says("is its volume mounted?").await;
    assert!(line.contains(&here.display().to_string()), "{line}");
    // All of it at once, as a volume comes.
    let copy = shaky.machine.folder().join("copy");
    let copied = std::process::Command::new("cp").arg("-a").args([&repo.path(), &copy]).status();
    assert!(copied.unwrap().success());
    fs::rename(&copy, &here).unwrap();
    shaky.all_done().await;
    stop(server).await;
}

/// R4, W2: a run over which its worker dies is claimed a few times, then worked on alone, then given
/// up. What was in hand beside it is done.
#[tokio::test]
async fn a_run_that_kills_its_worker_is_given_up() {
    // Its runs are lost by deaths alone, however slow the machine is.
    let shaky = Shaky::on(patient(Machine::new().set("worker.lease", "10m")));
    let (good, bad) = (Repo::new(), repository());
    let shown = bad.path().display().to_string();
    shaky
        .trouble(&format!("case \"$*\" in *{shown}*'cat-file --batch '*) kill -KILL $PPID;; esac"));
    for range in many_commits(&good, 3).windows(2) {
        shaky.enqueue_range(&good, &range[0], &range[1]);
    }
    shaky.enqueue(&bad);
    let letters = || shaky.machine.run(&["dlq", "list", "--format", "json"]).json();
    let mut deaths = 0;
    let letter = loop {
        let (mut server, _) = serve(&shaky.machine, "worker").await;
        let letter = eventually("the worker dies or the run is given up", async || {
            if server.has_ended() {
                return Some(None);
            }
            let letter = letters().as_array().unwrap().first().cloned();
            letter.map(Some)
        });
        let Some(letter) = letter.await else {
            server.ends().await;
            deaths += 1;
            assert!(deaths < 10, "{}", server.said().await);
            continue;
        };
        stop(server).await;
        break letter;
    };
    assert_eq!(deaths, 4, "three, and one that worked on nothing else");
    assert_eq!(letter["reason"], "attempts_exhausted");
    let error = letter["error"].as_str().unwrap();
    assert!(error.contains("4 processes in a row died"), "{error}");
    shaky.machine.serve_all().await;
    let heads = shaky.machine.store().await.list(&RunFilter::default()).await.unwrap();
    let completed = heads.iter().filter(|head| head.status == RunStatus::Completed);
    assert_eq!((completed.count(), heads.len()), (3, 4), "{heads:?}");
    assert_eq!(letters().as_array().unwrap().len(), 1);
}

/// W2: the runs of a process that died on this machine are taken up by its neighbour at once, long
/// before their leases end or their messages come back.
#[tokio::test]
async fn a_neighbours_runs_are_taken_over_as_soon_as_it_has_died() {
    let long = Machine::new().set("worker.lease", "1h").set("queue.visibility", "1h");
    let (repo, shaky) = (repository(), Shaky::on(long));
    let asked = shaky.machine.folder().join("asked");
    shaky.hang_at_contents(&asked);
    let (mut first, _) = serve(&shaky.machine, "worker").await;
    shaky.enqueue(&repo);
    eventually("git is at work", async || asked.exists().then_some(())).await;
    fs::remove_file(&shaky.trouble).unwrap();
    let (second, _) = serve(&shaky.machine, "worker").await;
    assert!(first.kill().await);
    let store = shaky.machine.store().await;
    eventually("the other one completes the run", async || {
        let heads = store.list(&RunFilter::default()).await.unwrap();
        heads.iter().all(|head| head.status == RunStatus::Completed).then_some(())
    })
    .await;
    stop(second).await;
}

/// W3: a database file that was deleted, or put another in its place, is noticed: nothing is accepted
/// into a file that nobody will find.
#[tokio::test]
async fn a_database_that_is_not_the_opened_one_any_more_is_noticed() {
    for replaced in [false, true] {
        let (repo, machine) = (repository(), Machine::new());
        let (server, at) = serve(&machine, "all").await;
        readiness(at, true).await;
        let aside = machine.folder().join("aside.db");
        fs::rename(machine.file(), &aside).unwrap();
        if replaced {
            fs::copy(&aside, machine.file()).unwrap();
        }
        eventually("it says what is wrong", async || {
            let checks = readiness(at, false).await;
            let why = checks["store"].as_str().unwrap();
            why.contains("the file that this process opened is gone").then_some(())
        })
        .await;
        let input = json!({"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"});
        let answer = post(at, &json!({"workflow": "review", "input": input})).await;
        assert_eq!(answer.status, 503, "{answer:?}");
        // Put back, it is used again.
        fs::rename(&aside, machine.file()).unwrap();
        readiness(at, true).await;
        stop(server).await;
    }
}

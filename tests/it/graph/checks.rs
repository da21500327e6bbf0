//! N1: the three things every workflow must survive, on a sample, on the review, and on workflows
//! that do not.

use std::{
    path::Path,
    process::Command as Process,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use verdict::{
    base::{Clock, Fault},
    checkpoint::Memory,
    forge::{
        Target,
        local::{GitOptions, LocalGit},
    },
    graph::{
        Context, NodeError,
        testing::{Checks, Faults},
    },
    workflows::{
        Workflow,
        review::{Limits, Review, ReviewDeps},
    },
};

use super::{
    bench::{Bench, on_each},
    support::{Add, TestGraph, Words, diamond, execute, words},
};

fn checks(graph: &TestGraph, bench: &Bench) -> Checks<Words, ()> {
    let store = bench.runtime.store.clone();
    Checks { graph: graph.clone(), deps: Arc::new(()), store, input: Vec::new }
}

#[tokio::test]
async fn a_sample_workflow_survives_everything() {
    on_each(async |bench| {
        let checks = checks(&diamond(), bench);
        assert_eq!(checks.survives_every_crash().await, Ok(9));
        assert_eq!(checks.every_node_may_run_twice().await, Ok(5));
        assert_eq!(checks.every_node_may_fail().await, Ok(5));
    })
    .await;
}

/// The checks can fail: a node that answers otherwise every time is found out.
#[tokio::test]
async fn a_fickle_node_is_found_out() {
    let count = Arc::new(AtomicU64::new(0));
    let fickle = move |_: Context<Words, ()>| {
        let count = count.fetch_add(1, Ordering::Relaxed);
        async move { Ok::<_, NodeError>(Add::Word(format!("call {count}"))) }
    };
    let graph = diamond().replace("b", fickle).unwrap();
    let checks = checks(&graph, &Bench::memory());
    let broken = checks.survives_every_crash().await.unwrap_err().to_string();
    assert!(broken.starts_with("after a crash behind record 1 the run ended in another state"));
    let broken = checks.every_node_may_run_twice().await.unwrap_err().to_string();
    assert_eq!(broken, "node `ingest`, run twice, changed the outcome");
}

/// A workflow that waits does not complete, and the check says so.
#[tokio::test]
async fn a_workflow_that_waits_does_not_pass() {
    let ask = |context: Context<Words, ()>| async move {
        context.interrupt::<bool>("ask", &()).map(|_| Add::Level(1))
    };
    let graph = diamond().replace("b", ask).unwrap();
    let broken = checks(&graph, &Bench::memory()).survives_every_crash().await.unwrap_err();
    assert_eq!(broken.to_string(), "the run did not complete: Waiting(None)");
}

/// Injected faults go by the node's policies, and are counted.
#[tokio::test(start_paused = true)]
async fn injected_faults_go_by_the_nodes_policies() {
    let bench = Bench::memory();
    let id = bench.open(&diamond()).await;
    let faults = Faults::default().fail("b", 1, Fault::transient("injected")).repeat("c");
    let injected = verdict::graph::Execute { faults, ..execute(&diamond()) };
    let ran = bench.execute(injected, &id).await;
    assert_eq!(words(&ran), ["ingest", "a", "b", "c", "judge"]);
    let b = ran.machine.history().iter().find(|task| &*task.node == "b").unwrap();
    assert_eq!(b.attempts, 2);
}

fn git(repo: &Path, args: &[&str]) -> String {
    let output = Process::new("git")
        .current_dir(repo)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"])
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with one change that every agent has something to say about.
fn repository() -> &'static Target {
    static INPUT: OnceLock<(tempfile::TempDir, Target)> = OnceLock::new();
    let (_, input) = INPUT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path();
        git(repo, &["init", "-q"]);
        std::fs::write(repo.join("a.py"), "def f():\n    return 1\n").unwrap();
        git(repo, &["add", "."]);
        git(repo, &["commit", "-qm", "base"]);
        let base = git(repo, &["rev-parse", "HEAD"]);
        let text = "import requests\n\ndef f(x=[]):\n    breakpoint()\n    try:\n        \
                    requests.get('u', verify=False)\n    except Exception:\n        pass\n    \
                    return x == None\n";
        std::fs::write(repo.join("a.py"), text).unwrap();
        git(repo, &["commit", "-qam", "change"]);
        let head = git(repo, &["rev-parse", "HEAD"]);
        let repo = repo.canonicalize().unwrap().to_str().unwrap().to_owned();
        let input = Target { forge: "local".to_owned(), repo, base, head };
        (folder, input)
    });
    input
}

/// N1: the review itself.
#[tokio::test]
async fn the_review_survives_everything() {
    let deps =
        ReviewDeps::new(Arc::new(LocalGit::new(GitOptions::default())), Limits::default()).unwrap();
    let checks = Checks {
        graph: Review::graph().unwrap(),
        deps: Arc::new(deps),
        store: Arc::new(Memory::new(Clock::system())),
        input: || repository().clone().into(),
    };
    assert_eq!(checks.survives_every_crash().await, Ok(12));
    assert_eq!(checks.every_node_may_run_twice().await, Ok(10));
    assert_eq!(checks.every_node_may_fail().await, Ok(10));
}

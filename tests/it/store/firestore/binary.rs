//! The binary on Firestore.

use serde_json::Value;

use crate::{
    crash::fixture::{only_run, repository, review_of},
    support::{Firestore, Machine, Process, Proxy, eventually},
};

fn machine(server: &Firestore, address: impl ToString) -> Machine {
    let url = format!("firestore://{}/(default)", server.project());
    let machine = Machine::new().set("store.url", &url);
    machine.with_variable("FIRESTORE_EMULATOR_HOST", &address.to_string())
}

fn store_row(machine: &Machine) -> (Option<i32>, Value) {
    let done = machine.run(&["doctor", "--format", "json"]);
    let rows: Value = serde_json::from_str(&done.stdout).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == "store");
    (done.code, row.unwrap().clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_says_whether_the_database_answers() {
    let server = Firestore::shared();
    let mut proxy = Proxy::new(server.address());
    let machine = machine(&server, proxy.address());
    let (code, row) = store_row(&machine);
    assert_eq!((code, &row["ok"]), (Some(0), &true.into()), "{row}");
    assert!(row["says"].as_str().unwrap().contains("answers; 0 unfinished"), "{row}");
    proxy.cut().await;
    let (code, row) = store_row(&machine);
    assert_eq!((code, &row["ok"]), (Some(2), &false.into()), "{row}");
    let says = row["says"].as_str().unwrap();
    assert!(says.contains("store.url") && says.contains(server.project()), "{row}");
}

/// Kills the process once so many appends are there. Answers whether that ended it.
async fn kill_at(server: &Firestore, process: &mut Process, appends: usize) -> bool {
    eventually("so much is written", async || {
        let there = server.count("records").await;
        (there >= appends || process.has_ended()).then_some(())
    })
    .await;
    process.kill().await
}

/// E6, E7: killed after each of its appends, and finished by another machine: the same review, no
/// task done twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_killed_after_every_append_ends_the_same() {
    let repo = repository();
    let path = repo.path().display().to_string();
    let args = ["review", "HEAD~1..HEAD", "--repo", &path, "--format", "json"];
    let server = Firestore::shared();
    let undisturbed = machine(&server, server.address());
    let review = review_of(&undisturbed.run(&args).stdout);
    let outcome = only_run(&undisturbed);
    let mut killed = 0;
    for appends in 1..=server.count("records").await {
        let server = Firestore::shared();
        let proxy = Proxy::new(server.address());
        proxy.delay(std::time::Duration::from_millis(300));
        let one = machine(&server, proxy.address());
        let mut process = one.start(&args);
        killed += usize::from(kill_at(&server, &mut process, appends).await);
        let other = machine(&server, server.address());
        let again = other.run(&args);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        assert_eq!(review_of(&again.stdout), review, "killed after append {appends}");
        assert_eq!(only_run(&other), outcome, "killed after append {appends}");
    }
    assert!(killed >= 3, "only {killed} were killed in time");
}

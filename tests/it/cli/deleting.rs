//! `verdict runs delete`.

use verdict::graph::store::{Deleted, Letter, NewRun, RunStatus, StoreError, StoredRecord};

use super::{on_every_store, site::Site};
use crate::{
    store::harness::{about, append, id, letter, run},
    support::Done,
};

fn said(done: &Done) -> (Option<i32>, &str) {
    (done.code, done.stderr.trim_end())
}

/// A run with much to delete.
fn large(name: &str) -> NewRun {
    let payload = vec![b'x'; 3 << 20].into();
    let big = StoredRecord { meta: "big".into(), payload: Some(payload) };
    let records = [run(name).records, vec![big]].concat();
    NewRun { records, asks: vec![("i".to_owned(), Some("yes".into()))], ..run(name) }
}

/// By id: what has ended goes with all that is its, what has not is spared, unless forced; dead
/// letters stay.
async fn deletes_by_id_what_has_ended(site: &Site) {
    let gone = site.made(large("gone"), RunStatus::Completed).await;
    let mourned = Letter { run: Some(id("gone")), ..letter("l") };
    site.store.put_letter(mourned).await.unwrap();
    let queued = site.made(run("queued"), RunStatus::Queued).await;
    let held = site.made(run("held"), RunStatus::Running).await;

    let done = site.runs(&["delete", &gone, "abcd1234"]);
    assert_eq!(said(&done), (Some(2), "verdict: there is no run `abcd1234`"));
    assert_eq!(site.listed(&[]).len(), 3, "all are looked for before any is deleted");

    let done = site.runs(&["delete", &queued, &gone[..12], &held, &gone]);
    let words = format!(
        "{gone} deleted\nverdict: run {queued} is queued: cancel it first; \
         run {held} is held by holder (or use --force)"
    );
    assert_eq!(said(&done), (Some(2), &*words));
    assert_eq!(site.listed(&[]).len(), 2);
    assert_eq!(site.rest().await, 3, "what is left is the others'");
    assert!(site.store.letter("l").await.unwrap().is_some(), "its letter can still be replayed");

    let done = site.runs(&["delete", "--force", &queued, &held]);
    assert_eq!(said(&done), (Some(0), &*format!("{queued} deleted\n{held} deleted")));
    assert_eq!((site.listed(&[]).len(), site.rest().await), (0, 0));
    // Whoever held it finds out with the next thing it writes.
    let lease = verdict::graph::store::Lease { run: id("held"), epoch: 1 };
    let answer = site.store.append(append(&lease, 1, &["late"])).await;
    assert_eq!(answer.unwrap_err(), StoreError::Missing(id("held")));
}

/// By what they are: only what has ended, only what fits, and only when somebody says yes.
async fn deletes_what_fits_and_has_ended(site: &Site) {
    site.made(run("completed"), RunStatus::Completed).await;
    site.made(run("failed"), RunStatus::Failed).await;
    site.made(about("cancelled", "s", 1), RunStatus::Cancelled).await;
    site.made(run("queued"), RunStatus::Queued).await;
    site.made(run("held"), RunStatus::Running).await;
    let left = || site.listed(&[]).len();

    let done = site.runs(&["delete"]);
    assert_eq!(done.code, Some(2), "nothing was named");
    let done = site.runs(&["delete", "--all", &id("queued").to_string()]);
    assert_eq!(done.code, Some(2), "either or");
    let done = site.runs(&["delete", "--all"]);
    assert_eq!(said(&done), (Some(2), "verdict: 3 runs would be deleted: say so with --yes"));
    let done = site.runs(&["delete", "--status", "queued", "--yes"]);
    let words = "verdict: runs that are queued are deleted with --force only";
    assert_eq!(said(&done), (Some(2), words));
    let done = site.runs(&["delete", "--older-than", "1h", "--yes"]);
    assert_eq!((said(&done), left()), ((Some(0), "no run fits"), 5));
    let done = site.runs(&["delete", "--status", "failed", "--older-than", "0s", "--yes"]);
    assert_eq!((said(&done), left()), ((Some(0), &*format!("{} deleted", id("failed"))), 4));
    let done = site.runs(&["delete", "--subject", "s", "-y"]);
    assert_eq!((said(&done), left()), ((Some(0), &*format!("{} deleted", id("cancelled"))), 3));
    let done = site.runs(&["delete", "--all", "--yes"]);
    assert_eq!((said(&done), left()), ((Some(0), &*format!("{} deleted", id("completed"))), 2));
    let done = site.runs(&["delete", "--status", "queued,running", "--force", "--yes"]);
    assert_eq!((done.code, left()), (Some(0), 0));
}

/// At a terminal somebody is asked, and only a yes deletes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_at_a_terminal_is_asked() {
    let site = Site::sqlite().await;
    let asked = |typed: &str, more: &str| {
        let line = format!("{} runs delete {more}", env!("CARGO_BIN_EXE_verdict"));
        let done = site.machine.on_a_terminal(&line, ("[y/N] ", typed));
        (done.code, done.stdout.replace('\r', ""), site.listed(&[]).len())
    };
    site.made(run("one"), RunStatus::Completed).await;
    site.made(run("two"), RunStatus::Failed).await;
    for typed in ["n\n", "\n", "", "yesterday\n", "no\ny\n"] {
        let (code, shown, left) = asked(typed, "--all");
        assert_eq!((code, left), (Some(2), 2), "{typed:?}: {shown}");
        assert!(shown.contains("delete 2 runs? [y/N] "), "{typed:?}: {shown}");
        assert_eq!(shown.lines().last(), Some("verdict: nothing was deleted"), "{typed:?}");
    }
    // Who cannot see the question, or cannot answer it, is not asked.
    for more in ["--all </dev/null", "--all 2>said"] {
        let (code, shown, left) = asked("y\n", more);
        assert_eq!((code, left), (Some(2), 2), "{more}: {shown}");
        assert!(!shown.contains("[y/N]"), "{more}: {shown}");
        let said = std::fs::read_to_string(site.machine.folder().join("said")).unwrap_or(shown);
        assert!(said.contains("2 runs would be deleted: say so with --yes"), "{more}: {said}");
    }
    let (code, shown, left) = asked("y\n", "--status failed");
    assert_eq!((code, left), (Some(0), 1), "{shown}");
    assert!(shown.contains("delete 1 run? [y/N] "), "{shown}");
    assert!(shown.ends_with(&format!("{} deleted\n", id("two"))), "{shown}");
    let (code, shown, left) = asked("Yes\n", "--all");
    assert_eq!((code, left), (Some(0), 0), "{shown}");
    let (code, shown, _) = asked("n\n", "--all");
    assert_eq!(code, Some(0));
    assert!(shown.ends_with("no run fits\n") && !shown.contains("[y/N]"), "{shown}");
    site.done().await;
}

/// The port's half of it: looked at and deleted in one step.
async fn the_store_spares_what_is_of_use(site: &Site) {
    for (name, status) in [("ended", RunStatus::Superseded), ("parked", RunStatus::Parked)] {
        site.made(run(name), status).await;
    }
    site.made(run("held"), RunStatus::Running).await;
    let delete = async |name: &str| site.store.delete_ended(&id(name)).await.unwrap();
    assert_eq!(delete("missing").await, Deleted::Missing);
    assert_eq!(delete("parked").await, Deleted::Unfinished(RunStatus::Parked));
    assert!(matches!(delete("held").await, Deleted::LeaseHeld(holder) if holder.owner == "holder"));
    assert_eq!(delete("ended").await, Deleted::Done);
    assert_eq!(delete("ended").await, Deleted::Missing);
}

on_every_store!(
    deletes_by_id_what_has_ended,
    deletes_what_fits_and_has_ended,
    the_store_spares_what_is_of_use,
);

//! `verdict runs watch`: a run that another process works on.

use serde_json::Value;

use super::{on_every_store, site::Site};
use crate::support::Process;

/// The records that were printed.
pub async fn printed(process: &mut Process) -> Vec<Value> {
    let said = process.said().await;
    said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// How it ended, and what it said of that. What it printed beside may be read later.
pub async fn ended(process: &mut Process) -> (Option<i32>, String) {
    let code = process.ends().await.code();
    let said = process.said().await;
    let word = said.lines().rfind(|line| line.starts_with("verdict: "));
    (code, word.unwrap_or_default().to_owned())
}

/// E13, E15: every record is shown as it comes, whichever process writes it; the end of the run is
/// the end of the watching.
async fn watches_what_a_server_does(site: &Site) {
    let (_repo, id) = site.reviewed();
    let run = site.queued(&id);
    let mut watch = site.start(&["watch", &run[..10], "--format", "json"]);
    watch.says("forked").await;
    assert!(!watch.has_ended(), "nobody works on it yet");
    let mut server = site.machine.serve().await;
    let (code, _) = ended(&mut watch).await;
    assert_eq!(code, Some(0));
    let history = site.runs(&["history", &run, "--format", "json"]).json();
    assert_eq!(Value::from(printed(&mut watch).await), history);
    server.terminate();
    server.ends().await;
    // A run at its end is told from its beginning.
    let again = site.runs(&["watch", &run]);
    assert_eq!((again.code, again.stdout.lines().count()), (Some(0), 14), "{again:?}");
}

/// The exit code is 0 for a run that completes, and for no other.
async fn the_exit_code_tells_the_outcome(site: &Site) {
    let (repo, id) = site.reviewed();
    let run = site.queued(&id);
    let mut watch = site.start(&["watch", &run]);
    watch.says("forked").await;
    watch.terminate();
    let told = format!("verdict: no longer watched: run {run} has not ended");
    assert_eq!(ended(&mut watch).await, (Some(3), told));

    let mut watch = site.start(&["watch", &run]);
    watch.says("forked").await;
    assert_eq!(site.runs(&["cancel", &run]).code, Some(0));
    assert_eq!(ended(&mut watch).await, (Some(3), format!("verdict: run {run} was cancelled")));

    let run = site.queued(&id);
    let mut watch = site.start(&["watch", &run]);
    watch.says("forked").await;
    assert_eq!(site.runs(&["delete", &run, "--force"]).code, Some(0));
    assert_eq!(ended(&mut watch).await, (Some(3), format!("verdict: run {run} was deleted")));

    let run = site.queued(&id);
    std::fs::remove_dir_all(repo.path().join(".git")).unwrap();
    let mut watch = site.start(&["watch", &run]);
    let mut server = site.machine.serve().await;
    let (code, word) = ended(&mut watch).await;
    assert_eq!(code, Some(3));
    assert!(word.starts_with(&format!("verdict: run {run} failed: ")), "{word}");
    server.terminate();
    server.ends().await;
}

on_every_store!(watches_what_a_server_does, the_exit_code_tells_the_outcome);

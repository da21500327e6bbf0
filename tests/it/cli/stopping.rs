//! W5: a command at a terminal is stopped by the first signal.

use std::time::Duration;

use crate::{crash::fixture::repository, server::host::Shaky, support::eventually};

/// Whatever takes its time: here a git that hangs. The same command goes on afterwards.
#[tokio::test]
async fn the_first_signal_ends_a_review() {
    let (repo, shaky) = (repository(), Shaky::new());
    let asked = shaky.machine.folder().join("asked");
    shaky.hang_at_contents(&asked);
    let path = repo.path().display().to_string();
    let args = ["review", "--repo", &path, "HEAD^!"];
    let mut review = shaky.machine.start(&args);
    eventually("git is at work", async || asked.exists().then_some(())).await;
    review.terminate();
    assert!(review.ends_within(Duration::from_secs(30)).await, "it waits for git");
    assert_eq!(review.ends().await.code(), Some(3));
    let said = review.said().await;
    assert!(said.contains("the same command goes on"), "{said}");
    shaky.trouble("");
    let done = shaky.machine.run(&args);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

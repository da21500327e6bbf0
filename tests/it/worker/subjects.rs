//! One subject, several runs: the newest one counts.

use serde_json::json;
use verdict::{
    graph::{ClaimHow, RunStatus, Runtime, store::Claimed},
    queue::Message,
};

use super::hall::{Act, Hall, about, id, seconds};

/// W3, W5: a newer order supersedes the older run while it works: it writes and publishes nothing
/// more, and both messages go.
#[tokio::test]
async fn a_newer_run_stops_the_older_one() {
    let hall = Hall::new().await;
    hall.stage.put_up("old", [Act::Stand]);
    let worker = hall.worker();
    hall.send(&about("old", "pr 1", 1)).await;
    hall.stage.stand(1).await;
    hall.send(&about("new", "pr 1", 2)).await;
    hall.becomes("new", RunStatus::Completed).await;
    hall.becomes("old", RunStatus::Superseded).await;
    hall.stage.open();
    hall.empties().await;
    assert_eq!(hall.stage.ran("old"), ["prepare", "work"]);
    assert_eq!(hall.kinds("old").await.last(), Some(&"superseded"));

    // Its message again, late: there is a newer one.
    hall.send(&about("old", "pr 1", 1)).await;
    hall.empties().await;
    hall.becomes("old", RunStatus::Superseded).await;
    assert_eq!(hall.stage.ran("old"), ["prepare", "work"]);
    worker.stop().await;
}

/// W3: an older order that arrives after a newer one does not run at all.
#[tokio::test]
async fn an_older_run_that_comes_late_is_born_superseded() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    hall.send(&about("new", "pr 1", 2)).await;
    hall.becomes("new", RunStatus::Completed).await;
    hall.send(&about("old", "pr 1", 1)).await;
    hall.becomes("old", RunStatus::Superseded).await;
    hall.empties().await;
    assert_eq!(hall.stage.ran("old"), [""; 0]);
    worker.stop().await;
}

async fn superseded(hall: &Hall) {
    hall.stage.put_up("old", [Act::Stand]);
    hall.send(&about("old", "pr 1", 1)).await;
    hall.stage.stand(1).await;
    hall.send(&about("new", "pr 1", 2)).await;
    hall.becomes("old", RunStatus::Superseded).await;
    hall.stage.open();
    hall.becomes("new", RunStatus::Completed).await;
    hall.empties().await;
}

/// W3: a superseded run whose head is current again goes on where it was stopped.
#[tokio::test]
async fn a_superseded_run_that_is_current_again_goes_on() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    superseded(&hall).await;
    hall.send(&about("old", "pr 1", 3)).await;
    hall.becomes("old", RunStatus::Completed).await;
    hall.empties().await;
    assert_eq!(hall.stage.ran("old"), ["prepare", "work", "work", "publish"]);
    assert!(hall.kinds("old").await.contains(&"reopened"));
    worker.stop().await;
}

/// W3: a job under a key of its own that is delivered again is the run there is: it goes before no newer
/// one, whatever is current by then.
#[tokio::test]
async fn a_keyed_job_that_comes_again_supersedes_nothing() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    let keyed = |order| {
        let input = about("old", "pr 1", order);
        Message::new(json!({"workflow": "play", "key": "k", "input": input}).to_string())
    };
    for name in ["old", "new"] {
        hall.stage.put_up(name, [Act::Stand]);
    }
    hall.post(keyed(1)).await;
    hall.stage.stand(1).await;
    hall.send(&about("new", "pr 1", 2)).await;
    hall.stage.stand(2).await;
    hall.post(keyed(3)).await;
    hall.all_quiet().await;
    hall.stage.open();
    hall.becomes("new", RunStatus::Completed).await;
    hall.becomes("job:k", RunStatus::Superseded).await;
    hall.empties().await;
    worker.stop().await;
}

/// W2: a worker that dies after it claimed such a run, and before it said why, loses nothing: the
/// message asks again.
#[tokio::test]
async fn a_reopening_cut_short_is_done_again() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    superseded(&hall).await;
    worker.stop().await;
    let clock = verdict::base::Clock::system();
    let dead = Runtime::new(hall.store.clone(), clock, "dead").with_ttl(seconds(1));
    let how = ClaimHow { early: true, reopen: true };
    let claimed = dead.claim(&id("old"), how).await.unwrap();
    assert!(matches!(claimed, Claimed::Yours(..)));
    hall.pass(seconds(2));

    let worker = hall.worker();
    hall.send(&about("old", "pr 1", 3)).await;
    hall.becomes("old", RunStatus::Completed).await;
    hall.empties().await;
    assert_eq!(hall.stage.ran("old"), ["prepare", "work", "work", "publish"]);
    worker.stop().await;
}

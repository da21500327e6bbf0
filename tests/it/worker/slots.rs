//! W7: no repository takes all places, what is answered at once does not wait behind runs, and a
//! burst starts one.

use verdict::graph::RunStatus;

use super::hall::{Act, Hall, Part, about, part, seconds};

fn review(name: &str, repository: &str) -> Part {
    about(name, &format!("host/{repository}#{name}"), 1)
}

/// Two of one repository, one of another, and a place for what is answered at once; who waits in
/// line comes on when a place is free.
#[tokio::test]
async fn one_repository_leaves_places_to_others() {
    let hall = Hall::new().await;
    let busy = ["a1", "a2", "a3", "a4"].map(|name| review(name, "o/a"));
    let other = review("b1", "o/b");
    for part in busy.iter().chain([&other]) {
        hall.stage.put_up(&part.name, [Act::Stand]);
        hall.send(part).await;
    }
    let worker = hall.worker();
    hall.stage.stand(3).await;
    hall.becomes("a3", RunStatus::Queued).await;
    hall.becomes("a4", RunStatus::Queued).await;
    assert_eq!(hall.stage.ran("b1"), ["b1 prepare", "b1 work"].map(|line| &line[3..]));
    // Nothing of a repository: a command, say.
    hall.send(&part("command")).await;
    hall.becomes("command", RunStatus::Completed).await;
    hall.stage.open();
    for part in busy.iter().chain([&other]) {
        let head = hall.becomes(&part.name, RunStatus::Completed).await;
        assert_eq!(head.executions, 0);
    }
    hall.settled(0).await;
    worker.stop().await;
}

/// A line is only in memory: another worker takes up the runs of one that is gone.
#[tokio::test]
async fn runs_in_line_outlive_their_worker() {
    let hall = Hall::new().await;
    for name in ["a1", "a2", "a3"] {
        hall.stage.put_up(name, [Act::Stand]);
        hall.send(&review(name, "o/a")).await;
    }
    let worker = hall.worker();
    hall.stage.stand(2).await;
    hall.becomes("a3", RunStatus::Queued).await;
    worker.told_to_stop();
    hall.stage.open();
    worker.stop().await;
    let another = hall.worker();
    hall.pass(seconds(10));
    for name in ["a1", "a2", "a3"] {
        hall.becomes(name, RunStatus::Completed).await;
    }
    another.stop().await;
}

/// Each push supersedes the one before; what is left when it is quiet is executed, and nothing else.
#[tokio::test]
async fn a_burst_of_pushes_starts_one_run() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    let heads = ["first", "second", "third"];
    for (order, name) in (1..).zip(heads) {
        let subject = "host/o/a#7";
        hall.send(&Part { settles: true, ..about(name, subject, order) }).await;
        hall.becomes(name, RunStatus::Queued).await;
        // Its wake-up is sent after that.
        hall.settled(order.unsigned_abs()).await;
        hall.pass(seconds(2));
    }
    hall.becomes("first", RunStatus::Superseded).await;
    hall.becomes("second", RunStatus::Superseded).await;
    assert_eq!(hall.stage.ran("third"), Vec::<String>::new());
    hall.pass(seconds(4));
    hall.becomes("third", RunStatus::Completed).await;
    assert_eq!((hall.stage.ran("first"), hall.stage.ran("second")), (vec![], vec![]));
    worker.stop().await;
}

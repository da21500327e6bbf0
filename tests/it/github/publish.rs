//! R7, N2: one review on each head, on lines that GitHub takes.

use std::time::Duration;

use fake_github::Fault;

use super::{Place, fast};
use crate::review::support::{RULE, Repo};

const REVIEWS: &str = "/repos/*/*/pulls/*/reviews";

/// The review is on its lines, and reviewing again leaves one.
#[tokio::test]
async fn a_pull_request_gets_one_review() {
    let place = Place::new().await;
    for fresh in ["first", "second"] {
        let done = place.review(fresh);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let reviews = place.pull.reviews();
        let [review] = &reviews[..] else { panic!("{reviews:?}") };
        assert_eq!((review.state, review.author.as_str()), ("COMMENTED", "reviewer"));
        let marker = format!("/octo/demo#1 at {} -->", place.pull.head());
        assert!(review.body.starts_with("<!-- verdict review of "), "{}", review.body);
        assert!(review.body.lines().next().unwrap().ends_with(&marker), "{}", review.body);
        let on: Vec<_> = review.comments.iter().map(|c| (c.path.as_str(), c.line)).collect();
        assert!(on.contains(&("a.py", Some(3))), "{on:?}");
        assert!(on.contains(&("b.rs", Some(1))) && on.contains(&("c.js", Some(1))), "{on:?}");
    }
    place.nothing_was_refused();
}

/// P8: an App mints a token for the one repository, and its check run says what came of the head.
#[tokio::test]
async fn an_app_concludes_its_check_run() {
    let place = Place::with_app().await;
    let done = place.review("app");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(place.pull.reviews().len(), 1);
    for (number, fresh) in [(1, "again"), (2, "and again")] {
        let checks = place.pull.checks();
        assert_eq!(checks.len(), number, "{checks:?}");
        for check in &checks {
            assert_eq!((check.name.as_str(), check.status.as_str()), ("verdict", "completed"));
            assert_ne!(check.conclusion.as_deref(), Some("success"), "there are findings");
        }
        assert_eq!(place.review(fresh).code, Some(0));
    }
    place.nothing_was_refused();
}

/// P6: a check is never green when nothing was read.
#[tokio::test]
async fn a_review_of_nothing_is_not_green() {
    let place = Place::with_app_and_nothing_to_read().await;
    let done = place.review("nothing");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let checks = place.pull.checks();
    let [check] = &checks[..] else { panic!("{checks:?}") };
    assert_eq!(check.conclusion.as_deref(), Some("neutral"));
}

/// N2: whatever becomes of the answer, there is one review in the end.
#[tokio::test]
async fn a_disturbed_publication_leaves_one_review() {
    let faults = [
        Fault::lost_answer(),
        Fault::status(502).after_the_write(),
        Fault::status(502),
        Fault::reset(),
        Fault::late_write_after(Duration::from_millis(50)),
        Fault::truncated(),
    ];
    for fault in faults {
        let place = Place::new().await;
        // A late write is there by then, however slow the machine is.
        let place = Place { machine: place.machine.set("github.settle", "2s"), ..place };
        let shown = format!("{fault:?}");
        place.github.fail(fault.on("POST", REVIEWS));
        let done = place.review("disturbed");
        assert_eq!(done.code, Some(0), "{shown}: {}", done.stderr);
        place.github.release_late_writes().await;
        assert_eq!(place.pull.reviews().len(), 1, "{shown}");
        place.nothing_was_refused();
    }
}

/// N9, *leftover draft*: while a pending review of ours exists no other can be made, so it goes.
#[tokio::test]
async fn a_leftover_draft_is_removed() {
    let place = Place::new().await;
    place.pull.pending_review("reviewer", "<!-- verdict review -->\nleft by a crash", None);
    let done = place.review("draft");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let reviews = place.pull.reviews();
    let states: Vec<_> = reviews.iter().map(|review| review.state).collect();
    assert_eq!(states, ["COMMENTED"]);
}

/// What the user whose token it is writes in the browser meanwhile is not ours to remove.
#[tokio::test]
async fn a_draft_of_the_user_stays() {
    let place = Place::new().await;
    place.pull.pending_review("reviewer", "my own thoughts", None);
    let done = place.review("draft");
    assert_ne!(done.code, Some(0), "GitHub takes no other review");
    let states: Vec<_> = place.pull.reviews().iter().map(|review| review.state).collect();
    assert_eq!(states, ["PENDING"]);
}

/// P6: a comment that GitHub refuses does not lose the others: they go into the body.
#[tokio::test]
async fn a_refused_comment_loses_nothing() {
    let place = Place::new().await;
    place.github.fail(Fault::status(422).on("POST", REVIEWS));
    let done = place.review("refused");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let reviews = place.pull.reviews();
    let [review] = &reviews[..] else { panic!("{reviews:?}") };
    assert!(review.comments.is_empty(), "{reviews:?}");
    assert!(review.body.contains("a.py") && review.body.contains("c.js"), "{}", review.body);
}

/// P6: a suggestion is made only where the file still parses with it; without one the finding stays. What was wrong
/// in the file before is not held against it.
#[tokio::test]
async fn a_suggestion_that_breaks_the_file_is_not_made() {
    let rule = |id: &str, call: &str, fix: &str| {
        let rule = RULE.replace("no-print", id).replace("print(", &format!("{call}("));
        format!("{rule}fix: '{fix}'\n")
    };
    let repo = Repo::new();
    repo.write(".verdict/rules/no-print.yml", rule("no-print", "print", "log($$$A)"));
    repo.write(".verdict/rules/no-emit.yml", rule("no-emit", "emit", "log($$$A"));
    repo.commit("one");
    repo.write("a.py", "print(1)\nx = 1\nemit(2)\n").write("b.py", "x = = 1\n\nprint(3)\n");
    repo.commit("two");
    let place = Place::of(repo).await;
    let done = place.review("suggestions");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let comments = place.pull.review_comments();
    let on = |path: &str, line: u64| {
        let here = comments.iter().find(|one| one.path == path && one.line == Some(line));
        here.unwrap_or_else(|| panic!("{path}:{line}: {comments:#?}")).body.as_str()
    };
    assert!(on("a.py", 1).contains("```suggestion\nlog(1)\n```"), "{}", on("a.py", 1));
    assert!(!on("a.py", 3).contains("suggestion"), "{}", on("a.py", 3));
    assert!(on("b.py", 3).contains("```suggestion\nlog(3)\n```"), "{}", on("b.py", 3));
    place.nothing_was_refused();
}

/// A permanent refusal is named, with the setting that cures it.
#[tokio::test]
async fn a_bad_token_is_named() {
    let place = Place::new().await;
    let machine = fast(&place.github).set("github.token", "ghp_nobody");
    let place = Place { machine, ..place };
    let done = place.review("bad token");
    assert_ne!(done.code, Some(0));
    assert!(done.stderr.contains("github.token"), "{}", done.stderr);
    assert!(!done.stderr.contains("ghp_nobody"), "{}", done.stderr);
}

/// P8: an App's token that was revoked, as when the App is installed anew, is replaced by a new one.
#[tokio::test]
async fn a_revoked_token_is_replaced() {
    let place = Place::with_app().await;
    place.github.fail(Fault::status(401).on("GET", "/repos/*/*/pulls/*/files"));
    let done = place.review("revoked");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(place.pull.reviews().len(), 1);
    let writes = place.github.writes();
    let minted = writes.iter().filter(|one| one.path.ends_with("/access_tokens")).count();
    assert_eq!(minted, 2);
}

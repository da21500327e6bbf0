//! P6: one summary below the pull request, apart from the reviews, brought up to date in place.

use fake_github::{Fault, IssueComment};

use super::Place;

const COMMENTS: &str = "/repos/*/*/issues/*/comments";

fn only(place: &Place) -> IssueComment {
    let comments = place.pull.comments();
    let [comment] = &comments[..] else { panic!("{comments:?}") };
    comment.clone()
}

#[tokio::test]
async fn a_pull_request_has_one_summary_of_its_current_head() {
    let place = Place::new().await;
    assert_eq!(place.review("first").code, Some(0));
    let first = only(&place);
    assert!(first.body.starts_with("<!-- verdict summary of "), "{}", first.body);
    assert!(first.body.contains("| reviewed | `a.py` |"), "{}", first.body);
    let reviews = place.pull.reviews();
    let [review] = &reviews[..] else { panic!("{reviews:?}") };
    assert!(review.body.contains(&format!("#issuecomment-{}", first.id)), "{}", review.body);
    assert!(!review.body.contains("| reviewed |"), "the table stands once: {}", review.body);
    place.push("e.js", "function h() { debugger; }\n");
    assert_eq!(place.review("second").code, Some(0));
    let second = only(&place);
    assert_eq!(second.id, first.id);
    assert!(second.body.contains("| reviewed | `e.js` |"), "{}", second.body);
    assert!(second.body.contains(&place.pull.head()[..12]), "{}", second.body);
    place.nothing_was_refused();
}

#[tokio::test]
async fn a_disturbed_summary_is_written_once() {
    for fault in [Fault::lost_answer(), Fault::status(502).after_the_write(), Fault::truncated()] {
        let place = Place::new().await;
        place.github.fail(fault.on("POST", COMMENTS));
        let done = place.review("disturbed");
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        only(&place);
    }
}

/// What only somebody else's words claim to be ours is left alone.
#[tokio::test]
async fn a_forged_marker_is_nobodys_summary() {
    let place = Place::new().await;
    assert_eq!(place.review("first").code, Some(0));
    let body = only(&place).body;
    let other = Place::new().await;
    other.pull.comment("contributor", &body);
    let done = other.review("again");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let comments = other.pull.comments();
    assert_eq!(comments.len(), 2, "{comments:?}");
    assert_eq!(comments[0].body, body);
}

/// Without the permission the review says what the summary would have said.
#[tokio::test]
async fn without_the_permission_the_review_says_everything() {
    let place = Place::new().await;
    place.github.fail(Fault::status(403).on("POST", COMMENTS).always());
    assert_eq!(place.review("alone").code, Some(0));
    let reviews = place.pull.reviews();
    let [review] = &reviews[..] else { panic!("{reviews:?}") };
    assert!(review.body.contains("| reviewed | `a.py` |"), "{}", review.body);
    assert_eq!(place.pull.comments(), []);
}

/// However much there is to say, it fits, and begins with its marker.
#[tokio::test]
async fn what_does_not_fit_is_counted() {
    let place = Place::with_app_and_findings(300).await;
    let done = place.review("much");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let body = only(&place).body;
    assert!(body.starts_with("<!-- verdict summary of "));
    assert!(body.chars().count() <= 65_536, "{}", body.chars().count());
    assert!(body.contains("more findings do not fit into a comment") && body.ends_with("</sub>\n"));
    place.nothing_was_refused();
}

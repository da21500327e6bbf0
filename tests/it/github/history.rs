//! P3, P11: what was said before is not said again; what was fixed is marked; what people dismissed
//! stays dismissed.

use fake_github::{Comment, Fault};

use super::Place;

fn on<'c>(comments: &'c [Comment], path: &str) -> Vec<&'c Comment> {
    comments.iter().filter(|comment| comment.path == path && comment.reply_to.is_none()).collect()
}

#[tokio::test]
async fn findings_are_carried_over_and_not_posted_again() {
    let place = Place::new().await;
    assert_eq!(place.review("first").code, Some(0));
    let before = place.pull.review_comments();
    place.push("e.js", "function h() { debugger; }\n");
    assert_eq!(place.review("second").code, Some(0));
    let after = place.pull.review_comments();
    assert_eq!(on(&after, "e.js").len(), 1);
    assert_eq!(after.len(), before.len() + 1, "only what is new: {after:#?}");
    // The same changes on another base: a force-push.
    place.rebase();
    assert_eq!(place.review("third").code, Some(0));
    assert_eq!(place.pull.review_comments().len(), after.len());
    let reviews = place.pull.reviews();
    assert_eq!(reviews.len(), 3);
    let said = format!("Of earlier reviews: {} commented on before.", after.len());
    assert!(reviews[2].body.contains(&said), "{}", reviews[2].body);
    place.nothing_was_refused();
}

#[tokio::test]
async fn what_was_fixed_is_marked_with_the_commit_and_resolved() {
    let place = Place::new().await;
    assert_eq!(place.review("first").code, Some(0));
    place.push("c.js", "function g() { return 1; }\n");
    assert_eq!(place.review("second").code, Some(0));
    let comments = place.pull.review_comments();
    let [fixed] = on(&comments, "c.js")[..] else { panic!("{comments:#?}") };
    let said = format!("**Fixed in {}.**", &place.pull.head()[..12]);
    assert!(fixed.body.contains(&said), "{}", fixed.body);
    assert_eq!(fixed.resolved_by.as_deref(), Some("reviewer"));
    assert!(on(&comments, "b.rs")[0].resolved_by.is_none());
    // It comes back: that is news.
    place.push("c.js", "function g() { debugger; }\n");
    assert_eq!(place.review("third").code, Some(0));
    assert_eq!(on(&place.pull.review_comments(), "c.js").len(), 2);
}

/// An App resolves threads only where it may write contents; without, the comment says it.
#[tokio::test]
async fn without_the_permission_only_the_comment_says_that_it_is_fixed() {
    let place = Place::with_app().await;
    assert_eq!(place.review("first").code, Some(0));
    place.push("c.js", "function g() { return 1; }\n");
    assert_eq!(place.review("second").code, Some(0));
    let comments = place.pull.review_comments();
    let [fixed] = on(&comments, "c.js")[..] else { panic!("{comments:#?}") };
    assert!(fixed.body.contains("**Fixed in ") && fixed.resolved_by.is_none(), "{fixed:#?}");
}

/// Of the lines `b.rs`, `c.js` and `d/e.py` each is dismissed in another way, and `a.py` by somebody
/// who may not.
#[tokio::test]
async fn what_people_who_may_write_dismissed_stays_dismissed() {
    let place = Place::with_app().await;
    place.repository.collaborator("maintainer", fake_github::Role::Write);
    assert_eq!(place.review("first").code, Some(0));
    let comments = place.pull.review_comments();
    let only = |path: &str| on(&comments, path)[0].id;
    place.pull.react("maintainer", only("b.rs"), "-1");
    place.pull.reply("maintainer", only("c.js"), "Won’t fix, it is a demo.");
    for comment in on(&comments, "d/e.py") {
        place.pull.resolve("maintainer", comment.id);
    }
    place.pull.reply("passer-by", only("a.py"), "won't fix");
    place.push("e.js", "function h() { return 1; }\n");
    assert_eq!(place.review("second").code, Some(0));
    let summary = place.pull.comments()[0].body.clone();
    let dismissed = 2 + on(&comments, "d/e.py").len();
    assert!(summary.contains(&format!("{dismissed} dismissed before")), "{summary}");
    assert!(summary.contains("**1 finding**"), "a.py is left: {summary}");
    assert_eq!(on(&place.pull.review_comments(), "b.rs").len(), 1);
    place.nothing_was_refused();
}

/// N4: what came later is added to the review that is there.
#[tokio::test]
async fn a_partial_review_is_upgraded_in_place() {
    let place = Place::new().await;
    place.github.fail(Fault::status(422).on("POST", "/repos/*/*/pulls/*/reviews"));
    assert_eq!(place.review("refused").code, Some(0));
    assert_eq!(place.review("again").code, Some(0));
    assert_eq!(place.pull.reviews().len(), 1, "what its body holds is not said again");
}

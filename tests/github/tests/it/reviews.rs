//! What GitHub accepts as a review, rule by rule, and what becomes of reviews.

use serde_json::{Value, json};

use crate::site::{Client, Site, on_pull};

fn review(comments: Value) -> Value {
    json!({"event": "COMMENT", "body": "A review", "comments": comments})
}

fn on(path: &str, line: u64, side: &str) -> Value {
    json!({"path": path, "line": line, "side": side, "body": "Here"})
}

async fn create(client: &Client, body: Value) -> crate::site::Reply {
    client.post(&on_pull("/reviews"), body).await
}

#[tokio::test]
async fn a_review_with_comments_on_both_sides_is_kept_whole() {
    let site = Site::new().await;
    let several = json!({"path": "code.rs", "start_line": 1, "start_side": "RIGHT", "line": 4, "side": "RIGHT", "body": "All"});
    let comments = json!([
        on("code.rs", 4, "RIGHT"),
        on("code.rs", 3, "LEFT"),
        on("code.rs", 30, "LEFT"),
        on("gone.txt", 1, "LEFT"),
        several
    ]);
    let made = create(&site.bot, review(comments)).await.ok();
    assert_eq!(
        (&made["state"], &made["commit_id"]),
        (&json!("COMMENTED"), &json!(site.pull.head()))
    );
    assert_eq!(made["user"]["login"], "verdict[bot]");
    let reviews = site.pull.reviews();
    assert_eq!((reviews.len(), reviews[0].comments.len()), (1, 5));
    assert_eq!(
        (reviews[0].comments[4].start_line, reviews[0].comments[4].line),
        (Some(1), Some(4))
    );
    let listed = site.alice.get(&on_pull("/comments")).await.ok();
    assert_eq!(listed[1]["diff_hunk"].as_str().unwrap().lines().last().unwrap(), "-line 3");
}

#[tokio::test]
async fn one_bad_comment_refuses_all_and_is_not_named() {
    let site = Site::new().await;
    let answer =
        create(&site.bot, review(json!([on("code.rs", 4, "RIGHT"), on("code.rs", 20, "RIGHT")])))
            .await;
    assert_eq!(answer.json["message"], "Unprocessable Entity");
    assert_eq!(answer.json["errors"], json!(["Line could not be resolved"]));
    assert_eq!(answer.status, 422);
    assert!(site.pull.reviews().is_empty() && site.pull.review_comments().is_empty());
}

#[tokio::test]
async fn lines_that_are_not_in_the_diff_are_refused() {
    let site = Site::new().await;
    let table = [
        (on("code.rs", 20, "RIGHT"), "Line could not be resolved"),
        (on("code.rs", 4000, "RIGHT"), "Line could not be resolved"),
        // A removed line given as one of the new side: 40 is only on the left of the second hunk's tail.
        (on("gone.txt", 1, "RIGHT"), "Line could not be resolved"),
        (on("added.txt", 1, "LEFT"), "Line could not be resolved"),
        // Unchanged lines are on the right.
        (on("code.rs", 1, "LEFT"), "Line could not be resolved"),
        (on("code.rs", 4, "BOTH"), "Line could not be resolved"),
        (on("nothing.rs", 1, "RIGHT"), "Path could not be resolved"),
        (on("old name.txt", 1, "RIGHT"), "Path could not be resolved"),
        (json!({"path": "code.rs", "body": "no line"}), "Line could not be resolved"),
        (
            json!({"path": "code.rs", "body": "p", "position": 99}),
            "Pull request review thread position is invalid",
        ),
    ];
    for (comment, expected) in table {
        let answer = create(&site.bot, review(json!([comment.clone()]))).await;
        assert_eq!(answer.refused(422), expected, "{comment}");
    }
    assert!(site.pull.reviews().is_empty());
}

#[tokio::test]
async fn ranges_are_within_one_hunk_and_in_order() {
    let site = Site::new().await;
    let range = |start: u64, start_side: &str, line: u64, side: &str| json!([{"path": "code.rs", "start_line": start, "start_side": start_side, "line": line, "side": side, "body": "r"}]);
    let refused = [
        (range(4, "RIGHT", 30, "RIGHT"), "Start line must be part of the same hunk as the line."),
        (range(4, "RIGHT", 4, "RIGHT"), "Start line must precede the end line."),
        (range(5, "RIGHT", 4, "RIGHT"), "Start line must precede the end line."),
        (range(30, "RIGHT", 4, "RIGHT"), "Start line must precede the end line."),
        (range(4, "RIGHT", 3, "LEFT"), "Start line must precede the end line."),
        (range(12, "RIGHT", 30, "RIGHT"), "Start line could not be resolved"),
        (range(1, "LEFT", 4, "RIGHT"), "Start line could not be resolved"),
    ];
    for (comments, expected) in refused {
        assert_eq!(
            create(&site.bot, review(comments.clone())).await.refused(422),
            expected,
            "{comments}"
        );
    }
    create(&site.bot, review(range(3, "LEFT", 4, "RIGHT"))).await.ok();
}

#[tokio::test]
async fn bodies_have_a_limit_of_characters() {
    let site = Site::new().await;
    let (fits, long) = ("ü".repeat(65_536), "ü".repeat(65_537));
    let long_review = json!({"event": "COMMENT", "body": long});
    assert!(create(&site.bot, long_review).await.refused(422).contains("body is too long"));
    let comment = json!({"path": "code.rs", "line": 4, "body": long});
    assert!(create(&site.bot, review(json!([comment]))).await.refused(422).contains("too long"));
    let comment = json!({"path": "code.rs", "line": 4, "body": fits});
    create(&site.bot, json!({"event": "COMMENT", "body": fits, "comments": [comment]})).await.ok();
    let blank = json!({"path": "code.rs", "line": 4, "body": " "});
    assert_eq!(create(&site.bot, review(json!([blank]))).await.refused(422), "Body can't be blank");
}

#[tokio::test]
async fn malformed_reviews_are_refused() {
    let site = Site::new().await;
    for body in [
        json!({"event": "COMMENT"}),
        json!({"event": "NOD", "body": "x"}),
        json!({"event": "COMMENT", "body": "x", "comments": {}}),
        json!({"event": "COMMENT", "body": "x", "comments": [{"line": 4, "body": "no path"}]}),
        json!({"event": "COMMENT", "body": "x", "comments": [{"path": "code.rs", "line": 4}]}),
        json!({"event": "COMMENT", "body": "x", "commit_id": "1234567"}),
        json!({"event": "COMMENT", "body": "x", "commit_id": site.pull.base()}),
    ] {
        assert_eq!(create(&site.bot, body.clone()).await.status, 422, "{body}");
    }
    assert_eq!(site.bot.send("POST", &on_pull("/reviews"), &[], &json!("text")).await.status, 400);
    assert!(site.pull.reviews().is_empty());
}

#[tokio::test]
async fn nobody_judges_a_pull_request_of_their_own() {
    let site = Site::new().await;
    let author = site.client(Some(site.github.token("contributor")));
    site.repository.collaborator("contributor", fake_github::Role::Read);
    let approve = json!({"event": "APPROVE", "body": "Fine"});
    assert_eq!(
        create(&author, approve.clone()).await.refused(422),
        "Can not approve your own pull request"
    );
    create(&author, json!({"event": "COMMENT", "body": "A remark"})).await.ok();
    assert_eq!(create(&site.alice, approve).await.ok()["state"], "APPROVED");
}

#[tokio::test]
async fn a_draft_blocks_every_other_review_of_its_author_and_only_they_see_it() {
    let site = Site::new().await;
    let draft =
        create(&site.bot, json!({"body": "Draft", "comments": [on("code.rs", 4, "RIGHT")]}))
            .await
            .ok();
    assert_eq!(draft["state"], "PENDING");
    assert!(draft["submitted_at"].is_null());
    let again = create(&site.bot, json!({"event": "COMMENT", "body": "Another"})).await;
    assert_eq!(again.refused(422), "User can only have one pending review per pull request");
    let inline = json!({"body": "c", "path": "code.rs", "line": 4, "commit_id": site.pull.head()});
    assert_eq!(site.bot.post(&on_pull("/comments"), inline).await.status, 422);

    let count = async |client: &Client| {
        client.get(&on_pull("/reviews")).await.ok().as_array().unwrap().len()
    };
    assert_eq!((count(&site.bot).await, count(&site.alice).await), (1, 0));
    let path = on_pull(&format!("/reviews/{}", draft["id"]));
    assert_eq!(site.alice.get(&path).await.status, 404);
    assert_eq!(site.alice.get(&on_pull("/comments")).await.ok(), json!([]));
    assert_eq!(site.bot.get(&format!("{path}/comments")).await.ok().as_array().unwrap().len(), 1);
    create(&site.alice, json!({"event": "COMMENT", "body": "Others may"})).await.ok();

    let submitted =
        site.bot.post(&format!("{path}/events"), json!({"event": "COMMENT"})).await.ok();
    assert_eq!((&submitted["state"], &submitted["body"]), (&json!("COMMENTED"), &json!("Draft")));
    assert_eq!(count(&site.alice).await, 2);
    assert_eq!(
        site.bot.post(&format!("{path}/events"), json!({"event": "COMMENT"})).await.status,
        422
    );
}

#[tokio::test]
async fn a_draft_can_be_deleted_and_a_submitted_review_cannot() {
    let site = Site::new().await;
    let draft =
        create(&site.bot, json!({"body": "Draft", "comments": [on("code.rs", 4, "RIGHT")]}))
            .await
            .ok();
    let path = on_pull(&format!("/reviews/{}", draft["id"]));
    assert_eq!(site.alice.delete(&path).await.status, 404);
    site.bot.delete(&path).await.ok();
    let made = create(&site.bot, review(json!([on("code.rs", 4, "RIGHT")]))).await.ok();
    let path = on_pull(&format!("/reviews/{}", made["id"]));
    assert_eq!(
        site.bot.delete(&path).await.refused(422),
        "Can not delete a non-pending pull request review"
    );
    let edited = site.bot.put(&path, json!({"body": "Better"})).await.ok();
    assert_eq!(
        (&edited["body"], site.pull.reviews()[0].body.as_str()),
        (&json!("Better"), "Better")
    );
    let other = site.client(Some(site.github.token("mallory")));
    site.repository.collaborator("mallory", fake_github::Role::Read);
    assert_eq!(other.put(&path, json!({"body": "Mine"})).await.status, 403);
    assert!(
        site.bot
            .put(&path, json!({"body": "x".repeat(65_537)}))
            .await
            .refused(422)
            .contains("too long")
    );
}

#[tokio::test]
async fn only_judgements_are_dismissed() {
    let site = Site::new().await;
    let made = create(&site.alice, json!({"event": "REQUEST_CHANGES", "body": "No"})).await.ok();
    let path = on_pull(&format!("/reviews/{}/dismissals", made["id"]));
    assert_eq!(site.alice.put(&path, json!({})).await.status, 422);
    assert_eq!(site.alice.put(&path, json!({"message": "Done"})).await.ok()["state"], "DISMISSED");
    assert!(
        site.alice.put(&path, json!({"message": "Again"})).await.refused(422).contains("dismissed")
    );
}

/// The head moves between the diff and the review: without a commit the lines are those of the new head.
#[tokio::test]
async fn a_head_that_moved_refuses_lines_of_the_old_one() {
    let site = Site::new().await;
    let before = site.pull.head();
    site.work.git(&["reset", "--quiet", "--hard", "main"]);
    site.work.commit(&[("other.txt", "x\n")]);
    site.repository.update();
    let comments = json!([on("code.rs", 4, "RIGHT")]);
    assert_eq!(
        create(&site.bot, review(comments.clone())).await.refused(422),
        "Path could not be resolved"
    );
    let mut of_before = review(comments);
    of_before["commit_id"] = json!(before);
    assert_eq!(
        create(&site.bot, of_before).await.refused(422),
        "Commit is not part of the pull request"
    );
}

#[tokio::test]
async fn a_review_of_an_older_commit_is_accepted_while_it_is_in_the_pull_request() {
    let site = Site::new().await;
    let before = site.pull.head();
    site.work.commit(&[("added.txt", "zero\none\ntwo\n")]);
    site.repository.update();
    let mut body = review(json!([on("added.txt", 2, "RIGHT")]));
    body["commit_id"] = json!(before);
    let made = create(&site.bot, body).await.ok();
    assert_eq!(made["commit_id"], json!(before));
}

#[tokio::test]
async fn a_force_push_moves_the_commit_of_reviews_and_outdates_comments() {
    let site = Site::new().await;
    let before = site.pull.head();
    create(&site.bot, review(json!([on("code.rs", 4, "RIGHT"), on("added.txt", 2, "RIGHT")])))
        .await
        .ok();
    // A line above the first comment, and the file of the second goes.
    site.work.git(&["reset", "--quiet", "--soft", "main"]);
    let text = std::fs::read_to_string(site.work.path().join("code.rs")).unwrap();
    std::fs::remove_file(site.work.path().join("added.txt")).unwrap();
    site.work.commit(&[("code.rs", &format!("first\n{text}"))]);
    site.repository.update();
    let review = &site.pull.reviews()[0];
    assert_ne!(review.commit, before);
    assert_eq!(review.commit, site.pull.head());
    assert_eq!((review.comments[0].line, review.comments[0].original_line), (Some(5), Some(4)));
    assert_eq!(review.comments[1].line, None, "outdated");
}

#[tokio::test]
async fn reviews_keep_their_commit_where_that_is_set() {
    let site = Site::new().await;
    site.github.moves_reviews_on_force_push(false);
    let before = site.pull.head();
    create(&site.bot, review(json!([]))).await.ok();
    site.work.git(&["commit", "--quiet", "--amend", "-m", "Otherwise"]);
    site.repository.update();
    assert_ne!(site.pull.head(), before);
    assert_eq!(site.pull.reviews()[0].commit, before);
}

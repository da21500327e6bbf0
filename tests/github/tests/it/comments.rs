//! Comments on lines and below pull requests, replies and reactions.

use serde_json::json;

use crate::site::{Site, on_pull};

#[tokio::test]
async fn a_comment_is_answered_edited_and_deleted() {
    let site = Site::new().await;
    let body = json!({"body": "Why?", "path": "code.rs", "line": 4, "side": "RIGHT", "commit_id": site.pull.head()});
    let first = site.bot.post(&on_pull("/comments"), body).await.ok();
    let replies = on_pull(&format!("/comments/{}/replies", first["id"]));
    let reply = site.alice.post(&replies, json!({"body": "Because"})).await.ok();
    assert_eq!(reply["in_reply_to_id"], first["id"]);
    let nested = on_pull(&format!("/comments/{}/replies", reply["id"]));
    assert!(
        site.alice
            .post(&nested, json!({"body": "More"}))
            .await
            .refused(422)
            .contains("not supported")
    );
    let path = format!("/repos/octo/demo/pulls/comments/{}", first["id"]);
    assert_eq!(site.bot.patch(&path, json!({"body": "Fixed"})).await.ok()["body"], "Fixed");
    assert_eq!(site.bot.patch(&path, json!({"body": "x".repeat(65_537)})).await.status, 422);
    let others = format!("/repos/octo/demo/pulls/comments/{}", reply["id"]);
    assert_eq!(site.bot.patch(&others, json!({"body": "Mine"})).await.status, 403);
    assert_eq!(site.bot.delete(&path).await.status, 204);
    assert_eq!(site.bot.get(&path).await.status, 404);
    assert_eq!(
        site.pull.review_comments()[0].reply_to,
        None,
        "the reply is the thread's first now"
    );
}

#[tokio::test]
async fn a_comment_by_itself_follows_the_rules_of_reviews() {
    let site = Site::new().await;
    let head = site.pull.head();
    for body in [
        json!({"body": "x", "path": "code.rs", "line": 20, "commit_id": head}),
        json!({"body": "x", "path": "nothing", "line": 1, "commit_id": head}),
        json!({"body": "x", "path": "code.rs", "line": 4}),
        json!({"path": "code.rs", "line": 4, "commit_id": head}),
        json!({"body": "x", "path": "code.rs", "line": 4, "commit_id": site.pull.base()}),
    ] {
        let answer = site.bot.post(&on_pull("/comments"), body.clone()).await;
        assert_eq!(answer.status, 422, "{body}");
    }
    let on_file =
        json!({"body": "x", "path": "new name.txt", "subject_type": "file", "commit_id": head});
    let made = site.bot.post(&on_pull("/comments"), on_file).await.ok();
    assert_eq!((&made["subject_type"], &made["line"]), (&json!("file"), &json!(null)));
}

#[tokio::test]
async fn comments_below_a_pull_request_are_created_and_edited_in_place() {
    let site = Site::new().await;
    let path = "/repos/octo/demo/issues/1/comments";
    let made = site.bot.post(path, json!({"body": "Summary"})).await.ok();
    assert_eq!(made["performed_via_github_app"]["id"], site.app.id());
    let own = format!("/repos/octo/demo/issues/comments/{}", made["id"]);
    site.bot.patch(&own, json!({"body": "Summary 2"})).await.ok();
    assert_eq!(site.pull.comments()[0].body, "Summary 2");
    assert!(
        site.bot
            .post(path, json!({"body": "x".repeat(65_537)}))
            .await
            .refused(422)
            .contains("too long")
    );
    assert!(site.bot.post(path, json!({"body": ""})).await.refused(422).contains("blank"));
    assert_eq!(
        site.bot.post("/repos/octo/demo/issues/99/comments", json!({"body": "x"})).await.status,
        404
    );
    assert_eq!(site.bot.delete(&own).await.status, 204);
    assert!(site.pull.comments().is_empty());
}

#[tokio::test]
async fn the_same_reaction_twice_is_one() {
    let site = Site::new().await;
    let comment = site.pull.comment("alice", "/verdict review");
    let path = format!("/repos/octo/demo/issues/comments/{comment}/reactions");
    assert_eq!(site.bot.post(&path, json!({"content": "eyes"})).await.status, 201);
    let again = site.bot.post(&path, json!({"content": "eyes"})).await;
    assert_eq!(again.status, 200);
    assert_eq!(site.pull.reactions(comment), [("verdict[bot]".to_owned(), "eyes".to_owned())]);
    assert_eq!(site.bot.post(&path, json!({"content": "nod"})).await.status, 422);
    assert_eq!(site.bot.delete(&format!("{path}/{}", again.json["id"])).await.status, 204);
    assert!(site.pull.reactions(comment).is_empty());
    let on_line = site.pull.review("alice", "", Some(("code.rs", 4, "Hm")));
    let on_line =
        site.pull.reviews().into_iter().find(|review| review.id == on_line).unwrap().comments[0].id;
    site.pull.react("alice", on_line, "-1");
    let listed =
        site.bot.get(&format!("/repos/octo/demo/pulls/comments/{on_line}/reactions")).await.ok();
    assert_eq!(listed[0]["content"], "-1");
}

#[tokio::test]
async fn labels_are_for_those_who_triage() {
    let site = Site::new().await;
    let path = "/repos/octo/demo/issues/1/labels";
    assert_eq!(
        site.bot.post(path, json!({"labels": ["skip review"]})).await.ok()[0]["name"],
        "skip review"
    );
    let reader = site.client(Some(site.github.token("rita")));
    site.repository.collaborator("rita", fake_github::Role::Read);
    assert_eq!(reader.post(path, json!(["x"])).await.status, 403);
    assert_eq!(site.bot.delete(&format!("{path}/skip%20review")).await.ok(), json!([]));
    assert_eq!(site.bot.delete(&format!("{path}/skip%20review")).await.status, 404);
}

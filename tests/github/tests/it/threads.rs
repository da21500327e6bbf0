//! Review threads and hidden comments over GraphQL.

use fake_github::Level;
use serde_json::{Value, json};

use crate::site::{Client, Receiver, Site, permissions};

const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $first: Int = 100, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    headRefOid
    reviewThreads(first: $first, after: $after) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { id isResolved isOutdated path line resolvedBy { login }
        comments(first: 50) { nodes { id databaseId body isMinimized author { __typename login ... on Bot { databaseId } } } } }
    } } } }";

async fn threads(client: &Client, more: Value) -> Value {
    let mut variables = json!({"owner": "octo", "name": "demo", "number": 1});
    variables.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let data = client.graphql(THREADS, variables).await.unwrap();
    data["repository"]["pullRequest"]["reviewThreads"].clone()
}

async fn review(site: &Site) -> (u64, u64) {
    let comments = json!([{"path": "code.rs", "line": 4, "body": "One"}, {"path": "added.txt", "line": 1, "body": "Two"}]);
    let body = json!({"event": "COMMENT", "body": "A review", "comments": comments});
    site.bot.post("/repos/octo/demo/pulls/1/reviews", body).await.ok();
    let comments = site.pull.review_comments();
    (comments[0].id, comments[1].id)
}

#[tokio::test]
async fn threads_are_paged_with_their_comments() {
    let site = Site::new().await;
    let (first, _) = review(&site).await;
    site.pull.reply("alice", first, "No");
    let page = threads(&site.bot, json!({"first": 1})).await;
    assert_eq!((&page["totalCount"], &page["pageInfo"]["hasNextPage"]), (&json!(2), &json!(true)));
    let comments = &page["nodes"][0]["comments"]["nodes"];
    assert_eq!((&comments[0]["databaseId"], &comments[1]["body"]), (&json!(first), &json!("No")));
    let author = &comments[0]["author"];
    assert_eq!(
        (&author["login"], &author["__typename"]),
        (&json!("verdict"), &json!("Bot")),
        "without [bot]"
    );
    assert!(author["databaseId"].is_u64() && comments[1]["author"].get("databaseId").is_none());
    let rest = threads(&site.bot, json!({"after": page["pageInfo"]["endCursor"]})).await;
    assert_eq!(
        (&rest["nodes"][0]["path"], &rest["pageInfo"]["hasNextPage"]),
        (&json!("added.txt"), &json!(false))
    );
}

#[tokio::test]
async fn an_app_resolves_threads_only_if_it_may_write_contents() {
    let site = Site::new().await;
    let (first, second) = review(&site).await;
    let mut receiver = Receiver::start().await;
    site.app.webhook(&receiver.url, "s");
    let id = threads(&site.bot, json!({})).await["nodes"][0]["id"].clone();
    let resolve = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }";
    let refused = site.bot.graphql(resolve, json!({"id": id})).await.unwrap_err();
    assert_eq!(
        (&refused[0]["type"], &refused[0]["message"]),
        (&json!("FORBIDDEN"), &json!("Resource not accessible by integration"))
    );
    assert_eq!(refused[0]["path"], json!(["resolveReviewThread"]));
    let more = permissions(&[("contents", Level::Write), ("pull_requests", Level::Write)]);
    site.app.grant(site.installation, more);
    let bot = site.client(Some(site.app.installation_token(site.installation)));
    let done = bot.graphql(resolve, json!({"id": id})).await.unwrap();
    assert_eq!(done["resolveReviewThread"]["thread"]["isResolved"], true);
    assert_eq!(
        receiver.next("pull_request_review_thread", "resolved").await.json()["thread"]["comments"]
            [0]["id"],
        first
    );
    assert_eq!(site.pull.review_comments()[0].resolved_by.as_deref(), Some("verdict[bot]"));
    let again = "mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }";
    bot.graphql(again, json!({"id": id})).await.unwrap();
    assert_eq!(site.pull.review_comments()[0].resolved_by, None);
    site.pull.resolve("alice", second);
    assert_eq!(threads(&bot, json!({})).await["nodes"][1]["resolvedBy"]["login"], "alice");
}

#[tokio::test]
async fn comments_are_hidden_and_shown() {
    let site = Site::new().await;
    let (first, _) = review(&site).await;
    site.pull.comment("alice", "Below");
    let node =
        threads(&site.bot, json!({})).await["nodes"][0]["comments"]["nodes"][0]["id"].clone();
    let hide = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized minimizedReason } } }";
    let done = site.bot.graphql(hide, json!({"id": node})).await.unwrap();
    assert_eq!(
        done["minimizeComment"]["minimizedComment"],
        json!({"isMinimized": true, "minimizedReason": "outdated"})
    );
    assert_eq!(site.pull.review_comments()[0].minimized.as_deref(), Some("outdated"));
    assert_eq!(site.pull.review_comments()[0].id, first);
    let show = "mutation($id: ID!) { unminimizeComment(input: {subjectId: $id}) { unminimizedComment { isMinimized } } }";
    site.bot.graphql(show, json!({"id": node})).await.unwrap();
    assert_eq!(site.pull.review_comments()[0].minimized, None);
    let below = site.bot.get("/repos/octo/demo/issues/1/comments").await.ok()[0]["node_id"].clone();
    site.bot.graphql(hide, json!({"id": below})).await.unwrap();
    assert_eq!(site.pull.comments()[0].minimized.as_deref(), Some("outdated"));
}

#[tokio::test]
async fn what_github_does_not_have_is_refused() {
    let site = Site::new().await;
    let errors =
        async |query: &str| site.bot.graphql(query, Value::Null).await.unwrap_err()[0].clone();
    let field = errors("{ repository(owner: \"octo\", name: \"demo\") { reviews } }").await;
    assert_eq!(field["message"], "Field 'reviews' doesn't exist on type 'Repository'");
    let missing = errors("{ repository(owner: \"octo\", name: \"nothing\") { id } }").await;
    assert_eq!((&missing["type"], &missing["path"]), (&json!("NOT_FOUND"), &json!(["repository"])));
    let unbound = errors("{ repository(owner: \"octo\", name: \"demo\") { pullRequest(number: 1) { reviewThreads { totalCount } } } }").await;
    assert!(unbound["message"].as_str().unwrap().contains("`first` or `last`"));
    assert!(errors("{ repository(").await["message"].is_string());
    assert!(errors("mutation { deleteEverything { id } }").await["message"].is_string());
    assert_eq!(
        site.client(None).post("/graphql", json!({"query": "{ viewer { login } }"})).await.status,
        401
    );
    let node = "query($id: ID!) { node(id: $id) { ... on PullRequestReview { body } } }";
    let draft = site.pull.pending_review("alice", "Draft", None);
    assert!(draft > 0 && site.bot.graphql(node, json!({"id": "PRR_AAAAAAAAAAA"})).await.is_err());
}

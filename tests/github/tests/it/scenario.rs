//! A scenario that calls every route, and has every webhook sent: what the description is held against.

use serde_json::{Value, json};

use crate::site::{Client, Receiver, Site, on_pull};

/// Every route once with success, and the usual refusals.
pub async fn scenario(site: &Site) {
    read_repository(site).await;
    write_reviews(site).await;
    write_comments(site).await;
    run_checks(site).await;
    be_an_app(site).await;
    change_pulls(site).await;
}

async fn read_all(client: &Client, paths: &[&str]) {
    for path in paths {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
}

async fn read_repository(site: &Site) {
    let head = site.pull.head();
    let blob = site.bot.get("/repos/octo/demo/contents/code.rs").await.ok()["sha"]
        .as_str()
        .unwrap()
        .to_owned();
    let at = |rest: &str| format!("/repos/octo/demo{rest}");
    let paths = [
        "",
        "/branches",
        "/git/ref/heads/main",
        "/commits",
        &format!("/commits/{head}"),
        "/compare/main...feature",
        "/collaborators/alice/permission",
        "/contents/",
        "/contents/code.rs?ref=feature",
        "/git/trees/main?recursive=1",
        &format!("/git/blobs/{blob}"),
        "/pulls?state=all",
        "/pulls/1",
        "/pulls/1/files",
        "/pulls/1/commits",
        "/pulls/1/requested_reviewers",
        &format!("/commits/{head}/pulls"),
        "/issues/1",
        "/pulls/1/reviews",
    ];
    let paths: Vec<_> = paths.iter().map(|path| at(path)).collect();
    read_all(&site.bot, &paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
    read_all(
        &site.bot,
        &[
            "/search/repositories?q=demo",
            "/rate_limit",
            "/installation/repositories",
            "/apps/verdict",
        ],
    )
    .await;
    read_all(&site.alice, &["/user"]).await;
    assert_eq!(site.bot.get(&at("/pulls/99")).await.status, 404);
    assert_eq!(site.client(Some("no".into())).get(&at("/pulls/1")).await.status, 401);
}

async fn write_reviews(site: &Site) {
    let comments = json!([{"path": "code.rs", "line": 4, "body": "Here"}]);
    let draft = site
        .bot
        .post(&on_pull("/reviews"), json!({"body": "Draft", "comments": comments}))
        .await
        .ok();
    site.bot.delete(&on_pull(&format!("/reviews/{}", draft["id"]))).await.ok();
    let draft = site
        .bot
        .post(&on_pull("/reviews"), json!({"body": "Draft", "comments": comments}))
        .await
        .ok();
    let path = on_pull(&format!("/reviews/{}", draft["id"]));
    site.bot.post(&format!("{path}/events"), json!({"event": "REQUEST_CHANGES"})).await.ok();
    site.bot.put(&path, json!({"body": "Better"})).await.ok();
    read_all(
        &site.bot,
        &[&path, &format!("{path}/comments"), &on_pull("/reviews"), &on_pull("/comments")],
    )
    .await;
    site.alice.put(&format!("{path}/dismissals"), json!({"message": "Done"})).await.ok();
    let bad = json!({"event": "COMMENT", "body": "x", "comments": [{"path": "code.rs", "line": 20, "body": "x"}]});
    assert_eq!(site.bot.post(&on_pull("/reviews"), bad).await.status, 422);
}

async fn write_comments(site: &Site) {
    let body = json!({"body": "c", "path": "code.rs", "start_line": 2, "line": 4, "commit_id": site.pull.head()});
    let comment = site.bot.post(&on_pull("/comments"), body).await.ok();
    site.alice
        .post(&on_pull(&format!("/comments/{}/replies", comment["id"])), json!({"body": "r"}))
        .await
        .ok();
    let inline = format!("/repos/octo/demo/pulls/comments/{}", comment["id"]);
    site.bot.patch(&inline, json!({"body": "d"})).await.ok();
    let below =
        site.bot.post("/repos/octo/demo/issues/1/comments", json!({"body": "Summary"})).await.ok();
    let below = format!("/repos/octo/demo/issues/comments/{}", below["id"]);
    site.bot.patch(&below, json!({"body": "Summary 2"})).await.ok();
    site.bot.post("/repos/octo/demo/issues/1/reactions", json!({"content": "rocket"})).await.ok();
    for path in [&inline, &below] {
        let reaction =
            site.bot.post(&format!("{path}/reactions"), json!({"content": "eyes"})).await.ok();
        read_all(&site.bot, &[path, &format!("{path}/reactions")]).await;
        site.bot.delete(&format!("{path}/reactions/{}", reaction["id"])).await;
    }
    let labels = "/repos/octo/demo/issues/1/labels";
    site.bot.post(labels, json!({"labels": ["bug"]})).await.ok();
    let lists = [
        "/repos/octo/demo/pulls/comments",
        "/repos/octo/demo/issues/1/comments",
        "/repos/octo/demo/issues/1/reactions",
        labels,
    ];
    read_all(&site.bot, &lists).await;
    site.bot.delete(&format!("{labels}/bug")).await.ok();
    site.bot.delete(&inline).await;
    site.bot.delete(&below).await;
}

async fn run_checks(site: &Site) {
    let annotation = json!({"path": "code.rs", "start_line": 4, "end_line": 4, "annotation_level": "notice", "message": "m"});
    let output = json!({"title": "t", "summary": "s", "annotations": [annotation]});
    let run = json!({"name": "verdict", "head_sha": site.pull.head(), "status": "in_progress"});
    let run = site.bot.post("/repos/octo/demo/check-runs", run).await.ok();
    let path = format!("/repos/octo/demo/check-runs/{}", run["id"]);
    site.bot.patch(&path, json!({"conclusion": "neutral", "output": output})).await.ok();
    site.bot.post(&format!("{path}/rerequest"), Value::Null).await.ok();
    let listed = format!("/repos/octo/demo/commits/{}/check-runs", site.pull.head());
    read_all(&site.bot, &[&path, &format!("{path}/annotations"), &listed]).await;
    assert_eq!(site.bot.patch(&path, json!({"status": "queued"})).await.status, 422);
}

async fn be_an_app(site: &Site) {
    let receiver = Receiver::start().await;
    let app = site.as_app();
    app.patch("/app/hook/config", json!({"url": receiver.url, "secret": "s"})).await.ok();
    site.pull.comment("alice", "x");
    site.github.webhooks_settled().await;
    let delivery =
        format!("/app/hook/deliveries/{}", app.get("/app/hook/deliveries").await.ok()[0]["id"]);
    let installation = format!("/app/installations/{}", site.installation);
    let paths = [
        "/app",
        "/app/installations",
        "/app/hook/config",
        "/repos/octo/demo/installation",
        "/orgs/octo/installation",
    ];
    read_all(&app, &paths).await;
    read_all(&app, &["/users/octo/installation", &delivery, &installation]).await;
    app.post(&format!("{delivery}/attempts"), Value::Null).await.ok();
    let tokens = format!("{installation}/access_tokens");
    let token = app
        .post(&tokens, json!({"repositories": ["demo"], "permissions": {"checks": "write"}}))
        .await
        .ok();
    site.client(token["token"].as_str().map(ToOwned::to_owned)).delete("/installation/token").await;
    assert_eq!(app.post(&tokens, json!({"permissions": {"workflows": "write"}})).await.status, 422);
    let manifest = json!({"name": "Made", "url": "https://example.com", "redirect_url": "http://127.0.0.1:9/"}).to_string();
    let form = format!(
        "manifest={}",
        percent_encoding::utf8_percent_encode(&manifest, percent_encoding::NON_ALPHANUMERIC)
    );
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap();
    let sent = http
        .post(format!("{}/settings/apps/new", site.github.url()))
        .body(form)
        .send()
        .await
        .unwrap();
    let code =
        sent.headers()["location"].to_str().unwrap().split_once("code=").unwrap().1.to_owned();
    site.client(None).post(&format!("/app-manifests/{code}/conversions"), Value::Null).await.ok();
}

async fn change_pulls(site: &Site) {
    let reviewers = on_pull("/requested_reviewers");
    site.alice.post(&reviewers, json!({"reviewers": ["alice"]})).await.ok();
    site.alice.send("DELETE", &reviewers, &[], &json!({"reviewers": ["alice"]})).await.ok();
    site.alice.patch(&on_pull(""), json!({"title": "New"})).await.ok();
    site.work.git(&["checkout", "--quiet", "-b", "second"]);
    site.work.commit(&[("second.txt", "x\n")]);
    site.repository.update();
    site.alice
        .post("/repos/octo/demo/pulls", json!({"title": "2", "head": "second", "base": "main"}))
        .await
        .ok();
    site.alice.put(&on_pull("/merge"), json!({})).await.ok();
    site.bot.get(&on_pull("")).await.ok();
}

/// What people do, one webhook each.
pub fn steps(site: &Site) {
    site.work.git(&["checkout", "--quiet", "second"]);
    let pull = site.repository.pull(2);
    pull.set_draft(true);
    pull.set_draft(false);
    pull.label("bug", "alice");
    pull.unlabel("bug", "alice");
    pull.request_review("alice", "octo");
    pull.retitle("Better", "alice");
    pull.close();
    pull.reopen();
    site.work.commit(&[("second.txt", "y\n")]);
    site.repository.update();
    pull.review("alice", "Hm", Some(("second.txt", 1, "Here")));
    let comment = pull.review_comments()[0].id;
    pull.resolve("alice", comment);
    pull.comment("alice", "/verdict review");
    let group = pull.enqueue();
    group.destroy("dequeued");
    site.app.install("acme");
    let check = site.repository.pull(1).checks()[0].id;
    pull.rerequest_check(check);
    pull.merge();
}

//! The life of a pull request, and forks.

use serde_json::{Value, json};

use crate::site::{Receiver, Site, on_pull};

#[tokio::test]
async fn each_step_sends_its_webhook() {
    let site = Site::new().await;
    let mut receiver = Receiver::start().await;
    site.app.webhook(&receiver.url, "s");
    site.pull.set_draft(true);
    assert_eq!(
        receiver.next("pull_request", "converted_to_draft").await.json()["pull_request"]["draft"],
        true
    );
    site.pull.set_draft(false);
    receiver.next("pull_request", "ready_for_review").await;
    site.pull.label("review me", "alice");
    assert_eq!(receiver.next("pull_request", "labeled").await.json()["label"]["name"], "review me");
    site.pull.unlabel("review me", "alice");
    receiver.next("pull_request", "unlabeled").await;
    site.pull.request_review(&site.app.login(), "alice");
    let asked = receiver.next("pull_request", "review_requested").await.json();
    assert_eq!(asked["requested_reviewer"]["login"], "verdict[bot]");
    site.pull.retitle("Better", "alice");
    assert_eq!(
        receiver.next("pull_request", "edited").await.json()["changes"]["title"]["from"],
        "Change feature"
    );
    site.pull.close();
    receiver.next("pull_request", "closed").await;
    site.pull.reopen();
    receiver.next("pull_request", "reopened").await;
    let merged = site.pull.merge();
    let closed = receiver.next("pull_request", "closed").await.json();
    assert_eq!(
        (&closed["pull_request"]["merged"], &closed["pull_request"]["merge_commit_sha"]),
        (&json!(true), &json!(merged))
    );
    assert_eq!(site.repository.branch("main"), Some(merged));
}

#[tokio::test]
async fn people_open_change_and_merge_with_the_api() {
    let site = Site::new().await;
    site.work.git(&["checkout", "--quiet", "-b", "second"]);
    site.work.commit(&[("second.txt", "x\n")]);
    site.repository.update();
    let path = "/repos/octo/demo/pulls";
    let made = site
        .alice
        .post(path, json!({"title": "Second", "head": "second", "base": "main", "draft": true}))
        .await
        .ok();
    assert_eq!(
        (&made["number"], &made["draft"], &made["user"]["login"]),
        (&json!(2), &json!(true), &json!("alice"))
    );
    for body in [
        json!({"title": "x", "head": "nothing", "base": "main"}),
        json!({"title": "x", "head": "main", "base": "second"}),
        json!({"head": "second", "base": "main"}),
    ] {
        assert_eq!(site.alice.post(path, body).await.status, 422);
    }
    let changed =
        site.alice.patch(&on_pull(""), json!({"title": "New", "state": "closed"})).await.ok();
    assert_eq!((&changed["title"], &changed["state"]), (&json!("New"), &json!("closed")));
    let listed =
        site.alice.get("/repos/octo/demo/pulls?state=all&sort=updated&direction=desc").await.ok();
    assert_eq!(listed[0]["number"], 1);
    assert_eq!(site.alice.get(path).await.ok().as_array().unwrap().len(), 1);
    site.alice.patch(&on_pull(""), json!({"state": "open"})).await.ok();
    let merge = on_pull("/merge");
    assert_eq!(site.bot.put(&merge, json!({})).await.status, 403);
    assert_eq!(site.alice.put(&merge, json!({"sha": site.pull.base()})).await.status, 409);
    site.alice.put(&merge, json!({"sha": site.pull.head()})).await.ok();
    assert_eq!(site.alice.put(&merge, json!({})).await.status, 405);
    assert_eq!(site.alice.patch(&on_pull(""), json!({"state": "open"})).await.status, 422);
}

#[tokio::test]
async fn reviewers_are_collaborators() {
    let site = Site::new().await;
    let path = on_pull("/requested_reviewers");
    site.alice.post(&path, json!({"reviewers": ["alice"]})).await.ok();
    assert_eq!(site.alice.get(&path).await.ok()["users"][0]["login"], "alice");
    assert_eq!(site.alice.post(&path, json!({"reviewers": ["contributor"]})).await.status, 422);
    assert_eq!(site.alice.post(&path, json!({"reviewers": ["mallory"]})).await.status, 422);
    site.alice.send("DELETE", &path, &[], &json!({"reviewers": ["alice"]})).await.ok();
    assert_eq!(site.alice.get(&path).await.ok()["users"], json!([]));
}

#[tokio::test]
async fn a_fork_that_is_gone_leaves_its_pull_request() {
    let site = Site::new().await;
    let fork = site.repository.fork("eve");
    fork.follow(site.work.path());
    site.work.git(&["checkout", "--quiet", "-b", "from-fork"]);
    let head = site.work.commit(&[("fork.txt", "x\n")]);
    fork.update();
    let pull = site
        .repository
        .pull_request("from-fork", "main")
        .from(&fork)
        .by("eve")
        .titled("Forked", "Text")
        .open();
    let path = format!("/repos/octo/demo/pulls/{}", pull.number());
    let shown = site.bot.get(&path).await.ok();
    assert_eq!(
        (&shown["head"]["repo"]["full_name"], &shown["head"]["label"]),
        (&json!("eve/demo"), &json!("eve:from-fork"))
    );
    assert_eq!(
        site.bot.get("/repos/octo/demo/compare/main...eve:from-fork").await.ok()["ahead_by"],
        2
    );
    let after = site.work.commit(&[("fork.txt", "y\n")]);
    fork.update();
    assert_eq!(pull.head(), after);
    fork.delete();
    let shown = site.bot.get(&path).await.ok();
    assert_eq!((&shown["head"]["repo"], &shown["head"]["sha"]), (&Value::Null, &json!(after)));
    assert_eq!(site.bot.get(&format!("{path}/files")).await.status, 200);
    assert_eq!(site.bot.get(&format!("{path}/commits")).await.ok().as_array().unwrap().len(), 3);
    assert_ne!(head, after);
}

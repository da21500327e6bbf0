//! Clone, fetch and push with git itself.

use crate::site::{Receiver, Site, git};

fn url(site: &Site, credentials: &str) -> String {
    site.github.url().replace("http://", &format!("http://{credentials}")) + "/octo/demo.git"
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_token_clones_and_does_not_push() {
    let site = Site::new().await;
    let folder = tempfile::tempdir().unwrap();
    let token = site.app.installation_token(site.installation);
    let from = url(&site, &format!("x-access-token:{token}@"));
    git(
        folder.path(),
        &[
            "clone",
            "--quiet",
            "--filter=blob:none",
            "--no-checkout",
            "--depth=1",
            "--branch=feature",
            &from,
            "demo",
        ],
    );
    let clone = folder.path().join("demo");
    assert_eq!(git(&clone, &["rev-parse", "HEAD"]).trim(), site.pull.head());
    git(&clone, &["fetch", "--quiet", "--depth=1", "origin", &site.pull.base()]);
    git(&clone, &["fetch", "--quiet", "origin", "refs/pull/1/head"]);
    let push = std::process::Command::new("git")
        .arg("-C")
        .arg(&clone)
        .args(["push", "--quiet", "origin", "HEAD:new"])
        .output();
    assert!(!push.unwrap().status.success());
}

#[tokio::test]
async fn without_a_token_a_closed_repository_asks_for_one() {
    let site = Site::new().await;
    let path = "/octo/demo.git/info/refs?service=git-upload-pack";
    let answer = site.client(None).get(path).await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, "Basic realm=\"GitHub\""));
    site.github.public_repository("octo/open", site.work.path());
    assert_eq!(
        site.client(None).get("/octo/open/info/refs?service=git-upload-pack").await.status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_synchronizes_the_pull_request() {
    let site = Site::new().await;
    let mut receiver = Receiver::start().await;
    site.app.webhook(&receiver.url, "s");
    let before = site.pull.head();
    let after = site.work.commit(&[("pushed.txt", "x\n")]);
    let to = url(&site, &format!("alice:{}@", site.github.token("alice")));
    site.work.git(&["push", "--quiet", &to, "feature"]);
    assert_eq!(site.pull.head(), after);
    let event = receiver.next("pull_request", "synchronize").await.json();
    assert_eq!(
        (&event["before"], &event["after"], &event["sender"]["login"]),
        (&before.into(), &after.into(), &"alice".into())
    );
    site.work.git(&["push", "--quiet", &to, ":feature"]);
    receiver.next("pull_request", "closed").await;
    assert!(!site.pull.is_open());
}

/// A repository is borrowed, not copied, also one that is shallow or a working tree beside another.
#[tokio::test(flavor = "multi_thread")]
async fn shallow_repositories_and_linked_working_trees_are_served() {
    let site = Site::new().await;
    let folder = tempfile::tempdir().unwrap();
    let source = format!("file://{}", site.work.path().display());
    git(
        folder.path(),
        &["clone", "--quiet", "--depth=1", "--no-single-branch", &source, "shallow"],
    );
    git(&folder.path().join("shallow"), &["branch", "main", "origin/main"]);
    site.work.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        &folder.path().join("linked").display().to_string(),
    ]);
    for name in ["shallow", "linked"] {
        site.github.public_repository(&format!("octo/{name}"), folder.path().join(name));
        let url = format!("{}/octo/{name}.git", site.github.url());
        git(
            folder.path(),
            &["clone", "--quiet", "--branch=feature", &url, &format!("{name}-clone")],
        );
        let clone = folder.path().join(format!("{name}-clone"));
        assert_eq!(git(&clone, &["rev-parse", "HEAD"]).trim(), site.pull.head());
        assert!(clone.join("added.txt").exists());
    }
}

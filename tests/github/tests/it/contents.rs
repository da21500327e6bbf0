//! Files, folders, trees, commits and comparisons.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::site::Site;

#[tokio::test]
async fn files_and_folders_of_any_revision() {
    let site = Site::new().await;
    site.work.commit(&[(".verdict/rules/a b.yml", "id: x\n"), ("ü/ß.txt", "unicode\n")]);
    site.repository.update();
    let contents =
        async |path: &str| site.bot.get(&format!("/repos/octo/demo/contents/{path}")).await;
    assert_eq!(contents("added.txt").await.status, 404, "not on the default branch");
    let file = contents("added.txt?ref=feature").await.ok();
    let text = STANDARD.decode(file["content"].as_str().unwrap().replace('\n', "")).unwrap();
    assert_eq!((text, &file["encoding"]), (b"one\ntwo\n".to_vec(), &json!("base64")));
    let folder = contents(".verdict/rules?ref=feature").await.ok();
    assert_eq!(
        (&folder[0]["path"], &folder[0]["type"]),
        (&json!(".verdict/rules/a b.yml"), &json!("file"))
    );
    assert_eq!(contents(".verdict/rules/a%20b.yml?ref=feature").await.status, 200);
    assert_eq!(contents("%C3%BC/%C3%9F.txt?ref=feature").await.ok()["size"], 8);
    assert_eq!(contents("?ref=feature").await.ok().as_array().unwrap().len(), 5);
    assert_eq!(contents("code.rs?ref=nothing").await.status, 404);
    let raw = [("accept", "application/vnd.github.raw+json")];
    let raw = site.bot.send("GET", "/repos/octo/demo/contents/gone.txt", &raw, &Value::Null).await;
    assert_eq!(raw.text, "x\n");
    let blob = site
        .bot
        .get(&format!("/repos/octo/demo/git/blobs/{}", file["sha"].as_str().unwrap()))
        .await
        .ok();
    assert_eq!(blob["size"], 8);
    let tree = site.bot.get("/repos/octo/demo/git/trees/feature?recursive=1").await.ok();
    let paths: Vec<_> =
        tree["tree"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&".verdict/rules/a b.yml") && paths.contains(&"ü/ß.txt"), "{paths:?}");
}

#[tokio::test]
async fn a_large_file_has_no_content_but_as_raw() {
    let site = Site::new().await;
    site.work.commit(&[("large.txt", &"x".repeat(1_100_000))]);
    site.repository.update();
    let path = "/repos/octo/demo/contents/large.txt?ref=feature";
    let file = site.bot.get(path).await.ok();
    assert_eq!((&file["encoding"], &file["content"]), (&json!("none"), &json!("")));
    let raw =
        site.bot.send("GET", path, &[("accept", "application/vnd.github.raw")], &Value::Null).await;
    assert_eq!(raw.text.len(), 1_100_000);
}

#[tokio::test]
async fn a_comparison_starts_from_the_merge_base() {
    let site = Site::new().await;
    let fork_point = site.pull.base();
    site.work.git(&["checkout", "--quiet", "main"]);
    site.work.commit(&[("later.txt", "on main\n")]);
    site.repository.update();
    let compared = site.bot.get("/repos/octo/demo/compare/main...feature").await.ok();
    assert_eq!(compared["merge_base_commit"]["sha"], fork_point);
    assert_eq!(
        (&compared["status"], &compared["ahead_by"], &compared["behind_by"]),
        (&json!("diverged"), &json!(1), &json!(1))
    );
    let names: Vec<_> =
        compared["files"].as_array().unwrap().iter().map(|file| file["filename"].clone()).collect();
    assert_eq!(names, ["added.txt", "code.rs", "gone.txt", "new name.txt"]);
    let same = site.bot.get("/repos/octo/demo/compare/main...main").await.ok();
    assert_eq!(same["status"], "identical");
    assert_eq!(site.bot.get("/repos/octo/demo/compare/main...nothing").await.status, 404);
}

#[tokio::test]
async fn commits_branches_and_refs() {
    let site = Site::new().await;
    let head = site.pull.head();
    let commit = site.bot.get(&format!("/repos/octo/demo/commits/{head}")).await.ok();
    assert_eq!(
        (&commit["commit"]["message"], &commit["files"][0]["filename"]),
        (&json!("A change"), &json!("added.txt"))
    );
    assert_eq!(
        site.bot.get("/repos/octo/demo/git/ref/heads/feature").await.ok()["object"]["sha"],
        head
    );
    assert_eq!(site.bot.get("/repos/octo/demo/git/ref/heads/nothing").await.status, 404);
    assert_eq!(
        site.bot.get("/repos/octo/demo/git/ref/pull/1/head").await.ok()["object"]["sha"],
        head
    );
    let branches = site.bot.get("/repos/octo/demo/branches").await.ok();
    assert_eq!(branches.as_array().unwrap().len(), 2);
    assert_eq!(
        site.bot.get("/repos/octo/demo/commits?sha=feature").await.ok().as_array().unwrap().len(),
        2
    );
    assert_eq!(
        site.bot.get(&format!("/repos/octo/demo/commits/{head}/pulls")).await.ok()[0]["number"],
        1
    );
    assert_eq!(site.bot.get("/repos/octo/demo/commits/nothing").await.status, 422);
}

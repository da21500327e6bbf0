//! The files of a pull request, and the limits of what is said about them.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::site::{Site, on_pull};

const DIFF: [(&str, &str); 1] = [("accept", "application/vnd.github.diff")];

#[tokio::test]
async fn every_kind_of_change_has_its_status() {
    let site = Site::new().await;
    std::fs::write(site.work.path().join("data.bin"), [0_u8, 159, 146, 150]).unwrap();
    site.work.commit(&[]);
    site.repository.update();
    let rows = site.bot.get(&on_pull("/files")).await.ok();
    let seen: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["filename"].as_str().unwrap(),
                row["status"].as_str().unwrap(),
                row.get("patch").is_some(),
            )
        })
        .collect();
    let expected = [
        ("added.txt", "added", true),
        ("code.rs", "modified", true),
        ("data.bin", "added", false),
        ("gone.txt", "removed", true),
        ("new name.txt", "renamed", false),
    ];
    assert_eq!(seen, expected);
    assert_eq!(rows[4]["previous_filename"], "old name.txt");
    assert_eq!(
        (&rows[1]["additions"], &rows[1]["deletions"], &rows[1]["changes"]),
        (&json!(2), &json!(2), &json!(4))
    );
    assert_eq!(rows[3]["patch"], "@@ -1 +0,0 @@\n-x", "an omitted count means one");
}

#[tokio::test]
async fn pages_have_links() {
    let site = Site::new().await;
    let first = site.bot.get(&on_pull("/files?per_page=3")).await;
    assert!(
        first.header("link").contains("per_page=3&page=2>; rel=\"next\""),
        "{}",
        first.header("link")
    );
    assert_eq!(first.json.as_array().unwrap().len(), 3);
    let second = site.bot.get(&on_pull("/files?per_page=3&page=2")).await;
    assert!(
        second.header("link").contains("rel=\"prev\"")
            && !second.header("link").contains("rel=\"next\"")
    );
    assert_eq!(second.json.as_array().unwrap().len(), 1);
    assert_eq!(site.bot.get(&on_pull("/files?page=9")).await.ok(), json!([]));
}

#[tokio::test]
async fn the_diff_is_text_up_to_a_limit_of_files() {
    let site = Site::new().await;
    let diff = site.bot.send("GET", &on_pull(""), &DIFF, &Value::Null).await;
    assert!(diff.text.starts_with("diff --git a/added.txt b/added.txt\n"), "{}", diff.text);
    let names: Vec<_> = (0..297).map(|n| format!("many/{n}.txt")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "new\n")).collect();
    site.work.commit(&files);
    site.repository.update();
    let answer = site.bot.send("GET", &on_pull(""), &DIFF, &Value::Null).await;
    assert_eq!((answer.status, &answer.json["errors"][0]["code"]), (406, &json!("too_large")));
    assert_eq!(site.bot.get(&on_pull("")).await.ok()["changed_files"], 301);
}

#[tokio::test]
async fn past_twenty_thousand_lines_the_diff_is_refused_and_rows_lack_their_patch() {
    let site = Site::new().await;
    let mut text = String::new();
    for n in 0..12_000 {
        writeln!(text, "{n}").unwrap();
    }
    site.work.commit(&[("big1.txt", &text), ("big2.txt", &text), ("big3.txt", "small\n")]);
    site.repository.update();
    let answer = site.bot.send("GET", &on_pull(""), &DIFF, &Value::Null).await;
    assert!(answer.json["message"].as_str().unwrap().contains("maximum number of lines (20000)"));
    assert_eq!(answer.status, 406);
    let rows = site.bot.get(&on_pull("/files")).await.ok();
    let lacking: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["changes"] != 0 && row.get("patch").is_none())
        .map(|row| row["filename"].clone())
        .collect();
    assert_eq!(lacking, ["big2.txt", "big3.txt", "code.rs", "gone.txt"]);
    let one = site.bot.get(&on_pull("/files?per_page=1&page=3")).await.ok();
    assert!(one[0].get("patch").is_some(), "{} alone has its patch", one[0]["filename"]);
}

#[tokio::test]
async fn no_more_than_three_thousand_files_are_listed() {
    let site = Site::new().await;
    let names: Vec<_> = (0..3010).map(|n| format!("many/{n:04}.txt")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "new\n")).collect();
    site.work.commit(&files);
    site.repository.update();
    let last = site.bot.get(&on_pull("/files?per_page=100&page=30")).await;
    assert!(!last.header("link").contains("rel=\"next\""));
    assert_eq!(last.json.as_array().unwrap().len(), 100);
    assert_eq!(site.bot.get(&on_pull("/files?per_page=100&page=31")).await.ok(), json!([]));
    assert_eq!(site.bot.get(&on_pull("")).await.ok()["changed_files"], 3014);
}

#[tokio::test]
async fn what_is_no_utf8_and_what_has_odd_names_is_listed() {
    let site = Site::new().await;
    std::fs::write(site.work.path().join("latin.txt"), b"caf\xe9\r\nx\r\n").unwrap();
    site.work.commit(&[("ünï \"code\".txt", "new\n"), ("diff --git a", "new\n")]);
    site.repository.update();
    let rows = site.bot.get(&on_pull("/files")).await.ok();
    let row = |name: &str| {
        rows.as_array().unwrap().iter().find(|row| row["filename"] == name).unwrap().clone()
    };
    assert_eq!(row("ünï \"code\".txt")["additions"], 1);
    assert_eq!(row("diff --git a")["additions"], 1);
    assert!(row("latin.txt")["patch"].as_str().unwrap().contains("caf\u{fffd}\r\n"));
}

/// A stacked pull request is compared with its base branch, and a base that went on does not count.
#[tokio::test]
async fn the_diff_starts_from_the_merge_base() {
    let site = Site::new().await;
    site.work.git(&["checkout", "--quiet", "-b", "stacked"]);
    site.work.commit(&[("on top.txt", "new\n")]);
    site.work.git(&["checkout", "--quiet", "feature"]);
    site.work.commit(&[("below.txt", "later\n")]);
    site.repository.update();
    let stacked = site.repository.open_pull("stacked", "feature");
    let rows =
        site.bot.get(&format!("/repos/octo/demo/pulls/{}/files", stacked.number())).await.ok();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["filename"], "on top.txt");
}

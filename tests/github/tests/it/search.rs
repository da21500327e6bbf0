//! Search of repositories.

use fake_github::{About, Limits};
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn words_and_qualifiers_narrow_the_result() {
    let site = Site::new().await;
    let about = |text: &str, language: &str, stars, topics: &[&str]| About {
        description: Some(text.to_owned()),
        language: Some(language.to_owned()),
        stars,
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        ..About::default()
    };
    site.github.described_repository(
        "a/agents",
        about("AI agents that chat", "Python", 900, &["ai", "chat"]),
    );
    site.github.described_repository("b/chatter", about("A chat client", "Rust", 50, &["chat"]));
    site.github
        .described_repository("c/graph", about("Workflows as graphs", "Python", 20, &["workflow"]));
    let search = async |query: &str| {
        let found = site.bot.get(&format!("/search/repositories?q={query}")).await.ok();
        let names = found["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["full_name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(search("chat").await, ["a/agents", "b/chatter"]);
    assert_eq!(search("chat&order=asc").await, ["b/chatter", "a/agents"]);
    assert_eq!(search("language:python").await, ["a/agents", "c/graph"]);
    assert_eq!(search("chat+stars:%3C100").await, ["b/chatter"]);
    assert_eq!(search("topic:workflow+stars:10..30").await, ["c/graph"]);
    assert_eq!(search("user:c").await, ["c/graph"]);
    assert_eq!(search("chat+-language:rust").await, ["a/agents"]);
    assert_eq!(search("demo").await, ["octo/demo"], "private, and seen by the App on it");
    assert_eq!(site.bot.get("/search/repositories?q=").await.status, 422);
}

#[tokio::test]
async fn searches_have_a_limit_of_their_own() {
    let site = Site::new().await;
    site.github.limit(Limits { search: Some(1), ..Limits::default() });
    let search = async || site.bot.get("/search/repositories?q=demo").await;
    assert_eq!(search().await.header("x-ratelimit-resource"), "search");
    assert_eq!(search().await.status, 403);
    assert_eq!(
        site.bot.get("/rate_limit").await.ok()["resources"]["search"]["remaining"],
        json!(0)
    );
    site.bot.get("/repos/octo/demo").await.ok();
}

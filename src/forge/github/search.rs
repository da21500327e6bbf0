//! Repositories found by GitHub's search, which has limits of its own: 30 requests a minute for a user,
//! 10 for nobody.

use async_trait::async_trait;
use serde::Deserialize;
use url::form_urlencoded;

use super::{
    GithubOptions,
    auth::Access,
    client::{Call, Client},
};
use crate::{
    base::{Result, key_value::KeyValueStore},
    forge::{FoundRepository, RepositoryQuery, RepositorySearch, SortBy},
};

/// Whose limits a search counts towards.
const ACCOUNT: &str = "search";

/// The longest text of words that GitHub takes, qualifiers aside.
const MAX_TEXT_BYTES: usize = 256;

/// The most words with an operator between each two: GitHub takes five operators.
const MAX_ALTERNATIVES: usize = 6;

/// The most results of one page.
const MAX_PAGE: usize = 100;

/// The search of one GitHub.
pub struct GitHubSearch {
    client: Client,
}

impl GitHubSearch {
    /// As the options say; limits are shared through `store`.
    ///
    /// # Errors
    /// Permanent when the URL or the App's key cannot be used.
    pub fn new(options: &GithubOptions, store: std::sync::Arc<dyn KeyValueStore>) -> Result<Self> {
        Ok(Self { client: Client::new(options, store)? })
    }
}

#[async_trait]
impl RepositorySearch for GitHubSearch {
    async fn search(&self, query: &RepositoryQuery) -> Result<Vec<FoundRepository>> {
        let call = Call::get(path(query));
        // A search is about no repository, so an App has no name there: it asks as nobody.
        let answer = match self.client.app().is_some() {
            true => self.client.send(ACCOUNT, None, call).await?,
            false => {
                let account = Access { owner: ACCOUNT.to_owned(), repo: String::new() };
                self.client.call(&account, call).await?
            }
        };
        let page: Page = answer.json("a search")?;
        Ok(page.items.into_iter().map(Into::into).collect())
    }
}

fn path(query: &RepositoryQuery) -> String {
    let path = "/search/repositories?".to_owned();
    let start = path.len();
    let mut asked = form_urlencoded::Serializer::for_suffix(path, start);
    asked.append_pair("q", &text(query));
    match query.sort {
        SortBy::BestMatch => {}
        SortBy::Stars => drop(asked.append_pair("sort", "stars")),
        SortBy::Updated => drop(asked.append_pair("sort", "updated")),
    }
    asked.append_pair("per_page", &query.limit.clamp(1, MAX_PAGE).to_string());
    asked.finish()
}

/// The query in GitHub's language. What is written in it by others cannot leave its quotes.
fn text(query: &RepositoryQuery) -> String {
    let between = if query.any { " OR " } else { " " };
    let most = if query.any { MAX_ALTERNATIVES } else { usize::MAX };
    let mut text = String::new();
    for word in query.words.iter().take(most).map(|word| quoted(word)) {
        if text.len() + between.len() + word.len() > MAX_TEXT_BYTES {
            break;
        }
        if !text.is_empty() {
            text.push_str(between);
        }
        text.push_str(&word);
    }
    let stars = query.stars.map(|(min, max)| match max {
        Some(max) => format!("{min}..{max}"),
        None => format!(">={min}"),
    });
    let topics = query.topics.iter().map(|topic| format!("topic:{}", quoted(topic)));
    let others = [
        query.language.as_ref().map(|language| format!("language:{}", quoted(language))),
        stars.map(|stars| format!("stars:{stars}")),
        query.created_after.as_ref().map(|day| format!("created:>{}", quoted(day))),
    ];
    for qualifier in others.into_iter().flatten().chain(topics) {
        text.push(' ');
        text.push_str(&qualifier);
    }
    text
}

/// A word as it is, anything else in quotes.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '#');
    if text.chars().all(plain) && !matches!(text, "OR" | "AND" | "NOT") {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace(['"', '\\'], " ").trim())
}

/// A page of results.
#[derive(Debug, Deserialize)]
struct Page {
    items: Vec<Item>,
}

/// A repository, as a search shows it.
#[derive(Debug, Deserialize)]
struct Item {
    full_name: String,
    html_url: String,
    description: Option<String>,
    language: Option<String>,
    #[serde(default)]
    stargazers_count: u64,
    #[serde(default)]
    forks_count: u64,
    #[serde(default)]
    open_issues_count: u64,
    #[serde(default)]
    topics: Vec<String>,
    #[serde(default)]
    archived: bool,
    created_at: jiff::Timestamp,
    /// Absent where nothing was ever pushed.
    pushed_at: Option<jiff::Timestamp>,
    updated_at: jiff::Timestamp,
}

impl From<Item> for FoundRepository {
    fn from(item: Item) -> Self {
        Self {
            full_name: item.full_name,
            url: item.html_url,
            description: item.description,
            language: item.language,
            stars: item.stargazers_count,
            forks: item.forks_count,
            open_issues: item.open_issues_count,
            topics: item.topics,
            archived: item.archived,
            created_at: item.created_at.to_string(),
            updated_at: item.pushed_at.unwrap_or(item.updated_at).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> RepositoryQuery {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        RepositoryQuery { words, limit: 100, ..RepositoryQuery::default() }
    }

    /// X3: what a model wrote is searched for, and never read as a part of GitHub's language.
    #[test]
    fn queries_are_written_in_githubs_language() {
        let mut query = words(&["react", "animation library"]);
        assert_eq!(text(&query), "react \"animation library\"");
        query.any = true;
        query.language = Some("TypeScript".to_owned());
        query.stars = Some((10, Some(500)));
        query.created_after = Some("2024-01-01".to_owned());
        query.topics = vec!["motion".to_owned()];
        let wanted = "react OR \"animation library\" language:TypeScript stars:10..500 \
                      created:>2024-01-01 topic:motion";
        assert_eq!(text(&query), wanted);
        assert_eq!(
            text(&words(&["a\" user:evil", "OR", "stars:>1"])),
            "\"a  user:evil\" \"OR\" \"stars:>1\""
        );
        assert_eq!(path(&words(&["a b"])), "/search/repositories?q=%22a+b%22&per_page=100");
    }

    /// X3: GitHub takes five operators and 256 characters.
    #[test]
    fn queries_stay_within_githubs_limits() {
        let any = RepositoryQuery { any: true, ..words(&["a"; 9]) };
        assert_eq!(text(&any).matches(" OR ").count(), 5);
        let long = "x".repeat(100);
        assert_eq!(text(&words(&[&long, &long, &long])).len(), 201);
    }
}

//! Search of repositories: words in name, description and topics, and the qualifiers that are common.

use serde_json::json;

use super::{Answer, Call, Route, message::validation_failed};
use crate::{json as shape, world::repositories::Repository};

/// No more results can be paged through.
const MAX_RESULTS: usize = 1000;

pub(super) const ROUTES: &[Route] = &[Route::new("GET", "/search/repositories", "", search)];

fn search(call: &mut Call<'_>) -> Answer {
    let query = call.request.query("q").unwrap_or_default().to_owned();
    if query.trim().is_empty() || query.len() > 256 {
        return Err(validation_failed(
            "Search",
            "q",
            if query.is_empty() { "missing" } else { "invalid" },
            "",
        ));
    }
    let seen = call.world.repositories.values().filter(|found| call.who.sees(call.world, found.id));
    let mut found: Vec<_> = seen
        .filter(|found| groups(&query).iter().all(|any| any.iter().any(|term| fits(found, term))))
        .collect();
    match call.request.query("sort") {
        Some("updated") => found.sort_by_key(|found| std::cmp::Reverse(found.pushed_at)),
        Some("forks") => found.sort_by_key(|found| std::cmp::Reverse(found.about.forks)),
        _ => found.sort_by_key(|found| std::cmp::Reverse(found.about.stars)),
    }
    if call.request.query("order") == Some("asc") {
        found.reverse();
    }
    let count = found.len();
    let row = |found: &Repository| {
        let mut row = shape::repository(call.world, found);
        shape::add(&mut row, "score", json!(1.0));
        row
    };
    let rows = found.into_iter().take(MAX_RESULTS).map(row).collect();
    let mut reply = call.page(rows)?;
    let items = reply.logged_body();
    reply.payload = super::Payload::Json(
        json!({"total_count": count, "incomplete_results": false, "items": items}),
    );
    Ok(reply)
}

/// The terms, each with those that may stand for it: what `OR` stands between. A phrase in quotes is one.
fn groups(query: &str) -> Vec<Vec<String>> {
    let (mut groups, mut or, mut quoted) = (Vec::<Vec<String>>::new(), false, false);
    let mut split = |c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    };
    for term in query.split(&mut split).filter(|term| !term.is_empty()) {
        match groups.last_mut() {
            Some(_) if term == "OR" => or = true,
            Some(last) if or => {
                last.push(term.to_owned());
                or = false;
            }
            _ => groups.push(vec![term.to_owned()]),
        }
    }
    groups
}

fn fits(found: &Repository, term: &str) -> bool {
    if let Some(term) = term.strip_prefix('-') {
        return !fits(found, term);
    }
    let about = &found.about;
    let lower = |text: &str| text.to_lowercase();
    match term.split_once(':') {
        Some(("language", name)) => {
            about.language.as_deref().is_some_and(|language| language.eq_ignore_ascii_case(name))
        }
        Some(("stars", range)) => in_range(about.stars, range),
        Some(("forks", range)) => in_range(about.forks, range),
        Some(("topic", name)) => about.topics.iter().any(|topic| topic.eq_ignore_ascii_case(name)),
        Some(("user" | "org", name)) => found.owner.eq_ignore_ascii_case(name),
        Some(("repo", name)) => found.full_name().eq_ignore_ascii_case(name),
        Some(("archived", yes)) => about.archived == (yes == "true"),
        // Where a word is looked for, and what is not kept here, narrows nothing down.
        Some(_) => true,
        None => {
            let text = format!(
                "{} {} {}",
                found.full_name(),
                about.description.as_deref().unwrap_or(""),
                about.topics.join(" ")
            );
            lower(&text).contains(&lower(term.trim_matches('"')))
        }
    }
}

fn in_range(value: u64, range: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    if let Some((low, high)) = range.split_once("..") {
        return number(low).is_none_or(|low| value >= low)
            && number(high).is_none_or(|high| value <= high);
    }
    let (sign, digits) = range.split_at(range.find(|c: char| c.is_ascii_digit()).unwrap_or(0));
    let Some(bound) = number(digits) else { return false };
    match sign {
        ">" => value > bound,
        ">=" => value >= bound,
        "<" => value < bound,
        "<=" => value <= bound,
        _ => value == bound,
    }
}

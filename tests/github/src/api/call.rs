//! What a handler gets: the world, the request, and who asks.

use serde_json::{Value, json};

use super::{
    Answer,
    identity::Identity,
    message::{Reply, Request, validation_failed},
};
use crate::world::{PullKey, World, repositories::Pull};

/// One request being answered.
pub(crate) struct Call<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) request: &'a Request,
    pub(super) params: Vec<(&'static str, String)>,
    pub(crate) who: Identity,
}

impl Call<'_> {
    /// What the path has in place of `{name}`; empty where the route has no such place.
    pub(crate) fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }

    /// A number in the path.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Reply> {
        self.param(name).parse().map_err(|_| Reply::not_found())
    }

    /// The body.
    pub(crate) fn body(&self) -> Result<Value, Reply> {
        if self.request.body.is_empty() {
            return Ok(json!({}));
        }
        let body: Value = serde_json::from_slice(&self.request.body)
            .map_err(|_| Reply::refuse(400, "Problems parsing JSON"))?;
        let fits = body.is_object() || body.is_array();
        if fits { Ok(body) } else { Err(Reply::refuse(400, "Body should be a JSON object")) }
    }

    /// The login that what is written is by.
    pub(crate) fn actor(&self) -> String {
        self.who.login(self.world)
    }

    /// The repository that the path names, if whoever asks sees it.
    pub(crate) fn repository(&self) -> Result<u64, Reply> {
        let id = self
            .world
            .find_repository(self.param("owner"), self.param("repo"))
            .ok_or_else(Reply::not_found)?;
        if self.who.sees(self.world, id) { Ok(id) } else { Err(Reply::not_found()) }
    }

    /// The pull request that the path names.
    pub(crate) fn pull_key(&self) -> Result<PullKey, Reply> {
        let number =
            if self.param("pull_number").is_empty() { "issue_number" } else { "pull_number" };
        let key = (self.repository()?, self.number(number)?);
        if self.world.pulls.contains_key(&key) { Ok(key) } else { Err(Reply::not_found()) }
    }

    /// A copy of the pull request that the path names.
    pub(crate) fn pull(&self) -> Result<Pull, Reply> {
        Ok(self.world.pull(self.pull_key()?).clone())
    }

    /// One page of a list, with the links to the others.
    pub(crate) fn page(&self, list: Vec<Value>) -> Answer {
        let (page, per_page) = self.paging();
        let last = list.len().div_ceil(per_page).max(1);
        let rows: Vec<_> = list.into_iter().skip((page - 1) * per_page).take(per_page).collect();
        let mut reply = Reply::json(200, Value::Array(rows));
        reply.headers.extend(self.links(page, last));
        Ok(reply)
    }

    /// One page of a list inside an object, which says how many there are.
    pub(crate) fn page_in(&self, key: &str, list: Vec<Value>) -> Answer {
        let count = list.len();
        let mut reply = self.page(list)?;
        let rows = reply.logged_body();
        reply.payload = super::Payload::Json(json!({"total_count": count, key: rows}));
        Ok(reply)
    }

    /// The page asked for, from 1, and how many rows are on one.
    pub(crate) fn paging(&self) -> (usize, usize) {
        let number = |name| self.request.query(name).and_then(|value| value.parse::<usize>().ok());
        let per_page = number("per_page").filter(|count| *count > 0).unwrap_or(30).min(100);
        (number("page").unwrap_or(1).max(1), per_page)
    }

    /// The `Link` header, where there is more than one page.
    pub(crate) fn links(&self, page: usize, last: usize) -> Option<(&'static str, String)> {
        if last <= 1 {
            return None;
        }
        let link = |page: usize, name: &str| {
            let mut query: Vec<_> =
                self.request.query_text.split('&').filter(|pair| !pair.is_empty()).collect();
            query.retain(|pair| !pair.starts_with("page="));
            let number = format!("page={page}");
            query.push(&number);
            format!("<{}{}?{}>; rel=\"{name}\"", self.world.url, self.request.path, query.join("&"))
        };
        let mut links = Vec::new();
        if page > 1 {
            links.push(link(page - 1, "prev"));
            links.push(link(1, "first"));
        }
        if page < last {
            links.push(link(page + 1, "next"));
            links.push(link(last, "last"));
        }
        Some(("link", links.join(", ")))
    }
}

/// A text in the body that has to be there.
pub(crate) fn required<'a>(body: &'a Value, resource: &str, field: &str) -> Result<&'a str, Reply> {
    let missing = || validation_failed(resource, field, "missing_field", "");
    body.get(field).and_then(Value::as_str).ok_or_else(missing)
}

/// A text in the body that may be absent.
pub(crate) fn optional(body: &Value, field: &str) -> Option<String> {
    body.get(field).and_then(Value::as_str).map(ToOwned::to_owned)
}

/// Texts in a list of the body.
pub(crate) fn texts(body: &Value, field: &str) -> Vec<String> {
    let list = body.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}

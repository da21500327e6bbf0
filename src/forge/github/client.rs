//! Requests to GitHub's REST API: who asks, how answers are classified, and how writes are spaced.
//!
//! What it promises: nothing is sent twice by itself (a POST that was answered with an error may
//! have been done), the API version is pinned, limits are obeyed and shared, the body of every
//! refusal is logged. What it never does: log a token, or follow a link to another host.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::BodyExt;
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{
    GithubOptions,
    auth::{Access, Identity},
    limits::{self, Pauses},
};
use crate::base::{
    Acquired, ExposeSecret, Fault, RateLimit, RateLimiter, Result, key_value::KeyValueStore,
};

/// The version of the API that is asked for.
const API_VERSION: &str = "2022-11-28";

/// How long one request may take, its answer included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Writes of one account are this far apart: GitHub asks for a second.
const WRITES_PER_SECOND: f64 = 1.0;

/// The most that is read of one answer.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// How much of a refusal's body is logged.
const LOGGED_BYTES: usize = 2048;

/// One answer.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// By name, in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
}

impl Answer {
    /// A header's value, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// The body, read as JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, what: &str) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| {
            // A cut body may be whole the next time.
            Fault::transient(format!("GitHub's answer about {what} cannot be read: {error}"))
        })
    }

    /// Where the next page is.
    fn next(&self) -> Option<&str> {
        let links = self.header("link")?.split(',');
        let next = links.map(str::trim).find(|link| link.ends_with("rel=\"next\""))?;
        next.strip_prefix('<')?.split_once('>').map(|(url, _)| url)
    }
}

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Call {
    method: http::Method,
    path: String,
    body: Option<Value>,
}

impl Call {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: http::Method::GET, path: path.into(), body: None }
    }

    pub(super) fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: http::Method::POST, path: path.into(), body: Some(body) }
    }

    pub(super) fn put(path: impl Into<String>, body: Value) -> Self {
        Self { method: http::Method::PUT, path: path.into(), body: Some(body) }
    }

    pub(super) fn patch(path: impl Into<String>, body: Value) -> Self {
        Self { method: http::Method::PATCH, path: path.into(), body: Some(body) }
    }

    pub(super) fn delete(path: impl Into<String>) -> Self {
        Self { method: http::Method::DELETE, path: path.into(), body: None }
    }

    fn writes(&self) -> bool {
        self.method != http::Method::GET
    }
}

/// GitHub's REST API. Cheap to clone.
#[derive(Clone)]
pub(super) struct Client {
    http: Octocrab,
    base: Arc<str>,
    identity: Arc<Identity>,
    pauses: Pauses,
    writes: RateLimiter,
}

impl Client {
    /// As the options say, sharing limits with all processes of `store`.
    pub(super) fn new(options: &GithubOptions, store: Arc<dyn KeyValueStore>) -> Result<Self> {
        let base = options.url.trim_end_matches('/');
        let refuse = |error: &dyn std::fmt::Display| {
            Fault::permanent(format!("github.url `{base}` cannot be used: {error}"))
        };
        let builder = Octocrab::builder().base_uri(base).map_err(|error| refuse(&error))?;
        let http = builder
            .set_connect_timeout(Some(Duration::from_secs(10)))
            .set_read_timeout(Some(REQUEST_TIMEOUT))
            .build()
            .map_err(|error| refuse(&error))?;
        let limit = RateLimit { capacity: 1.0, per_second: WRITES_PER_SECOND };
        Ok(Self {
            http,
            base: base.into(),
            identity: Arc::new(Identity::of(options)?),
            pauses: Pauses::new(store.clone()),
            writes: RateLimiter::new(store, "github-writes", limit),
        })
    }

    /// Whether it acts for an App, which alone may write check runs.
    pub(super) fn is_app(&self) -> bool {
        matches!(*self.identity, Identity::App { .. })
    }

    /// The Authorization header that git needs for the repository.
    pub(super) async fn git_authorization(&self, access: &Access) -> Result<Option<String>> {
        let token = self.identity.token(self, access).await?;
        Ok(token.map(|token| super::auth::basic(token.expose_secret())))
    }

    /// Sends a request in the name of whoever may access the repository.
    ///
    /// # Errors
    /// Transient for limits, timeouts and 5xx, outage when GitHub cannot be reached, permanent for
    /// other refusals; the message names the call and what GitHub said.
    pub(super) async fn call(&self, access: &Access, call: Call) -> Result<Answer> {
        self.pauses.check(&access.owner).await?;
        let token = self.identity.token(self, access).await?;
        if call.writes() {
            while let Acquired::Wait(wait) = self.writes.acquire(&access.owner, 1.0).await? {
                sleep(wait).await;
            }
        }
        let bearer = token.map(|token| format!("Bearer {}", token.expose_secret()));
        self.send(&access.owner, bearer, call).await
    }

    /// The same, its answer read as JSON.
    pub(super) async fn json<T: DeserializeOwned>(&self, access: &Access, call: Call) -> Result<T> {
        let what = call.path.clone();
        self.call(access, call).await?.json(&what)
    }

    /// Every page of a list, from a path without `per_page`.
    pub(super) async fn pages<T: DeserializeOwned>(
        &self,
        access: &Access,
        path: &str,
    ) -> Result<Vec<T>> {
        let mark = if path.contains('?') { '&' } else { '?' };
        let (mut next, mut all) = (Some(format!("{path}{mark}per_page=100")), Vec::new());
        while let Some(path) = next {
            let answer = self.call(access, Call::get(&path)).await?;
            all.extend(answer.json::<Vec<T>>(&path)?);
            next = answer.next().and_then(|url| self.below_base(url));
        }
        Ok(all)
    }

    /// The path of an address of this API; `None` for any other host's.
    fn below_base(&self, url: &str) -> Option<String> {
        url.strip_prefix(&*self.base).filter(|path| path.starts_with('/')).map(str::to_owned)
    }

    /// Sends one request with this Authorization header.
    pub(super) async fn send(
        &self,
        account: &str,
        authorization: Option<String>,
        call: Call,
    ) -> Result<Answer> {
        let named = format!("{} {}", call.method, call.path);
        let answer = timeout(REQUEST_TIMEOUT, self.exchange(authorization, &call))
            .await
            .map_err(|_| Fault::timeout(format!("{named}: no answer from GitHub in time")))?
            .map_err(|why| Fault::outage(format!("{named}: GitHub cannot be reached: {why}")))?;
        metrics::counter!("verdict_github_requests_total", "status" => answer.status.to_string())
            .increment(1);
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        Err(self.refused(account, &named, &answer).await?)
    }

    async fn exchange(&self, authorization: Option<String>, call: &Call) -> Result<Answer, String> {
        let text = |error: &dyn std::error::Error| causes(error);
        let mut request = http::Request::builder()
            .method(call.method.clone())
            .uri(format!("{}{}", self.base, call.path))
            .header("accept", "application/vnd.github+json")
            .header("x-github-api-version", API_VERSION);
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let request = self.http.build_request(request, call.body.as_ref()).map_err(|e| text(&e))?;
        let response = self.http.send(request).await.map_err(|e| text(&e))?;
        let (head, body) = response.into_parts();
        let body = http_body_util::Limited::new(body, MAX_ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        let headers = head.headers.iter().filter_map(header).collect();
        Ok(Answer { status: head.status.as_u16(), headers, body })
    }

    /// What an answer that refuses means.
    async fn refused(&self, account: &str, call: &str, answer: &Answer) -> Result<Fault> {
        let seconds = jiff::Timestamp::now().as_second();
        if let Some(limited) = limits::limited(answer, seconds) {
            return self.pauses.pause(account, limited).await;
        }
        let shown = &answer.body[..answer.body.len().min(LOGGED_BYTES)];
        let shown = String::from_utf8_lossy(shown);
        let status = answer.status;
        tracing::warn!(call, status, body = %shown, "GitHub refused");
        let said: Option<Value> = serde_json::from_slice(&answer.body).ok();
        let said = said.as_ref().and_then(|body| body["message"].as_str()).unwrap_or("no message");
        let message = format!("{call}: GitHub answered {status}: {said}");
        Ok(match status {
            408 | 409 | 425 | 500.. => Fault::transient(message),
            401 => Fault::permanent(format!("{message}; check the App's key or github.token")),
            403 => Fault::permanent(match answer.header("x-accepted-github-permissions") {
                Some(needed) => format!("{message}; this call needs {needed}"),
                None => message,
            }),
            _ => Fault::permanent(message),
        })
    }
}

/// An error with all its causes, in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

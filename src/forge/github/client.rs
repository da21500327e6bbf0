//! Requests to GitHub's REST API: who asks, how answers are classified, and how writes are spaced.
//!
//! What it promises: nothing is sent twice by itself (a POST that was answered with an error may
//! have been done), the API version is pinned, limits are obeyed and shared, the body of every
//! refusal is logged. What it never does: log a token, or follow a link to another host.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{
    GithubOptions,
    auth::{Access, Identity},
    graphql::GRAPHQL,
    limits::{self, Pauses},
    model::{AppInstallation, Repositories},
};
use crate::base::{
    Acquired, ExposeSecret, Fault, RateLimit, RateLimiter, Result, Secret, key_value::KeyValueStore,
};

/// The version of the API that is asked for.
const API_VERSION: &str = "2022-11-28";

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
    pub(super) method: http::Method,
    pub(super) path: String,
    pub(super) body: Option<Value>,
    pub(super) writes: bool,
}

impl Call {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: http::Method::GET, path: path.into(), body: None, writes: false }
    }

    pub(super) fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: http::Method::POST, path: path.into(), body: Some(body), writes: true }
    }

    pub(super) fn put(path: impl Into<String>, body: Value) -> Self {
        Self { method: http::Method::PUT, path: path.into(), body: Some(body), writes: true }
    }

    pub(super) fn patch(path: impl Into<String>, body: Value) -> Self {
        Self { method: http::Method::PATCH, path: path.into(), body: Some(body), writes: true }
    }

    pub(super) fn delete(path: impl Into<String>) -> Self {
        Self { method: http::Method::DELETE, path: path.into(), body: None, writes: true }
    }

    fn named(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// In whose name a list is read.
enum As<'a> {
    /// Whoever may access the repository.
    Whoever(&'a Access),
    /// Who has this Authorization header, with the account whose limits count.
    Bearer(&'a str, Option<String>),
}

/// GitHub's REST API. Cheap to clone.
#[derive(Clone)]
pub(super) struct Client {
    /// Made for the first request: it reads all certificates of the machine.
    http: Arc<OnceLock<Octocrab>>,
    base: Arc<str>,
    identity: Arc<Identity>,
    pub(super) pauses: Pauses,
    /// None where writes need no room between them.
    writes: Option<RateLimiter>,
    timeout: Duration,
}

impl Client {
    /// As the options say, sharing limits with all processes of `store`.
    pub(super) fn new(options: &GithubOptions, store: Arc<dyn KeyValueStore>) -> Result<Self> {
        let base = options.url.trim_end_matches('/');
        base.parse::<http::Uri>().map_err(|error| {
            Fault::permanent(format!("github.url `{base}` cannot be used: {error}"))
        })?;
        let spaced = |interval: Duration| {
            let limit = RateLimit { capacity: 1.0, per_second: 1.0 / interval.as_secs_f64() };
            RateLimiter::new(store.clone(), "github-writes", limit)
        };
        Ok(Self {
            http: Arc::default(),
            base: base.into(),
            identity: Arc::new(Identity::of(options)?),
            pauses: Pauses::new(store.clone()),
            writes: Some(options.write_interval).filter(|wait| !wait.is_zero()).map(spaced),
            timeout: options.timeout,
        })
    }

    fn http(&self) -> octocrab::Result<&Octocrab> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let http = Octocrab::builder()
            .set_connect_timeout(Some(Duration::from_secs(10)))
            .set_read_timeout(Some(self.timeout))
            .build()?;
        Ok(self.http.get_or_init(|| http))
    }

    /// The App it acts for, which alone may write check runs.
    pub(super) fn app(&self) -> Option<u64> {
        self.identity.app_id()
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
        let named = call.named();
        classified(&named, self.ask(access, call).await?)
    }

    /// The same, read as JSON; `None` where GitHub says that there is no such thing.
    pub(super) async fn find<T: DeserializeOwned>(
        &self,
        access: &Access,
        call: Call,
    ) -> Result<Option<T>> {
        let named = call.named();
        match self.ask(access, call).await? {
            gone if matches!(gone.status, 404 | 410) => Ok(None),
            answer => classified(&named, answer)?.json(&named).map(Some),
        }
    }

    /// Whether it may act on the repository at all: an App only where it is installed.
    pub(super) async fn is_installed(&self, access: &Access) -> Result<bool> {
        self.pauses.check(&access.owner).await?;
        self.identity.is_installed(self, access).await
    }

    /// The account that it acts as; empty for nobody.
    pub(super) async fn login(&self) -> Result<String> {
        self.identity.login(self).await
    }

    /// Sends a request in the name of whoever may access the repository; any answer but a limit.
    async fn ask(&self, access: &Access, call: Call) -> Result<Answer> {
        self.pauses.check(&access.owner).await?;
        let token = self.identity.token(self, access).await?;
        if let Some(writes) = self.writes.as_ref().filter(|_| call.writes) {
            while let Acquired::Wait(wait) = writes.acquire(&access.owner, 1.0).await? {
                sleep(wait).await;
            }
        }
        let bearer = |token: &Secret| format!("Bearer {}", token.expose_secret());
        let answer = self.exchanged(&access.owner, token.as_ref().map(bearer), &call).await?;
        // Revoked, or of an installation that is gone. Nothing was done.
        if answer.status == 401
            && let Some(token) = token
            && self.identity.forget(access, &token).await
        {
            let token = self.identity.token(self, access).await?;
            return self.exchanged(&access.owner, token.as_ref().map(bearer), &call).await;
        }
        Ok(answer)
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
        let mut all = Vec::new();
        for page in self.list(As::Whoever(access), path).await? {
            all.extend(page.json::<Vec<T>>(path)?);
        }
        Ok(all)
    }

    /// The answer to a request of the App itself, read as JSON.
    pub(super) async fn app_json<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        let named = call.named();
        self.send("", self.identity.app_bearer()?, call).await?.json(&named)
    }

    /// Every page of a list that the App itself reads.
    pub(super) async fn app_pages<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>> {
        let mut all = Vec::new();
        for page in self.list(As::Bearer("", self.identity.app_bearer()?), path).await? {
            all.extend(page.json::<Vec<T>>(path)?);
        }
        Ok(all)
    }

    /// The names of an installation's repositories.
    pub(super) async fn repositories_of(&self, of: &AppInstallation) -> Result<Vec<String>> {
        let path = "/installation/repositories";
        let bearer = self.identity.installation_bearer(self, of).await?;
        let mut all = Vec::new();
        for page in self.list(As::Bearer(&of.account.login, bearer), path).await? {
            all.extend(page.json::<Repositories>(path)?.repositories);
        }
        Ok(all.into_iter().map(|repository| repository.full_name).collect())
    }

    /// The pages of a list, from a path without `per_page`.
    async fn list(&self, by: As<'_>, path: &str) -> Result<Vec<Answer>> {
        let mark = if path.contains('?') { '&' } else { '?' };
        let (mut next, mut all) = (Some(format!("{path}{mark}per_page=100")), Vec::new());
        while let Some(path) = next {
            let call = Call::get(&path);
            let answer = match &by {
                As::Whoever(access) => self.call(access, call).await?,
                As::Bearer(account, bearer) => self.send(account, bearer.clone(), call).await?,
            };
            next = answer.next().and_then(|url| self.below_base(url));
            all.push(answer);
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
        classified(&call.named(), self.exchanged(account, authorization, &call).await?)
    }

    /// The same; any answer but a limit.
    pub(super) async fn exchanged(
        &self,
        account: &str,
        authorization: Option<String>,
        call: &Call,
    ) -> Result<Answer> {
        let named = call.named();
        let answer = timeout(self.timeout, self.exchange(authorization, call))
            .await
            .map_err(|_| Fault::timeout(format!("{named}: no answer from GitHub in time")))?
            .map_err(|why| Fault::outage(format!("{named}: GitHub cannot be reached: {why}")))?;
        metrics::counter!("verdict_github_requests_total", "status" => answer.status.to_string())
            .increment(1);
        match limits::limited(&answer, jiff::Timestamp::now().as_second()) {
            Some(limited) => Err(self.pauses.pause(account, limited).await?),
            None => Ok(answer),
        }
    }

    async fn exchange(&self, authorization: Option<String>, call: &Call) -> Result<Answer, String> {
        let text = |error: &dyn std::error::Error| causes(error);
        let mut request = http::Request::builder()
            .method(call.method.clone())
            .uri(format!("{}{}", self.base_of(call), call.path))
            .header("accept", "application/vnd.github+json")
            .header("x-github-api-version", API_VERSION);
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let http = self.http().map_err(|e| text(&e))?;
        let request = http.build_request(request, call.body.as_ref()).map_err(|e| text(&e))?;
        let response = http.send(request).await.map_err(|e| text(&e))?;
        let (head, body) = response.into_parts();
        let body = http_body_util::Limited::new(body, MAX_ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        let headers = head.headers.iter().filter_map(header).collect();
        Ok(Answer { status: head.status.as_u16(), headers, body })
    }

    fn base_of(&self, call: &Call) -> &str {
        match call.path.as_str() {
            GRAPHQL => self.base.strip_suffix("/v3").unwrap_or(&self.base),
            _ => &self.base,
        }
    }
}

/// An answer that is none of success becomes what it means.
pub(super) fn classified(call: &str, answer: Answer) -> Result<Answer> {
    if (200..300).contains(&answer.status) {
        return Ok(answer);
    }
    let shown = &answer.body[..answer.body.len().min(LOGGED_BYTES)];
    let shown = String::from_utf8_lossy(shown);
    let status = answer.status;
    let error = Some(&*shown).filter(|shown| !shown.is_empty());
    tracing::warn!(call, http_status = status, error, "GitHub refused");
    let said: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let said = said.as_ref().and_then(|body| body["message"].as_str()).unwrap_or("no message");
    let message = format!("{call}: GitHub answered {status}: {said}");
    Err(match status {
        // All of GitHub is away: no attempt of a run is at fault.
        503 => Fault::outage(message),
        408 | 409 | 425 | 500.. => Fault::transient(message),
        401 => Fault::permanent(format!("{message}; check the App's key or github.token")),
        403 => Fault::permanent(match answer.header("x-accepted-github-permissions") {
            Some(needed) => format!("{message}; this call needs {needed}"),
            None => message,
        }),
        _ => Fault::permanent(message),
    })
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

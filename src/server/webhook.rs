//! `POST /webhooks/github`: an event, taken in.
//!
//! What it promises: a body whose signature is not GitHub's changes nothing; an event is durable on
//! the queue before it is answered, with 202; when it cannot be made so the answer is 503, and
//! GitHub's delivery log keeps it. What it never does: ask GitHub, or decide what an event means.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;
use tokio::time::timeout;

use super::answer::Refusal;
use crate::{
    base::{ExposeSecret, Result, Secret},
    queue::{BODY_LIMIT, Webhook},
};

/// How long a body may take to arrive. GitHub waits ten seconds for the answer.
const BODY_TIMEOUT: Duration = Duration::from_secs(8);

/// When to ask again after the queue took nothing.
const RETRY_AFTER_SECONDS: u64 = 30;

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is on the queue.
    Queued,
    /// It was delivered before.
    Known,
}

/// Where events go.
#[async_trait]
pub trait WebhookInbox: Send + Sync + 'static {
    /// Makes the event durable. `source` names the App or hook that it came through.
    ///
    /// # Errors
    /// When it could not be made durable.
    async fn accept(&self, webhook: Webhook, source: &str) -> Result<Accepted>;
}

/// Events of GitHub, taken in.
#[derive(Clone)]
pub struct Webhooks {
    secrets: Arc<[Secret]>,
    inbox: Arc<dyn WebhookInbox>,
}

impl Webhooks {
    /// Signed with one of these secrets, into this inbox. Without a secret any event is taken, so
    /// only this machine may send them.
    pub fn new(secrets: Vec<Secret>, inbox: Arc<dyn WebhookInbox>) -> Self {
        Self { secrets: secrets.into(), inbox }
    }

    /// Whether events must be signed.
    pub(super) fn are_signed(&self) -> bool {
        !self.secrets.is_empty()
    }

    fn check(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), Refusal> {
        if !self.are_signed() {
            return Ok(());
        }
        let refuse = |why: &str| Err(Refusal::new(StatusCode::UNAUTHORIZED, why));
        let Some(shown) = text(headers, "x-hub-signature-256") else {
            return refuse("the event is not signed: set the webhook's secret on GitHub");
        };
        let shown = shown.strip_prefix("sha256=").and_then(|digits| hex::decode(digits).ok());
        let Some(shown) = shown else { return refuse("the signature cannot be read") };
        // Every secret is tried, whichever fits, so that the time tells nothing.
        let fits = |secret: &Secret| signature_fits(secret, body, &shown);
        match self.secrets.iter().filter(|secret| fits(secret)).count() {
            0 => refuse("the signature is of another secret than github.webhook_secret"),
            _ => Ok(()),
        }
    }
}

/// The route.
pub(super) fn router(webhooks: Webhooks) -> Router {
    Router::new()
        .route("/github", post(take))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(webhooks)
}

async fn take(State(webhooks): State<Webhooks>, request: Request) -> Result<Response, Refusal> {
    let headers = request.headers().clone();
    let arriving = timeout(BODY_TIMEOUT, Bytes::from_request(request, &()));
    let body = arriving.await.map_err(|_| {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")
    })?;
    let body = body.map_err(|rejected| Refusal::new(rejected.status(), rejected.body_text()))?;
    webhooks.check(&headers, &body)?;
    let Some(event) = text(&headers, "x-github-event") else {
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "there is no x-github-event header"));
    };
    if event == "ping" {
        return Ok(Json(json!({ "status": "pong" })).into_response());
    }
    let webhook = readable(&headers, event, body)?;
    let source = text(&headers, "x-github-hook-installation-target-id");
    let source = source.or_else(|| text(&headers, "x-github-hook-id")).unwrap_or_default();
    match webhooks.inbox.accept(webhook, source).await {
        Ok(accepted) => {
            let status = if accepted == Accepted::Queued { "queued" } else { "known" };
            Ok((StatusCode::ACCEPTED, Json(json!({ "status": status }))).into_response())
        }
        Err(fault) => {
            tracing::warn!(error = %fault, "an event could not be put on the queue");
            let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, fault.to_string());
            Err(refusal.with(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS)))
        }
    }
}

/// The event, read as a queue's message is.
fn readable(headers: &HeaderMap, event: &str, body: Bytes) -> Result<Webhook, Refusal> {
    let kind = text(headers, "content-type").unwrap_or_default();
    let delivery = text(headers, "x-github-delivery");
    Webhook::read(kind, event, delivery, body).map_err(|why| {
        let why = format!("the event cannot be read: {why}");
        Refusal::new(StatusCode::BAD_REQUEST, why)
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// In constant time.
fn signature_fits(secret: &Secret, body: &[u8], shown: &[u8]) -> bool {
    let key = secret.expose_secret().as_bytes();
    // HMAC takes a key of any length.
    Hmac::<Sha256>::new_from_slice(key).is_ok_and(|mut mac| {
        mac.update(body);
        mac.verify_slice(shown).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GitHub's own test vector.
    #[test]
    fn githubs_vector_fits() {
        let shown = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let shown = hex::decode(shown).unwrap();
        let secret = Secret::from("It's a Secret to Everybody");
        assert!(signature_fits(&secret, b"Hello, World!", &shown));
        assert!(!signature_fits(&secret, b"Hello, World?", &shown));
        assert!(!signature_fits(&Secret::from("another"), b"Hello, World!", &shown));
    }
}

//! Who may use the API and read the metrics.
//!
//! With a token: whoever shows it; with the one that only reads, whoever does no more than that.
//! Without one the server listens on this machine's own address only, and what is left to fear are
//! pages in this machine's browsers. Such a page can send here what no other origin may read, under
//! a name of its own that resolves to this machine; so the name must be this machine's. Either way a
//! browser that says that a page of another site asks is refused what is more than reading.

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::answer::Refusal;
use crate::base::{ExposeSecret, Secret};

/// What callers must show. Holds digests: comparing those tells nothing about lengths.
#[derive(Clone)]
pub(super) struct Guard {
    /// For everything; without it, this machine only.
    full: Option<Digested>,
    /// For reading.
    read: Option<Digested>,
    /// How the token is asked for.
    scheme: &'static str,
}

type Digested = [u8; 32];

impl Guard {
    /// For these tokens, or without the first one for this machine only.
    pub(super) fn new(full: Option<&Secret>, read: Option<&Secret>) -> Self {
        let digested = |token: &Secret| digest(token.expose_secret());
        Self { full: full.map(digested), read: read.map(digested), scheme: "Bearer" }
    }

    /// The same for pages: a browser asks its user for the token, as a password.
    pub(super) fn for_browsers(&self) -> Self {
        Self { scheme: r#"Basic realm="verdict", charset="UTF-8""#, ..self.clone() }
    }

    fn admits(&self, request: &Request) -> Result<(), Refusal> {
        match &self.full {
            Some(full) => self.shows(full, request)?,
            None => names_this_machine(request)?,
        }
        if request.method().is_safe() || !is_of_another_site(request.headers()) {
            return Ok(());
        }
        let why = "a page of another site may not do this";
        Err(Refusal::new(StatusCode::FORBIDDEN, why))
    }

    fn shows(&self, full: &Digested, request: &Request) -> Result<(), Refusal> {
        let shown = shown(request.headers()).map(|shown| digest(&shown));
        let is = |token: &Digested| shown.is_some_and(|shown| shown.ct_eq(token).into());
        if is(full) {
            return Ok(());
        }
        match self.read.as_ref().is_some_and(is) {
            true if request.method().is_safe() => Ok(()),
            true => {
                let why = "the token of `server.read_token` only reads; this needs `server.token`";
                Err(Refusal::new(StatusCode::FORBIDDEN, why))
            }
            false => Err(unauthorized(self.scheme)),
        }
    }
}

/// Lets a request pass, or answers it.
pub(super) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    match guard.admits(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn digest(text: &str) -> Digested {
    Sha256::digest(text.as_bytes()).into()
}

/// The token that a request shows: a program as a bearer, a browser as the password of any user.
fn shown(headers: &HeaderMap) -> Option<String> {
    let shown = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, shown) = shown.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(shown.to_owned());
    }
    let basic =
        scheme.eq_ignore_ascii_case("basic").then(|| BASE64.decode(shown).ok()).flatten()?;
    let (_user, password) = std::str::from_utf8(&basic).ok()?.split_once(':')?;
    Some(password.to_owned())
}

fn unauthorized(scheme: &'static str) -> Refusal {
    let why =
        "this needs the token of `server.token`, as `Authorization: Bearer TOKEN` or as a password";
    let scheme = HeaderValue::from_static(scheme);
    Refusal::new(StatusCode::UNAUTHORIZED, why).with(header::WWW_AUTHENTICATE, scheme)
}

/// Whether a browser says so. Programs say nothing.
fn is_of_another_site(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if let Some(site) = text(HeaderName::from_static("sec-fetch-site")) {
        return !["same-origin", "none"].contains(&site);
    }
    let origin = text(header::ORIGIN).map(|origin| origin.split_once("://").map(|(_, host)| host));
    origin.is_some_and(|origin| origin.is_none() || origin != text(header::HOST))
}

fn names_this_machine(request: &Request) -> Result<(), Refusal> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let line = request.uri().authority();
    let own = |authority: &Authority| is_loopback(authority.host());
    if host.as_ref().is_some_and(own) && hosts.next().is_none() && line.is_none_or(own) {
        return Ok(());
    }
    let why = "without `server.token` requests must be addressed to localhost, 127.0.0.1 or [::1]";
    Err(Refusal::new(StatusCode::FORBIDDEN, why))
}

fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

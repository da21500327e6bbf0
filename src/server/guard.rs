//! Who may use the API and read the metrics.
//!
//! With a token: whoever shows it. Without one the server listens on this machine's own address
//! only, and what is left to fear are pages in this machine's browsers. Such a page can send here
//! what no other origin may read, under a name of its own that resolves to this machine; so the
//! name must be this machine's.

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::answer::Refusal;
use crate::base::{ExposeSecret, Secret};

/// What callers must show. Holds a digest: comparing those tells nothing about lengths.
#[derive(Clone)]
pub(super) struct Guard(Option<[u8; 32]>);

impl Guard {
    /// For this token, or for this machine only.
    pub(super) fn new(token: Option<&Secret>) -> Self {
        Self(token.map(|token| digest(token.expose_secret())))
    }

    fn admits(&self, request: &Request) -> Result<(), Refusal> {
        match &self.0 {
            Some(token) => shows(token, request.headers()),
            None => names_this_machine(request),
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

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn shows(token: &[u8; 32], headers: &HeaderMap) -> Result<(), Refusal> {
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|value| value.split_once(' '));
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let right = shown.is_some_and(|(_, shown)| digest(shown).ct_eq(token).into());
    if right {
        return Ok(());
    }
    let why = "this needs the token of `server.token`, as `Authorization: Bearer TOKEN`";
    let scheme = HeaderValue::from_static("Bearer");
    Err(Refusal::new(StatusCode::UNAUTHORIZED, why).with(header::WWW_AUTHENTICATE, scheme))
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

//! The HTTP side: probes, metrics, the API and the dashboard.
//!
//! What it promises: an address beyond this machine is refused unless `server.token` is set; the
//! API and the metrics ask for it, or, without one, answer only to this machine's own names; the
//! probes never ask, and tell nothing but the names and states of checks. No request holds a task
//! for ever, and a stop is graceful and bounded. What it never does: decide whether a part is
//! healthy (parts report to their [`Readiness`]), or what becomes of a run
//! ([`Runs`](crate::runs::Runs) does).

mod answer;
mod api;
mod connections;
mod guard;
mod latency;
mod look;
mod pages;
mod readiness;
mod webhook;

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    middleware::{from_fn, from_fn_with_state},
    routing::get,
};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::{catch_panic::CatchPanicLayer, timeout::TimeoutLayer};

use self::{
    answer::panicked,
    connections::ConnectionLimits,
    guard::{Guard, guard},
};
use crate::base::Secret;

pub use self::{
    answer::Refusal,
    api::{Api, ApiState, ROUTES, Routes},
    latency::describe as describe_metrics,
    look::{Found, health, look},
    readiness::{Readiness, Report},
    webhook::{Accepted, WebhookInbox, Webhooks},
};

/// How long any request may take, its body included: longer than all that it waits for.
const REQUEST: Duration = Duration::from_secs(60);

/// How long open connections get to finish once the server is told to stop.
const DRAIN: Duration = Duration::from_secs(2);

/// Where to listen and what strangers must show.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct ServerOptions {
    /// Address and port. Port 0 takes any free one.
    pub listen: SocketAddr,
    /// What callers from beyond this machine must present; needed to listen there at all.
    #[serde(skip_serializing)]
    pub token: Option<Secret>,
    /// What callers may present instead that only read.
    #[serde(skip_serializing)]
    pub read_token: Option<Secret>,
    /// Whether the states of runs are shown over HTTP.
    pub development: bool,
    /// Connections open at once; at most half of the descriptors this process may have.
    pub max_connections: usize,
    /// How long a request's head may take to arrive, and how long an idle connection stays open.
    #[serde(with = "humantime_serde")]
    pub header_timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            token: None,
            read_token: None,
            development: false,
            max_connections: 512,
            header_timeout: Duration::from_secs(10),
        }
    }
}

impl ServerOptions {
    /// Whether this may be listened on.
    ///
    /// # Errors
    /// [`ServerError::Open`] for an address beyond this machine without a token,
    /// [`ServerError::ReadOnly`] for a token that only reads alone.
    pub fn check(&self) -> Result<(), ServerError> {
        match self.token {
            None if !self.listen.ip().is_loopback() => Err(ServerError::Open(self.listen)),
            None if self.read_token.is_some() => Err(ServerError::ReadOnly),
            _ => Ok(()),
        }
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is reachable from elsewhere and nothing guards it.
    #[error("{0} can be reached from other machines: set `server.token`, or listen on 127.0.0.1")]
    Open(SocketAddr),
    /// What only reads is guarded, and what writes is not.
    #[error("`server.read_token` is set without `server.token`: set both")]
    ReadOnly,
    /// The address cannot be had.
    #[error(
        "cannot listen on {listen}: {source}; choose another address in `server.listen`, or free this one"
    )]
    Bind {
        /// The address asked for.
        listen: SocketAddr,
        /// What the system answered.
        source: io::Error,
    },
}

/// What a server shows.
#[derive(Clone)]
pub struct Parts {
    /// What `/readyz` reads out.
    pub readiness: Readiness,
    /// What `/api` answers with; without it there is no API.
    pub api: Option<Api>,
    /// Where `/webhooks/github` puts events; without it there is no such route.
    pub webhooks: Option<Webhooks>,
    /// What `/metrics` answers.
    pub metrics: Metrics,
}

/// Metrics in Prometheus's text format, rendered when asked for.
pub type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A server that holds its address and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    guard: Guard,
    limits: ConnectionLimits,
}

impl Server {
    /// Takes the address.
    ///
    /// # Errors
    /// [`ServerError::Bind`], or as [`ServerOptions::check`].
    pub async fn bind(options: &ServerOptions) -> Result<Self, ServerError> {
        options.check()?;
        let listen = options.listen;
        let failed = |source| ServerError::Bind { listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let guard = Guard::new(options.token.as_ref(), options.read_token.as_ref());
        Ok(Self { listener, address, guard, limits: ConnectionLimits::of(options) })
    }

    /// The address it has; the real port where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is cancelled, then gives requests under way two seconds.
    pub async fn run(self, parts: Parts, stop: CancellationToken) {
        let serving = connections::serve(
            self.listener,
            routes(parts, &self.guard),
            self.limits,
            stop.clone(),
        );
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(DRAIN).await;
        };
        tokio::select! {
            () = serving => {}
            () = too_late => {}
        }
    }
}

fn routes(parts: Parts, who: &Guard) -> Router {
    let Parts { readiness, api, webhooks, metrics } = parts;
    let local = from_fn_with_state(Guard::new(None, None), guard);
    let webhooks = webhooks.map_or_else(Router::new, |webhooks| match webhooks.are_signed() {
        true => webhook::router(webhooks),
        false => webhook::router(webhooks).layer(local),
    });
    let guarded = || from_fn_with_state(who.clone(), guard);
    let pages = api.as_ref().map_or_else(Router::new, |api| {
        let for_browsers = from_fn_with_state(who.for_browsers(), guard);
        pages::router(api, readiness.clone()).layer(for_browsers)
    });
    let metrics = get(async move || ([(header::CONTENT_TYPE, METRICS_TYPE)], metrics()));
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .with_state(readiness)
        .route("/metrics", metrics.layer(guarded()))
        .nest("/api", api::router(api).layer(guarded()))
        .nest("/webhooks", webhooks)
        .merge(pages)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, REQUEST))
        .layer(from_fn(latency::measured))
}

/// Prometheus's text format.
const METRICS_TYPE: &str = "text/plain; version=0.0.4";

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, Json<Report>) {
    let report = readiness.report();
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(report))
}

//! The HTTP side: `/livez` and `/readyz`.
//!
//! What it promises: an address beyond this machine is refused unless `server.token` is set; the
//! probes themselves never ask for the token and tell nothing but the names and states of checks;
//! a stop is graceful and bounded. What it never does: decide whether a part is healthy. Parts
//! report to their [`Readiness`]; the server reads it out.

mod readiness;

use std::{io, net::SocketAddr, time::Duration};

use axum::{Json, Router, extract::State, http::StatusCode, routing::get};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::base::Secret;

pub use readiness::{Readiness, Report};

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
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 8080)), token: None }
    }
}

impl ServerOptions {
    /// Whether this may be listened on.
    ///
    /// # Errors
    /// [`ServerError::Open`] for an address beyond this machine without a token.
    pub fn check(&self) -> Result<(), ServerError> {
        match self.token {
            None if !self.listen.ip().is_loopback() => Err(ServerError::Open(self.listen)),
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
    /// The address cannot be had.
    #[error("cannot listen on {listen} (setting `server.listen`): {source}")]
    Bind {
        /// The address asked for.
        listen: SocketAddr,
        /// What the system answered.
        source: io::Error,
    },
    /// The server ended by itself.
    #[error("the HTTP server on {listen} stopped: {source}")]
    Stopped {
        /// The address it had.
        listen: SocketAddr,
        /// What the system answered.
        source: io::Error,
    },
}

/// A server that holds its address and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Takes the address.
    ///
    /// # Errors
    /// [`ServerError::Open`] or [`ServerError::Bind`].
    pub async fn bind(options: &ServerOptions) -> Result<Self, ServerError> {
        options.check()?;
        let listen = options.listen;
        let failed = |source| ServerError::Bind { listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// The address it has; the real port where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is cancelled, then gives open connections two seconds.
    ///
    /// # Errors
    /// [`ServerError::Stopped`] when the listener fails.
    pub async fn run(
        self,
        readiness: Readiness,
        stop: CancellationToken,
    ) -> Result<(), ServerError> {
        let listen = self.address;
        let serving = axum::serve(self.listener, routes(readiness))
            .with_graceful_shutdown(stop.clone().cancelled_owned());
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(DRAIN).await;
        };
        tokio::select! {
            ended = serving => ended.map_err(|source| ServerError::Stopped { listen, source }),
            () = too_late => Ok(()),
        }
    }
}

fn routes(readiness: Readiness) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .with_state(readiness)
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, Json<Report>) {
    let report = readiness.report();
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(report))
}

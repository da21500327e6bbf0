//! Connections: accepted, bounded, and ended.
//!
//! What it promises: no more connections are open than [`ServerOptions::max_connections`], nor than
//! half the descriptors this process may have, so that the rest of it can open what it needs; a
//! connection that has sent no whole request head within [`ServerOptions::header_timeout`] is
//! closed; when all places are taken, the connection that has waited longest without a request
//! under way gives its place to the new one, so that a probe is answered however many idle
//! connections there are. What it never does: cut short a request under way to make room.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, extract::Request};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::ServerOptions;

/// Descriptors this process asks for; it gets at most what its hard limit allows.
const WANTED_DESCRIPTORS: u64 = 65_536;

/// How long to wait after the system refused to accept a connection.
const ACCEPT_RETRY: Duration = Duration::from_millis(200);

/// Bounds of all connections together.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    /// Open at once.
    connections: usize,
    /// For a request's head to arrive, and for an idle connection to send the next one.
    head: Duration,
}

impl ConnectionLimits {
    /// As the options say, within what the system allows. Raises this process's limit of
    /// descriptors as far as it may.
    pub(super) fn of(options: &ServerOptions) -> Self {
        let descriptors = rlimit::increase_nofile_limit(WANTED_DESCRIPTORS).unwrap_or(1024);
        let half = usize::try_from(descriptors / 2).unwrap_or(usize::MAX);
        Self { connections: options.max_connections.min(half).max(1), head: options.header_timeout }
    }
}

/// One open connection.
#[derive(Default)]
struct Connection {
    /// Requests under way.
    requests: AtomicUsize,
    close: CancellationToken,
}

/// Counts a request as under way for as long as it lives.
struct UnderWay(Arc<Connection>);

impl UnderWay {
    fn on(connection: &Arc<Connection>) -> Self {
        connection.requests.fetch_add(1, Ordering::AcqRel);
        Self(connection.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The open connections, oldest first.
#[derive(Default)]
struct OpenConnections {
    tasks: JoinSet<u64>,
    by_age: BTreeMap<u64, Arc<Connection>>,
    next: u64,
}

impl OpenConnections {
    /// Makes room for one more: waits while every connection has a request under way.
    async fn make_room(&mut self, limit: usize) {
        while let Some(ended) = self.tasks.try_join_next() {
            self.forget(ended);
        }
        while self.by_age.len() >= limit {
            let idle =
                |connection: &Arc<Connection>| connection.requests.load(Ordering::Acquire) == 0;
            let oldest = self.by_age.iter().find(|(_, connection)| idle(connection));
            if let Some((&id, connection)) = oldest {
                connection.close.cancel();
                self.by_age.remove(&id);
                metrics::counter!("verdict_http_connections_closed_total", "reason" => "limit")
                    .increment(1);
            } else if let Some(ended) = self.tasks.join_next().await {
                self.forget(ended);
            }
        }
    }

    fn forget(&mut self, ended: Result<u64, tokio::task::JoinError>) {
        if let Ok(id) = ended {
            self.by_age.remove(&id);
        }
    }

    fn add(&mut self, stream: TcpStream, router: Router, head: Duration, watcher: Watcher) {
        let (id, connection) = (self.next, Arc::new(Connection::default()));
        self.next += 1;
        self.by_age.insert(id, connection.clone());
        self.tasks.spawn(async move {
            let close = connection.close.clone();
            tokio::select! {
                () = close.cancelled() => {}
                () = answer(stream, router, head, watcher, connection) => {}
            }
            id
        });
    }
}

/// Answers the requests of one connection until either side ends it. What goes wrong on it is its
/// peer's business.
async fn answer(
    stream: TcpStream,
    router: Router,
    head: Duration,
    watcher: Watcher,
    connection: Arc<Connection>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (under_way, router) = (UnderWay::on(&connection), router.clone());
        async move {
            let response = router.oneshot(request.map(Body::new)).await;
            drop(under_way);
            response
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head);
    if let Err(error) = watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await
    {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Accepts connections and answers on them until `stop`, then lets the requests under way finish.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    stop: CancellationToken,
) {
    let graceful = GracefulShutdown::new();
    let mut open = OpenConnections::default();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = open.make_room(limits.connections) => {}
                }
                open.add(stream, router.clone(), limits.head, graceful.watcher());
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
    drop(listener);
    graceful.shutdown().await;
}

/// Whether accepting failed because the peer was gone already.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

//! The HTTP server: one thread with a runtime of its own, so that it runs beside tests of any kind.
//!
//! Laid out: this file (start and end) · `connection` (sockets that can be reset) · `serve` (a request's way, with faults) ·
//! `git_http` (clone, fetch and push) · `webhooks` (sends them) · `admin` (the endpoints under `/_fake`).

mod admin;
mod connection;
mod git_http;
mod serve;
pub(crate) mod webhooks;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc as std_mpsc},
    thread::JoinHandle,
};

use axum::{Router, extract::connect_info::IntoMakeServiceWithConnectInfo};
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc, oneshot},
};

use crate::world::World;
use connection::{Listener, Reset};

/// What handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    world: Arc<Mutex<World>>,
    /// Wakes late writes that wait to be released.
    pub(crate) late_writes: Arc<Notify>,
    /// Wakes whoever waits for a change: a request handled, a webhook delivered.
    pub(crate) changed: Arc<Notify>,
}

impl Shared {
    /// The world, locked.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        // A handler that panicked has left plain data behind; the next may go on.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running server. It ends when this is dropped.
pub(crate) struct Server {
    pub(crate) shared: Shared,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl Server {
    /// Listens on an address, `127.0.0.1:0` for any free port.
    pub(crate) fn start(listen: &str) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("fake-github-").tempdir()?;
        let listener = std::net::TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (deliveries, to_send) = mpsc::unbounded_channel();
        let world = World::new(format!("http://{address}"), folder.path().to_owned(), deliveries);
        let shared = Shared {
            world: Arc::new(Mutex::new(world)),
            late_writes: Arc::new(Notify::new()),
            changed: Arc::new(Notify::new()),
        };
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std_mpsc::channel();
        let for_thread = shared.clone();
        let thread =
            std::thread::spawn(move || run(listener, for_thread, to_send, stopped, &ready));
        is_ready.recv().map_err(std::io::Error::other)??;
        Ok(Self { shared, address, stop: Some(stop), thread: Some(thread), _folder: folder })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    listener: std::net::TcpListener,
    shared: Shared,
    deliveries: mpsc::UnboundedReceiver<u64>,
    stopped: oneshot::Receiver<()>,
    ready: &std_mpsc::Sender<std::io::Result<()>>,
) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    runtime.block_on(async {
        let listener = match TcpListener::from_std(listener) {
            Ok(listener) => Listener(listener),
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        let sender = tokio::spawn(webhooks::send_all(shared.clone(), deliveries));
        let server = tokio::spawn(async move { axum::serve(listener, service(shared)).await });
        let _ = ready.send(Ok(()));
        let _ = stopped.await;
        sender.abort();
        server.abort();
    });
    runtime.shutdown_background();
}

fn service(shared: Shared) -> IntoMakeServiceWithConnectInfo<Router, Reset> {
    let router = Router::new().fallback(serve::serve).with_state(shared);
    router.into_make_service_with_connect_info::<Reset>()
}

//! The serving process: the worker, and the endpoint its health is read from.

use tokio_util::sync::CancellationToken;

use super::{App, AppError};
use crate::{
    server::{Readiness, Server, ServerError},
    worker::{Status, Worker},
};

impl App {
    /// Works until `stop`, then winds down as [`Worker::run`] does. The probes answer for as long.
    ///
    /// # Errors
    /// If the address cannot be had, or the server stops by itself.
    pub async fn serve(&self, stop: CancellationToken) -> Result<(), AppError> {
        let failed = |error: ServerError| AppError::new("server.listen", error);
        let server = Server::bind(&self.settings.server).await.map_err(failed)?;
        tracing::info!(
            address = %server.address(),
            owner = %self.runtime.owner,
            store = %self.settings.store.url,
            queue = %self.settings.queue.url,
            concurrency = self.settings.worker.concurrency,
            "serving"
        );
        let readiness = Readiness::new(["worker"]);
        let worker = self.worker();
        tokio::spawn(report(worker.clone(), readiness.clone()));
        let ended = CancellationToken::new();
        let serving = tokio::spawn(server.run(readiness, ended.clone()));
        worker.run(stop).await;
        ended.cancel();
        tracing::info!(counts = ?worker.counts().get(), "stopped");
        match serving.await {
            Ok(Err(error)) => Err(failed(error)),
            _ => Ok(()),
        }
    }
}

/// Tells the probes how the worker is.
async fn report(worker: Worker, readiness: Readiness) {
    let mut status = worker.status();
    loop {
        let now = status.borrow_and_update().clone();
        match now {
            Status::Taking => readiness.set("worker", Ok(())),
            Status::Paused(why) => readiness.set("worker", Err(why)),
            Status::Stopping => readiness.set("worker", Err("stopping".to_owned())),
        }
        if status.changed().await.is_err() {
            return;
        }
    }
}

//! `verdict serve`: the worker, and the endpoint its health is read from.

use clap::ValueEnum;
use tokio_util::sync::CancellationToken;

use super::{CliError, signal};
use crate::{
    app::App,
    server::{Readiness, Server},
    worker::{Status, Worker},
};

/// `verdict serve`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to be: so far everything is the worker.
    #[arg(long, value_enum, default_value_t)]
    role: Role,
}

/// The parts a process plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Role {
    /// All there are.
    #[default]
    All,
    /// The worker.
    Worker,
}

pub(super) async fn main(args: &Args, app: &App) -> Result<(), CliError> {
    let _ = args.role;
    let stop = signal::stop_token();
    let server = Server::bind(&app.settings.server).await.map_err(CliError::usage)?;
    tracing::info!(
        address = %server.address(),
        owner = %app.runtime.owner,
        store = %app.settings.store.url,
        queue = %app.settings.queue.url,
        concurrency = app.settings.worker.concurrency,
        "serving"
    );
    let readiness = Readiness::new(["worker"]);
    let worker = app.worker();
    tokio::spawn(report(worker.clone(), readiness.clone()));
    // The probes answer for as long as the worker winds down.
    let ended = CancellationToken::new();
    let serving = tokio::spawn(server.run(readiness, ended.clone()));
    worker.run(stop).await;
    ended.cancel();
    tracing::info!(counts = ?worker.counts().get(), "stopped");
    match serving.await {
        Ok(Err(error)) => Err(CliError::failed(error)),
        _ => Ok(()),
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

//! The serving process: the worker, the HTTP side, or both.

use std::{net::SocketAddr, sync::Arc};

use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{App, AppError, inbox::QueueInbox, systemd};
use crate::{
    checkpoint,
    config::{self, Settings},
    graph, runs,
    server::{self, Api, Found, Parts, Readiness, Server, ServerError, ServerOptions, Webhooks},
    telemetry::metrics::{self, Metrics},
    worker::{self, Status, Worker},
};

/// The parts a process plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Role {
    /// Both.
    #[default]
    All,
    /// Accept runs over HTTP, and take nothing off the queue.
    Gateway,
    /// Take work off the queue; over HTTP only probes and metrics.
    Worker,
}

impl Role {
    /// Its word, as on the command line.
    fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Gateway => "gateway",
            Self::Worker => "worker",
        }
    }

    /// Whether it accepts runs over HTTP.
    pub fn accepts(self) -> bool {
        self != Self::Worker
    }

    /// Whether it takes work.
    pub fn works(self) -> bool {
        self != Self::Gateway
    }

    /// The checks of its readiness.
    fn checks(self) -> impl Iterator<Item = &'static str> {
        let accepts = self.accepts().then_some(["queue", "store"]);
        accepts.into_iter().flatten().chain(self.works().then_some("worker"))
    }
}

impl App {
    /// Plays its part until `stop`, then winds down as [`Worker::run`] does. The probes answer for
    /// as long.
    ///
    /// # Errors
    /// If the address cannot be had, or the server stops by itself.
    pub async fn serve(&self, role: Role, stop: CancellationToken) -> Result<(), AppError> {
        self.check_webhooks(role)?;
        let server = Server::bind(&self.settings.server).await.map_err(unserved)?;
        let metrics = metrics::install().map_err(|error| AppError::new("metrics", error))?;
        describe(&metrics);
        let _tidying = background({
            let metrics = metrics.clone();
            async move { metrics.tidy().await }
        });
        self.tell(role, &server);
        let readiness = Readiness::new(role.checks());
        let _watching = role.accepts().then(|| {
            runs::describe_accepting();
            let probe = self.probe();
            let readiness = readiness.clone();
            background(async move { probe.watch(|name, state| readiness.set(name, state)).await })
        });
        let interval = self.settings.github.repair_interval;
        let repairs =
            role.accepts() && !interval.is_zero() && self.settings.github.app_id.is_some();
        let repair = self.repairing().filter(|_| repairs);
        let _repairing = repair.map(|repair| background(repair.regularly(interval)));
        let api = role.accepts().then(|| {
            let development = self.settings.server.development;
            Api::new(self.runs.clone(), development).with_queue(self.queue.clone())
        });
        let webhooks = role.accepts().then(|| self.webhooks()).flatten();
        let parts =
            Parts { readiness: readiness.clone(), api, webhooks, metrics: rendered(metrics) };
        // Whatever ends the HTTP side ends the process: a worker nobody can look at is no good.
        let (stop, ended) = (stop.child_token(), CancellationToken::new());
        let (stops, until) = (stop.clone().drop_guard(), ended.clone());
        let notifying = tokio::spawn(systemd::notify(readiness.clone(), stop.clone()));
        let serving = tokio::spawn(async move {
            server.run(parts, until).await;
            drop(stops);
        });
        if role.works() {
            self.work(readiness, stop).await;
        } else {
            stop.cancelled().await;
        }
        ended.cancel();
        // It has been told to stop like everything else, so this ends; whether it could is logged.
        let _ = notifying.await;
        serving.await.map_err(|error| AppError::new("server.listen", error))
    }

    /// What there is to say about the address of the HTTP side: it can be had, or a process like this
    /// one has it.
    ///
    /// # Errors
    /// When something else has it, or it may not or cannot be had; says what to do.
    pub async fn look(settings: &Settings) -> Result<String, AppError> {
        let ServerOptions { listen, token, .. } = &settings.server;
        let who = match server::look(&settings.server).await.map_err(unserved)? {
            Found::Free => "is free",
            Found::Serving => "is in use by a `verdict serve`, which answers",
        };
        let open = if token.is_some() { "to who shows the token" } else { "to this machine" };
        Ok(format!("{listen} {who}; the API is open {open}"))
    }

    /// Where a `verdict serve` of these settings answers, if one does.
    ///
    /// # Errors
    /// When none does; says where it was looked for.
    pub async fn health(settings: &Settings) -> Result<SocketAddr, AppError> {
        let listen = settings.server.listen;
        let silent = || AppError::new("server.listen", format!("no verdict answers on {listen}"));
        server::health(listen).await.ok_or_else(silent)
    }

    /// Events of GitHub, where GitHub is configured.
    fn webhooks(&self) -> Option<Webhooks> {
        let github = &self.settings.github;
        let inbox = QueueInbox { queue: self.queue.clone(), seen: self.key_values.clone() };
        github.is_configured().then(|| Webhooks::new(github.webhook_secrets(), Arc::new(inbox)))
    }

    /// Refuses to take unsigned events from other machines.
    fn check_webhooks(&self, role: Role) -> Result<(), AppError> {
        let (github, listen) = (&self.settings.github, self.settings.server.listen);
        let open = role.accepts() && !listen.ip().is_loopback() && github.is_configured();
        if open && github.webhook_secrets().is_empty() {
            let why = format!(
                "not set, and {listen} can be reached from other machines: anybody could send \
                 events; set it to the webhook's secret on GitHub"
            );
            return Err(AppError::new("github.webhook_secret", why));
        }
        Ok(())
    }

    async fn work(&self, readiness: Readiness, stop: CancellationToken) {
        worker::describe_metrics();
        let worker = self.worker();
        let _reporting = background(report(worker.clone(), readiness));
        worker.run(stop).await;
        tracing::info!("stopped");
        for (outcome, messages) in worker.counts().get() {
            tracing::info!(outcome, messages, "settled since the start");
        }
    }

    fn tell(&self, role: Role, server: &Server) {
        tracing::info!(
            address = %server.address(),
            role = role.as_str(),
            owner = self.runs.owner(),
            store = %self.settings.store.url,
            queue = %self.settings.queue.url,
            concurrency = role.works().then_some(self.settings.worker.concurrency),
            "serving"
        );
    }
}

/// Describes what every role records.
fn describe(metrics: &Metrics) {
    metrics.build(env!("CARGO_PKG_VERSION"), &config::built_with());
    graph::describe_metrics();
    checkpoint::describe_metrics();
    runs::describe_metrics();
    server::describe_metrics();
}

fn unserved(error: ServerError) -> AppError {
    AppError::new("server.listen", error)
}

fn rendered(metrics: Metrics) -> server::Metrics {
    Arc::new(move || metrics.render())
}

/// Runs until it is dropped.
fn background(task: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(task))
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

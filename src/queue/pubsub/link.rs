//! The way to the service: clients and topology, made at the first call and again when they went.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use google_cloud_pubsub::{client::Publisher, model};
use tokio::sync::{Mutex, OnceCell};

use super::{
    Options, QueueError,
    clients::Clients,
    error::{Unpublished, bounded, permanent, unpublished},
    names::Names,
    topology,
};

pub(super) struct Link {
    pub names: Names,
    pub options: Options,
    clients: OnceCell<Arc<Clients>>,
    ready: Mutex<Option<Arc<Ready>>>,
    noted: AtomicBool,
}

/// Clients, and a topology that was seen to be right.
pub(super) struct Ready {
    pub clients: Arc<Clients>,
    publisher: Publisher,
    dead: Publisher,
}

/// Where a message is published to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Work,
    Dead,
}

impl Link {
    pub(super) fn new(names: Names, options: Options) -> Self {
        let (clients, ready) = (OnceCell::new(), Mutex::default());
        Self { names, options, clients, ready, noted: AtomicBool::new(false) }
    }

    pub(super) async fn clients(&self) -> Result<Arc<Clients>, QueueError> {
        let build = || Box::pin(async { Clients::build(&self.options).await.map(Arc::new) });
        self.clients.get_or_try_init(build).await.cloned()
    }

    /// What is needed to work, made when it is not there yet.
    pub(super) async fn ready(&self) -> Result<Arc<Ready>, QueueError> {
        let mut ready = self.ready.lock().await;
        if let Some(ready) = &*ready {
            return Ok(ready.clone());
        }
        let made = Arc::new(self.make().await?);
        *ready = Some(made.clone());
        Ok(made)
    }

    /// The same, verified anew.
    pub(super) async fn verified(&self) -> Result<Arc<Ready>, QueueError> {
        let made = Arc::new(self.make().await?);
        *self.ready.lock().await = Some(made.clone());
        Ok(made)
    }

    /// The same, with a subscription that is there now: made again when it went.
    pub(super) async fn present(&self) -> Result<Arc<Ready>, QueueError> {
        let ready = self.ready().await?;
        if ready.clients.subscription(&self.names.main()).await?.is_some() {
            return Ok(ready);
        }
        self.forget(&ready).await;
        self.ready().await
    }

    /// Whether the subscription is there.
    pub(super) async fn has_subscription(&self) -> Result<bool, QueueError> {
        let clients = self.clients().await?;
        Ok(clients.subscription(&self.names.main()).await?.is_some())
    }

    /// Something of it is gone: it is made anew when it is next needed.
    pub(super) async fn forget(&self, gone: &Arc<Ready>) {
        let mut ready = self.ready.lock().await;
        if ready.as_ref().is_some_and(|ready| Arc::ptr_eq(ready, gone)) {
            *ready = None;
        }
    }

    async fn make(&self) -> Result<Ready, QueueError> {
        let clients = self.clients().await?;
        let (topic, accepted) =
            Box::pin(topology::ensure(&clients, &self.names, &self.options)).await?;
        if !accepted.is_empty() && !self.noted.swap(true, Ordering::Relaxed) {
            let (subscription, accepted) = (self.names.main(), accepted.join("; "));
            tracing::info!(subscription, accepted, "the subscription differs, which is accepted");
        }
        let publisher = clients.publisher(&topic);
        let dead = clients.publisher(&self.names.dead_topic());
        Ok(Ready { clients, publisher, dead })
    }

    /// Publishes, confirmed. A topic that went is made again first.
    pub(super) async fn publish(&self, message: model::Message, to: To) -> Result<(), QueueError> {
        bounded(self.options.timeout, "publishing", async {
            for _ in 0..2 {
                let ready = self.ready().await?;
                let publisher = if to == To::Work { &ready.publisher } else { &ready.dead };
                match publisher.publish(message.clone()).await.map_err(unpublished) {
                    Ok(_) => return Ok(()),
                    Err(Unpublished::NoTopic) => self.forget(&ready).await,
                    Err(Unpublished::Other(error)) => return Err(error),
                }
            }
            Err(permanent("publishing", "the topic went as soon as it was there"))
        })
        .await
    }
}

//! The way to the broker: its connections, and what every call on it shares.

use std::sync::Arc;

use tokio::time::{Instant, timeout};

use super::{
    Options,
    place::Place,
    session::{Live, Role, Session, recovered},
    topology::{self, Topology},
};
use crate::base::Fault;

pub(super) struct Link {
    pub place: Arc<Place>,
    pub options: Options,
    pub topology: Arc<Topology>,
    pub prefetch: u16,
    pub publisher: Session,
    pub consumer: Session,
}

impl Link {
    pub(super) fn new(url: &str, options: Options, prefetch: u16) -> Result<Self, Fault> {
        let place = Place::new(url, &options)?;
        let topology = Arc::new(Topology::new(&place.queue, &options));
        let session = |role| Session::new(place.clone(), topology.clone(), role, options.timeout);
        let (publisher, consumer) = (session(Role::Publish), session(Role::Consume));
        Ok(Self { place, options, topology, prefetch: prefetch.max(1), publisher, consumer })
    }

    /// When a call that begins now must have ended.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.options.timeout
    }

    /// The answer, within the limit of a call. A connection that does not answer is given up.
    pub(super) async fn in_time<T>(
        &self,
        live: &Live,
        doing: &str,
        call: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        timeout(self.options.timeout, call).await.unwrap_or_else(|_| {
            live.give_up();
            Err(Fault::outage(format!("amqp: {doing}: the broker does not answer in time")))
        })
    }

    /// How many messages are ready in a queue; declares everything again when it is gone.
    pub(super) async fn ready(&self, live: &Live, name: &str) -> Result<u64, Fault> {
        let counting = async {
            if let Some(found) = topology::inspect(&live.connection, name).await? {
                return Ok(found.ready);
            }
            self.topology.declare(&live.connection).await?;
            recovered("topology");
            Ok(0)
        };
        self.in_time(live, &format!("inspecting queue `{name}`"), counting).await
    }
}

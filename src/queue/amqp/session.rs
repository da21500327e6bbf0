//! One connection that is there when it is needed: made on demand, made again when it broke.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use lapin::{Channel, Connection, Event, options::ConfirmSelectOptions};
use tokio::{
    sync::{Mutex, watch},
    time::{Instant, sleep_until, timeout, timeout_at},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    super::backoff::Backoff,
    fault::fault,
    place::Place,
    topology::{self, Topology},
};
use crate::base::Fault;

/// A handshake that got no answer is given up for good after so many times a call's limit: until
/// then a broker that only stood still is taken as it comes back.
const HANDSHAKE_TIMEOUTS: u32 = 4;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Publish,
    Consume,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Publish => "publisher",
            Self::Consume => "consumer",
        }
    }
}

/// A connection, its main channel, and whether the broker holds it up.
pub(super) struct Live {
    pub connection: Connection,
    /// Confirms what is published, on a connection to publish.
    pub channel: Channel,
    broken: AtomicBool,
    blocked: watch::Receiver<Option<String>>,
    _events: AbortOnDropHandle<()>,
}

impl Live {
    /// It is not to be used again.
    pub(super) fn give_up(&self) {
        self.broken.store(true, Ordering::Release);
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.broken.load(Ordering::Acquire)
            && self.connection.status().connected()
            && self.channel.status().connected()
    }

    /// Closes a connection that was given up and may still be open: the broker would go on sending
    /// to a consumer of it that nobody reads.
    async fn end(self: Arc<Self>, limit: Duration) {
        let _ = timeout(limit, self.connection.close(200, "given up".into())).await;
    }

    /// Why the broker takes nothing from publishers now, if it does not.
    pub(super) fn blocked(&self) -> Option<Fault> {
        self.blocked.borrow().as_deref().map(blocked)
    }

    /// Waits until the broker takes nothing.
    pub(super) async fn until_blocked(&self) -> Fault {
        let mut watched = self.blocked.clone();
        match watched.wait_for(Option::is_some).await.map(|why| why.as_deref().map(blocked)) {
            Ok(Some(fault)) => fault,
            _ => std::future::pending().await,
        }
    }
}

fn blocked(why: &str) -> Fault {
    Fault::outage(format!(
        "amqp: the broker takes nothing from publishers ({why}): give it memory or disk space"
    ))
}

/// A connection for one purpose.
pub(super) struct Session {
    place: Arc<Place>,
    topology: Arc<Topology>,
    role: Role,
    limit: Duration,
    state: Mutex<State>,
}

struct State {
    live: Option<Arc<Live>>,
    making: Option<AbortOnDropHandle<Result<Live, Fault>>>,
    made: u64,
    backoff: Backoff,
    /// Why the last attempt failed.
    fault: Option<Fault>,
}

impl Session {
    pub(super) fn new(
        place: Arc<Place>,
        topology: Arc<Topology>,
        role: Role,
        limit: Duration,
    ) -> Self {
        let backoff = Backoff::default();
        let state = State { live: None, making: None, made: 0, backoff, fault: None };
        Self { place, topology, role, limit, state: Mutex::new(state) }
    }

    /// The connection, made if need be: tries again until `deadline`.
    pub(super) async fn get(&self, deadline: Instant) -> Result<Arc<Live>, Fault> {
        loop {
            match self.once(deadline).await {
                Err(fault) if fault.is_transient() && Instant::now() < deadline => {}
                answer => return answer,
            }
        }
    }

    /// The connection, made if need be: tries once.
    pub(super) async fn once(&self, deadline: Instant) -> Result<Arc<Live>, Fault> {
        let late = |_| Fault::outage(format!("amqp: {} does not answer", self.place.shown()));
        let mut state = timeout_at(deadline, self.state.lock()).await.map_err(late)?;
        if let Some(live) = state.live.as_ref().filter(|live| live.is_alive()) {
            return Ok(live.clone());
        }
        if let Some(lost) = state.live.take() {
            tracing::warn!(connection = self.role.name(), "the connection to RabbitMQ is lost");
            tokio::spawn(lost.end(self.limit));
        }
        if let (Some(until), Some(fault)) = (state.backoff.until(), &state.fault) {
            sleep_until(until.min(deadline)).await;
            if until > deadline {
                return Err(fault.clone());
            }
        }
        let making = state.making.get_or_insert_with(|| self.start());
        let made = timeout_at(deadline, making).await.map_err(late)?;
        state.making = None;
        let made = made.unwrap_or_else(|_| Err(Fault::outage("amqp: this process is ending")));
        match made {
            Ok(live) => Ok(self.keep(&mut state, live)),
            Err(fault) => {
                state.backoff.failed();
                state.fault = Some(fault.clone());
                Err(fault)
            }
        }
    }

    /// The connection as it is, if there is one.
    pub(super) async fn existing(&self) -> Option<Arc<Live>> {
        self.state.lock().await.live.clone().filter(|live| live.is_alive())
    }

    fn keep(&self, state: &mut State, live: Live) -> Arc<Live> {
        (state.backoff, state.fault) = (Backoff::default(), None);
        state.made += 1;
        if state.made > 1 {
            recovered(self.role.name());
        }
        let live = Arc::new(live);
        state.live = Some(live.clone());
        live
    }

    /// A task of its own: dropped half-way, the client would leave a socket behind.
    fn start(&self) -> AbortOnDropHandle<Result<Live, Fault>> {
        let (place, topology) = (self.place.clone(), self.topology.clone());
        let (role, limit) = (self.role, self.limit * HANDSHAKE_TIMEOUTS);
        AbortOnDropHandle::new(tokio::spawn(async move {
            let late = || Fault::outage(format!("amqp: {} does not answer", place.shown()));
            timeout(limit, make(&place, &topology, role)).await.unwrap_or_else(|_| Err(late()))
        }))
    }
}

/// Counts and tells that something broken works again.
pub(super) fn recovered(what: &'static str) {
    metrics::counter!("verdict_queue_reconnects_total", "queue" => "amqp").increment(1);
    tracing::info!(connection = what, "RabbitMQ is back");
}

async fn make(place: &Place, topology: &Topology, role: Role) -> Result<Live, Fault> {
    let connection = place.connect(role.name()).await?;
    topology.declare(&connection).await?;
    let channel = topology::open(&connection).await?;
    if role == Role::Publish {
        let confirms = channel.confirm_select(ConfirmSelectOptions::default()).await;
        confirms.map_err(|error| fault("asking for confirms", &error))?;
    }
    let (tell, blocked) = watch::channel(None);
    let mut events = Box::pin(connection.events_listener());
    let events = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            match event {
                Event::ConnectionBlocked(why) => {
                    tracing::warn!(error = why, "RabbitMQ takes nothing from publishers");
                    tell.send_replace(Some(why));
                }
                Event::ConnectionUnblocked => {
                    tracing::info!("RabbitMQ takes messages from publishers again");
                    tell.send_replace(None);
                }
                _ => {}
            }
        }
    });
    let events = AbortOnDropHandle::new(events);
    Ok(Live { connection, channel, broken: AtomicBool::new(false), blocked, _events: events })
}

//! Consumes from the broker for all who wait in this process.
//!
//! It consumes only while somebody asks. The broker sends ahead as much as the prefetch says; what
//! nobody asked for in a while goes back, so that other processes have it.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, future::BoxFuture};
use lapin::{
    message::Delivery as Arrival,
    options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions},
    types::FieldTable,
};
use tokio::time::{Instant, timeout_at};

use super::{
    super::{
        dispatcher::{Pending, Source, optional},
        in_flight::Unsettled,
    },
    fault::{fault, is_missing},
    headers::received,
    session::{Live, recovered},
    settle::{AckHandle, Rabbit, Taken},
    topology::{self, QueueState, short},
};
use crate::base::{Clock, Fault};

/// When nothing has come for this long while somebody waits, the queue is asked whether that can be.
const PROBE_AFTER: Duration = Duration::from_secs(4);

/// A consumer at the broker.
pub(super) struct Subscription {
    live: Arc<Live>,
    channel: lapin::Channel,
    consumer: lapin::Consumer,
}

pub(super) enum Event {
    Opened(Result<Subscription, Fault>),
    Arrived(Option<lapin::Result<Arrival>>),
    Probed(Option<QueueState>),
}

pub(super) struct AmqpSource {
    broker: Arc<Rabbit>,
    subscription: Option<Subscription>,
    opening: Option<BoxFuture<'static, Result<Subscription, Fault>>>,
    probing: Option<BoxFuture<'static, Option<QueueState>>>,
    /// When something last came, or the consumer began.
    heard_at: Instant,
    /// Messages were ready when the queue was last asked, and none came.
    suspect: bool,
}

impl Source for AmqpSource {
    type Taken = Taken;
    type Event = Event;

    async fn event(&mut self, waiting: usize) -> Event {
        if self.subscription.as_ref().is_some_and(|open| !open.live.is_alive()) {
            self.lost();
        }
        if waiting > 0 {
            self.open_or_probe();
        }
        let mut arrivals = self.subscription.as_mut().map(|open| open.consumer.next());
        tokio::select! {
            opened = optional(&mut self.opening) => Event::Opened(opened),
            arrived = optional(&mut arrivals) => Event::Arrived(arrived),
            state = optional(&mut self.probing) => Event::Probed(state),
        }
    }

    async fn handle(&mut self, event: Event, pending: &mut Pending<Taken>) {
        match event {
            Event::Opened(opened) => {
                self.opening = None;
                self.heard();
                match opened {
                    Ok(subscription) => self.subscription = Some(subscription),
                    Err(fault) => pending.fail(&fault.into()),
                }
            }
            Event::Arrived(arrived) => {
                self.heard();
                self.arrived(arrived, pending);
            }
            Event::Probed(state) => self.probed(state, pending).await,
        }
    }

    fn may_buffer(&self) -> bool {
        self.subscription.is_some()
    }

    async fn give_back(&mut self, taken: Taken) {
        if let Err(Unsettled { error, taken }) = self.broker.hand_back(taken).await {
            tracing::warn!(%error, "a message that nobody took could not be handed back properly");
            if let Some(taken) = taken {
                let _ = self.broker.nack(&taken).await;
            }
        }
    }

    /// Stops consuming. What was on its way comes before the end.
    async fn rest(&mut self, pending: &mut Pending<Taken>) {
        self.opening = None;
        let Some(mut open) = self.subscription.take() else { return };
        let limit = self.broker.link.deadline();
        let cancelling =
            open.channel.basic_cancel(open.consumer.tag(), BasicCancelOptions::default());
        if !matches!(timeout_at(limit, cancelling).await, Ok(Ok(()))) {
            open.live.give_up();
        }
        while let Ok(Some(Ok(arrival))) = timeout_at(limit, open.consumer.next()).await {
            pending.push(taken(&open.channel, arrival));
        }
    }
}

impl AmqpSource {
    pub(super) fn new(broker: Arc<Rabbit>) -> Self {
        Self {
            broker,
            subscription: None,
            opening: None,
            probing: None,
            heard_at: Instant::now(),
            suspect: false,
        }
    }

    fn open_or_probe(&mut self) {
        let broker = self.broker.clone();
        match &self.subscription {
            None => {
                self.opening.get_or_insert_with(|| Box::pin(open(broker)));
            }
            Some(open) if self.heard_at.elapsed() >= PROBE_AFTER => {
                let live = open.live.clone();
                self.probing.get_or_insert_with(|| Box::pin(probe(broker, live)));
            }
            Some(_) => {}
        }
    }

    fn heard(&mut self) {
        (self.heard_at, self.suspect, self.probing) = (Instant::now(), false, None);
    }

    fn arrived(&mut self, arrived: Option<lapin::Result<Arrival>>, pending: &mut Pending<Taken>) {
        let Some(open) = &self.subscription else { return };
        match arrived {
            Some(Ok(arrival)) => pending.push(taken(&open.channel, arrival)),
            Some(Err(error)) => {
                tracing::warn!(%error, "consuming from RabbitMQ ended");
                self.lost();
            }
            None => {
                tracing::warn!("RabbitMQ cancelled the consumer: was its queue deleted?");
                let channel = open.channel.id();
                self.broker.in_flight.for_each(|ack| ack.orphan |= ack.channel.id() == channel);
                pending.messages().iter_mut().for_each(|taken| taken.ack.orphan = true);
                self.lost();
            }
        }
    }

    fn lost(&mut self) {
        self.probing = None;
        if let Some(open) = self.subscription.take()
            && open.live.is_alive()
        {
            recovered("consumer");
        }
    }

    /// A consumer of a queue that was deleted and made again may hear nothing for good: the broker
    /// does not always say so. One that is there has what is ready sent to it at once.
    async fn probed(&mut self, state: Option<QueueState>, pending: &mut Pending<Taken>) {
        self.probing = None;
        // It is asked again after a while, or at once when something lies there.
        let waits = state.is_some_and(|state| state.ready > 0);
        let gone = state.is_some_and(|state| state.consumers == 0) || waits && self.suspect;
        self.suspect = waits;
        if !waits {
            self.heard_at = Instant::now();
        }
        if gone && self.subscription.is_some() {
            tracing::warn!("RabbitMQ forgot the consumer: it begins anew");
            self.rest(pending).await;
            recovered("consumer");
        }
    }
}

/// What the queue tells of itself: of one that is gone, that nobody consumes from it. `None` when it
/// does not tell.
async fn probe(broker: Arc<Rabbit>, live: Arc<Live>) -> Option<QueueState> {
    let asked = topology::inspect(&live.connection, &broker.link.topology.main);
    let state = broker.link.in_time(&live, "inspecting the queue", asked).await.ok()?;
    Some(state.unwrap_or(QueueState { ready: 0, consumers: 0 }))
}

fn taken(channel: &lapin::Channel, arrival: Arrival) -> Taken {
    let received = received(&arrival.properties, arrival.data, arrival.redelivered);
    Taken {
        message: received.message,
        enqueued_at: received.enqueued_at.unwrap_or_else(|| Clock::system().now()),
        carried: received.carried,
        counted: received.counted,
        arrived_at: Instant::now(),
        ack: AckHandle { acker: arrival.acker, channel: channel.clone(), orphan: false },
    }
}

/// Begins to consume, within the limit of a call.
async fn open(broker: Arc<Rabbit>) -> Result<Subscription, Fault> {
    let link = &broker.link;
    let live = link.consumer.get(link.deadline()).await?;
    let consuming = async {
        let subscribed = match subscribe(&broker, &live).await {
            Err(error) if is_missing(&error) => {
                link.topology.declare(&live.connection).await?;
                recovered("topology");
                subscribe(&broker, &live).await
            }
            other => other,
        };
        let doing = format_args!("consuming from queue `{}`", link.topology.main);
        subscribed.map_err(|error| fault(doing, &error))
    };
    link.in_time(&live, "beginning to consume", consuming).await
}

async fn subscribe(broker: &Rabbit, live: &Arc<Live>) -> lapin::Result<Subscription> {
    let channel = live.connection.create_channel().await?;
    channel.basic_qos(broker.link.prefetch, BasicQosOptions::default()).await?;
    let name = short(&broker.link.topology.main).unwrap_or_default();
    let options = BasicConsumeOptions::default();
    let consumer = channel.basic_consume(name, "".into(), options, FieldTable::default()).await?;
    Ok(Subscription { live: live.clone(), channel, consumer })
}

//! Who waits, and what they get: one task per open queue consumes for all who wait in this process.
//!
//! It consumes only while somebody asks. The broker sends ahead as much as the prefetch says; what
//! nobody asked for in a while goes back, so that other processes have it.

use std::{collections::VecDeque, future::pending, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::BoxFuture};
use lapin::{
    Consumer,
    message::Delivery as Arrival,
    options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions},
    types::FieldTable,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval, timeout, timeout_at},
};

use super::{
    super::QueueError,
    adapter::Inner,
    fault::{fault, is_missing},
    headers::received,
    session::{Live, recovered},
    settle::Held,
    topology::{self, short},
};
use crate::base::{Clock, Fault};

/// How long messages may lie here while nobody asks.
const IDLE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(500);

/// What is told to the task.
pub(super) enum Call {
    /// Somebody waits for a message.
    Wait(Waiter),
    /// Somebody stopped waiting after a message had been taken for them.
    Return(Arc<Held>),
    /// Hand back what nobody took, and take no more.
    Close(oneshot::Sender<()>),
}

pub(super) type Calls = mpsc::UnboundedSender<Call>;
type Waiter = oneshot::Sender<Result<Parcel, QueueError>>;

/// A message on its way to a consumer. Dropped unopened it goes back.
pub(super) struct Parcel {
    content: Option<Arc<Held>>,
    calls: Calls,
}

impl Parcel {
    pub(super) fn open(mut self) -> Option<Arc<Held>> {
        self.content.take()
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if let Some(held) = self.content.take() {
            let _ = self.calls.send(Call::Return(held));
        }
    }
}

/// A consumer at the broker.
struct Feed {
    live: Arc<Live>,
    channel: lapin::Channel,
    consumer: Consumer,
}

pub(super) struct Pump {
    inner: Arc<Inner>,
    calls: Calls,
    inbox: mpsc::UnboundedReceiver<Call>,
    waiters: VecDeque<Waiter>,
    ready: VecDeque<Arc<Held>>,
    feed: Option<Feed>,
    opening: Option<BoxFuture<'static, Result<Feed, Fault>>>,
    /// When somebody last waited.
    asked: Instant,
    closed: bool,
}

impl Pump {
    pub(super) fn new(
        inner: Arc<Inner>,
        calls: Calls,
        inbox: mpsc::UnboundedReceiver<Call>,
    ) -> Self {
        Self {
            inner,
            calls,
            inbox,
            waiters: VecDeque::new(),
            ready: VecDeque::new(),
            feed: None,
            opening: None,
            asked: Instant::now(),
            closed: false,
        }
    }

    pub(super) async fn run(mut self) {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.serve();
            if !self.waiters.is_empty() && self.feed.is_none() && self.opening.is_none() {
                self.opening = Some(Box::pin(open(self.inner.clone())));
            }
            tokio::select! {
                call = self.inbox.recv() => match call {
                    Some(call) => self.take(call).await,
                    None => return,
                },
                opened = opening(&mut self.opening) => self.opened(opened),
                arrived = next(&mut self.feed) => self.arrived(arrived),
                _ = look.tick() => self.look().await,
            }
        }
    }

    async fn take(&mut self, call: Call) {
        match call {
            Call::Wait(waiter) if self.closed => {
                let _ = waiter.send(Err(closed()));
            }
            Call::Wait(waiter) => {
                self.asked = Instant::now();
                self.waiters.push_back(waiter);
            }
            Call::Return(held) if self.closed => give_back(&self.inner, held).await,
            Call::Return(held) => self.ready.push_front(held),
            Call::Close(done) => {
                self.closed = true;
                self.opening = None;
                for waiter in self.waiters.drain(..) {
                    let _ = waiter.send(Err(closed()));
                }
                self.hand_back().await;
                let _ = done.send(());
            }
        }
    }

    /// Gives what is there to who waits.
    fn serve(&mut self) {
        self.ready.retain(|held| held.acker.usable());
        while let Some(held) = self.ready.pop_front() {
            let waiter = loop {
                match self.waiters.pop_front() {
                    Some(waiter) if waiter.is_closed() => {}
                    other => break other,
                }
            };
            let Some(waiter) = waiter else {
                self.ready.push_front(held);
                break;
            };
            let parcel = Parcel { content: Some(held), calls: self.calls.clone() };
            // One that stopped waiting sends the parcel back by dropping it.
            let _ = waiter.send(Ok(parcel));
        }
        self.inner.fetched(self.ready.len());
    }

    fn opened(&mut self, opened: Result<Feed, Fault>) {
        self.opening = None;
        match opened {
            Ok(feed) => self.feed = Some(feed),
            Err(fault) => {
                for waiter in self.waiters.drain(..) {
                    let _ = waiter.send(Err(fault.clone().into()));
                }
            }
        }
    }

    fn arrived(&mut self, arrived: Option<lapin::Result<Arrival>>) {
        let Some(feed) = &self.feed else { return };
        match arrived {
            Some(Ok(arrival)) => self.ready.push_back(Arc::new(held(feed, arrival))),
            Some(Err(error)) => {
                tracing::warn!(%error, "consuming from RabbitMQ ended");
                self.lost();
            }
            None => {
                tracing::warn!("RabbitMQ cancelled the consumer: was its queue deleted?");
                self.inner.hands.orphan(&feed.channel);
                for held in &mut self.ready {
                    *held = Arc::new(held.orphaned());
                }
                self.lost();
            }
        }
    }

    fn lost(&mut self) {
        self.inner.hands.forget_lost();
        if let Some(feed) = self.feed.take()
            && feed.live.is_alive()
        {
            recovered("consumer");
        }
    }

    /// Whether anybody still asks.
    async fn look(&mut self) {
        self.waiters.retain(|waiter| !waiter.is_closed());
        if !self.waiters.is_empty() {
            self.asked = Instant::now();
        } else if self.feed.is_some() && self.asked.elapsed() >= IDLE {
            self.hand_back().await;
        }
    }

    /// Stops consuming and gives back what nobody took.
    async fn hand_back(&mut self) {
        if let Some(mut feed) = self.feed.take() {
            let limit = Instant::now() + self.inner.options.timeout;
            let tag = feed.consumer.tag();
            let cancelling = feed.channel.basic_cancel(tag, BasicCancelOptions::default());
            if !matches!(timeout_at(limit, cancelling).await, Ok(Ok(()))) {
                feed.live.give_up();
            }
            // What was on its way comes before the end.
            while let Ok(Some(Ok(arrival))) = timeout_at(limit, feed.consumer.next()).await {
                self.ready.push_back(Arc::new(held(&feed, arrival)));
            }
        }
        for held in std::mem::take(&mut self.ready) {
            give_back(&self.inner, held).await;
        }
        self.inner.fetched(0);
    }
}

async fn give_back(inner: &Inner, held: Arc<Held>) {
    if let Err(error) = inner.hand_back(&held).await {
        tracing::warn!(%error, "a message that nobody took could not be handed back");
    }
}

fn closed() -> QueueError {
    QueueError::Fault(Fault::outage("amqp: the queue has been closed"))
}

async fn opening(
    opening: &mut Option<BoxFuture<'static, Result<Feed, Fault>>>,
) -> Result<Feed, Fault> {
    match opening {
        Some(opening) => opening.await,
        None => pending().await,
    }
}

async fn next(feed: &mut Option<Feed>) -> Option<lapin::Result<Arrival>> {
    match feed {
        Some(feed) => feed.consumer.next().await,
        None => pending().await,
    }
}

fn held(feed: &Feed, arrival: Arrival) -> Held {
    let received = received(&arrival.properties, arrival.data, arrival.redelivered);
    Held {
        acker: arrival.acker,
        channel: feed.channel.clone(),
        message: received.message,
        carried: received.carried,
        counted: received.counted,
        enqueued_at: received.enqueued_at.unwrap_or_else(|| Clock::system().now()),
        arrived: Instant::now(),
        orphan: false,
    }
}

/// Begins to consume, within the limit of a call.
async fn open(inner: Arc<Inner>) -> Result<Feed, Fault> {
    let deadline = inner.deadline();
    let live = inner.consumer.get(deadline).await?;
    match timeout_at(deadline, consume(&inner, &live)).await {
        Ok(feed) => feed,
        Err(_) => {
            live.give_up();
            Err(Fault::outage("amqp: the broker does not let us consume in time"))
        }
    }
}

async fn consume(inner: &Inner, live: &Arc<Live>) -> Result<Feed, Fault> {
    let feed = match subscribe(inner, live).await {
        Err(error) if is_missing(&error) => {
            inner.topology.declare(&live.connection).await?;
            recovered("topology");
            subscribe(inner, live).await
        }
        other => other,
    };
    feed.map_err(|error| {
        fault(format_args!("consuming from queue `{}`", inner.topology.main), &error)
    })
}

async fn subscribe(inner: &Inner, live: &Arc<Live>) -> lapin::Result<Feed> {
    let channel = live.connection.create_channel().await?;
    channel.basic_qos(inner.prefetch, BasicQosOptions::default()).await?;
    let name = short(&inner.topology.main).unwrap_or_default();
    let options = BasicConsumeOptions::default();
    let consumer = channel.basic_consume(name, "".into(), options, FieldTable::default()).await?;
    Ok(Feed { live: live.clone(), channel, consumer })
}

/// How many messages are ready in a queue; declares everything again when it is gone.
pub(super) async fn ready(inner: &Inner, live: &Live, name: &str) -> Result<u64, Fault> {
    let asked = timeout(inner.options.timeout, async {
        if let Some(ready) = topology::ready(&live.connection, name).await? {
            return Ok(ready);
        }
        inner.topology.declare(&live.connection).await?;
        recovered("topology");
        Ok(0)
    });
    asked.await.unwrap_or_else(|_| {
        live.give_up();
        Err(Fault::outage(format!("amqp: looking at queue `{name}` took too long")))
    })
}

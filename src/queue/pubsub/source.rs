//! Reads the stream for all who wait in this process.
//!
//! It opens the stream when somebody asks, asks whether the service is there while nothing comes,
//! and stops the stream when nobody has asked for a while. Consumers hold no more than the prefetch.
//! What the service sends beyond it waits here: to give it back would cost a delivery, and a wait
//! that grows each time.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use google_cloud_pubsub::{Error, model, subscriber::handler::Handler};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{
    QueueError,
    attributes::incoming,
    backoff::Backoff,
    dispatcher::{Pending, Source, optional},
    error::{bounded, classify, is_not_found},
    in_flight::Unsettled,
    link::Ready,
    settle::{Ack, AckHandle, Service, Taken},
    stream::{Stream, StreamEvent},
};

/// When nothing has come for this long, the service is asked whether it is there.
const PROBE_AFTER: Duration = Duration::from_secs(4);
/// How long the service takes to learn that a stream ended. What is given back sooner may come down
/// that stream once more, and is then kept from everybody until its deadline.
pub(super) const STREAM_END_DELAY: Duration = Duration::from_millis(200);
/// What waits here at most. The service keeps to the prefetch; its emulator sends whatever there is.
const MAX_BUFFERED_MESSAGES: usize = 1000;
/// How long closing waits for the service to be told while consumers still hold messages.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// What asking the service came to.
pub(super) enum Checked {
    /// It is there, and all is as it should be: a stream may be opened.
    Ready(Result<Arc<Ready>, QueueError>),
    /// Whether the subscription of the stream that is open is still there.
    Still(Result<bool, QueueError>),
}

pub(super) enum Event {
    Stream(StreamEvent),
    Checked(Checked),
    /// Consumers may hold one more.
    Room,
}

pub(super) struct PubSubSource {
    service: Arc<Service>,
    prefetch: usize,
    stream: Option<Stream>,
    checking: Option<BoxFuture<'static, Checked>>,
    errands: JoinSet<()>,
    backoff: Backoff,
    /// A stream broke, and none was opened since.
    broken: bool,
    /// Nobody asks: whatever comes goes back.
    resting: bool,
    /// Whether acknowledgements are confirmed.
    exact: bool,
    /// When the service was last heard of.
    heard_at: Instant,
}

impl Source for PubSubSource {
    type Taken = Taken;
    type Event = Event;

    fn asked(&mut self) {
        self.resting = false;
    }

    async fn event(&mut self, waiting: usize) -> Event {
        while self.errands.try_join_next().is_some() {}
        self.open_or_probe(waiting);
        let wants_room = waiting > 0 && self.service.in_flight.is_full();
        let mut events = self.stream.as_mut().map(|stream| Box::pin(stream.next()));
        tokio::select! {
            event = optional(&mut events) => Event::Stream(event),
            checked = optional(&mut self.checking) => Event::Checked(checked),
            () = self.service.in_flight.room(), if wants_room => Event::Room,
        }
    }

    async fn handle(&mut self, event: Event, pending: &mut Pending<Taken>) {
        match event {
            Event::Stream(StreamEvent::Message(message, handler)) => {
                self.heard();
                self.arrived(*message, handler, pending).await;
            }
            Event::Stream(StreamEvent::Ended(error)) => self.ended(error, pending),
            Event::Checked(checked) => self.checked(checked, pending),
            Event::Room => {}
        }
    }

    fn may_buffer(&self) -> bool {
        self.stream.is_some() && !self.resting
    }

    async fn give_back(&mut self, taken: Taken) {
        let service = self.service.clone();
        let delay = if self.stream.is_some() { Duration::ZERO } else { STREAM_END_DELAY };
        self.errands.spawn(async move {
            sleep(delay).await;
            if let Err(Unsettled { error, .. }) = service.give_back(taken).await {
                tracing::debug!(%error, "a message nobody waits for comes back later");
            }
        });
    }

    /// A stream whose acknowledgements are confirmed must outlive what came from it: its client
    /// forgets the last one otherwise.
    async fn rest(&mut self, _pending: &mut Pending<Taken>) {
        self.resting = true;
        if !self.exact || self.service.in_flight.is_idle() {
            self.stop();
        }
    }

    fn flush(&mut self) -> BoxFuture<'static, ()> {
        let mut errands = std::mem::take(&mut self.errands);
        let service = self.service.clone();
        Box::pin(async move {
            let limit = service.link.options.timeout;
            let _ = timeout(limit, async { while errands.join_next().await.is_some() {} }).await;
            service.streams.close();
            let all_settled = service.in_flight.is_empty();
            let limit = if all_settled { limit } else { CLOSE_TIMEOUT.min(limit) };
            let _ = timeout(limit, service.streams.wait()).await;
        })
    }
}

impl PubSubSource {
    pub(super) fn new(service: Arc<Service>, prefetch: usize) -> Self {
        Self {
            service,
            prefetch,
            stream: None,
            checking: None,
            errands: JoinSet::new(),
            backoff: Backoff::default(),
            broken: false,
            resting: false,
            exact: false,
            heard_at: Instant::now(),
        }
    }

    /// Asks the service: to open a stream for those who wait, or because nothing came.
    fn open_or_probe(&mut self, waiting: usize) {
        let service = self.service.clone();
        if self.stream.is_some() {
            if self.heard_at.elapsed() >= PROBE_AFTER {
                self.checking.get_or_insert_with(|| {
                    Box::pin(async move { Checked::Still(service.link.has_subscription().await) })
                });
            }
        } else if waiting > 0 && self.backoff.until().is_none() {
            self.checking.get_or_insert_with(|| {
                Box::pin(async move {
                    let limit = service.link.options.timeout;
                    Checked::Ready(bounded(limit, "connecting", service.link.present()).await)
                })
            });
        }
    }

    async fn arrived(
        &mut self,
        message: model::Message,
        handler: Handler,
        pending: &mut Pending<Taken>,
    ) {
        let Some(stream) = &self.stream else { return };
        let attempt = handler.delivery_attempt().and_then(|n| u32::try_from(n).ok());
        let (message, origin) = incoming(message);
        self.exact = matches!(handler, Handler::ExactlyOnce(_));
        let taken = Taken {
            message,
            enqueued_at: origin.sent,
            carried: origin.deliveries,
            counted: attempt.unwrap_or(1).saturating_sub(1),
            arrived_at: Instant::now(),
            ack: AckHandle { ack: Ack::Unsent(handler), stream: stream.state.clone() },
        };
        if pending.messages().len() >= MAX_BUFFERED_MESSAGES {
            self.give_back(taken).await;
        } else {
            pending.push(taken);
        }
    }

    fn ended(&mut self, error: Option<Error>, pending: &mut Pending<Taken>) {
        let gone = error.as_ref().is_some_and(is_not_found);
        self.lose(gone);
        match error {
            Some(error) if !gone => self.fail(&classify("receiving", &error), pending),
            _ => self.backoff.failed(),
        }
    }

    fn checked(&mut self, checked: Checked, pending: &mut Pending<Taken>) {
        self.checking = None;
        match checked {
            Checked::Ready(Ok(ready)) => {
                self.heard();
                self.open(&ready);
            }
            Checked::Still(Ok(true)) => self.heard(),
            Checked::Still(Ok(false)) => self.lose(true),
            Checked::Ready(Err(error)) | Checked::Still(Err(error)) => {
                self.lose(false);
                self.fail(&error, pending);
            }
        }
    }

    fn open(&mut self, ready: &Ready) {
        if std::mem::take(&mut self.broken) {
            metrics::counter!("verdict_queue_reconnects_total", "queue" => "pubsub").increment(1);
        }
        let Service { link, streams, .. } = &*self.service;
        let how = (self.prefetch, &link.options);
        self.stream = Some(Stream::open(ready, link.names.main(), how, streams));
    }

    fn heard(&mut self) {
        self.heard_at = Instant::now();
        self.backoff = Backoff::default();
        self.service.set_outage(None);
    }

    /// Tells everybody who waits, and lets the next wait find out anew, a little later.
    fn fail(&mut self, error: &QueueError, pending: &mut Pending<Taken>) {
        pending.fail(error);
        let fault = error.fault();
        self.service.set_outage(fault.is_transient().then_some(fault));
        self.backoff.failed();
    }

    /// The stream broke. What consumers hold of it stays theirs, unless the subscription is gone.
    fn lose(&mut self, gone: bool) {
        self.broken = true;
        if let Some(stream) = &self.stream
            && gone
        {
            stream.state.lose();
        }
        self.stop();
    }

    fn stop(&mut self) {
        (self.stream, self.checking) = (None, None);
    }
}

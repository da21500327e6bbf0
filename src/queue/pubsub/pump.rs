//! Who waits, and what they get: one task per open queue reads the stream for all its consumers.
//!
//! It opens the stream when somebody asks, looks whether the service is there while nothing
//! comes, stops the stream when nobody has asked for a while, and gives back what nobody spoke of
//! in time. Consumers hold no more than the prefetch. What the service sends beyond it waits here: to
//! give it back would cost a delivery, and a wait that grows each time.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use google_cloud_pubsub::{Error, model, subscriber::handler::Handler};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    QueueError,
    attributes::incoming,
    backoff::Backoff,
    error::{bounded, classify, is_not_found},
    held::{Grip, Taken},
    link::Ready,
    settle::Shared,
    stream::{Event, Stream},
};
use crate::base::Fault;

/// How often the pump looks at the clock.
const TICK: Duration = Duration::from_millis(250);
/// When nobody has asked for this long, nothing is kept from others.
const IDLE: Duration = Duration::from_secs(5);
/// When nothing has come for this long, the service is asked whether it is there.
const SILENT: Duration = Duration::from_secs(4);
/// How long the service takes to hear that a stream ended. What is given back sooner may come down
/// that stream once more, and is then kept from everybody until its deadline.
pub(super) const HEARD: Duration = Duration::from_millis(200);
/// What waits here at most. The service keeps to the prefetch; its emulator sends whatever there is.
const AHEAD: usize = 1000;
/// How long closing waits for the service to be told while consumers still hold messages.
const FLUSH: Duration = Duration::from_millis(500);

/// What consumers tell the pump.
pub(super) enum Call {
    /// Somebody waits for a message.
    Wait(oneshot::Sender<Result<Parcel, QueueError>>),
    /// Somebody stopped waiting after a message had been taken for them.
    Return(Box<Taken>),
    /// Give back what nobody took, then answer.
    Close(oneshot::Sender<()>),
}

pub(super) type Calls = mpsc::UnboundedSender<Call>;

/// A message on its way to a consumer. Dropped unopened it goes back.
pub(super) struct Parcel {
    content: Option<Box<Taken>>,
    calls: mpsc::WeakUnboundedSender<Call>,
}

impl Parcel {
    pub(super) fn open(mut self) -> Option<Taken> {
        self.content.take().map(|taken| *taken)
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if let (Some(taken), Some(calls)) = (self.content.take(), self.calls.upgrade()) {
            let _ = calls.send(Call::Return(taken));
        }
    }
}

/// What looking at the service came to.
enum Looked {
    /// It is there, and all is as it should be: a stream may be opened.
    Ready(Result<Arc<Ready>, QueueError>),
    /// Whether the subscription of the stream that is open is still there.
    Still(Result<bool, QueueError>),
}

pub(super) struct Pump {
    shared: Arc<Shared>,
    prefetch: usize,
    /// What consumers may still be given.
    slots: Arc<Semaphore>,
    /// A slot that came free while messages and consumers waited for one.
    free: Option<OwnedSemaphorePermit>,
    calls: mpsc::WeakUnboundedSender<Call>,
    inbox: mpsc::UnboundedReceiver<Call>,
    waiting: VecDeque<oneshot::Sender<Result<Parcel, QueueError>>>,
    buffered: VecDeque<Taken>,
    stream: Option<Stream>,
    looking: Option<AbortOnDropHandle<Looked>>,
    errands: JoinSet<()>,
    backoff: Backoff,
    /// A stream broke, and none was opened since.
    broken: bool,
    closed: bool,
    /// Nobody asks: whatever comes goes back.
    resting: bool,
    /// Whether acknowledgements are confirmed.
    exact: bool,
    asked: Instant,
    heard: Instant,
}

impl Pump {
    pub(super) fn new(
        shared: Arc<Shared>,
        prefetch: usize,
        calls: &Calls,
        inbox: mpsc::UnboundedReceiver<Call>,
    ) -> Self {
        Self {
            shared,
            prefetch,
            slots: Arc::new(Semaphore::new(prefetch)),
            free: None,
            calls: calls.downgrade(),
            inbox,
            waiting: VecDeque::new(),
            buffered: VecDeque::new(),
            stream: None,
            looking: None,
            errands: JoinSet::new(),
            backoff: Backoff::default(),
            broken: false,
            closed: false,
            resting: false,
            exact: false,
            asked: Instant::now(),
            heard: Instant::now(),
        }
    }

    /// Serves until the queue is dropped.
    pub(super) async fn run(mut self) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                call = self.inbox.recv() => match call {
                    Some(call) => self.note(call),
                    None => return,
                },
                event = next(&mut self.stream) => self.came(event),
                looked = done(&mut self.looking) => self.looked(looked),
                Ok(slot) = self.slots.clone().acquire_owned(), if self.is_full() => {
                    self.free = Some(slot);
                }
                _ = tick.tick() => self.tick(),
            }
            self.serve();
            self.look();
        }
    }

    fn note(&mut self, call: Call) {
        match call {
            Call::Wait(waiter) if self.closed => {
                let closed = Fault::outage("Pub/Sub: the queue has been closed");
                let _ = waiter.send(Err(QueueError::Fault(closed)));
            }
            Call::Wait(waiter) => {
                self.asked = Instant::now();
                self.resting = false;
                self.waiting.push_back(waiter);
            }
            Call::Return(taken) if self.stream.is_some() && !self.resting => {
                self.buffered.push_front(Taken { slot: None, ..*taken });
            }
            Call::Return(taken) => self.give_back(*taken),
            Call::Close(done) => self.close(done),
        }
    }

    fn came(&mut self, event: Event) {
        match event {
            Event::Message(message, handler) => {
                self.well();
                self.take(*message, handler);
            }
            Event::Ended(error) => self.ended(error),
        }
    }

    /// Keeps a message for whoever asks, or gives it back at once when nobody will.
    fn take(&mut self, message: model::Message, handler: Handler) {
        let Some(stream) = &self.stream else { return };
        let source = stream.source.clone();
        let attempt = handler.delivery_attempt().and_then(|n| u32::try_from(n).ok());
        let (message, origin) = incoming(message);
        let (attempt, grip) = (attempt.unwrap_or(1).max(1), Grip::Handler(handler));
        self.exact = matches!(grip, Grip::Handler(Handler::ExactlyOnce(_)));
        let taken = Taken { message, origin, attempt, grip, source, slot: None };
        if self.resting || self.buffered.len() >= AHEAD {
            self.give_back(taken);
        } else {
            self.buffered.push_back(taken);
        }
    }

    fn ended(&mut self, error: Option<Error>) {
        let gone = error.as_ref().is_some_and(is_not_found);
        self.stop(gone);
        self.broken = true;
        match error {
            Some(error) if !gone => self.fail(&classify("receiving", &error)),
            _ => self.backoff.wait(),
        }
    }

    fn looked(&mut self, looked: Looked) {
        self.looking = None;
        match looked {
            Looked::Ready(Ok(ready)) => {
                self.well();
                self.open(&ready);
            }
            Looked::Still(Ok(true)) => self.well(),
            Looked::Still(Ok(false)) => {
                self.stop(true);
                self.broken = true;
            }
            Looked::Ready(Err(error)) | Looked::Still(Err(error)) => {
                self.stop(false);
                self.broken = true;
                self.fail(&error);
            }
        }
    }

    fn open(&mut self, ready: &Arc<Ready>) {
        if self.closed {
            return;
        }
        if std::mem::take(&mut self.broken) {
            metrics::counter!("verdict_queue_reconnects_total", "queue" => "pubsub").increment(1);
        }
        let link = &self.shared.link;
        let how = (self.prefetch, &link.options);
        let tasks = &self.shared.streams;
        self.stream = Some(Stream::open(ready, link.names.main(), how, tasks));
    }

    /// The service was heard of.
    fn well(&mut self) {
        self.heard = Instant::now();
        self.backoff = Backoff::default();
        self.shared.held.set_down(None);
    }

    /// Tells everybody who waits, and lets the next wait find out anew, a little later.
    fn fail(&mut self, error: &QueueError) {
        for waiter in self.waiting.drain(..) {
            let _ = waiter.send(Err(error.clone()));
        }
        let fault = error.fault();
        self.shared.held.set_down(fault.is_transient().then_some(fault));
        self.backoff.wait();
    }

    /// Stops the stream. What consumers hold of it stays theirs, unless all of it is lost.
    fn stop(&mut self, lost: bool) {
        if let Some(stream) = self.stream.take()
            && lost
        {
            stream.source.lose();
        }
        self.looking = None;
        self.give_back_buffered();
    }

    fn give_back_buffered(&mut self) {
        for taken in std::mem::take(&mut self.buffered) {
            self.give_back(taken);
        }
    }

    /// Keeps nothing from others. A stream whose acknowledgements are confirmed must outlive what
    /// came from it: its client forgets the last one otherwise.
    fn rest(&mut self) {
        self.resting = true;
        self.free = None;
        if !self.exact || self.slots.available_permits() == self.prefetch {
            self.stop(false);
        } else {
            self.give_back_buffered();
        }
    }

    fn give_back(&mut self, taken: Taken) {
        if taken.source.is_lost() {
            return;
        }
        let shared = self.shared.clone();
        let pause = if self.stream.is_some() { Duration::ZERO } else { HEARD };
        self.errands.spawn(async move {
            sleep(pause).await;
            if let Err(unsettled) = shared.give_back(taken).await {
                tracing::debug!(error = %unsettled.0, "a message nobody waits for comes back later");
            }
        });
    }

    fn tick(&mut self) {
        while self.errands.try_join_next().is_some() {}
        for taken in self.shared.held.expired() {
            self.give_back(taken);
        }
        self.waiting.retain(|waiter| !waiter.is_closed());
        if !self.waiting.is_empty() {
            self.asked = Instant::now();
        } else if self.stream.is_some() && (self.closed || self.asked.elapsed() >= IDLE) {
            self.rest();
        }
    }

    /// Whether messages and consumers wait for each other, and for a slot.
    fn is_full(&self) -> bool {
        self.free.is_none() && !self.waiting.is_empty() && !self.buffered.is_empty()
    }

    fn serve(&mut self) {
        while !self.waiting.is_empty() && !self.buffered.is_empty() {
            let free = self.free.take().or_else(|| self.slots.clone().try_acquire_owned().ok());
            let Some(slot) = free else { return };
            if let Some(taken) = self.buffered.pop_front() {
                self.hand_over(Taken { slot: Some(slot), ..taken });
            }
        }
    }

    fn hand_over(&mut self, taken: Taken) {
        let mut parcel = Parcel { content: Some(Box::new(taken)), calls: self.calls.clone() };
        // A waiter that has gone gives its place to the next.
        while let Some(waiter) = self.waiting.pop_front() {
            match waiter.send(Ok(parcel)) {
                Err(Ok(back)) => parcel = back,
                _ => return,
            }
        }
        if let Some(taken) = parcel.open() {
            self.buffered.push_front(Taken { slot: None, ..taken });
        }
    }

    /// Looks at the service: to open a stream for those who wait, or because nothing came.
    fn look(&mut self) {
        let (shared, time) = (self.shared.clone(), self.shared.link.options.timeout);
        if self.looking.is_some() || self.closed {
            return;
        }
        let looking = if self.stream.is_some() {
            if self.heard.elapsed() < SILENT {
                return;
            }
            tokio::spawn(async move { Looked::Still(shared.link.has_subscription().await) })
        } else {
            if self.waiting.is_empty() || !self.backoff.is_over() {
                return;
            }
            tokio::spawn(async move {
                Looked::Ready(bounded(time, "connecting", shared.link.seen()).await)
            })
        };
        self.looking = Some(AbortOnDropHandle::new(looking));
    }

    fn close(&mut self, done: oneshot::Sender<()>) {
        self.closed = true;
        self.rest();
        let closed = QueueError::Fault(Fault::outage("Pub/Sub: the queue has been closed"));
        for waiter in self.waiting.drain(..) {
            let _ = waiter.send(Err(closed.clone()));
        }
        let mut errands = std::mem::take(&mut self.errands);
        let shared = self.shared.clone();
        self.errands.spawn(async move {
            let time = shared.link.options.timeout;
            let _ = timeout(time, async { while errands.join_next().await.is_some() {} }).await;
            shared.streams.close();
            let time = if shared.held.is_empty() { time } else { FLUSH.min(time) };
            let _ = timeout(time, shared.streams.wait()).await;
            let _ = done.send(());
        });
    }
}

async fn next(stream: &mut Option<Stream>) -> Event {
    match stream {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}

async fn done(looking: &mut Option<AbortOnDropHandle<Looked>>) -> Looked {
    match looking {
        Some(task) => match task.await {
            Ok(looked) => looked,
            Err(error) => {
                let why = format!("Pub/Sub: looking at the service: {error}");
                Looked::Still(Err(QueueError::Fault(Fault::transient(why))))
            }
        },
        None => std::future::pending().await,
    }
}

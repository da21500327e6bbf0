//! One task per open queue takes messages for all consumers of the process.
//!
//! What all queues share is here: who waits, what was taken for nobody yet, what goes back, and
//! closing. How messages arrive is the queue's own [`Source`].
//!
//! A delivery on its way to a consumer that is gone goes back to the dispatcher, so that a wait that
//! is dropped loses nothing. What nobody asked for in a while goes back to the queue, so that other
//! processes have it.

use std::{
    collections::VecDeque,
    future::{pending, ready},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::task::AbortOnDropHandle;

use super::{Delivery, QueueError};
use crate::base::Fault;

/// How often consumers that are gone and deliveries that have expired are looked for.
const TICK_INTERVAL: Duration = Duration::from_millis(250);
/// When nobody has asked for this long, nothing is kept from other processes.
const IDLE_AFTER: Duration = Duration::from_secs(5);

/// Where one queue's messages come from. Its methods are called by one dispatcher, one at a time.
pub(super) trait Source: Send + 'static {
    /// A message that was taken from the queue and is not settled.
    type Taken: Send;
    /// Something that happened at the queue.
    type Event: Send;

    /// A consumer began to wait.
    fn asked(&mut self) {}

    /// Waits for the next event, while `waiting` consumers wait. Dropping the wait loses nothing.
    fn event(&mut self, waiting: usize) -> impl Future<Output = Self::Event> + Send;

    /// Carries an event out: adds messages to `pending`, or tells those who wait what is wrong.
    fn handle(
        &mut self,
        event: Self::Event,
        pending: &mut Pending<Self::Taken>,
    ) -> impl Future<Output = ()> + Send;

    /// Whether messages that nobody waits for may stay here for a while.
    fn may_buffer(&self) -> bool;

    /// Gives a message back to the queue.
    fn give_back(&mut self, taken: Self::Taken) -> impl Future<Output = ()> + Send;

    /// Takes no more until somebody asks. Called again and again while nobody does.
    fn rest(&mut self, pending: &mut Pending<Self::Taken>) -> impl Future<Output = ()> + Send;

    /// Ends when the queue knows what was given back. Called once `rest` has ended, to close.
    fn flush(&mut self) -> BoxFuture<'static, ()> {
        Box::pin(ready(()))
    }
}

/// Knows which messages consumers hold.
pub(super) trait Holder: Send + 'static {
    /// A message that was taken from the queue and is not settled.
    type Taken: Send;

    /// Makes the delivery of a message, or gives it back when consumers hold all they may.
    fn hand_over(&self, taken: Self::Taken) -> Result<Delivery, Self::Taken>;

    /// Undoes `hand_over`. `None`: there is nothing to undo any more.
    fn take_back(&self, delivery: Delivery) -> Option<Self::Taken>;

    /// Whether the queue has taken a message back by itself.
    fn is_lost(_taken: &Self::Taken) -> bool {
        false
    }

    /// The messages of deliveries that nobody settled or extended in time.
    fn expired(&self) -> Vec<Self::Taken> {
        Vec::new()
    }
}

/// The consumers that wait, and the messages that were taken for them.
pub(super) struct Pending<T> {
    waiters: VecDeque<Waiter>,
    messages: VecDeque<T>,
}

type Waiter = oneshot::Sender<Result<PendingDelivery, QueueError>>;

impl<T> Pending<T> {
    /// Adds a message behind the others.
    pub(super) fn push(&mut self, taken: T) {
        self.messages.push_back(taken);
    }

    /// The messages that nobody has yet.
    pub(super) fn messages(&mut self) -> &mut VecDeque<T> {
        &mut self.messages
    }

    /// Answers all who wait with an error.
    pub(super) fn fail(&mut self, error: &QueueError) {
        for waiter in self.waiters.drain(..) {
            let _ = waiter.send(Err(error.clone()));
        }
    }

    fn forget_gone(&mut self) {
        self.waiters.retain(|waiter| !waiter.is_closed());
    }
}

/// A message to the dispatcher.
enum Call {
    /// A consumer waits for a message.
    Wait(Waiter),
    /// A consumer stopped waiting after a message had been taken for it.
    Return(Delivery),
    /// Give back what nobody has, and take no more.
    Close(oneshot::Sender<()>),
}

type Calls = mpsc::UnboundedSender<Call>;

/// A delivery on its way to a consumer. Dropped unopened it goes back.
struct PendingDelivery {
    delivery: Option<Delivery>,
    calls: Calls,
}

impl PendingDelivery {
    fn open(mut self) -> Option<Delivery> {
        self.delivery.take()
    }
}

impl Drop for PendingDelivery {
    fn drop(&mut self) {
        if let Some(delivery) = self.delivery.take() {
            // Without a dispatcher the message comes back by itself, later.
            let _ = self.calls.send(Call::Return(delivery));
        }
    }
}

/// Waits for messages of one queue. See [`Queue::consumer`](super::Queue::consumer).
pub struct Consumer {
    calls: Calls,
    waiting: Option<oneshot::Receiver<Result<PendingDelivery, QueueError>>>,
}

impl Consumer {
    /// Waits for a message and takes it.
    ///
    /// When the returned future is dropped, the consumer goes on waiting, and the next call answers
    /// what has arrived. Drop the consumer to stop: what was on its way to it goes back.
    ///
    /// # Errors
    /// What the queue answered; after a transient error the same call may be made again.
    pub async fn next(&mut self) -> Result<Delivery, QueueError> {
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            None => {
                let (waiter, waiting) = oneshot::channel();
                self.calls.send(Call::Wait(waiter)).map_err(|_| closed())?;
                self.waiting.insert(waiting)
            }
        };
        let answer = waiting.await;
        self.waiting = None;
        answer.map_err(|_| closed())??.open().ok_or_else(closed)
    }
}

fn closed() -> QueueError {
    QueueError::Fault(Fault::outage("the queue has been closed"))
}

/// The handle of a running dispatcher. Dropping it ends the dispatcher.
pub(super) struct DispatcherHandle {
    calls: Calls,
    buffered: Arc<AtomicU64>,
    _task: AbortOnDropHandle<()>,
}

impl DispatcherHandle {
    pub(super) fn consumer(&self) -> Consumer {
        Consumer { calls: self.calls.clone(), waiting: None }
    }

    /// Messages that are here, and that nobody has yet.
    pub(super) fn buffered(&self) -> u64 {
        self.buffered.load(Ordering::Relaxed)
    }

    pub(super) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        // A dispatcher that has ended has nothing to give back.
        if self.calls.send(Call::Close(done)).is_ok() {
            let _ = closed.await;
        }
    }
}

/// Serves the consumers of one queue.
pub(super) struct Dispatcher<H, S: Source> {
    holder: H,
    source: S,
    pending: Pending<S::Taken>,
    calls: Calls,
    inbox: mpsc::UnboundedReceiver<Call>,
    buffered: Arc<AtomicU64>,
    /// When somebody last waited.
    asked_at: Instant,
    closed: bool,
    closing: JoinSet<()>,
}

impl<H: Holder, S: Source<Taken = H::Taken>> Dispatcher<H, S> {
    /// Starts to serve. Must be called inside a Tokio runtime.
    pub(super) fn start(holder: H, source: S) -> DispatcherHandle {
        let (calls, inbox) = mpsc::unbounded_channel();
        let buffered = Arc::<AtomicU64>::default();
        let dispatcher = Self {
            holder,
            source,
            pending: Pending { waiters: VecDeque::new(), messages: VecDeque::new() },
            calls: calls.clone(),
            inbox,
            buffered: buffered.clone(),
            asked_at: Instant::now(),
            closed: false,
            closing: JoinSet::new(),
        };
        let task = AbortOnDropHandle::new(tokio::spawn(dispatcher.run()));
        DispatcherHandle { calls, buffered, _task: task }
    }

    async fn run(mut self) {
        let mut tick = interval(TICK_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.serve().await;
            let waiting = self.pending.waiters.len();
            tokio::select! {
                biased;
                Some(call) = self.inbox.recv() => self.take_calls(call).await,
                _ = tick.tick() => self.tick().await,
                event = self.source.event(waiting) => {
                    self.source.handle(event, &mut self.pending).await;
                }
            }
        }
    }

    /// Takes all calls there are, so that consumers who ask together are served together.
    async fn take_calls(&mut self, first: Call) {
        let mut next = Some(first);
        while let Some(call) = next {
            self.take_call(call).await;
            next = self.inbox.try_recv().ok();
        }
    }

    async fn take_call(&mut self, call: Call) {
        match call {
            Call::Wait(waiter) if self.closed => {
                let _ = waiter.send(Err(closed()));
            }
            Call::Wait(waiter) => {
                self.asked_at = Instant::now();
                self.source.asked();
                self.pending.waiters.push_back(waiter);
            }
            Call::Return(delivery) => {
                if let Some(taken) = self.holder.take_back(delivery) {
                    self.pending.messages.push_front(taken);
                }
            }
            Call::Close(done) => self.close(done).await,
        }
    }

    /// Gives messages to those who wait. What is left goes back unless it may stay.
    async fn serve(&mut self) {
        self.pending.forget_gone();
        self.pending.messages.retain(|taken| !H::is_lost(taken));
        while !self.pending.waiters.is_empty()
            && let Some(taken) = self.pending.messages.pop_front()
        {
            match self.holder.hand_over(taken) {
                Ok(delivery) => self.send(delivery),
                Err(taken) => {
                    self.pending.messages.push_front(taken);
                    break;
                }
            }
        }
        if !self.source.may_buffer() {
            self.give_back_all().await;
        }
        let buffered = u64::try_from(self.pending.messages.len()).unwrap_or(u64::MAX);
        self.buffered.store(buffered, Ordering::Relaxed);
    }

    async fn give_back_all(&mut self) {
        while let Some(taken) = self.pending.messages.pop_front() {
            if !H::is_lost(&taken) {
                self.source.give_back(taken).await;
            }
        }
    }

    fn send(&mut self, delivery: Delivery) {
        if let Some(waiter) = self.pending.waiters.pop_front() {
            let calls = self.calls.clone();
            // A consumer that is gone sends it back by dropping it.
            let _ = waiter.send(Ok(PendingDelivery { delivery: Some(delivery), calls }));
        }
    }

    async fn tick(&mut self) {
        for taken in self.holder.expired() {
            self.source.give_back(taken).await;
        }
        self.pending.forget_gone();
        if !self.pending.waiters.is_empty() {
            self.asked_at = Instant::now();
        } else if self.closed || self.asked_at.elapsed() >= IDLE_AFTER {
            self.source.rest(&mut self.pending).await;
        }
    }

    async fn close(&mut self, done: oneshot::Sender<()>) {
        self.closed = true;
        self.pending.fail(&closed());
        self.source.rest(&mut self.pending).await;
        self.give_back_all().await;
        let flushed = self.source.flush();
        self.closing.spawn(async move {
            flushed.await;
            let _ = done.send(());
        });
    }
}

/// Waits for what there may be; for ever if there is nothing.
pub(super) async fn optional<F: Future + Unpin>(future: &mut Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => pending().await,
    }
}

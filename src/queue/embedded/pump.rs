//! Who waits, and what they get: one task per open queue takes messages for all its consumers.
//!
//! Sixteen idle consumers cost one look at the database per poll, and sixteen busy ones are served
//! by one statement. The task ends with the queue; what consumers hold then comes back when its
//! visibility has run out.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until},
};

use super::{
    super::{Delivery, QueueError},
    inner::Inner,
    sql::{Key, Move},
};

/// However short a poll is asked for, looking must not become all this process does.
const SHORTEST_POLL: Duration = Duration::from_millis(1);

/// What consumers tell the pump.
pub(super) enum Call {
    /// Somebody waits for a message.
    Wait(oneshot::Sender<Result<Parcel, QueueError>>),
    /// Somebody stopped waiting after a message had been taken for them.
    Return(Key),
    /// Messages may have become ready.
    Look,
    /// Put back what nobody took, then end.
    Close(oneshot::Sender<()>),
}

pub(super) type Calls = mpsc::UnboundedSender<Call>;

/// A delivery on its way to a consumer. Dropped unopened it goes back.
pub(super) struct Parcel {
    content: Option<(Key, Delivery)>,
    calls: Calls,
}

impl Parcel {
    /// Hands the delivery over.
    pub(super) fn open(mut self) -> Option<Delivery> {
        self.content.take().map(|(_, delivery)| delivery)
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if let Some((key, _)) = self.content.take() {
            // When the pump is gone the message comes back by itself, later.
            let _ = self.calls.send(Call::Return(key));
        }
    }
}

/// The pump's side of the calls, and who waits.
pub(super) struct Pump {
    inner: Arc<Inner>,
    calls: Calls,
    inbox: mpsc::UnboundedReceiver<Call>,
    waiting: VecDeque<oneshot::Sender<Result<Parcel, QueueError>>>,
    returned: Vec<Key>,
    /// Whether there is reason to think that messages are ready.
    hint: bool,
    closing: Vec<oneshot::Sender<()>>,
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
            waiting: VecDeque::new(),
            returned: Vec::new(),
            hint: false,
            closing: Vec::new(),
        }
    }

    /// Serves until it is closed or aborted.
    pub(super) async fn run(mut self) {
        let mut look_again = Instant::now();
        loop {
            self.listen(look_again).await;
            self.put_back().await;
            if !self.closing.is_empty() {
                return self.end();
            }
            self.waiting.retain(|waiter| !waiter.is_closed());
            let served = match self.waiting.len() {
                0 => Ok(0),
                _ => self.serve().await,
            };
            look_again = match served {
                Ok(1..) => Instant::now(),
                Ok(0) => Instant::now() + self.inner.options.poll.max(SHORTEST_POLL),
                Err(error) => {
                    for waiter in self.waiting.drain(..) {
                        let _ = waiter.send(Err(error.clone()));
                    }
                    Instant::now()
                }
            };
        }
    }

    fn end(mut self) {
        self.inbox.close();
        for done in self.closing.drain(..) {
            let _ = done.send(());
        }
    }

    /// Waits until there is something to do, and takes note of everything that was said.
    async fn listen(&mut self, look_again: Instant) {
        let call = if self.waiting.is_empty() {
            self.inbox.recv().await
        } else {
            tokio::select! {
                biased;
                call = self.inbox.recv() => call,
                () = sleep_until(look_again) => None,
            }
        };
        if let Some(call) = call {
            self.note(call);
        }
        while let Ok(call) = self.inbox.try_recv() {
            self.note(call);
        }
    }

    fn note(&mut self, call: Call) {
        match call {
            Call::Wait(waiter) => self.waiting.push_back(waiter),
            Call::Return(key) => self.returned.push(key),
            Call::Look => self.hint = true,
            Call::Close(done) => self.closing.push(done),
        }
    }

    async fn put_back(&mut self) {
        for key in std::mem::take(&mut self.returned) {
            if let Err(error) = self.inner.shift(key, Move::Back).await {
                tracing::debug!(%error, "a message nobody waits for comes back later");
            }
        }
    }

    /// Takes messages for those who wait; answers how many there were.
    async fn serve(&mut self) -> Result<usize, QueueError> {
        let hint = std::mem::take(&mut self.hint);
        let taken = self.inner.take(self.waiting.len(), hint).await?;
        let served = taken.len();
        // There may be more where that came from.
        self.hint = served > 0;
        for (key, delivery) in taken {
            let mut parcel = Parcel { content: Some((key, delivery)), calls: self.calls.clone() };
            // A waiter that has gone gives its place to the next.
            while let Some(waiter) = self.waiting.pop_front() {
                match waiter.send(Ok(parcel)) {
                    Ok(()) => break,
                    Err(Ok(back)) => parcel = back,
                    Err(Err(_)) => break,
                }
            }
        }
        Ok(served)
    }
}

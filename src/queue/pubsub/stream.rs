//! One streaming pull: a task that reads it to its end.

use std::sync::Arc;

use google_cloud_pubsub::{
    Error, model,
    subscriber::{MessageStream, ShutdownToken, handler::Handler},
};
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    Options,
    link::Ready,
    settle::{MAX_LEASE, StreamState},
};

/// What comes out of a stream.
pub(super) enum StreamEvent {
    Message(Box<model::Message>, Handler),
    /// Nothing more comes.
    Ended(Option<Error>),
}

/// A stream that is read. Dropping it stops it: what was read and not taken over goes back.
pub(super) struct Stream {
    events: mpsc::UnboundedReceiver<StreamEvent>,
    pub state: Arc<StreamState>,
    _stop: DropGuard,
}

impl Stream {
    pub(super) fn open(
        ready: &Ready,
        subscription: String,
        (prefetch, options): (usize, &Options),
        tasks: &TaskTracker,
    ) -> Self {
        let stream = ready
            .clients
            .subscriber
            .subscribe(subscription)
            .set_max_outstanding_messages(i64::try_from(prefetch).unwrap_or(i64::MAX))
            // Bounded by the number of messages alone: one large one must not block the rest.
            .set_max_outstanding_bytes(0_i64)
            .set_max_lease(MAX_LEASE)
            .set_max_lease_extension(options.ack_deadline)
            .build();
        let (sender, events) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let token = stream.shutdown_token();
        tasks.spawn(read(stream, token, sender, stop.clone()));
        Self { events, state: Arc::default(), _stop: stop.drop_guard() }
    }

    /// The next thing to come. May be dropped and asked again.
    pub(super) async fn next(&mut self) -> StreamEvent {
        self.events.recv().await.unwrap_or(StreamEvent::Ended(None))
    }
}

/// Reads until told to stop, then until the service was told of every settlement. Waits are never
/// broken off: a stream that is being opened may already carry messages.
async fn read(
    mut stream: MessageStream,
    token: ShutdownToken,
    events: mpsc::UnboundedSender<StreamEvent>,
    stop: CancellationToken,
) {
    loop {
        let next = tokio::select! {
            biased;
            next = stream.next() => next,
            () = stop.cancelled() => break,
        };
        let event = match next {
            Some(Ok((message, handler))) => StreamEvent::Message(Box::new(message), handler),
            Some(Err(error)) => StreamEvent::Ended(Some(error)),
            None => StreamEvent::Ended(None),
        };
        let ended = matches!(event, StreamEvent::Ended(_));
        let _ = events.send(event);
        if ended {
            break;
        }
    }
    drop((stream, events));
    token.shutdown().await;
}

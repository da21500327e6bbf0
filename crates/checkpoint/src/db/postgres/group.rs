//! Operations that arrive together run together.
//!
//! One large group costs the server less than two small ones. So a second lane is used only when more
//! is under way than one group takes, a third when more than two take, and so on.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{mpsc, oneshot};

use super::Postgres;
use crate::db::DbError;

/// The most operations in one group.
const GROUP: usize = 128;

/// A kind of operation, and how a group of them is run.
///
/// A refusal that concerns one operation is an answer, never an error: an error is everybody's.
/// After a permanent error each operation of the group is run again by itself, so that one bad
/// operation does not take its neighbours with it.
pub trait Lane: Send + Sync + 'static {
    /// One operation, whole.
    type Op: Send + Sync + 'static;
    /// What it is answered with.
    type Answer: Send + 'static;

    /// Operations of the same key stay in one lane, and so in order, unless the number of lanes in use
    /// changes between them: whoever needs the order awaits the first before sending the second.
    fn key(op: &Self::Op) -> &str;

    /// Runs `ops` in the order they were sent; answers one for one.
    fn run<'a>(
        db: &'a Postgres,
        ops: &'a [Self::Op],
    ) -> impl Future<Output = Result<Vec<Self::Answer>, DbError>> + Send + 'a;
}

struct Envelope<L: Lane> {
    op: L::Op,
    reply: oneshot::Sender<Result<L::Answer, DbError>>,
}

/// The ways into a lane. While one group is under way, the next gathers.
pub struct Lanes<L: Lane> {
    inboxes: Arc<[mpsc::UnboundedSender<Envelope<L>>]>,
    under_way: Arc<AtomicUsize>,
    name: Arc<str>,
}

impl<L: Lane> Clone for Lanes<L> {
    fn clone(&self) -> Self {
        let (inboxes, under_way) = (self.inboxes.clone(), self.under_way.clone());
        Self { inboxes, under_way, name: self.name.clone() }
    }
}

impl<L: Lane> std::fmt::Debug for Lanes<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lanes({} side by side)", self.inboxes.len())
    }
}

impl<L: Lane> Lanes<L> {
    /// At most so many groups at once. Must be called inside a Tokio runtime, which then carries them.
    pub fn new(db: &Postgres, side_by_side: usize) -> Self {
        let under_way = Arc::<AtomicUsize>::default();
        let start = |_| {
            let (sender, inbox) = mpsc::unbounded_channel();
            db.lanes.spawn(serve::<L>(db.clone(), inbox, under_way.clone()));
            sender
        };
        let inboxes = (0..side_by_side.max(1)).map(start).collect();
        Self { inboxes, under_way, name: db.name.clone() }
    }

    /// Sends an operation, before this call returns; the future waits for its answer. Dropping the
    /// future does not take the operation back.
    ///
    /// # Errors
    /// As the group failed.
    pub fn send(
        &self,
        op: L::Op,
    ) -> impl Future<Output = Result<L::Answer, DbError>> + Send + use<L> {
        let (reply, answer) = oneshot::channel();
        let mut hasher = DefaultHasher::new();
        L::key(&op).hash(&mut hasher);
        let groups = self.under_way.fetch_add(1, Ordering::Relaxed) / GROUP + 1;
        let at = hasher.finish() % groups.min(self.inboxes.len()) as u64;
        let inbox = usize::try_from(at).ok().and_then(|at| self.inboxes.get(at));
        let sent = inbox.is_some_and(|inbox| inbox.send(Envelope { op, reply }).is_ok());
        let name = self.name.clone();
        async move {
            let closed = || DbError::permanent("it has been closed").of(&name);
            if !sent {
                return Err(closed());
            }
            answer.await.map_err(|_| closed())?
        }
    }
}

/// Runs until nobody can send any more, or the database is being closed; what was sent before is
/// done.
async fn serve<L: Lane>(
    db: Postgres,
    mut inbox: mpsc::UnboundedReceiver<Envelope<L>>,
    under_way: Arc<AtomicUsize>,
) {
    let mut arrived = Vec::with_capacity(GROUP);
    loop {
        let more = tokio::select! {
            more = inbox.recv_many(&mut arrived, GROUP) => more,
            () = db.closing.cancelled(), if !inbox.is_closed() => {
                inbox.close();
                continue;
            }
        };
        if more == 0 {
            return;
        }
        group::<L>(&db, arrived.drain(..)).await;
        under_way.fetch_sub(more, Ordering::Relaxed);
    }
}

async fn group<L: Lane>(db: &Postgres, arrived: impl Iterator<Item = Envelope<L>>) {
    let (ops, replies): (Vec<_>, Vec<_>) =
        arrived.map(|envelope| (envelope.op, envelope.reply)).unzip();
    // Whoever stopped waiting for an answer does not want it.
    match run::<L>(db, &ops).await {
        Ok(answers) => {
            for (reply, answer) in replies.into_iter().zip(answers) {
                let _ = reply.send(Ok(answer));
            }
        }
        Err(error) if error.is_transient() || ops.len() == 1 => {
            for reply in replies {
                let _ = reply.send(Err(error.clone()));
            }
        }
        Err(_) => {
            for (op, reply) in ops.chunks(1).zip(replies) {
                let alone = run::<L>(db, op).await;
                let _ = reply.send(alone.map(|mut answers| answers.remove(0)));
            }
        }
    }
}

async fn run<L: Lane>(db: &Postgres, ops: &[L::Op]) -> Result<Vec<L::Answer>, DbError> {
    let answers = L::run(db, ops).await?;
    if answers.len() == ops.len() {
        return Ok(answers);
    }
    Err(db.named(DbError::permanent("a lane left operations unanswered")))
}

//! Lanes: how the users of the writer meet it without knowing each other.

use std::any::{Any, TypeId};

use futures_util::future::BoxFuture;
use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use super::super::DbError;
use verdict_graph::base::Timestamp;

/// The transaction a group runs in. Opened before the first lane, committed after the last.
pub struct Tx<'c> {
    conn: &'c mut SqliteConnection,
    now: Timestamp,
}

impl<'c> Tx<'c> {
    pub(super) fn new(conn: &'c mut SqliteConnection, now: Timestamp) -> Self {
        Self { conn, now }
    }

    /// The connection, inside the transaction. A lane never begins, commits or rolls back.
    pub fn conn(&mut self) -> &mut SqliteConnection {
        self.conn
    }

    /// The store clock's time, one for the whole group.
    pub fn now(&self) -> Timestamp {
        self.now
    }
}

/// A user of the writer: the kind of operations it has, and how a group of them is run.
///
/// A refusal that concerns one operation is an answer, never an error: an error undoes the whole
/// group, that of the other lanes too. After a permanent error the writer runs each operation of
/// the group again by itself, so that one bad operation does not take its neighbours with it;
/// `run` must therefore not care how often it is called.
pub trait Lane: Send + 'static {
    /// One operation, whole.
    type Op: Send + Sync + 'static;
    /// What it is answered with.
    type Answer: Send + 'static;

    /// Runs `ops` in the order they were sent; answers one for one.
    fn run<'a>(
        tx: &'a mut Tx<'_>,
        ops: &'a [Self::Op],
    ) -> impl Future<Output = Result<Vec<Self::Answer>, DbError>> + Send + 'a;

    /// Runs an operation that came alone, outside of any transaction: for lanes that can put a
    /// whole one, from BEGIN IMMEDIATE to COMMIT, into one text, and so save three trips to the
    /// database's thread. `None`, having written nothing, leaves the operation to `run`.
    fn run_alone<'a>(
        conn: &'a mut SqliteConnection,
        now: Timestamp,
        op: &'a Self::Op,
    ) -> impl Future<Output = Result<Option<Self::Answer>, DbError>> + Send + 'a {
        let _ = (conn, now, op);
        std::future::ready(Ok(None))
    }
}

/// Where an answer goes.
pub(super) type Reply<A> = oneshot::Sender<Result<A, DbError>>;

/// One operation on its way to the writer, its type forgotten.
pub(super) struct Envelope {
    lane: TypeId,
    open: fn() -> Box<dyn Group>,
    content: Box<dyn Any + Send>,
}

impl Envelope {
    pub(super) fn new<L: Lane>(op: L::Op, reply: Reply<L::Answer>) -> Self {
        Self {
            lane: TypeId::of::<L>(),
            open: || Box::new(Typed::<L>::default()),
            content: Box::new((op, reply)),
        }
    }
}

/// The operations of one lane in one group.
pub(super) trait Group: Send {
    fn push(&mut self, content: Box<dyn Any + Send>);
    fn run<'a>(&'a mut self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<(), DbError>>;
    /// Runs a group of one outside of any transaction; answers whether that is all there is to do.
    fn run_alone<'a>(
        &'a mut self,
        conn: &'a mut SqliteConnection,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, DbError>>;
    /// Hands out the answers of the last run, or the error.
    fn answer(self: Box<Self>, failed: Option<&DbError>);
    /// A group for each operation.
    fn split(self: Box<Self>) -> Vec<Box<dyn Group>>;
}

struct Typed<L: Lane> {
    ops: Vec<L::Op>,
    replies: Vec<Reply<L::Answer>>,
    answers: Vec<L::Answer>,
}

impl<L: Lane> Default for Typed<L> {
    fn default() -> Self {
        Self { ops: Vec::new(), replies: Vec::new(), answers: Vec::new() }
    }
}

impl<L: Lane> Group for Typed<L> {
    fn push(&mut self, content: Box<dyn Any + Send>) {
        if let Ok(content) = content.downcast::<(L::Op, Reply<L::Answer>)>() {
            let (op, reply) = *content;
            self.ops.push(op);
            self.replies.push(reply);
        }
    }

    fn run<'a>(&'a mut self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, Result<(), DbError>> {
        Box::pin(async move {
            self.answers = L::run(tx, &self.ops).await?;
            if self.answers.len() == self.ops.len() {
                return Ok(());
            }
            Err(DbError::permanent("a lane left operations unanswered"))
        })
    }

    fn run_alone<'a>(
        &'a mut self,
        conn: &'a mut SqliteConnection,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, DbError>> {
        Box::pin(async move {
            let [op] = &self.ops[..] else { return Ok(false) };
            self.answers = L::run_alone(conn, now, op).await?.into_iter().collect();
            Ok(!self.answers.is_empty())
        })
    }

    fn answer(self: Box<Self>, failed: Option<&DbError>) {
        // Whoever stopped waiting for an answer does not want it.
        match failed {
            Some(error) => {
                for reply in self.replies {
                    let _ = reply.send(Err(error.clone()));
                }
            }
            None => {
                for (reply, answer) in self.replies.into_iter().zip(self.answers) {
                    let _ = reply.send(Ok(answer));
                }
            }
        }
    }

    fn split(self: Box<Self>) -> Vec<Box<dyn Group>> {
        let alone = |(op, reply)| -> Box<dyn Group> {
            Box::new(Self { ops: vec![op], replies: vec![reply], answers: Vec::new() })
        };
        self.ops.into_iter().zip(self.replies).map(alone).collect()
    }
}

/// Sorts envelopes into one group per lane, in the order the lanes first appear.
pub(super) fn sort(envelopes: impl IntoIterator<Item = Envelope>) -> Vec<Box<dyn Group>> {
    let mut lanes: Vec<(TypeId, Box<dyn Group>)> = Vec::new();
    for Envelope { lane, open, content } in envelopes {
        match lanes.iter_mut().find(|(id, _)| *id == lane) {
            Some((_, group)) => group.push(content),
            None => {
                let mut group = open();
                group.push(content);
                lanes.push((lane, group));
            }
        }
    }
    lanes.into_iter().map(|(_, group)| group).collect()
}

//! What the embedded queue asks of the database's writer, and how a group of it is run.

use std::time::Duration;

use super::{
    super::{DeadLetter, Message, delivery::Receipt},
    sql::{self, Move, Taken},
};
use crate::{
    base::Timestamp,
    db::{DbError, Lane, Tx},
};

/// The queue's lane in the writer. In a group, messages are put in before any are taken, so that
/// one commit may carry a message all the way.
pub(super) struct QueueLane;

/// One operation.
pub(super) enum Op {
    Publish { message: Message, delay: Duration },
    Move { receipt: Receipt, to: Move },
    Take { most: usize, visibility: Duration },
    PublishDead(DeadLetter),
    RemoveDead { places: Vec<i64> },
}

/// Its answer.
pub(super) enum Answer {
    /// Whether it found what it was about.
    Done(bool),
    /// How many it found.
    Count(u64),
    /// What was taken, oldest first.
    Taken(Vec<Taken>),
}

impl Lane for QueueLane {
    type Op = Op;
    type Answer = Answer;

    async fn run(tx: &mut Tx<'_>, ops: &[Op]) -> Result<Vec<Answer>, DbError> {
        let now = tx.now();
        put_in(tx, ops, now).await?;
        let mut held = move_on(tx, ops, now).await?.into_iter();
        let mut answers = Vec::with_capacity(ops.len());
        for op in ops {
            answers.push(match op {
                Op::Publish { .. } => Answer::Done(true),
                Op::Move { .. } => Answer::Done(held.next().unwrap_or_default()),
                Op::Take { most, visibility } => {
                    Answer::Taken(sql::take(tx.conn(), now, now.plus(*visibility), *most).await?)
                }
                Op::PublishDead(letter) => {
                    sql::insert_dead(tx.conn(), letter).await?;
                    Answer::Done(true)
                }
                Op::RemoveDead { places } => {
                    Answer::Count(sql::delete_dead(tx.conn(), places).await?)
                }
            });
        }
        Ok(answers)
    }
}

async fn put_in(tx: &mut Tx<'_>, ops: &[Op], now: Timestamp) -> Result<(), DbError> {
    let published = ops.iter().filter_map(|op| match op {
        Op::Publish { message, delay } => Some((message, now.plus(*delay))),
        _ => None,
    });
    Ok(sql::insert(tx.conn(), now, &published.collect::<Vec<_>>()).await?)
}

async fn move_on(tx: &mut Tx<'_>, ops: &[Op], now: Timestamp) -> Result<Vec<bool>, DbError> {
    let moves = ops.iter().filter_map(|op| match op {
        Op::Move { receipt, to } => Some((*receipt, *to)),
        _ => None,
    });
    Ok(sql::shift(tx.conn(), now, &moves.collect::<Vec<_>>()).await?)
}

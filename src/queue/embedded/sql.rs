//! The embedded queue's statements.
//!
//! A message's slot has one time, `at`, from which on anybody may take the message: the not-before
//! of one that waits, the end of visibility of one that is held. One index therefore serves delays,
//! order and crashes alike. Taking sets a random token; whoever shows it holds the message.
//!
//! Lists travel as JSON in one parameter, so that a batch of any size is one prepared statement.

use std::{
    collections::{BTreeMap, HashSet},
    sync::LazyLock,
    time::Duration,
};

use bytes::Bytes;
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::super::{DeadLetter, Depth, Message, Settlement, delivery::Receipt};
use crate::base::Timestamp;

type Result<T> = std::result::Result<T, sqlx::Error>;

/// Bodies up to this size come with the taking; larger ones are read beside the writer.
const MAX_INLINE_BODY_BYTES: i64 = 64 * 1024;

/// Inserts contents, by the number of rows there is room for: few texts stay prepared, and one
/// round trip carries a whole group. Rows without an id are padding.
static INSERT_CONTENTS: LazyLock<[(usize, String); 4]> = LazyLock::new(|| {
    [1, 4, 16, 64].map(|room| {
        let rows = vec!["(?, ?, ?)"; room].join(", ");
        let text = format!(
            "insert into queue_message (id, headers, body)
             select column1, column2, column3 from (values {rows}) where column1 is not null"
        );
        (room, text)
    })
});

/// A message just taken.
pub(super) struct Taken {
    pub receipt: Receipt,
    pub deliveries: u32,
    pub enqueued_at: Timestamp,
    pub headers: BTreeMap<String, String>,
    /// Absent when it is large: then it is still to be read.
    pub body: Option<Bytes>,
}

/// What becomes of a message that a consumer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    Settle(Settlement),
    /// Stays with its consumer until this has passed.
    Hold(Duration),
}

/// Puts messages in, each to be taken from its time on.
pub(super) async fn insert(
    db: &mut SqliteConnection,
    now: Timestamp,
    batch: &[(&Message, Timestamp)],
) -> Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let slots: Vec<_> = batch.iter().map(|(_, at)| at.0).collect();
    let mut ids: Vec<i64> = sqlx::query_scalar(
        "insert into queue_slot (at, enqueued_at)
         select value, ?2 from json_each(?1) order by key returning id",
    )
    .bind(json(&slots)?)
    .bind(now.0)
    .fetch_all(&mut *db)
    .await?;
    // Given in rising order, answered in any.
    ids.sort_unstable();
    let rows: Vec<_> = ids.into_iter().zip(batch.iter().map(|(message, _)| *message)).collect();
    for piece in rows.chunks(64) {
        insert_contents(db, piece).await?;
    }
    Ok(())
}

async fn insert_contents(db: &mut SqliteConnection, rows: &[(i64, &Message)]) -> Result<()> {
    let fits = INSERT_CONTENTS.iter().find(|(room, _)| *room >= rows.len());
    let Some((room, statement)) = fits else { return Ok(()) };
    let mut query = sqlx::query(statement.as_str());
    for (id, message) in rows {
        query = query.bind(id).bind(json(&message.headers)?).bind(&message.body[..]);
    }
    for _ in rows.len()..*room {
        query = query.bind(None::<i64>).bind(None::<&str>).bind(None::<&[u8]>);
    }
    query.execute(db).await?;
    Ok(())
}

/// The earliest moment from which a message may be taken.
pub(super) async fn earliest(db: &mut SqliteConnection) -> Result<Option<Timestamp>> {
    let at = sqlx::query_scalar("select at from queue_slot order by at limit 1");
    Ok(at.fetch_optional(db).await?.map(Timestamp))
}

/// Takes what has been ready longest, at most `most`, oldest first.
pub(super) async fn take(
    db: &mut SqliteConnection,
    now: Timestamp,
    until: Timestamp,
    most: usize,
) -> Result<Vec<Taken>> {
    let rows = sqlx::query(
        "update queue_slot set at = ?2, token = random(), deliveries = deliveries + 1
         where id in (select id from queue_slot where at <= ?1 order by at, id limit ?3)
         returning id, token, deliveries, enqueued_at,
             (select headers from queue_message as m where m.id = queue_slot.id),
             (select case when length(body) <= ?4 then body end
              from queue_message as m where m.id = queue_slot.id)",
    )
    .bind(now.0)
    .bind(until.0)
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .bind(MAX_INLINE_BODY_BYTES)
    .fetch_all(db)
    .await?;
    let mut taken = rows.iter().map(read_taken).collect::<Result<Vec<_>>>()?;
    taken.sort_unstable_by_key(|taken| (taken.enqueued_at, taken.receipt.id));
    Ok(taken)
}

fn read_taken(row: &SqliteRow) -> Result<Taken> {
    Ok(Taken {
        receipt: Receipt { id: row.try_get(0)?, token: row.try_get(1)? },
        deliveries: u32::try_from(row.try_get::<i64, _>(2)?).unwrap_or(u32::MAX),
        enqueued_at: Timestamp(row.try_get(3)?),
        headers: parse(row.try_get(4)?)?,
        body: row.try_get::<Option<Vec<u8>>, _>(5)?.map(Bytes::from),
    })
}

/// The body of a message.
pub(super) async fn body(db: &mut SqliteConnection, id: i64) -> Result<Bytes> {
    let body = sqlx::query_scalar("select body from queue_message where id = ?1").bind(id);
    let body: Vec<u8> = body.fetch_one(db).await?;
    Ok(Bytes::from(body))
}

/// Moves messages on, each only for who still holds it; answers for each whether that was so.
/// A message that its holder has given up is not theirs to move again.
pub(super) async fn shift(
    db: &mut SqliteConnection,
    now: Timestamp,
    moves: &[(Receipt, Move)],
) -> Result<Vec<bool>> {
    if moves.is_empty() {
        return Ok(Vec::new());
    }
    let asked: Vec<_> = moves.iter().map(|(receipt, _)| (receipt.id, receipt.token)).collect();
    let (plan, answers) = plan(holders(db, &asked).await?, now, moves);
    if !plan.held.is_empty() {
        sqlx::query(
            "update queue_slot set at = asked.until
             from (select value ->> 0 as id, value ->> 1 as until from json_each(?1)) as asked
             where queue_slot.id = asked.id",
        )
        .bind(json(&plan.held)?)
        .execute(&mut *db)
        .await?;
    }
    if !plan.free.is_empty() {
        sqlx::query(
            "update queue_slot
             set at = coalesce(asked.at, enqueued_at), token = null, deliveries = deliveries - 1
             from (select value ->> 0 as id, value ->> 1 as at from json_each(?1)) as asked
             where queue_slot.id = asked.id",
        )
        .bind(json(&plan.free)?)
        .execute(&mut *db)
        .await?;
    }
    if !plan.gone.is_empty() {
        let ids = json(&plan.gone)?;
        sqlx::query(
            "delete from queue_slot where id in (select value from json_each(?));
             delete from queue_message where id in (select value from json_each(?))",
        )
        .bind(&ids)
        .bind(&ids)
        .execute(db)
        .await?;
    }
    Ok(answers)
}

/// Which of the asked pairs of id and token are current.
async fn holders(db: &mut SqliteConnection, asked: &[(i64, i64)]) -> Result<HashSet<Receipt>> {
    let rows = sqlx::query(
        "select slot.id, slot.token from json_each(?1) as asked
         cross join queue_slot as slot on slot.id = asked.value ->> 0
         where slot.token = asked.value ->> 1",
    )
    .bind(json(&asked)?)
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok(Receipt { id: row.try_get(0)?, token: row.try_get(1)? })).collect()
}

/// The moves that may be made, to be carried out in this order: an extension may come before the
/// same delivery's settlement, never after it.
#[derive(Debug, Default)]
struct Plan {
    held: Vec<(i64, i64)>,
    free: Vec<(i64, Option<i64>)>,
    gone: Vec<i64>,
}

fn plan(
    mut holders: HashSet<Receipt>,
    now: Timestamp,
    moves: &[(Receipt, Move)],
) -> (Plan, Vec<bool>) {
    let mut plan = Plan::default();
    let mut answers = Vec::with_capacity(moves.len());
    for (receipt, to) in moves {
        let holds = match to {
            Move::Hold(_) => holders.contains(receipt),
            Move::Settle(_) => holders.remove(receipt),
        };
        answers.push(holds);
        let id = receipt.id;
        match to {
            _ if !holds => {}
            Move::Hold(by) => plan.held.push((id, now.plus(*by).0)),
            Move::Settle(Settlement::Later(by)) => plan.free.push((id, Some(now.plus(*by).0))),
            Move::Settle(Settlement::HandBack) => plan.free.push((id, None)),
            Move::Settle(Settlement::Ack) => plan.gone.push(id),
        }
    }
    (plan, answers)
}

pub(super) async fn insert_dead(db: &mut SqliteConnection, letter: &DeadLetter) -> Result<()> {
    // A letter given up again has a new place: whoever takes the old one away does not take it.
    sqlx::query(
        "insert or replace into queue_dead (id, reason, headers, body) values (?1, ?2, ?3, ?4)",
    )
    .bind(&letter.id)
    .bind(&letter.reason)
    .bind(json(&letter.message.headers)?)
    .bind(&letter.message.body[..])
    .execute(db)
    .await?;
    Ok(())
}

pub(super) async fn delete_dead(db: &mut SqliteConnection, places: &[i64]) -> Result<u64> {
    let done = sqlx::query("delete from queue_dead where seq in (select value from json_each(?1))")
        .bind(json(&places)?)
        .execute(db)
        .await?;
    Ok(done.rows_affected())
}

pub(super) async fn dead_after(
    db: &mut SqliteConnection,
    after: i64,
) -> Result<Option<(i64, DeadLetter)>> {
    let row = sqlx::query(
        "select seq, id, reason, headers, body from queue_dead where seq > ?1 order by seq limit 1",
    )
    .bind(after)
    .fetch_optional(db)
    .await?;
    let read = |row: SqliteRow| {
        let (id, reason) = (row.try_get(1)?, row.try_get(2)?);
        let message = read_message(&row, 3)?;
        Ok((
            row.try_get(0)?,
            DeadLetter { id, reason, by_broker: false, notes: Vec::new(), message },
        ))
    };
    row.map(read).transpose()
}

pub(super) async fn depth(db: &mut SqliteConnection, now: Timestamp) -> Result<Depth> {
    let row = sqlx::query(
        "select count(*) filter (where at <= ?1),
                count(*) filter (where at > ?1 and token is not null),
                count(*) filter (where at > ?1 and token is null),
                (select count(*) from queue_dead)
         from queue_slot",
    )
    .bind(now.0)
    .fetch_one(db)
    .await?;
    let count = |column| -> Result<_> {
        Ok(Some(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default()))
    };
    Ok(Depth { ready: count(0)?, in_hand: count(1)?, delayed: count(2)?, dead: count(3)? })
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(Box::new(error)))
}

fn parse(headers: &str) -> Result<BTreeMap<String, String>> {
    serde_json::from_str(headers).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

fn read_message(row: &SqliteRow, first: usize) -> Result<Message> {
    let headers = parse(row.try_get(first)?)?;
    Ok(Message { headers, body: Bytes::from(row.try_get::<Vec<u8>, _>(first + 1)?) })
}

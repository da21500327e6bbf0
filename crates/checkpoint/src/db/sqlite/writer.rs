//! The one task that writes to a database file.
//!
//! It takes an operation, drains what else has arrived, runs all of it in one immediate
//! transaction, commits once and answers everyone. If the transaction fails, nothing of it was
//! written and everybody in it is told.

use std::{path::PathBuf, sync::Arc};

use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::{mpsc, oneshot};

use super::{
    super::DbError,
    lane::{Envelope, Group, Tx, sort},
    open::Identity,
};
use verdict_graph::base::Clock;

/// The most operations in one transaction.
const GROUP: usize = 256;

pub(super) enum Command {
    Work(Envelope),
    Close(oneshot::Sender<Result<(), DbError>>),
}

pub(super) struct Writer {
    pub(super) path: Arc<PathBuf>,
    pub(super) options: SqliteConnectOptions,
    pub(super) clock: Clock,
    /// The file that was opened.
    pub(super) identity: Option<Identity>,
    /// Absent after it broke, until the next group needs it.
    pub(super) conn: Option<SqliteConnection>,
}

impl Writer {
    /// Runs until it is closed or nobody can send any more; what was sent before is done.
    pub(super) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Command>) {
        let mut arrived = Vec::with_capacity(GROUP);
        while inbox.recv_many(&mut arrived, GROUP).await > 0 {
            let mut work = Vec::with_capacity(arrived.len());
            let mut closing = None;
            for command in arrived.drain(..) {
                match command {
                    Command::Work(envelope) if closing.is_none() => work.push(envelope),
                    // Dropping an envelope tells its sender that the database is closed.
                    Command::Work(_) => {}
                    Command::Close(done) => closing = Some(done),
                }
            }
            self.groups(sort(work)).await;
            if let Some(done) = closing {
                inbox.close();
                let _ = done.send(self.close().await);
                return;
            }
        }
        if let Some(conn) = self.conn.take() {
            let _ = conn.close().await;
        }
    }

    /// Runs the groups together, or, when something among them can never succeed, each operation
    /// by itself.
    async fn groups(&mut self, mut groups: Vec<Box<dyn Group>>) {
        if groups.is_empty() {
            return;
        }
        match self.transaction(&mut groups).await {
            Err(error) if !error.is_transient() => {
                for mut alone in groups.into_iter().flat_map(|group| group.split()) {
                    let failed = self.transaction(std::slice::from_mut(&mut alone)).await.err();
                    alone.answer(failed.as_ref());
                }
            }
            ended => {
                let failed = ended.err();
                groups.into_iter().for_each(|group| group.answer(failed.as_ref()));
            }
        }
    }

    async fn transaction(&mut self, groups: &mut [Box<dyn Group>]) -> Result<(), DbError> {
        self.identity.map_or(Ok(()), |opened| opened.check(&self.path))?;
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => self.options.connect().await.map_err(|e| DbError::from(e).on(&self.path))?,
        };
        let done = attempt(&mut conn, &self.clock, groups).await;
        // A connection that cannot be brought out of its transaction is dropped with it.
        if done.is_ok() || roll_back(&mut conn).await {
            self.conn = Some(conn);
        }
        done.map_err(|error| error.on(&self.path))
    }

    async fn close(mut self) -> Result<(), DbError> {
        let Some(mut conn) = self.conn.take() else { return Ok(()) };
        let done = sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut conn).await;
        let closed = conn.close().await;
        done.map(drop).and(closed).map_err(|e| DbError::from(e).on(&self.path))
    }
}

async fn attempt(
    conn: &mut SqliteConnection,
    clock: &Clock,
    groups: &mut [Box<dyn Group>],
) -> Result<(), DbError> {
    if let [alone] = groups
        && alone.run_alone(conn, clock.now()).await?
    {
        return Ok(());
    }
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *conn).await?;
    let mut tx = Tx::new(conn, clock.now());
    for group in groups {
        group.run(&mut tx).await?;
    }
    sqlx::query("COMMIT").execute(conn).await?;
    Ok(())
}

/// Leaves the transaction, if there still is one; answers whether the connection is fit for use.
async fn roll_back(conn: &mut SqliteConnection) -> bool {
    match sqlx::query("ROLLBACK").execute(conn).await {
        Ok(_) => true,
        // SQLite has rolled back by itself, or BEGIN was refused.
        Err(sqlx::Error::Database(error)) => error.message().contains("no transaction is active"),
        Err(_) => false,
    }
}

//! One SQLite file: one writer, a few readers.
//!
//! What it promises:
//! - **Durable.** WAL with `synchronous=FULL`: what was answered survives a power cut.
//! - **Grouped.** Everything sent to the writer goes through one connection and one task; what
//!   arrives together is committed together. The order of sending is kept within a lane.
//! - **Shared.** Several processes may open the file: transactions are immediate and wait for each
//!   other as long as [`SqliteOptions::busy_timeout`].
//!
//! A process opens a file once and clones the handle: two handles opened separately are to each
//! other as two processes, which works, and groups nothing.

mod lane;
mod open;
mod rows;
mod schema;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sqlx::{SqlitePool, pool::PoolConnection};
use tokio::sync::{mpsc, oneshot};

use self::{lane::Envelope, open::Identity, writer::Command};
pub use self::{
    lane::{Lane, Tx},
    open::make_private_folder,
    rows::Rows,
    schema::VERSION,
};
use super::DbError;
use verdict_graph::base::{Clock, Timestamp};

/// How a file is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// Where leases and due times take their time from.
    pub clock: Clock,
    /// How long to wait for other processes' transactions.
    pub busy_timeout: Duration,
    /// Connections for reading.
    pub readers: u32,
    /// The most 4 KiB pages the file may have; none is as many as the disk holds.
    pub max_pages: Option<u32>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            busy_timeout: Duration::from_secs(5),
            readers: 4,
            max_pages: None,
        }
    }
}

/// A handle to an open file. Cheap to clone; the file is closed when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Sqlite {
    path: Arc<PathBuf>,
    identity: Option<Identity>,
    clock: Clock,
    readers: SqlitePool,
    writer: mpsc::UnboundedSender<Command>,
    migrated: Option<i64>,
}

impl Sqlite {
    /// Opens the file, making it (and its folder) when there is none, and brings its schema up to
    /// date. Must be called inside a Tokio runtime, which then carries the writer.
    ///
    /// # Errors
    /// Permanent when it is no database, another program's, corrupt, of a newer schema, or cannot
    /// be made there; transient when it stays locked.
    pub async fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, DbError> {
        open::open(path.as_ref(), options).await
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The schema version that opening found, if it was an older one; 0 for a new file.
    pub fn migrated_from(&self) -> Option<i64> {
        self.migrated
    }

    /// The clock it was opened with.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Now, by that clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A connection for reading. It sees what was committed and cannot write.
    ///
    /// # Errors
    /// Denied when the file is not the opened one any more; transient when none came free in time.
    pub async fn reader(&self) -> Result<PoolConnection<sqlx::Sqlite>, DbError> {
        let same = || self.identity.map_or(Ok(()), |opened| opened.check(&self.path));
        // A connection to another file would take the opened one's journal for its own.
        same()?;
        let conn = self.readers.acquire().await;
        if let Err(moved) = same() {
            drop(conn.map(PoolConnection::detach));
            return Err(moved);
        }
        conn.map_err(|error| self.failed(error))
    }

    /// Sends an operation to the writer, before this call returns; the future waits for its
    /// commit. Dropping the future does not take the operation back.
    ///
    /// # Errors
    /// As the group failed; then nothing of it was written.
    pub fn write<L: Lane>(
        &self,
        op: L::Op,
    ) -> impl Future<Output = Result<L::Answer, DbError>> + Send + use<L> {
        let (reply, answer) = oneshot::channel();
        let sent = self.writer.send(Command::Work(Envelope::new::<L>(op, reply)));
        let path = self.path.clone();
        async move {
            let closed = || DbError::permanent("it has been closed").on(&path);
            sent.map_err(|_| closed())?;
            answer.await.map_err(|_| closed())?
        }
    }

    /// An error of a read, naming the file.
    pub fn failed(&self, error: impl Into<DbError>) -> DbError {
        error.into().on(&self.path)
    }

    /// Finishes what was sent, folds the write-ahead log into the file and closes it. Later calls
    /// on any clone fail; closing twice is harmless.
    ///
    /// # Errors
    /// When the write-ahead log could not be folded in; nothing is lost by that.
    pub async fn close(&self) -> Result<(), DbError> {
        self.readers.close().await;
        let (done, closed) = oneshot::channel();
        if self.writer.send(Command::Close(done)).is_err() {
            return Ok(());
        }
        closed.await.unwrap_or(Ok(()))
    }
}

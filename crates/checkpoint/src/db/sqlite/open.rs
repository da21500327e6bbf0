//! Opening a file: settings, journal, schema.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
    sync::Arc,
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::{sync::mpsc, time::Instant};

use super::{Sqlite, SqliteOptions, schema, writer::Writer};
use crate::db::DbError;
use verdict_graph::base::{Clock, Timestamp};

/// Write-ahead log pages before they are folded into the file: fewer syncs than with the usual
/// 1000, and still little to read through after a crash.
const CHECKPOINT_PAGES: &str = "4000";

/// SQLite counts milliseconds in 31 bits.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

pub(super) async fn open(path: &Path, options: SqliteOptions) -> Result<Sqlite, DbError> {
    make_private(path)?;
    let connect = connect_options(path, &options);
    let mut conn = establish(&connect, path).await?;
    let ready = async {
        switch_to_wal(&mut conn, options.busy_timeout).await?;
        let migrated = schema::migrate(&mut conn, path).await?;
        catch_up(&mut conn, &options.clock, path).await;
        Ok::<_, DbError>(migrated)
    };
    let migrated = match ready.await {
        Ok(from) => from,
        Err(error) => {
            let _ = conn.close().await;
            return Err(error.on(path));
        }
    };
    let path = Arc::new(path.to_owned());
    let identity = Identity::of(&path).ok();
    // There is a file now; if it is gone later, no other may be made in its place.
    let connect = connect.create_if_missing(false);
    let readers = SqlitePoolOptions::new()
        .max_connections(options.readers.max(1))
        .test_before_acquire(false)
        .connect_lazy_with(connect.clone().read_only(true));
    let clock = options.clock;
    let (sender, inbox) = mpsc::unbounded_channel();
    let writer = Writer {
        identity,
        path: path.clone(),
        options: connect,
        clock: clock.clone(),
        conn: Some(conn),
    };
    tokio::spawn(writer.run(inbox));
    Ok(Sqlite { path, identity, clock, readers, writer: sender, migrated })
}

/// Makes the file and its folder for their owner alone, unless they are there. What SQLite makes
/// beside the file gets the file's mode.
fn make_private(path: &Path) -> Result<(), DbError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        make_private_folder(folder).map_err(|error| {
            let folder = folder.display();
            DbError::permanent(format!("folder {folder} could not be made: {error}")).on(path)
        })?;
    }
    // What is wrong with the place is told by opening it.
    let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    Ok(())
}

/// Makes a folder, and those it is in, for their owner alone, unless they are there.
///
/// # Errors
/// As the system says.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A difference of clocks that nobody need hear of.
const SMALL_STEP: Duration = Duration::from_secs(60);

/// Leases and waits in the file were judged by the clock of whoever wrote them. If that was ahead, this
/// process goes on from there: none of them lasts longer than it was meant to.
async fn catch_up(conn: &mut SqliteConnection, clock: &Clock, path: &Path) {
    const LATEST: &str =
        "SELECT max(updated_at) FROM (SELECT updated_at FROM run ORDER BY n DESC LIMIT 1000)";
    // What is wrong with the file is told by whoever uses it.
    let written: Option<i64> = sqlx::query_scalar(LATEST).fetch_one(conn).await.unwrap_or_default();
    let behind = written.map(|at| clock.catch_up(Timestamp(at))).unwrap_or_default();
    if behind > SMALL_STEP {
        let (path, behind_s) = (path.display(), behind.as_secs_f64());
        tracing::warn!(%path, behind_s, "the clock is behind the times in the database, and goes on from those");
    }
}

/// Which file a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        Ok(Self { device: file.dev(), inode: file.ino() })
    }

    /// Refuses to go on with a file that nobody finds any more at its path.
    pub(super) fn check(self, path: &Path) -> Result<(), DbError> {
        match Self::of(path) {
            Ok(now) if now == self => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(DbError::transient(format!("it cannot be looked at: {error}")).on(path))
            }
            found => {
                let what = if found.is_ok() {
                    "another file was put in its place"
                } else {
                    "it was deleted"
                };
                Err(DbError::denied(format!(
                    "the file that this process opened is gone ({what}): nothing is written to it any \
                     more; put it back, or restart this process to go on with what is there now"
                ))
                .on(path))
            }
        }
    }
}

fn connect_options(path: &Path, options: &SqliteOptions) -> SqliteConnectOptions {
    let mut connect = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .busy_timeout(options.busy_timeout.min(LONGEST_WAIT))
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(false)
        .pragma("cache_size", "-16000")
        .pragma("temp_store", "MEMORY")
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("journal_size_limit", "67108864")
        .statement_cache_capacity(512)
        .disable_statement_logging();
    if let Some(pages) = options.max_pages {
        connect = connect.pragma("max_page_count", pages.to_string());
    }
    connect
}

/// Connects, and tells a place where no file can be from a file that is in use.
async fn establish(
    connect: &SqliteConnectOptions,
    path: &Path,
) -> Result<SqliteConnection, DbError> {
    connect.connect().await.map_err(|error| {
        let cannot_open =
            matches!(&error, sqlx::Error::Database(db) if db.code().is_some_and(|c| c == "14"));
        let error = DbError::from(error).on(path);
        if cannot_open { DbError::permanent(error.message()) } else { error }
    })
}

/// Write-ahead logging is a property of the file. Changing it needs the file alone, and SQLite does
/// not wait for that, so it is asked again as long as another process is in the way.
async fn switch_to_wal(conn: &mut SqliteConnection, patience: Duration) -> Result<(), DbError> {
    let until = Instant::now() + patience;
    loop {
        let mode = sqlx::query_scalar::<_, String>("PRAGMA journal_mode").fetch_one(&mut *conn);
        if mode.await? == "wal" {
            return Ok(());
        }
        let switched = sqlx::query("PRAGMA journal_mode=WAL").fetch_optional(&mut *conn).await;
        match switched.map_err(DbError::from) {
            Ok(_) => return Ok(()),
            Err(error) if !error.is_transient() || Instant::now() >= until => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

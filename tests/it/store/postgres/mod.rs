//! What only the store on a server promises.

mod listings;
mod outages;
mod pooler;
mod schema;
mod times;
mod tls;

use std::sync::Arc;

use verdict::{
    checkpoint::PostgresStore,
    db::{DbError, Postgres, PostgresOptions},
    graph::store::StoreError,
};

/// A store as a process opens it.
async fn open(url: &str, options: PostgresOptions) -> (Postgres, Arc<PostgresStore>) {
    let db = Postgres::open(url, options).await.unwrap();
    (db.clone(), Arc::new(PostgresStore::new(db)))
}

/// Why it cannot be opened.
async fn refused(url: &str, options: PostgresOptions) -> DbError {
    Postgres::open(url, options).await.unwrap_err()
}

fn unavailable<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer.unwrap_err() {
        StoreError::Unavailable(why) => why,
        other => panic!("{other:?}"),
    }
}

//! The connection to the service, made again when it may be dead.
//!
//! A connection can die without anybody being told: a router forgot it, or the machine at its other
//! end is gone. It then swallows requests until the keep-alive notices, which takes minutes. So one
//! on which an answer failed to come in time is given up: the next request makes a new one.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use firestore::{
    FirestoreDb, FirestoreDbOptions,
    errors::FirestoreError,
    gcloud_sdk::{
        google_cloud_auth::credentials::anonymous,
        tonic::{Code, Status},
    },
};
use tokio::sync::Mutex;

use super::Options;
use crate::base::Fault;

/// A connection and its number.
type Numbered = (u64, FirestoreDb);

pub(super) struct Link {
    settings: FirestoreDbOptions,
    emulator: bool,
    current: Mutex<Numbered>,
    /// The latest connection that swallowed a request.
    doubted: AtomicU64,
}

impl Link {
    /// # Errors
    /// When there is no connection within the time, or no credentials are found.
    pub(super) async fn connect(options: &Options, place: &str) -> Result<Self, Fault> {
        let timeout: Duration = options.timeout;
        let mut settings = FirestoreDbOptions::new(options.project.clone())
            .with_database_id(options.database.clone());
        if let Some(host) = &options.emulator {
            settings = settings.with_firebase_api_url(format!("http://{host}"));
        }
        let emulator = options.emulator.is_some();
        let db = match tokio::time::timeout(timeout, connect(&settings, emulator)).await {
            Ok(db) => db.map_err(|error| unconnected(place, &error))?,
            Err(_) => return Err(Fault::outage(format!("{place}: no connection in {timeout:?}"))),
        };
        let doubted = AtomicU64::new(0);
        Ok(Self { settings, emulator, current: Mutex::new((1, db)), doubted })
    }

    /// The connection to use.
    pub(super) async fn get(&self) -> Result<Numbered, Status> {
        let mut current = self.current.lock().await;
        if self.doubted.load(Ordering::Relaxed) >= current.0 {
            let db = connect(&self.settings, self.emulator).await;
            let failed = |error| Status::new(Code::Unavailable, format!("no connection: {error}"));
            *current = (current.0 + 1, db.map_err(failed)?);
        }
        Ok(current.clone())
    }

    /// No answer came in time over the connection of this number.
    pub(super) fn doubt(&self, number: u64) {
        self.doubted.fetch_max(number, Ordering::Relaxed);
    }
}

async fn connect(
    settings: &FirestoreDbOptions,
    emulator: bool,
) -> Result<FirestoreDb, FirestoreError> {
    if emulator {
        let nobody = anonymous::Builder::new().build();
        FirestoreDb::with_options_auth(settings.clone(), nobody).await
    } else {
        FirestoreDb::with_options(settings.clone()).await
    }
}

fn unconnected(place: &str, error: &FirestoreError) -> Fault {
    let why = format!("{place}: no connection: {error}");
    match error {
        FirestoreError::InvalidParametersError(_) => Fault::permanent(why),
        _ => Fault::outage(why),
    }
}

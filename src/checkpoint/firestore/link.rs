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
        HeaderMap,
        google_cloud_auth::{
            credentials::{CacheableResource, Credentials, CredentialsProvider, EntityTag},
            errors::CredentialsError,
        },
        tonic::{
            Code, Extensions, Status,
            codegen::http::{HeaderValue, header::AUTHORIZATION},
        },
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
        let owner = Credentials::from(Owner(EntityTag::new()));
        FirestoreDb::with_options_auth(settings.clone(), owner).await
    } else {
        FirestoreDb::with_options(settings.clone()).await
    }
}

/// Whom an emulator lets do anything, a request that changes many documents among it.
#[derive(Debug)]
struct Owner(EntityTag);

impl CredentialsProvider for Owner {
    async fn headers(
        &self,
        known: Extensions,
    ) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        if known.get::<EntityTag>() == Some(&self.0) {
            return Ok(CacheableResource::NotModified);
        }
        let mut data = HeaderMap::new();
        data.insert(AUTHORIZATION, HeaderValue::from_static("Bearer owner"));
        Ok(CacheableResource::New { entity_tag: self.0.clone(), data })
    }

    async fn universe_domain(&self) -> Option<String> {
        None
    }
}

fn unconnected(place: &str, error: &FirestoreError) -> Fault {
    let why = format!("{place}: no connection: {error}");
    match error {
        FirestoreError::InvalidParametersError(_) => Fault::permanent(why),
        _ => Fault::outage(why),
    }
}

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
use verdict_graph::base::Fault;

/// A connection and its number.
type Numbered = (u64, FirestoreDb);

pub(super) struct Link {
    settings: FirestoreDbOptions,
    emulator: Option<Known>,
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
        let token = options.emulator_token.as_deref().unwrap_or("owner");
        let emulator = options.emulator.as_ref().map(|_| Known::by(token, place)).transpose()?;
        let connected = connect(&settings, emulator.clone());
        let db = match tokio::time::timeout(timeout, connected).await {
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
            let db = connect(&self.settings, self.emulator.clone()).await;
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
    emulator: Option<Known>,
) -> Result<FirestoreDb, FirestoreError> {
    match emulator {
        Some(known) => {
            FirestoreDb::with_options_auth(settings.clone(), Credentials::from(known)).await
        }
        None => FirestoreDb::with_options(settings.clone()).await,
    }
}

/// Who an emulator is told that it speaks to. Its owner may do anything, a request that changes many
/// documents among it.
#[derive(Debug, Clone)]
struct Known {
    tag: EntityTag,
    header: HeaderValue,
}

impl Known {
    fn by(token: &str, place: &str) -> Result<Self, Fault> {
        let header = HeaderValue::try_from(format!("Bearer {token}"));
        let header = header
            .map_err(|_| Fault::permanent(format!("{place}: the emulator's token is none")))?;
        Ok(Self { tag: EntityTag::new(), header })
    }
}

impl CredentialsProvider for Known {
    async fn headers(
        &self,
        known: Extensions,
    ) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        if known.get::<EntityTag>() == Some(&self.tag) {
            return Ok(CacheableResource::NotModified);
        }
        let mut data = HeaderMap::new();
        data.insert(AUTHORIZATION, self.header.clone());
        Ok(CacheableResource::New { entity_tag: self.tag.clone(), data })
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

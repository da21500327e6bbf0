//! From what Pub/Sub and its client answer to faults.

use std::{sync::Arc, time::Duration};

use google_cloud_gax::error::rpc::Code;
use google_cloud_pubsub::{
    Error,
    error::{AckError, PublishError},
};

use super::QueueError;
use crate::base::Fault;

/// What a call came to, bounded: a service that does not answer in time is out of reach.
pub(super) async fn bounded<T>(
    time: Duration,
    doing: &str,
    call: impl Future<Output = Result<T, QueueError>>,
) -> Result<T, QueueError> {
    match tokio::time::timeout(time, call).await {
        Ok(answer) => answer,
        Err(_) => {
            let time = humantime::format_duration(time);
            Err(QueueError::Fault(Fault::outage(format!("Pub/Sub: {doing}: no answer in {time}"))))
        }
    }
}

/// An error that no other call will cure.
pub(super) fn permanent(doing: &str, why: impl std::fmt::Display) -> QueueError {
    QueueError::Fault(Fault::permanent(format!("Pub/Sub: {doing}: {why}")))
}

pub(super) fn is_not_found(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code == Code::NotFound)
}

pub(super) fn is_already_there(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code == Code::AlreadyExists)
}

/// An error of the service or on the way to it, classified.
pub(super) fn classify(doing: &str, error: &Error) -> QueueError {
    QueueError::Fault(fault(error).while_doing(format_args!("Pub/Sub: {doing}")))
}

fn fault(error: &Error) -> Fault {
    if let Some(status) = error.status() {
        return of_code(status.code, &status.message);
    }
    let causes = chain(error);
    if error.is_authentication() {
        return unauthenticated(&causes);
    }
    let on_the_way = error.is_io() || error.is_connect() || error.is_transport();
    if on_the_way || error.is_timeout() || error.is_exhausted() {
        return Fault::outage(format!("the service cannot be reached: {causes}"));
    }
    Fault::permanent(causes)
}

fn of_code(code: Code, message: &str) -> Fault {
    match code {
        Code::Unauthenticated => unauthenticated(message),
        Code::PermissionDenied => Fault::permanent(format!(
            "not allowed ({message}): `verdict doctor` lists the permissions that are needed"
        )),
        Code::NotFound => Fault::permanent(format!(
            "not there ({message}): `verdict doctor` says what is missing and how to make it"
        )),
        Code::InvalidArgument
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::AlreadyExists => Fault::permanent(format!("{code:?}: {message}")),
        Code::DeadlineExceeded => Fault::timeout(format!("{code:?}: {message}")),
        // Unavailable, Aborted, ResourceExhausted, Internal, and what is not known.
        _ => Fault::transient(format!("{code:?}: {message}")),
    }
}

fn unauthenticated(why: &str) -> Fault {
    Fault::permanent(format!(
        "not signed in ({why}): set GOOGLE_APPLICATION_CREDENTIALS, attach a service account, or \
         run `gcloud auth application-default login`"
    ))
}

/// An error and its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Clients that could not even be built: credentials that cannot be read.
pub(super) fn unbuilt(error: &impl std::error::Error) -> QueueError {
    permanent("building the clients", unauthenticated(&chain(error)))
}

pub(super) enum Unpublished {
    /// The topic is not there.
    NoTopic,
    Other(QueueError),
}

pub(super) fn unpublished(error: PublishError) -> Unpublished {
    match error {
        PublishError::Rpc(error) if is_not_found(&error) => Unpublished::NoTopic,
        PublishError::Rpc(error) => Unpublished::Other(classify("publishing", &error)),
        other => Unpublished::Other(QueueError::Fault(Fault::transient(format!(
            "Pub/Sub: publishing: {other}"
        )))),
    }
}

/// What a confirmed acknowledgement that failed means: `None` when somebody else has the message.
pub(super) fn unacknowledged(error: &AckError) -> Option<QueueError> {
    match error {
        AckError::LeaseExpired | AckError::ShutdownBeforeAck => None,
        AckError::Rpc { source, .. } => {
            let source: &Arc<Error> = source;
            let error = classify("acknowledging", source);
            error.is_transient().then_some(error)
        }
        other => {
            Some(QueueError::Fault(Fault::transient(format!("Pub/Sub: acknowledging: {other}"))))
        }
    }
}

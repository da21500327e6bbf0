//! What the client's errors mean.

use std::io;

use lapin::{Error, ErrorKind};

use crate::base::Fault;

/// Reply codes of AMQP that matter here.
pub(super) mod code {
    pub(in super::super) const ACCESS_REFUSED: u16 = 403;
    pub(in super::super) const NOT_FOUND: u16 = 404;
    pub(in super::super) const PRECONDITION_FAILED: u16 = 406;
    pub(in super::super) const NOT_ALLOWED: u16 = 530;
}

/// The reply code and text, when the broker itself refused.
pub(super) fn refusal(error: &Error) -> Option<(u16, &str)> {
    match error.kind() {
        ErrorKind::ProtocolError(error) => Some((error.get_id(), error.get_message().as_str())),
        _ => None,
    }
}

/// Whether what was named is not there.
pub(super) fn is_missing(error: &Error) -> bool {
    refusal(error).is_some_and(|(id, _)| id == code::NOT_FOUND)
}

/// Whether the user may not do that.
pub(super) fn is_refused(error: &Error) -> bool {
    refusal(error).is_some_and(|(id, _)| id == code::ACCESS_REFUSED)
}

/// Classifies an error. `doing` says what was attempted on what.
pub(super) fn fault(doing: impl std::fmt::Display, error: &Error) -> Fault {
    let fault = match (refusal(error), error.kind()) {
        (Some((code::ACCESS_REFUSED, text)), _) => Fault::permanent(refused(text)),
        (Some((code::NOT_ALLOWED, text)), _) => Fault::permanent(format!(
            "the broker said `{text}`; check the virtual host in queue.url and that the user may use it"
        )),
        (Some((code::PRECONDITION_FAILED, text)), _) if !text.contains("timed out") => {
            Fault::permanent(format!("the broker said `{text}`"))
        }
        (Some((_, text)), _) => Fault::outage(format!("the broker said `{text}`")),
        (None, ErrorKind::IOError(error)) => io_fault(error),
        (None, ErrorKind::AuthProviderError(_) | ErrorKind::InvalidProtocolVersion(_)) => {
            Fault::permanent(error.to_string())
        }
        (None, _) => Fault::outage(error.to_string()),
    };
    fault.while_doing(format_args!("amqp: {doing}"))
}

fn refused(text: &str) -> String {
    if text.contains("Login was refused") {
        return format!(
            "the broker said `{text}`; check queue.amqp.user and queue.amqp.password, or those in queue.url"
        );
    }
    format!(
        "the broker said `{text}`; grant the user that permission (docs/operations.md lists them)"
    )
}

fn io_fault(error: &io::Error) -> Fault {
    let text = error.to_string();
    // rustls' verdict on a certificate comes as bad data.
    if error.kind() == io::ErrorKind::InvalidData || text.contains("certificate") {
        return Fault::permanent(format!(
            "TLS failed: {text}; check queue.amqp.ca_path, client_cert_path and client_key_path, and \
             the host in queue.url"
        ));
    }
    Fault::outage(text)
}

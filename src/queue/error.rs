//! What a queue can answer instead.

use crate::base::Fault;

/// Why a queue did not do as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The message, headers included, is larger than this queue takes. Permanent.
    #[error("the message is {size} bytes with its headers, and this queue takes {limit}")]
    TooLarge {
        /// Bytes of the message's body, header names and header values.
        size: usize,
        /// The most this queue takes, in bytes.
        limit: usize,
    },
    /// Everything else, classified.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl QueueError {
    /// What may be done about it.
    pub fn fault(&self) -> Fault {
        match self {
            Self::TooLarge { .. } => Fault::permanent(self.to_string()),
            Self::Fault(fault) => fault.clone(),
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Fault(fault) if fault.is_transient())
    }
}

impl From<QueueError> for Fault {
    fn from(error: QueueError) -> Self {
        error.fault()
    }
}

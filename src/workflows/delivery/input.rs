//! What a delivery is asked for.

use serde::{Deserialize, Serialize};

use crate::workflows::non_blank;

/// A job's input: `{"request": TEXT}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveryInput {
    /// What is to be delivered, in the words of whoever wants it.
    #[serde(deserialize_with = "non_blank")]
    pub request: String,
}

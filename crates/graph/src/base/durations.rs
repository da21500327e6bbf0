//! Lists of durations in settings, as people write them: `["10s", "1m"]`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Writes each as people do.
pub fn serialize<S: Serializer>(value: &[Duration], s: S) -> Result<S::Ok, S::Error> {
    let words = value.iter().map(|wait| humantime::format_duration(*wait).to_string());
    words.collect::<Vec<_>>().serialize(s)
}

/// Reads what people write.
pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Duration>, D::Error> {
    let words = Vec::<String>::deserialize(d)?;
    let parsed = words.iter().map(|word| humantime::parse_duration(word).map_err(D::Error::custom));
    parsed.collect()
}

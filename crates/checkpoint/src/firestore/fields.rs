//! Documents: writing their fields, and reading them back.

use std::collections::HashMap;

use bytes::Bytes;
use firestore::gcloud_sdk::{
    google::firestore::v1::{Document, Value, value::ValueType},
    prost_types,
};

use super::error::Failure;
use verdict_graph::base::Timestamp;

/// Fields to write. What is `None` is left out.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields(pub HashMap<String, Value>);

pub(super) fn value(value: ValueType) -> Value {
    Value { value_type: Some(value) }
}

impl Fields {
    fn with(mut self, name: &str, of: Option<ValueType>) -> Self {
        if let Some(of) = of {
            self.0.insert(name.to_owned(), value(of));
        }
        self
    }

    /// A whole number; too large ones become the largest.
    pub(super) fn int(self, name: &str, number: impl TryInto<i64>) -> Self {
        self.some_int(name, Some(number))
    }

    pub(super) fn some_int(self, name: &str, number: Option<impl TryInto<i64>>) -> Self {
        let number = number.map(|number| number.try_into().unwrap_or(i64::MAX));
        self.with(name, number.map(ValueType::IntegerValue))
    }

    pub(super) fn text(self, name: &str, text: impl Into<String>) -> Self {
        self.some_text(name, Some(text))
    }

    pub(super) fn some_text(self, name: &str, text: Option<impl Into<String>>) -> Self {
        self.with(name, text.map(|text| ValueType::StringValue(text.into())))
    }

    pub(super) fn flag(self, name: &str, is: bool) -> Self {
        self.with(name, Some(ValueType::BooleanValue(is)))
    }

    /// Written only when it is so.
    pub(super) fn mark(self, name: &str, is: bool) -> Self {
        self.with(name, is.then_some(ValueType::BooleanValue(true)))
    }

    pub(super) fn real(self, name: &str, number: f64) -> Self {
        self.with(name, Some(ValueType::DoubleValue(number)))
    }

    pub(super) fn bytes(self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.with(name, Some(ValueType::BytesValue(bytes.into())))
    }

    /// When Firestore may delete the document by itself, a day after `at`; left out when that lies
    /// beyond what it can count.
    pub(super) fn goes_after(self, at: Timestamp) -> Self {
        const DAY: i64 = 86_400;
        const END: i64 = 253_402_300_799;
        let seconds = at.0.div_euclid(1000).saturating_add(DAY);
        let time = prost_types::Timestamp { seconds, nanos: 0 };
        self.with("expire_at", (seconds <= END).then_some(ValueType::TimestampValue(time)))
    }
}

/// What is kept of an error: it is for people, and a document has an end.
pub(super) fn brief(error: &str) -> &str {
    const MOST: usize = 64 << 10;
    error.get(..error.floor_char_boundary(MOST)).unwrap_or(error)
}

/// A document as it was read.
#[derive(Debug, Clone)]
pub(super) struct Doc {
    /// Its path below the database's documents.
    pub path: String,
    pub updated: Option<prost_types::Timestamp>,
    fields: HashMap<String, Value>,
}

impl Doc {
    /// `prefix` is what all names of the database begin with.
    pub(super) fn new(document: Document, prefix: &str) -> Self {
        let path = document.name.strip_prefix(prefix).unwrap_or(&document.name);
        Self { path: path.to_owned(), updated: document.update_time, fields: document.fields }
    }

    /// The last segment of its path.
    pub(super) fn id(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    fn at(&self, name: &str) -> Option<&ValueType> {
        self.fields.get(name)?.value_type.as_ref()
    }

    fn need<T>(&self, name: &str, found: Option<T>) -> Result<T, Failure> {
        found.ok_or_else(|| Failure::unreadable(&self.path, format!("the field `{name}`")))
    }

    pub(super) fn some_int<T: TryFrom<i64>>(&self, name: &str) -> Option<T> {
        match self.at(name)? {
            ValueType::IntegerValue(number) => T::try_from(*number).ok(),
            _ => None,
        }
    }

    pub(super) fn int<T: TryFrom<i64>>(&self, name: &str) -> Result<T, Failure> {
        self.need(name, self.some_int(name))
    }

    pub(super) fn some_text(&self, name: &str) -> Option<String> {
        match self.at(name)? {
            ValueType::StringValue(text) => Some(text.clone()),
            _ => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<String, Failure> {
        self.need(name, self.some_text(name))
    }

    /// A text that stands for something else.
    pub(super) fn parse<T: std::str::FromStr>(&self, name: &str) -> Result<T, Failure> {
        self.need(name, self.some_text(name).and_then(|text| text.parse().ok()))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.at(name), Some(ValueType::BooleanValue(true)))
    }

    pub(super) fn real(&self, name: &str) -> Result<f64, Failure> {
        match self.at(name) {
            Some(ValueType::DoubleValue(number)) => Ok(*number),
            Some(ValueType::IntegerValue(number)) => self.need(name, Some(*number as f64)),
            _ => self.need(name, None),
        }
    }

    pub(super) fn some_bytes(&mut self, name: &str) -> Option<Bytes> {
        match self.fields.remove(name)?.value_type? {
            ValueType::BytesValue(bytes) => Some(bytes.into()),
            _ => None,
        }
    }

    pub(super) fn bytes(&mut self, name: &str) -> Result<Bytes, Failure> {
        let found = self.some_bytes(name);
        self.need(name, found)
    }
}

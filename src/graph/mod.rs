//! The workflow engine. Domain-free; its only way out is the store port.
pub mod store;

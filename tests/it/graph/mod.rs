//! The engine: E1–E20.

mod build;
mod run;
mod support;

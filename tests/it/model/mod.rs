//! Language models: the chain over real HTTP, against servers that follow a script.

mod formats;
mod support;

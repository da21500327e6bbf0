//! The local review: forge, analysers, judge, output.

mod checks;
mod diff;
mod flow;
mod forge;
mod judge;
mod rules;
mod secrets;
pub mod support;

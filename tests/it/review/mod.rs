//! The local review: forge, analysers, judge, output.

mod agents;
mod changes;
mod checks;
mod diff;
mod evidence;
mod flow;
mod forge;
mod http_forge;
mod judge;
mod measured;
pub mod models;
mod nasty;
mod outputs;
mod own_rules;
mod report;
mod rules;
mod rules_cli;
mod secrets;
mod sides;
pub mod support;
mod texts;
pub mod tool_runs;

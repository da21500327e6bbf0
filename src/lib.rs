//! verdict takes pull-request events off a queue and leaves one review on each head commit,
//! whatever crashes in between.
//!
//! The map. Who may import whom is a rule, and `tests/it/house.rs` keeps it:
//!
//! | module | is | may import |
//! |---|---|---|
//! | [`base`] | faults, clock, trace context, keyed port | nothing |
//! | [`telemetry`] | logs, metrics | base |
//! | [`graph`] | the workflow engine and the store port | base |
//! | [`db`] | database files and the grouping writer | base |
//! | [`checkpoint`] | stores: where runs are kept, and the keyed side | graph, db, base |
//! | [`queue`] | the queue port, the embedded queue, what messages mean | db, base |
//! | [`forge`] | where changes come from and reviews go: the port, and local git | base |
//! | [`analysis`] | findings and the deterministic analysers | base |
//! | [`workflows`] | what a workflow is, and the list of them | graph, analysis, base, forge's port |
//! | [`worker`] | consume, admit, claim, run, settle; sweep; dead letters | graph, queue's port, workflows, base |
//! | [`server`] | probes, metrics, the API | worker, graph, queue, workflows, base |
//! | [`config`] | settings, loaded and checked once | options of components |
//! | [`app`] | composition root: settings into running parts | all |
//! | [`cli`] | one file per subcommand | app, config, types of the others |

pub mod analysis;
pub mod app;
pub mod base;
pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod db;
pub mod forge;
pub mod graph;
pub mod queue;
pub mod server;
pub mod telemetry;
pub mod worker;
pub mod workflows;

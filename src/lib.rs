//! verdict takes pull-request events off a queue and leaves one review on each head commit,
//! whatever crashes in between.
//!
//! The map. Who may import whom is a rule: the compiler keeps it between crates, and
//! `tests/it/house/` within them. The first five live in `crates/` and are named here as modules:
//!
//! | module | is | may import |
//! |---|---|---|
//! | [`base`] | faults, clock, trace context, the key-value port and the rate limiter | nothing |
//! | [`telemetry`] | logs, metrics | base |
//! | [`graph`] | the workflow engine and the store port | base |
//! | [`db`] | database files and the grouping writer | base |
//! | [`checkpoint`] | stores: where runs are kept, and key-value stores | graph, db, base |
//! | [`queue`] | the queue port, the embedded queue, what messages mean | db, base |
//! | [`forge`] | where changes come from and reviews go: two ports, and local git | base |
//! | [`model`] | language models: a port, and the chain of providers behind it | base |
//! | [`analysis`] | findings and the deterministic analysers | base |
//! | [`workflows`] | what a workflow is, and the list of them | graph, analysis, base, ports of forge and model |
//! | [`runs`] | the one driver of runs: admit, drive, list, watch, act; dead letters; views | graph, workflows, base |
//! | [`worker`] | take, call `runs`, settle; sweep; shutdown | runs, queue's port, types of graph and workflows, base |
//! | [`server`] | probes, metrics, the API: routes that call `runs` | runs, types of queue and graph, base |
//! | [`config`] | settings, loaded and checked once | options of components |
//! | [`app`] | composition root: settings into running parts | all |
//! | [`cli`] | one file per subcommand: arguments in, `runs`, view out | runs, app, config, types of the others |

pub use verdict_analysis as analysis;
pub use verdict_checkpoint::{self as checkpoint, db};
pub use verdict_graph::{self as graph, base};

pub mod app;
pub mod cli;
pub mod config;
pub mod forge;
pub mod model;
pub mod queue;
pub mod runs;
pub mod server;
pub mod telemetry;
pub mod worker;
pub mod workflows;

//! The worker: every row of its table, first as the pure function, then on a real store and queue
//! in one SQLite file. Time there is wound by hand; nothing waits for a lease or a backoff.

mod admission;
pub mod hall;
mod leases;
mod letters;
mod outages;
mod outcomes;
mod retention;
mod slots;
mod subjects;
mod sweep;
mod table;
mod thousand;

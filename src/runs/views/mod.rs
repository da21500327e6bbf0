//! Runs, their records and dead letters as the command line and the API show them: the JSON that
//! README promises, and its description for OpenAPI.

mod letter;
mod record;
mod run;
mod words;

pub use self::{
    letter::{DeadLetter, DeadLetterDetails, dead_letter, dead_letter_details},
    record::{HistoryRow, StartedTask},
    run::{
        Interrupt, PendingTask, Run, RunDetails, RunLetter, SentEvent, WaitingInterrupt, WaitsFor,
        interrupts, run, run_details,
    },
    words::{
        any_letter_reason, letter_reason, letter_state, run_status, run_statuses, waiting_for,
        waiting_kinds,
    },
};

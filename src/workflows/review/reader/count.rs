//! How many files of a change are done, for whoever watches. Decides nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

/// Of which work files are counted.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// Reading and masking.
    Reading,
    /// The analysis.
    Analysis,
}

impl Work {
    /// What is done to files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reading => "read",
            Self::Analysis => "analysed",
        }
    }
}

/// How many files are done, of how many that this process was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Done.
    pub done: usize,
    /// Asked for so far.
    pub of: usize,
}

/// The counts of every kind of work.
#[derive(Debug, Default)]
pub struct Counts {
    reading: Counter,
    analysis: Counter,
}

#[derive(Debug, Default)]
struct Counter {
    done: AtomicUsize,
    of: AtomicUsize,
}

impl Counts {
    /// How far the work is.
    pub fn get(&self, work: Work) -> Count {
        let Counter { done, of } = self.counter(work);
        Count { done: done.load(Ordering::Relaxed), of: of.load(Ordering::Relaxed) }
    }

    /// More files are to be done.
    pub fn ask(&self, work: Work, files: usize) {
        self.counter(work).of.fetch_add(files, Ordering::Relaxed);
    }

    /// One more is done.
    pub fn one_done(&self, work: Work) {
        self.counter(work).done.fetch_add(1, Ordering::Relaxed);
    }

    fn counter(&self, work: Work) -> &Counter {
        match work {
            Work::Reading => &self.reading,
            Work::Analysis => &self.analysis,
        }
    }
}

//! What there is to know about a check of both sides, for listings and reports.

use crate::{Category, Confidence, Lang, Severity};

/// A check of both sides. Each check defines its own beside its code.
#[derive(Debug, Clone)]
pub struct CheckInfo {
    /// Its rule's id.
    pub id: &'static str,
    /// The agent it belongs to.
    pub category: Category,
    /// The severity of its findings.
    pub severity: Severity,
    /// The confidence of its findings, unless a finding has its own.
    pub confidence: Confidence,
    /// What is wrong, in one line.
    pub title: &'static str,
    /// Why it is wrong.
    pub problem: &'static str,
    /// What to do.
    pub advice: &'static str,
    /// Whether it reads a language.
    pub(super) reads: fn(Lang) -> bool,
}

impl CheckInfo {
    /// The languages it reads.
    pub fn languages(&self) -> Vec<String> {
        Lang::all().filter(|l| (self.reads)(*l)).map(|l| l.to_string()).collect()
    }
}

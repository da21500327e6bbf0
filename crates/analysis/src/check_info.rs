//! What there is to know about a check, for listings and reports; and the checks of single texts and
//! files, those about verdict's own settings and comments among them.

use super::{Category, Confidence, Lang, Severity};

/// A check that is no pattern. Those of both sides define theirs beside their code.
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
    /// Whether it reads a language; for checks of any text, none.
    pub(crate) reads: fn(Lang) -> bool,
}

impl CheckInfo {
    /// The languages it reads; empty when it reads any text.
    pub fn languages(&self) -> Vec<String> {
        Lang::all().filter(|l| (self.reads)(*l)).map(|l| l.to_string()).collect()
    }

    /// What a finding says unless it has words of its own.
    pub fn body(&self) -> String {
        format!("{}\n\n{}", self.problem, self.advice)
    }
}

const ANY_TEXT: CheckInfo = CheckInfo {
    id: "",
    category: Category::Pattern,
    severity: Severity::Low,
    confidence: Confidence::hundredths(85),
    title: "",
    problem: "",
    advice: "",
    reads: |_| false,
};

/// A rule of the repository that cannot be used.
pub const BAD_RULE: CheckInfo = CheckInfo {
    id: "bad-rule",
    severity: Severity::Medium,
    confidence: Confidence::hundredths(100),
    title: "A rule of this repository cannot be used",
    problem: "A file in `.verdict/rules` is no rule: its line and the reason are named.",
    advice: "The review ran without this rule; `verdict rules test` tries it.",
    ..ANY_TEXT
};

/// Settings of the repository that cannot be used.
pub const BAD_SETTINGS: CheckInfo = CheckInfo {
    id: "bad-settings",
    severity: Severity::Medium,
    confidence: Confidence::hundredths(100),
    title: "The repository's review settings cannot be used",
    problem: "`.verdict.toml` on the base side holds what is no setting: its line and the reason are \
              named.",
    advice: "Correct it; until then the review runs with the defaults.",
    ..ANY_TEXT
};

pub(crate) const BAD_SUPPRESSION: CheckInfo = CheckInfo {
    id: "bad-suppression",
    confidence: Confidence::hundredths(95),
    title: "This comment suppresses nothing",
    problem: "A comment that should suppress a finding gives no reason, or names no rule.",
    advice: "Write `verdict:ignore RULE-ID reason`; `verdict rules list` shows the rules.",
    ..ANY_TEXT
};

pub(crate) const BIDI_CONTROL: CheckInfo = CheckInfo {
    id: "bidi-control",
    category: Category::Security,
    severity: Severity::High,
    confidence: Confidence::hundredths(90),
    title: "A bidirectional control character hides what this line does",
    problem: "The character changes the order in which the line is shown, so it reads otherwise than it \
              runs (CWE-1007).",
    advice: "Remove it, or write it as an escape.",
    ..ANY_TEXT
};

pub(crate) const CONFLICT_MARKER: CheckInfo = CheckInfo {
    id: "conflict-marker",
    category: Category::Logic,
    severity: Severity::High,
    confidence: Confidence::hundredths(97),
    title: "A merge conflict was committed unresolved",
    problem: "Both sides of a merge stand in the file, markers included: it cannot be what anybody \
              wanted.",
    advice: "Decide for one side, or join them, and remove the markers.",
    ..ANY_TEXT
};

pub(crate) const INVISIBLE_CHARACTER: CheckInfo = CheckInfo {
    id: "invisible-character",
    category: Category::Security,
    title: "An invisible character",
    problem: "The character cannot be seen, yet it is part of the text: comparisons and searches fail for \
              no visible reason.",
    advice: "Remove it, or write it as an escape.",
    ..ANY_TEXT
};

pub(crate) const LARGE_BINARY: CheckInfo = CheckInfo {
    id: "large-binary",
    confidence: Confidence::hundredths(80),
    title: "A large binary file is added to the history",
    problem: "Every clone carries it from now on, even after it is deleted.",
    advice: "Keep large artefacts in a release, a package or large-file storage.",
    ..ANY_TEXT
};

pub(crate) const LICENCE_HEADER_DROPPED: CheckInfo = CheckInfo {
    id: "licence-header-dropped",
    title: "The licence notice at the top is gone",
    problem: "Most licences require that the notice stays in copies.",
    advice: "Put it back, unless its holders agreed.",
    ..ANY_TEXT
};

pub(crate) const LOCK_NOT_UPDATED: CheckInfo = CheckInfo {
    id: "lock-not-updated",
    category: Category::Logic,
    confidence: Confidence::hundredths(75),
    title: "The lock file does not know of this change",
    problem: "A dependency changes here and not in the lock file, so an installation that follows the \
              lock fails or takes the old version.",
    advice: "Update the lock file in the same change.",
    ..ANY_TEXT
};

pub(crate) const LOOK_ALIKE_LETTER: CheckInfo = CheckInfo {
    id: "look-alike-letter",
    category: Category::Security,
    severity: Severity::High,
    title: "Homoglyph: a letter of another script in a Latin name",
    problem: "One letter of the name looks like a Latin one and is another, so this is not the name it \
              reads as (CWE-1007).",
    advice: "Write it with Latin letters.",
    ..ANY_TEXT
};

pub(crate) const TEST_SWITCHED_OFF: CheckInfo = CheckInfo {
    id: "test-switched-off",
    confidence: Confidence::hundredths(65),
    title: "A test is switched off, and nothing says why",
    problem: "What it guards can break unnoticed from now on.",
    advice: "Say why, and what must happen before it runs again.",
    ..ANY_TEXT
};

pub(crate) const TODO_WITHOUT_REFERENCE: CheckInfo = CheckInfo {
    id: "todo-without-reference",
    category: Category::Style,
    severity: Severity::Info,
    confidence: Confidence::hundredths(70),
    title: "TODO, FIXME or XXX without a reference",
    problem: "Nobody will find this again.",
    advice: "Name the issue, or the person, that it belongs to.",
    ..ANY_TEXT
};

pub(crate) const UNEXPECTED_EXECUTABLE: CheckInfo = CheckInfo {
    id: "unexpected-executable",
    title: "A file that nobody runs becomes executable",
    problem: "Nobody runs a file of this kind: the mode was probably changed by accident.",
    advice: "Take it back with `git update-index --chmod=-x`.",
    ..ANY_TEXT
};

/// Every check of single texts and files.
pub const TEXT_CHECKS: &[CheckInfo] = &[
    BAD_RULE,
    BAD_SETTINGS,
    BAD_SUPPRESSION,
    BIDI_CONTROL,
    CONFLICT_MARKER,
    INVISIBLE_CHARACTER,
    LARGE_BINARY,
    LICENCE_HEADER_DROPPED,
    LOCK_NOT_UPDATED,
    LOOK_ALIKE_LETTER,
    TEST_SWITCHED_OFF,
    TODO_WITHOUT_REFERENCE,
    UNEXPECTED_EXECUTABLE,
];

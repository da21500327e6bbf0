//! What each check is called, how much it matters, and what it says.

use serde::Serialize;

use super::{callers, errors, locks, shape};
use crate::{Category, Confidence, Lang, Severity};

/// What there is to know about a check that needs both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    /// Its rule's id.
    pub id: &'static str,
    /// Whose business it is.
    pub category: Category,
    /// How much it matters, unless the finding knows better.
    pub severity: Severity,
    /// How sure it is, unless the finding knows better.
    pub confidence: Confidence,
    /// What is wrong, in one line.
    pub title: &'static str,
    /// Why it is wrong.
    pub problem: &'static str,
    /// What to do.
    pub advice: &'static str,
}

macro_rules! checks {
    ($($name:ident = $id:literal, $category:ident, $severity:ident, $confidence:literal,
        $title:literal, $problem:literal, $advice:literal;)+) => {
        $(pub(super) const $name: About = About {
            id: $id,
            category: Category::$category,
            severity: Severity::$severity,
            confidence: Confidence::hundredths($confidence),
            title: $title,
            problem: $problem,
            advice: $advice,
        };)+

        /// Every check that needs both sides, by id.
        pub const CHECKS: &[About] = &[$($name),+];
    };
}

checks! {
    CALLER = "caller-left-behind", Logic, High, 85,
        "This call no longer fits what it calls",
        "The parameters of a function changed, and a call in the same file, or in another file of the change \
         that certainly means it, still passes the old ones.",
        "Change the call with the function.";
    CLOSE = "close-removed", Logic, Medium, 70,
        "What is opened here is no longer closed",
        "What closed a file, a connection or the like was taken away, and its opening stays.",
        "Close it again on every way out, or say who does.";
    CONDITION = "condition-turned-round", Logic, Low, 45,
        "This condition is turned round, and what it decides stays the same",
        "A comparison, a negation or an `and` became its opposite and nothing else changed. Alone it \
         is below the usual threshold of confidence, as a correction looks the same; it is above when \
         the new condition contradicts what it decides.",
        "Make sure that the opposite is meant now, and let a test tell the two apart.";
    ERROR = "error-check-removed", Logic, High, 75,
        "The error of this call is no longer looked at",
        "The check of an error was taken away, and the call that returns it stays.",
        "Check the error again, or say why it cannot matter.";
    GUARD = "guard-removed", Logic, Medium, 65,
        "The check before this use is gone",
        "A check for null, of a length or an index, or for zero was taken away, and what it protected stays \
         as it was.",
        "Put the check back, or say what makes sure of it now.";
    LOCK = "lock-removed", Logic, High, 70,
        "The lock around this is gone",
        "A lock was taken away and what it protected stays, while the same lock is still taken elsewhere.",
        "Take the lock again, or say what protects this now.";
    LOCK_FILE = "lock-contradicts-manifest", Logic, Medium, 85,
        "The lock file contradicts its manifest",
        "The lock file was made for other requirements than those in the manifest beside it, so a clean \
         installation fails.",
        "Make the lock file anew from the manifest, in the same change.";
    NAME = "name-left-behind", Logic, Medium, 70,
        "One name was left behind in this copy",
        "Two neighbouring statements differ in one name throughout, except in one place.",
        "Change the name here, too, or make it visible that it is meant.";
    PERMISSION = "permission-check-removed", Security, High, 70,
        "Nothing checks permissions here any more",
        "A check of permissions or of a login was taken away, what it protected stays, and the change \
         adds none elsewhere. (CWE-862)",
        "Put the check back, or say in the change where it is done now.";
    TEST = "test-removed", Pattern, Low, 45,
        "A test is removed, and what it tests stays",
        "A test went, no other came, and what it calls is still there.",
        "Keep the test, or say in the change why nobody needs it.";
    TEST_EMPTY = "test-without-assertion", Pattern, Low, 75,
        "This test asserts nothing any more",
        "Every assertion of a test was taken away and the rest stays: it passes whatever the code does.",
        "Put an assertion back, or remove the test.";
    TEST_FILE = "test-file-removed", Pattern, Low, 65,
        "A file of tests is removed, and what it tests stays",
        "A file of tests went while the file that its name points to stays, and no other test gains a line.",
        "Keep the tests, or say in the change where they are now.";
    UNLOCK = "unlock-removed", Logic, High, 80,
        "This lock is no longer given back",
        "What gave a lock back was taken away, and what takes it stays.",
        "Give the lock back on every way out.";
}

impl About {
    /// The languages it reads.
    pub fn languages(&self) -> Vec<String> {
        let reads = |language: Lang| match self.id {
            id if id == LOCK_FILE.id => false,
            id if id == CALLER.id => shape::is_program(language) && callers::reads(language),
            id if id == ERROR.id => errors::reads(language),
            id if id == LOCK.id || id == UNLOCK.id => {
                shape::is_program(language) && locks::reads(language)
            }
            _ => shape::is_program(language),
        };
        Lang::all().filter(|l| reads(*l)).map(|l| l.to_string()).collect()
    }
}

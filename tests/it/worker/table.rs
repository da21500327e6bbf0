//! W3: the table itself.

use std::time::Duration;

use verdict::{
    base::Fault,
    graph::{Failure, store::LetterReason},
    queue::Settlement::{Ack, HandBack, Later},
    runs::Outcome,
    worker::{
        Options,
        disposition::{Action, Disposition, decide},
    },
};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn failed(fault: Fault, executions: u32) -> Outcome {
    Outcome::Failed { failure: Failure { step: 1, node: Some("n".into()), fault }, executions }
}

fn row(message: verdict::queue::Settlement, action: Action) -> Disposition {
    Disposition { message, action, pause: false }
}

fn letter(reason: LetterReason) -> Disposition {
    row(Ack, Action::GiveUp(reason))
}

fn awaits_version(wait: u64) -> Disposition {
    row(Later(seconds(wait)), Action::AwaitVersion(seconds(wait)))
}

#[test]
fn every_row_of_the_table() {
    let refused = |fault, deliveries| Outcome::NotAdmitted { fault, deliveries };
    let transient = || Fault::transient("t");
    let nothing = || Action::Nothing;
    let pause = |message, action| Disposition { pause: true, ..row(message, action) };
    let later = |s| row(Later(seconds(s)), Action::RetryAfter(seconds(s)));
    let exhausted = || letter(LetterReason::AttemptsExhausted);
    let table = [
        (Outcome::Done, row(Ack, nothing())),
        (Outcome::Parked, row(Ack, nothing())),
        (Outcome::Queued, row(Ack, nothing())),
        // Put off and looked at again, however long the pause.
        (Outcome::Paused, row(Later(seconds(20)), Action::PutOff(seconds(20)))),
        // Transient: the waits grow, the last repeats; the fifth failure is the last.
        (failed(transient(), 0), later(10)),
        (failed(transient(), 1), later(60)),
        (failed(transient(), 2), later(600)),
        (failed(transient(), 3), later(600)),
        (failed(transient(), 4), exhausted()),
        (failed(transient(), 9), exhausted()),
        (failed(Fault::timeout("t"), 0), later(10)),
        (failed(Fault::timeout("t"), 4), exhausted()),
        // A server's wish is no failure, however often it is said.
        (failed(transient().after(seconds(90)), 0), row(Ack, Action::Park(seconds(90)))),
        (failed(transient().after(seconds(1)), 99), row(Ack, Action::Park(seconds(1)))),
        // An outage is nobody's failure, however often.
        (failed(Fault::outage("o"), 0), pause(HandBack, Action::HandBack)),
        (failed(Fault::outage("o"), 99), pause(HandBack, Action::HandBack)),
        (failed(Fault::permanent("p"), 0), letter(LetterReason::Permanent)),
        (Outcome::Unreachable, pause(HandBack, nothing())),
        (refused(transient(), 1), row(Later(seconds(10)), nothing())),
        (refused(transient(), 2), row(Later(seconds(60)), nothing())),
        (refused(transient().after(seconds(90)), 1), row(Later(seconds(90)), nothing())),
        (refused(Fault::outage("o"), 7), pause(HandBack, nothing())),
        (refused(Fault::permanent("p"), 1), letter(LetterReason::Permanent)),
        (Outcome::Undecodable, letter(LetterReason::Undecodable)),
        (Outcome::UnknownWorkflow, letter(LetterReason::UnknownWorkflow)),
        (Outcome::UnknownVersion { since: seconds(0) }, awaits_version(60)),
        (Outcome::UnknownVersion { since: seconds(3599) }, awaits_version(60)),
        (
            Outcome::UnknownVersion { since: seconds(3600) },
            letter(LetterReason::UnsupportedVersion),
        ),
        (Outcome::LeaseHeld { left: seconds(7) }, row(Later(seconds(7)), nothing())),
        (Outcome::LeaseHeld { left: seconds(700) }, row(Later(seconds(60)), nothing())),
        (Outcome::Early { left: seconds(700) }, row(Later(seconds(700)), nothing())),
        (Outcome::LeaseLost, row(Later(seconds(5)), nothing())),
        (Outcome::Stopping, row(HandBack, nothing())),
    ];
    for (outcome, wanted) in table {
        assert_eq!(decide(&outcome, &Options::default()), wanted, "{outcome:?}");
    }
}

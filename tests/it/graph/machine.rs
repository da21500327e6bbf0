//! The machine alone: what cannot have happened is refused, and changes nothing.

use std::sync::Arc;

use serde_json::json;
use verdict::{
    base::Fault,
    graph::{
        Body, Command, Dispatch, Ended, Failure, Meta, Outcome, Record, Redo, RunId, RunMachine,
        Start, Todo,
    },
};

use super::{
    bench::{START, raw},
    support::{Add, Words},
};

type Rec = Record<Add>;

fn record(meta: Meta, body: Body<Add>) -> Rec {
    Record::new(START, meta, body)
}

fn bare(meta: Meta) -> Rec {
    record(meta, Body::None)
}

fn started_with(input: impl serde::Serialize) -> Rec {
    let meta = Meta::Started { workflow: "words".into(), version: 1, entry: "a".into() };
    record(meta, Body::Start(Start { input: raw(input).into(), envelope: None }))
}

fn started() -> Rec {
    started_with(json!([]))
}

fn ended(step: u32, node: &str, index: u32, fault: Option<Fault>) -> Meta {
    let (node, by) = (node.into(), Some("one".into()));
    Meta::TaskFinished { step, node, index, attempts: 1, us: 1, by, fault }
}

fn done(step: u32, node: &str, index: u32) -> Rec {
    let command = Command::from(Add::Word(node.to_owned()));
    record(ended(step, node, index, None), Body::Command(command))
}

fn level(step: u32, node: &str, index: u32, by: i64) -> Rec {
    record(ended(step, node, index, None), Body::Command(Command::from(Add::Level(by))))
}

fn failed(step: u32, node: &str, index: u32) -> Rec {
    bare(ended(step, node, index, Some(Fault::permanent("bad"))))
}

fn closed(step: u32, next: &[&str]) -> Rec {
    let tasks = next.iter().map(|node| Dispatch::to(*node)).collect();
    record(Meta::StepFinished { step, held: Vec::new() }, Body::Tasks(tasks))
}

fn asked(id: &str, step: u32, node: &str, index: Option<u32>) -> Rec {
    let (id, node, name) = (id.to_owned(), node.into(), "q".to_owned());
    let meta = Meta::Interrupted { id, step, node, index, name, event: None };
    record(meta, Body::Value(raw(()).into()))
}

fn answered(id: &str) -> Rec {
    record(Meta::Resumed { id: id.to_owned(), event: None }, Body::Value(raw(true).into()))
}

fn parked(step: u32, node: &str, index: u32) -> Rec {
    let node = node.into();
    bare(Meta::Parked { step, node, index, until: START, reason: String::new() })
}

fn reopened(from: u32, redo: Redo) -> Rec {
    bare(Meta::Reopened { why: String::new(), from, redo })
}

fn completed() -> Rec {
    bare(Meta::Finished { outcome: Outcome::Completed { revisit: None } })
}

fn forked() -> Rec {
    bare(Meta::Forked { parent: RunId::of("words", "p"), step: 1, publish: false })
}

fn confirmed(id: &str) -> Rec {
    bare(Meta::LetterConfirmed { id: id.to_owned() })
}

fn machine(records: Vec<Rec>) -> RunMachine<Words> {
    RunMachine::replay(records).unwrap()
}

/// What follows these records is refused for this reason, and leaves the machine as it was.
fn refused(before: Vec<Rec>, next: Rec, why: &str) {
    let mut machine = machine(before.clone());
    let (seen, kind) = (format!("{machine:?}"), next.meta.kind());
    let illegal = machine.apply(next.clone()).unwrap_err();
    assert_eq!(illegal.to_string(), format!("illegal record `{kind}`: {why}"));
    assert_eq!(format!("{machine:?}"), seen, "{kind} left a trace");
    let mut whole = before;
    whole.push(next);
    // A reopening in a log rewinds first, so that alone may make sense of it.
    if kind != "reopened" {
        assert_eq!(RunMachine::<Words>::replay(whole).err(), Some(illegal));
    }
}

/// a, then b and c side by side.
fn at_two() -> Vec<Rec> {
    vec![started(), done(1, "a", 0), closed(1, &["b", "c"])]
}

fn and(mut records: Vec<Rec>, more: Vec<Rec>) -> Vec<Rec> {
    records.extend(more);
    records
}

#[test]
fn nothing_happens_before_the_start() {
    let cases = vec![
        done(1, "a", 0),
        closed(1, &[]),
        asked("1", 1, "a", Some(0)),
        answered("1"),
        parked(1, "a", 0),
        reopened(1, Redo::All),
        bare(Meta::Superseded { by: RunId::of("w", "k") }),
        bare(Meta::Cancelled { by: String::new() }),
        forked(),
        bare(Meta::Letter { id: "L".to_owned() }),
        confirmed("L"),
        completed(),
        bare(started().meta),
    ];
    for case in cases {
        refused(Vec::new(), case, "the run has not started");
    }
    assert_eq!(RunMachine::<Words>::default().todo(), Todo::Ended);
}

#[test]
fn a_start_is_one_and_fits() {
    refused(vec![started()], started(), "the run has started already");
    let why = "its input does not fit the workflow: invalid type: integer, expected a sequence \
               at line 1 column 1";
    refused(Vec::new(), started_with(7), why);
}

#[test]
fn a_task_ends_once_in_its_step() {
    let wrong_step = "it belongs to step 1, the run is at step 2";
    refused(at_two(), done(1, "a", 0), wrong_step);
    refused(at_two(), done(3, "b", 0), "it belongs to step 3, the run is at step 2");
    refused(at_two(), done(2, "b", 2), "step 2 has 2 tasks, it names number 2");
    refused(at_two(), done(2, "b", 1), "task 1 of step 2 is not `b`");
    let one_done = and(at_two(), vec![done(2, "b", 0)]);
    refused(one_done.clone(), done(2, "b", 0), "task 0 of step 2 has ended already");
    refused(one_done.clone(), failed(2, "b", 0), "task 0 of step 2 has ended already");
    refused(one_done.clone(), parked(2, "b", 0), "task 0 of step 2 has ended already");
    refused(one_done, asked("x", 2, "b", Some(0)), "task 0 of step 2 has ended already");
    let one_failed = and(at_two(), vec![failed(2, "b", 0)]);
    refused(one_failed, done(2, "b", 0), "task 0 of step 2 has ended already");
    refused(at_two(), parked(2, "c", 0), "task 0 of step 2 is not `c`");
    refused(at_two(), parked(1, "a", 0), wrong_step);
}

#[test]
fn a_step_closes_when_all_is_done() {
    refused(at_two(), closed(2, &[]), "step 2 has tasks that have not ended");
    refused(at_two(), closed(1, &[]), "the run is at step 2, not in 1");
    let half = and(at_two(), vec![done(2, "b", 0)]);
    refused(half.clone(), closed(2, &[]), "step 2 has tasks that have not ended");
    let with_failure = and(half.clone(), vec![failed(2, "c", 1)]);
    refused(with_failure, closed(2, &[]), "step 2 has tasks that have not ended");
    let whole = and(half, vec![done(2, "c", 1)]);
    refused(whole.clone(), bare(closed(2, &[]).meta), "its body is missing or of another kind");
    let at_end = and(whole, vec![closed(2, &[])]);
    refused(at_end, closed(3, &[]), "the run is at step 3, not in 3");
}

/// E4: updates that break the state together are refused every time, and the state stays.
#[test]
fn a_step_that_breaks_the_state_stays_open() {
    let broken = and(at_two(), vec![level(2, "b", 0, 60), level(2, "c", 1, 60)]);
    let mut machine = machine(broken);
    let state = machine.state().unwrap().clone();
    for _ in 0..2 {
        let illegal = machine.apply(closed(2, &[])).unwrap_err();
        assert_eq!(illegal.why, "invalid update: field `level`: expected at most 100");
        assert_eq!(machine.state().unwrap(), &state);
        assert_eq!(machine.todo(), Todo::CloseStep);
        assert_eq!(machine.version(), 5);
    }
}

#[test]
fn questions_are_open_once_and_answered_once() {
    let open = and(at_two(), vec![asked("q1", 2, "b", Some(0))]);
    refused(open.clone(), asked("q1", 2, "c", Some(1)), "interrupt `q1` is open already");
    refused(open.clone(), bare(answered("q1").meta), "its body is missing or of another kind");
    refused(open.clone(), answered("q2"), "no interrupt `q2` is open");
    let closed_again = and(open, vec![answered("q1")]);
    refused(closed_again, answered("q1"), "no interrupt `q1` is open");
    refused(
        at_two(),
        bare(asked("q", 2, "b", Some(0)).meta),
        "its body is missing or of another kind",
    );
    refused(at_two(), asked("q", 2, "b", Some(9)), "step 2 has 2 tasks, it names number 9");
    refused(at_two(), asked("q", 2, "z", Some(1)), "task 1 of step 2 is not `z`");
}

#[test]
fn nothing_passes_a_gate() {
    refused(at_two(), asked("g", 1, "a", None), "the run is at step 2, not 1");
    let gated = and(at_two(), vec![asked("g", 2, "a", None)]);
    assert_eq!(machine(gated.clone()).todo(), Todo::Wait(None));
    refused(gated.clone(), done(2, "b", 0), "the step has not been let in");
    refused(gated.clone(), parked(2, "b", 0), "the step has not been let in");
    refused(gated.clone(), asked("q", 2, "b", Some(0)), "the step has not been let in");
    refused(gated.clone(), asked("h", 2, "a", None), "the run is at step 2, not 2");
    let let_in = and(gated, vec![answered("g")]);
    assert_eq!(machine(let_in).todo(), Todo::Run(vec![0, 1]));
}

#[test]
fn a_run_ends_at_its_end_and_once() {
    refused(at_two(), completed(), "step 2 is not the end");
    for (end, wanted) in [
        (bare(Meta::Cancelled { by: "ann".to_owned() }), Ended::Cancelled("ann".to_owned())),
        (
            bare(Meta::Superseded { by: RunId::of("w", "k") }),
            Ended::Superseded(RunId::of("w", "k")),
        ),
        (
            bare(Meta::Finished {
                outcome: Outcome::Failed(Failure {
                    step: 2,
                    node: None,
                    fault: Fault::permanent("x"),
                }),
            }),
            Ended::Finished(Outcome::Failed(Failure {
                step: 2,
                node: None,
                fault: Fault::permanent("x"),
            })),
        ),
    ] {
        let over = and(at_two(), vec![end.clone()]);
        assert_eq!(machine(over.clone()).ended(), Some(&wanted));
        assert_eq!(machine(over.clone()).todo(), Todo::Ended);
        for late in [
            done(2, "b", 0),
            closed(2, &[]),
            asked("q", 2, "b", Some(0)),
            answered("q"),
            parked(2, "b", 0),
            forked(),
            end,
            completed(),
        ] {
            refused(over.clone(), late, "the run has ended");
        }
        let again = machine(and(over, vec![reopened(2, Redo::Failed)]));
        assert_eq!((again.todo(), again.ended()), (Todo::Run(vec![0, 1]), None));
    }
}

#[test]
fn letters_and_forks() {
    refused(at_two(), confirmed("L"), "no letter `L` was written");
    refused(and(at_two(), vec![forked()]), forked(), "the run is a fork already");
}

/// A reopening that names another step than the log leads to is refused.
#[test]
fn a_reopening_fits_the_log() {
    refused(at_two(), reopened(1, Redo::All), "it goes back to step 1, the log ends at step 2");
    let log = and(at_two(), vec![reopened(7, Redo::All)]);
    let illegal = RunMachine::<Words>::replay(log).unwrap_err();
    assert_eq!(illegal.why, "it goes back to step 7, the log ends at step 2");
}

/// A permanent failure is told before a transient one: no retry can save the step then.
#[test]
fn the_worst_failure_is_told() {
    let transient = bare(ended(2, "b", 0, Some(Fault::transient("busy"))));
    let machine = machine(and(at_two(), vec![transient, failed(2, "c", 1)]));
    let Todo::Failed(failure) = machine.todo() else { panic!() };
    assert_eq!(failure.node, Some(Arc::from("c")));
}

/// A parked task and an open question: the run wakes for the first that comes.
#[test]
fn waiting_for_the_first_of_several() {
    let waiting = and(at_two(), vec![parked(2, "b", 0), asked("q", 2, "c", Some(1))]);
    assert_eq!(machine(waiting.clone()).todo(), Todo::Wait(Some(START)));
    assert_eq!(machine(and(waiting, vec![answered("q")])).todo(), Todo::Run(vec![1]));
}

//! Whatever is done, in whatever order and however much of it at once: every store answers as the
//! store in memory does, and holds the same in the end.

use std::{fmt::Debug, future::Future, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use proptest::{collection::vec, option, prelude::*, sample::select, test_runner::TestCaseError};
use verdict::{
    base::{RateLimit, RateLimiter},
    graph::store::{
        Append, Claim, Claimed, HeadChange, Hold, Lease, Letter, LetterFilter, LetterState, NewRun,
        Question, RunFilter, RunStatus, Waiting, WaitingFor,
    },
};

use super::harness::*;

#[derive(Debug, Clone)]
struct Open {
    name: u8,
    subject: Option<u8>,
    order: i64,
    wait: Option<u8>,
    claims: bool,
    ask: Option<bool>,
}

#[derive(Debug, Clone)]
struct Write {
    lease: prop::sample::Index,
    off: i8,
    records: u8,
    status: RunStatus,
    wait: Option<u8>,
    waiting: Option<WaitingFor>,
    asks: bool,
    letter: Option<u8>,
    releases: bool,
    again: bool,
}

/// Operations of one kind, sent together.
#[derive(Debug, Clone)]
enum Step {
    Open(Vec<Open>),
    Claim(Vec<(u8, bool, bool)>),
    Renew(Vec<prop::sample::Index>),
    Append(Vec<Write>),
    Resume(Vec<(u8, u8)>),
    Cancel(Vec<u8>),
    Delete(Vec<u8>),
    Expire(u8, usize),
    PutLetter(Vec<u8>),
    Confirm(u8),
    Settle(Vec<(u8, LetterState)>),
    Put(Vec<(u8, u8)>),
    PutIfAbsent(Vec<(u8, u8)>),
    Acquire(Vec<u8>),
    Sweep,
    List(Option<u8>, Vec<RunStatus>, Vec<WaitingFor>, usize),
    Due(u8, usize),
    Pass(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..4_u8;
    let letter = || 0..3_u8;
    let wait = || option::of(0..9_u8);
    let status = || select(RunStatus::ALL.to_vec());
    let state = || select(vec![LetterState::Open, LetterState::Replayed, LetterState::Discarded]);
    let kind = || select(WaitingFor::ALL.to_vec());
    let index = any::<prop::sample::Index>;
    let open =
        (name(), option::of(0..2_u8), 0..4_i64, wait(), any::<bool>(), option::of(any::<bool>()))
            .prop_map(|(name, subject, order, wait, claims, ask)| Open {
                name,
                subject,
                order,
                wait,
                claims,
                ask,
            });
    let off = prop_oneof![5 => Just(0_i8), 1 => -1..3_i8];
    let records = prop_oneof![1 => Just(0_u8), 2 => 1..11_u8];
    let write = (
        (index(), off, records, status(), wait(), option::of(kind())),
        (any::<bool>(), option::weighted(0.2, letter()), any::<bool>(), prop::bool::weighted(0.3)),
    )
        .prop_map(
            |((lease, off, records, status, wait, waiting), (asks, letter, releases, again))| {
                Write { lease, off, records, status, wait, waiting, asks, letter, releases, again }
            },
        );
    prop_oneof![
        6 => vec(open, 1..5).prop_map(Step::Open),
        5 => vec((name(), any::<bool>(), any::<bool>()), 1..5).prop_map(Step::Claim),
        2 => vec(index(), 1..4).prop_map(Step::Renew),
        9 => vec(write, 1..10).prop_map(Step::Append),
        3 => vec((name(), 0..2_u8), 1..4).prop_map(Step::Resume),
        1 => vec(name(), 1..3).prop_map(Step::Cancel),
        1 => vec(name(), 1..3).prop_map(Step::Delete),
        1 => (0..9_u8, 0..4_usize).prop_map(|(age, limit)| Step::Expire(age, limit)),
        1 => vec(letter(), 1..3).prop_map(Step::PutLetter),
        1 => letter().prop_map(Step::Confirm),
        1 => vec((letter(), state()), 1..3).prop_map(Step::Settle),
        1 => vec((name(), 0..9_u8), 1..10).prop_map(Step::Put),
        1 => vec((name(), 0..9_u8), 1..4).prop_map(Step::PutIfAbsent),
        1 => vec(0..9_u8, 1..4).prop_map(Step::Acquire),
        1 => Just(Step::Sweep),
        3 => (option::of(0..2_u8), vec(status(), 0..3), vec(kind(), 0..3), 0..4_usize)
            .prop_map(|(subject, statuses, kinds, limit)| Step::List(subject, statuses, kinds, limit)),
        2 => (0..9_u8, 0..4_usize).prop_map(|(margin, limit)| Step::Due(margin, limit)),
        3 => (0..9_u8).prop_map(Step::Pass),
    ]
}

fn seconds(n: u8) -> Duration {
    SECOND * u32::from(n)
}

/// What the steps before have left to go on with.
#[derive(Default)]
struct Known {
    leases: Vec<Lease>,
    appends: Vec<Append>,
    batches: u128,
}

/// A step made ready: the same calls for every store.
struct Ready {
    step: Step,
    appends: Vec<Append>,
    leases: Vec<Lease>,
}

impl Known {
    async fn ready(&mut self, step: Step, memory: &Place) -> Ready {
        let mut ready = Ready { appends: Vec::new(), leases: Vec::new(), step };
        match &ready.step {
            Step::Append(writes) if !self.leases.is_empty() => {
                for write in writes {
                    let append = self.append(write, memory).await;
                    self.appends.push(append.clone());
                    ready.appends.push(append);
                }
            }
            Step::Renew(picks) if !self.leases.is_empty() => {
                ready.leases = picks.iter().map(|pick| pick.get(&self.leases).clone()).collect();
            }
            _ => {}
        }
        ready
    }

    async fn append(&mut self, write: &Write, memory: &Place) -> Append {
        if let (true, Some(last)) = (write.again, self.appends.last()) {
            return last.clone();
        }
        // Old leases are fenced, which soon teaches nothing more.
        let young = self.leases.len().saturating_sub(3);
        let lease = write.lease.get(&self.leases[young..]).clone();
        let version = memory.store.head(&lease.run).await.unwrap().map_or(0, |head| head.version);
        self.batches += 1;
        let texts: Vec<String> =
            (0..write.records).map(|n| format!("{}/{n}", self.batches)).collect();
        let records: Vec<&str> = texts.iter().map(|text| &text[..]).collect();
        Append {
            batch: self.batches,
            head: HeadChange {
                status: write.status,
                not_before: write.wait.map(|wait| memory.now().plus(seconds(wait))),
                // No append says that it waits for a lease.
                waiting: write.waiting.filter(|kind| *kind != WaitingFor::Lease).map(waiting),
                executions: u32::from(write.records),
                active: Duration::from_nanos(u64::from(write.records)),
                error: write.asks.then(|| "error".to_owned()),
            },
            asks: if write.asks { vec!["0".into()] } else { vec![] },
            letter: write.letter.map(|n| Box::new(a_letter(n, memory))),
            hold: if write.releases { Hold::Release } else { Hold::Keep(seconds(5)) },
            ..append(&lease, version.saturating_add_signed(write.off.into()), &records)
        }
    }
}

fn waiting(kind: WaitingFor) -> Waiting {
    let question = || Question { id: "0".into(), title: "which?".into() };
    match kind {
        WaitingFor::Person => Waiting::Person { interrupts: vec![question()], more: 1 },
        WaitingFor::Time => Waiting::Time { reason: Some("because".into()) },
        other => Waiting::stored(other, None),
    }
}

fn a_letter(n: u8, place: &Place) -> Letter {
    Letter { run: Some(id(&n.to_string())), last_at: place.now(), ..letter(&n.to_string()) }
}

fn new_run(open: &Open, place: &Place) -> NewRun {
    let by = verdict::graph::store::ClaimAs { owner: "model".into(), ttl: seconds(5) };
    NewRun {
        subject: open.subject.map(|n| n.to_string()),
        order: open.order,
        not_before: open.wait.map(|wait| place.now().plus(seconds(wait))),
        asks: open
            .ask
            .map(|given| ("0".to_owned(), given.then(|| Bytes::from_static(b"given"))))
            .into_iter()
            .collect(),
        claim: open.claims.then_some(by),
        ..run(&open.name.to_string())
    }
}

async fn all<T: Debug>(calls: impl IntoIterator<Item = impl Future<Output = T>>) -> String {
    format!("{:?}", join_all(calls).await)
}

async fn debug<T: Debug>(
    place: &Place,
    calls: impl IntoIterator<Item = impl Future<Output = T>>,
) -> String {
    format!("{:?}", in_order(place, calls).await)
}

/// The calls of a step whose order counts: together where the place keeps their order, else one
/// behind the other.
async fn in_order<T>(
    place: &Place,
    calls: impl IntoIterator<Item = impl Future<Output = T>>,
) -> Vec<T> {
    if place.keeps_order() {
        return join_all(calls).await;
    }
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await);
    }
    answers
}

/// Does the step; answers what was answered, in words, and adds the leases it won to `won`.
async fn does(place: &Place, ready: &Ready, won: &mut Vec<Lease>) -> String {
    let (store, key_values) = (&place.store, &place.key_values);
    let name = |n: &u8| id(&n.to_string());
    match &ready.step {
        Step::Open(opens) => {
            let calls = opens.iter().map(|open| store.open(new_run(open, place)));
            let opened = in_order(place, calls).await;
            won.extend(opened.iter().flatten().filter_map(|opened| opened.lease.clone()));
            format!("{opened:?}")
        }
        Step::Claim(claims) => {
            let calls = claims.iter().map(|(n, early, reopen)| {
                let (early, reopen) = (*early, *reopen);
                store.claim(Claim { early, reopen, ..claim(&n.to_string()) })
            });
            let claimed = in_order(place, calls).await;
            for claimed in claimed.iter().flatten() {
                if let Claimed::Yours(lease, _) = claimed {
                    won.push(lease.clone());
                }
            }
            format!("{claimed:?}")
        }
        Step::Renew(_) => {
            all(ready.leases.iter().map(|lease| store.renew(lease, seconds(5)))).await
        }
        Step::Append(_) => all(ready.appends.iter().map(|op| store.append(op.clone()))).await,
        Step::Resume(answers) => {
            debug(
                place,
                answers.iter().map(|(n, interrupt)| async move {
                    let value = format!("{n}{interrupt}");
                    let record = record(&value);
                    store.resume(&name(n), &interrupt.to_string(), value.into(), record).await
                }),
            )
            .await
        }
        Step::Cancel(runs) => {
            debug(
                place,
                runs.iter().map(|n| async move { store.cancel(&name(n), record("c")).await }),
            )
            .await
        }
        Step::Delete(runs) => {
            debug(place, runs.iter().map(|n| async move { store.delete(&name(n)).await })).await
        }
        Step::Expire(age, limit) => format!("{:?}", store.expire(seconds(*age), *limit).await),
        Step::PutLetter(letters) => {
            debug(place, letters.iter().map(|n| store.put_letter(a_letter(*n, place)))).await
        }
        Step::Confirm(n) => format!("{:?}", store.confirm_letter(&n.to_string()).await),
        Step::Settle(settles) => {
            debug(
                place,
                settles.iter().map(|(n, state)| async move {
                    store.settle_letter(&n.to_string(), *state, None).await
                }),
            )
            .await
        }
        Step::Put(puts) => {
            debug(
                place,
                puts.iter().map(|(n, ttl)| async move {
                    key_values.put("s", &n.to_string(), vec![*ttl].into(), seconds(*ttl)).await
                }),
            )
            .await
        }
        Step::PutIfAbsent(puts) => {
            debug(
                place,
                puts.iter().map(|(n, ttl)| async move {
                    let value = vec![*ttl].into();
                    key_values.put_if_absent("s", &n.to_string(), value, seconds(*ttl)).await
                }),
            )
            .await
        }
        Step::Acquire(amounts) => {
            let limit = RateLimit { capacity: 8.0, per_second: 0.7 };
            let limiter = RateLimiter::new(key_values.clone(), "limits", limit);
            let mut answers = Vec::new();
            // Of those that come at once, which is first is nobody's promise.
            for tokens in amounts {
                answers.push(limiter.acquire("k", f64::from(*tokens)).await);
            }
            format!("{answers:?}")
        }
        Step::Sweep => format!("{:?}", key_values.sweep().await),
        Step::List(subject, statuses, kinds, limit) => {
            let subject = subject.map(|n| n.to_string());
            let filter = RunFilter {
                subject,
                statuses: statuses.clone(),
                waiting: kinds.clone(),
                limit: *limit,
                ..RunFilter::default()
            };
            format!("{:?}", store.list(&filter).await)
        }
        Step::Due(margin, limit) => format!("{:?}", store.due(seconds(*margin), *limit).await),
        Step::Pass(by) => {
            place.pass(seconds(*by)).await;
            String::new()
        }
    }
}

/// All that a store holds, in words.
async fn contents(place: &Place) -> String {
    let mut words = String::new();
    for head in place.store.list(&RunFilter::default()).await.unwrap() {
        words += &format!("{:?}\n", place.store.load(&head.id, 0).await.unwrap());
    }
    for letter in place.store.letters(&LetterFilter::default()).await.unwrap() {
        words += &format!("{:?}\n", place.store.letter(&letter.id).await.unwrap());
    }
    for n in 0..4 {
        words += &format!("{:?}\n", place.key_values.get("s", &n.to_string()).await.unwrap());
    }
    words
}

async fn agree(steps: Vec<Step>, other: Place) -> Result<(), TestCaseError> {
    let memory = memory().await;
    let agreed = compare(steps, &memory, &other).await;
    other.done().await;
    agreed
}

async fn compare(steps: Vec<Step>, memory: &Place, other: &Place) -> Result<(), TestCaseError> {
    let mut known = Known::default();
    for step in steps {
        let ready = known.ready(step, memory).await;
        let expected = does(memory, &ready, &mut known.leases).await;
        let found = does(other, &ready, &mut Vec::new()).await;
        prop_assert_eq!(expected, found, "{:?}", ready.step);
    }
    prop_assert_eq!(contents(memory).await, contents(other).await);
    Ok(())
}

/// One thread: what is sent together arrives in the order it was sent.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_answers_as_memory_does(steps in vec(step(), 1..60)) {
        runtime().block_on(async { agree(steps, sqlite_file().await).await })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn postgres_answers_as_memory_does(steps in vec(step(), 1..60)) {
        runtime().block_on(async { agree(steps, postgres_server().await).await })?;
    }
}

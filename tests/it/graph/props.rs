//! E5–E7, N1: whatever the graph, wherever it crashes and whoever ends first, the end is the same.

use std::collections::BTreeSet;

use proptest::{prelude::*, test_runner::TestCaseResult};
use verdict::graph::{
    EndedExecution, Execute, Illegal, Meta, Record, ReopenFrom, RunId, RunMachine, Stop,
    testing::Faults,
};

use super::{
    bench::Bench,
    random::{Plan, Started, build, plan},
    support::{Add, Words, execute},
};

type Log = Vec<Record<Add>>;

/// What must not depend on crashes and order.
fn end(ran: &EndedExecution<Words>) -> (Words, Vec<String>) {
    let failures = ran.machine.failures();
    let mut failures: Vec<_> = failures.iter().map(|f| format!("{f:?}")).collect();
    failures.sort();
    (Words::clone(ran.machine.state().unwrap()), failures)
}

/// Completed now, or by an execution that crashed behind its last record.
fn over(ran: &EndedExecution<Words>) -> bool {
    matches!(ran.stop, Stop::Completed | Stop::Ended)
}

async fn log(bench: &Bench, id: &RunId) -> Log {
    let (_, stored) = bench.runtime.store.load(id, 0).await.unwrap().unwrap();
    (1u64..).zip(&stored).map(|(seq, stored)| Record::decode(seq, stored).unwrap()).collect()
}

/// The tasks that need not run again.
fn finished(log: &Log) -> BTreeSet<(u32, u32)> {
    let ends = log.iter().filter_map(|record| match &record.meta {
        Meta::TaskFinished { step, index, .. } => Some((*step, *index)),
        _ => None,
    });
    ends.collect()
}

/// Runs the plan with one crash after another, each so many records on, under a new order of
/// ending each time.
async fn disturbed(
    bench: &Bench,
    plan: &Plan,
    crashes: &[(u64, u64)],
) -> (RunId, EndedExecution<Words>) {
    let id = bench.open(&build(plan, 0, &Started::default())).await;
    for (on, seed) in crashes {
        let started = Started::default();
        let graph = build(plan, *seed, &started);
        let before = log(bench, &id).await;
        let faults = Faults::default().crash_after(before.len() as u64 + on);
        let ran = bench.execute(Execute { faults, ..execute(&graph) }, &id).await;
        let durable = finished(&before);
        for task in started.lock().unwrap().iter() {
            assert!(!durable.contains(task), "task {task:?} had ended and ran again");
        }
        if ran.stop != Stop::Crashed {
            return (id, ran);
        }
    }
    let graph = build(plan, 0, &Started::default());
    let ran = bench.run(&graph, &id).await;
    (id, ran)
}

async fn check(bench: Bench, plan: &Plan, crashes: &[(u64, u64)]) -> TestCaseResult {
    let checked = ends_alike(&bench, plan, crashes).await;
    bench.done().await;
    checked
}

async fn ends_alike(bench: &Bench, plan: &Plan, crashes: &[(u64, u64)]) -> TestCaseResult {
    let (_, undisturbed) = disturbed(bench, plan, &[]).await;
    prop_assert_eq!(&undisturbed.stop, &Stop::Completed);
    let (id, ran) = disturbed(bench, plan, crashes).await;
    prop_assert!(over(&ran), "{:?}", ran.stop);
    prop_assert_eq!(end(&ran), end(&undisturbed));
    prefixes(log(bench, &id).await, &ran)
}

/// Every beginning of a real log is legal, and a machine fed step by step agrees with one that
/// replayed.
fn prefixes(log: Log, ran: &EndedExecution<Words>) -> TestCaseResult {
    let mut fed = RunMachine::<Words>::default();
    for (count, record) in log.iter().enumerate() {
        let replayed = RunMachine::<Words>::replay(log[..count].to_vec()).unwrap();
        prop_assert_eq!(replayed.todo(), fed.todo());
        prop_assert_eq!(replayed.state(), fed.state());
        fed.apply(record.clone()).unwrap();
    }
    prop_assert_eq!(fed.state(), ran.machine.state());
    prop_assert_eq!(fed.ended(), ran.machine.ended());
    Ok(())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// The same without waiting for timers.
fn block_on_paused<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap().block_on(future)
}

fn crashes() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1u64..12, any::<u64>()), 0..6)
}

/// A legal log of the plan, without crashes.
async fn a_log(bench: &Bench, plan: &Plan) -> Log {
    let (id, _) = disturbed(bench, plan, &[]).await;
    log(bench, &id).await
}

/// Feeds the records, whatever they are: refused ones change nothing one can ask for.
fn feed(log: Log) -> Result<(), Illegal> {
    let mut machine = RunMachine::<Words>::default();
    let mut first = Ok(());
    for record in log {
        let (todo, state) = (machine.todo(), machine.state().cloned());
        let version = machine.version();
        if let Err(illegal) = machine.apply(record) {
            assert_eq!(
                (machine.todo(), machine.state(), machine.version()),
                (todo, state.as_ref(), version)
            );
            first = first.and(Err(illegal));
        }
    }
    first
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    /// In memory.
    #[test]
    fn crashes_and_order_change_nothing(plan in plan(), crashes in crashes()) {
        block_on_paused(check(Bench::memory(), &plan, &crashes))?;
    }

    /// Reopened anywhere, any number of times, the end is the same again.
    #[test]
    fn reopenings_change_nothing(
        plan in plan(),
        at in prop::collection::vec((any::<prop::sample::Index>(), 1u64..20), 1..5),
    ) {
        block_on_paused(async {
            let bench = Bench::memory();
            let (id, undisturbed) = disturbed(&bench, &plan, &[]).await;
            let wanted = end(&undisturbed);
            for (at, crash) in at {
                let graph = build(&plan, crash, &Started::default());
                let history = undisturbed.machine.history();
                let from = ReopenFrom::Node(history[at.index(history.len())].node.to_string());
                let faults = Faults::default().crash_after(bench.head(&id).await.version + crash);
                let reopen = Some((String::new(), from));
                let mut ran =
                    bench.execute(Execute { faults, reopen, ..execute(&graph) }, &id).await;
                if ran.stop == Stop::Crashed {
                    ran = bench.run(&graph, &id).await;
                }
                prop_assert!(over(&ran), "{:?}", ran.stop);
                prop_assert_eq!(&end(&ran), &wanted);
                let (_, stored) = bench.runtime.inspect::<Words>(&id).await.unwrap();
                prop_assert_eq!(stored.state(), ran.machine.state());
            }
            Ok(())
        })?;
    }

    /// A fork from any step ends as its parent did.
    #[test]
    fn forks_end_alike(plan in plan(), at in any::<prop::sample::Index>()) {
        block_on_paused(async {
            let bench = Bench::memory();
            let (id, parent) = disturbed(&bench, &plan, &[]).await;
            let steps = parent.machine.tasks().0 as usize;
            let step = u32::try_from(at.index(steps)).unwrap();
            let fork = bench.runtime.fork::<Add>(&id, step, false).await.unwrap();
            let started = Started::default();
            let ran = bench.run(&build(&plan, 1, &started), &fork).await;
            prop_assert_eq!(end(&ran), end(&parent));
            prop_assert!(started.lock().unwrap().iter().all(|(ran, _)| *ran > step));
            Ok(())
        })?;
    }

    /// Logs with records left out, doubled and exchanged: refused or not, never a panic, and what
    /// is refused changes nothing.
    #[test]
    fn mangled_logs_never_panic(
        plan in plan(),
        edits in prop::collection::vec((0u8..3, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let mut log = block_on_paused(async { a_log(&Bench::memory(), &plan).await });
        prop_assert_eq!(feed(log.clone()), Ok(()));
        for (edit, a, b) in edits {
            let (a, b) = (a.index(log.len().max(1)), b.index(log.len().max(1)));
            match edit {
                _ if log.is_empty() => {}
                0 => drop(log.remove(a)),
                1 => log.insert(b, log[a].clone()),
                _ => log.swap(a, b),
            }
        }
        drop(feed(log.clone()));
        drop(RunMachine::<Words>::replay(log));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(16)))]

    /// On PostgreSQL.
    #[test]
    fn crashes_and_order_change_nothing_on_a_server(plan in plan(), crashes in crashes()) {
        block_on(async { check(Bench::postgres().await, &plan, &crashes).await })?;
    }

    /// On SQLite.
    #[test]
    fn crashes_and_order_change_nothing_on_a_file(plan in plan(), crashes in crashes()) {
        block_on(async { check(Bench::sqlite().await, &plan, &crashes).await })?;
    }
}

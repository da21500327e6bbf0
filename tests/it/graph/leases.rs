//! E10, W5, W6: who may write, for how long, and what happens to a run that is taken away.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use verdict::{
    base::Fault,
    graph::{
        ClaimHow, Context, Control, Execute, NewSpec, NodeError, RunStatus, Runtime, Stop,
        store::{Cancelled, Claimed},
    },
};

use super::{
    bench::{Bench, Calls, MINUTE, START, on, on_each},
    stalled::Stalled,
    support::{Add, TestGraph, Words, diamond, execute, say, words},
};

/// A node that tells when it runs and then waits to be let go.
#[derive(Clone, Default)]
struct Door(Arc<(Notify, Notify)>);

impl Door {
    fn at(&self, graph: &TestGraph, node: &str) -> TestGraph {
        let door = self.clone();
        let wait = move |context: Context<Words, ()>| {
            let door = door.clone();
            async move {
                door.0.0.notify_one();
                door.0.1.notified().await;
                say(context).await
            }
        };
        graph.replace(node, wait).unwrap()
    }

    async fn reached(&self) {
        self.0.0.notified().await;
    }

    fn open(&self) {
        self.0.1.notify_one();
    }
}

/// A newer run of the subject: the older one stops at its next record, and writes it no more.
#[tokio::test]
async fn a_superseded_run_stops() {
    on_each(async |bench| {
        let door = Door::default();
        let graph = door.at(&diamond(), "a");
        let spec = |key: &str, order| {
            NewSpec::new("words", 1, Vec::new()).key(key).subject(Some("pr".to_owned()), order)
        };
        let id = bench.runtime.open(&graph, spec("old", 1)).await.unwrap().head.id;
        let (ran, newer) = tokio::join!(bench.run(&graph, &id), async {
            door.reached().await;
            let newer = bench.elsewhere().await.open(&graph, spec("new", 2)).await.unwrap();
            door.open();
            newer
        });
        assert_eq!(ran.stop, Stop::Fenced);
        assert_eq!(newer.superseded, std::slice::from_ref(&id));
        assert_eq!(bench.kinds(&id).await.last(), Some(&"superseded"));
        assert_eq!(bench.head(&id).await.status, RunStatus::Superseded);
        let (_, seen) = bench.runtime.inspect::<Words>(&id).await.unwrap();
        assert!(seen.ended().is_some());
    })
    .await;
}

/// Cancelled from outside: likewise, and it is not cancelled twice.
#[tokio::test]
async fn a_cancelled_run_stops() {
    on_each(async |bench| {
        let door = Door::default();
        let graph = door.at(&diamond(), "a");
        let id = bench.open(&graph).await;
        let (ran, ()) = tokio::join!(bench.run(&graph, &id), async {
            door.reached().await;
            let elsewhere = bench.elsewhere().await;
            assert_eq!(elsewhere.cancel(&id, "ann").await.unwrap(), Cancelled::Done);
            door.open();
        });
        assert_eq!(ran.stop, Stop::Fenced);
        assert_eq!(bench.kinds(&id).await.last(), Some(&"cancelled"));
        let again = bench.runtime.cancel(&id, "bob").await.unwrap();
        assert_eq!(again, Cancelled::Final(RunStatus::Cancelled));
        assert_eq!(bench.run(&graph, &id).await.stop, Stop::Ended);
        assert_eq!(bench.head(&id).await.status, RunStatus::Cancelled);
    })
    .await;
}

/// A lease that expired and was taken over: the first holder is fenced, and the run completes once.
#[tokio::test]
async fn a_run_taken_over_is_the_new_holders() {
    on_each(async |bench| {
        let door = Door::default();
        let slow = door.at(&diamond(), "a");
        let id = bench.open(&slow).await;
        let lease = bench.claim(&id).await;
        let (ran, other) = tokio::join!(bench.runtime.execute(execute(&slow), lease), async {
            door.reached().await;
            let elsewhere = bench.elsewhere().await;
            let held = elsewhere.claim(&id, ClaimHow::default()).await.unwrap();
            assert!(matches!(held, Claimed::LeaseHeld(holder) if holder.owner == "one"));
            bench.pass(MINUTE).await;
            let other = on(&elsewhere, execute(&diamond()), &id).await;
            door.open();
            other
        });
        assert_eq!(other.stop, Stop::Completed);
        assert_eq!(ran.unwrap().stop, Stop::Fenced);
        assert_eq!(bench.kinds(&id).await.iter().filter(|kind| **kind == "finished").count(), 1);
        assert_eq!(words(&other), ["ingest", "a", "b", "c", "judge"]);
    })
    .await;
}

/// Winds the store's clock along with the paused one, ten times a second.
async fn wind(bench: &Bench) {
    let step = Duration::from_millis(100);
    loop {
        tokio::time::sleep(step).await;
        bench.hand.advance(step);
    }
}

fn slow(graph: &TestGraph, node: &str, time: Duration) -> TestGraph {
    let slow = move |context: Context<Words, ()>| async move {
        tokio::time::sleep(time).await;
        say(context).await
    };
    graph.replace(node, slow).unwrap()
}

/// A node that takes ten leases long keeps its run.
#[tokio::test(start_paused = true)]
async fn a_long_node_keeps_its_lease() {
    let bench = Bench::memory();
    let graph = slow(&diamond(), "a", Duration::from_secs(300));
    let id = bench.open(&graph).await;
    let ran = tokio::select! {
        ran = bench.run(&graph, &id) => ran,
        () = wind(&bench) => unreachable!(),
        () = async {
            let elsewhere = bench.elsewhere().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            loop {
                let claimed = elsewhere.claim(&id, ClaimHow::default()).await.unwrap();
                assert!(matches!(claimed, Claimed::LeaseHeld(_)), "{claimed:?}");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        } => unreachable!(),
    };
    assert_eq!(ran.stop, Stop::Completed);
    assert!(ran.active >= Duration::from_secs(300));
}

/// A store that stops answering: the run is lost once its lease may have ended, and no sooner.
#[tokio::test(start_paused = true)]
async fn a_stalled_store_loses_the_run() {
    for down_for in [20, 300] {
        let bench = Bench::memory();
        let stalled = Arc::new(AtomicBool::new(false));
        let store = Stalled { store: bench.runtime.store.clone(), stalled: stalled.clone() };
        let runtime = Runtime::new(Arc::new(store), bench.runtime.clock.clone(), "one");
        let graph = slow(&diamond(), "a", Duration::from_secs(5));
        let id = bench.open(&graph).await;
        let began = tokio::time::Instant::now();
        let (ran, ()) = tokio::join!(on(&runtime, execute(&graph), &id), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            stalled.store(true, Ordering::Release);
            tokio::time::sleep(Duration::from_secs(down_for)).await;
            stalled.store(false, Ordering::Release);
        });
        if down_for == 20 {
            assert_eq!(ran.stop, Stop::Completed, "the lease outlived it");
            continue;
        }
        let Stop::StoreLost(fault) = ran.stop else { panic!("{:?}", ran.stop) };
        assert_eq!(fault, Fault::outage("stalled"));
        let took = began.elapsed() - Duration::from_secs(down_for);
        assert!(took < Duration::from_secs(10), "{took:?}");
        bench.hand.advance(MINUTE);
        let ran = bench.run(&diamond(), &id).await;
        assert_eq!(words(&ran), ["ingest", "a", "b", "c", "judge"]);
    }
}

/// E10: the run's limit counts active time over several executions, and none between them.
#[tokio::test(start_paused = true)]
async fn active_time_adds_up_over_executions() {
    let bench = Bench::memory();
    let ask = |context: Context<Words, ()>| async move {
        tokio::time::sleep(Duration::from_secs(40)).await;
        context.interrupt::<bool>("ask", &()).map(|_| Add::Level(1))
    };
    let graph = diamond().replace("a", ask).unwrap();
    let id = bench.open(&graph).await;
    let limited = || Execute { timeout: Some(MINUTE), ..execute(&graph) };
    let ran = bench.execute(limited(), &id).await;
    assert_eq!(ran.stop, Stop::Waiting(None));
    assert_eq!(bench.head(&id).await.active.as_secs(), 40);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    bench.answer(&id, "2.0.ask", true).await;
    let ran = bench.execute(limited(), &id).await;
    let Stop::Failed(failure) = ran.stop else { panic!("{:?}", ran.stop) };
    assert_eq!(failure.fault.message, "the run was active for longer than 1m");
    assert_eq!(ran.active, MINUTE, "cut short at the limit");
}

/// W5: drained, a run goes on to its next record, keeps it, and is anybody's at once.
#[tokio::test]
async fn drained_at_the_next_record() {
    on_each(async |bench| {
        let (first, second) = (Door::default(), Door::default());
        let calls = Calls::default();
        let graph = calls.counted(&diamond());
        let held = second.at(&first.at(&graph, "a"), "c");
        let id = bench.open(&graph).await;
        let control = Control::default();
        let drained = Execute { control: control.clone(), ..execute(&held) };
        let (ran, ()) = tokio::join!(bench.execute(drained, &id), async {
            first.reached().await;
            second.reached().await;
            control.drain.cancel();
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            first.open();
        });
        assert_eq!(ran.stop, Stop::Drained);
        let head = bench.head(&id).await;
        assert_eq!((head.status, head.lease), (RunStatus::Queued, None));
        assert!(head.not_before.is_some_and(|at| at <= START));
        calls.take();
        let ran = on(&bench.elsewhere().await, execute(&graph), &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        let again: Vec<_> = calls.take().into_iter().map(|(node, _)| node).collect();
        assert_eq!(again, ["c", "judge"], "a was kept");
    })
    .await;
}

/// W5: drained between two steps, nothing new is begun.
#[tokio::test]
async fn drained_between_steps() {
    let bench = Bench::memory();
    let control = Control::default();
    let told = control.clone();
    let graph = diamond()
        .replace("ingest", move |context| {
            told.drain.cancel();
            say(context)
        })
        .unwrap();
    let id = bench.open(&graph).await;
    let ran = bench.execute(Execute { control, ..execute(&graph) }, &id).await;
    assert_eq!(ran.stop, Stop::Drained);
    assert_eq!(bench.kinds(&id).await, ["started", "task_finished", "step_finished"]);
}

/// W5: cancelled, what runs is cut short, its node told, and the run given back as it was.
#[tokio::test]
async fn cut_short_and_given_back() {
    on_each(async |bench| {
        let control = Control::default();
        let told = control.clone();
        let graph = diamond()
            .replace("a", move |context: Context<Words, ()>| {
                let told = told.clone();
                async move {
                    told.cancel.cancel();
                    context.cancelled().cancelled().await;
                    std::future::pending::<Result<Add, NodeError>>().await
                }
            })
            .unwrap();
        let id = bench.open(&graph).await;
        let ran = bench.execute(Execute { control, ..execute(&graph) }, &id).await;
        assert_eq!(ran.stop, Stop::Drained);
        assert_eq!(bench.head(&id).await.status, RunStatus::Queued);
        let ran = bench.run(&diamond(), &id).await;
        assert_eq!(words(&ran), ["ingest", "a", "b", "c", "judge"]);
    })
    .await;
}

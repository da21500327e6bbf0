//! E21, E26: what went wrong in other engines, shown not to happen here, on every store.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use tokio::sync::Notify;
use verdict::{
    base::Fault,
    graph::{
        Context, END, Execute, HistoryEntry, Meta, NodeError, Record, RetryPolicy, RunMachine,
        START, StepRef, Stop, Target,
    },
};

use super::{
    bench::{Bench, Calls, START as EPOCH, on_each, waits},
    support::{Add, Builder, TestGraph, Words, diamond, execute, say, words},
};

type Ctx = Context<Words, ()>;

/// Asks `who` and says the answer.
async fn ask(context: Ctx) -> Result<Add, NodeError> {
    let answer: String = context.interrupt("who", &"Who?")?;
    Ok(Add::Word(format!("{}={answer}", context.node())))
}

/// plan → ask → act.
fn agent() -> TestGraph {
    let mut graph = Builder::new();
    graph.node("plan", say);
    graph.node("ask", say);
    graph.node("act", say);
    graph.entry("plan").edge("plan", "ask").edge("ask", "act").edge("act", END);
    graph.compile().unwrap()
}

/// begin → `inner` under the name `name` → finish.
fn around(inner: &TestGraph, name: &str) -> TestGraph {
    let mut graph = Builder::new();
    graph.node("begin", say);
    graph.node("finish", say);
    graph.subgraph(name, inner, |_| Ok(Vec::new()), |inner| Add::Word(inner.words.join("+")));
    graph.entry("begin").edge("begin", name).edge(name, "finish").edge("finish", END);
    graph.compile().unwrap()
}

/// A team of one agent that asks, its nodes counted.
fn team(calls: &Calls) -> TestGraph {
    let agent = calls.counted(&agent()).replace("ask", ask).unwrap();
    around(&around(&agent, "agent"), "team")
}

const QUESTION: &str = "2.0/2.0/2.0.who";

/// As many side by side as there are inputs, each asking in the same words.
fn side_by_side(count: usize) -> TestGraph {
    const ASK: Target<usize> = Target::new("ask");
    let mut graph = Builder::new();
    graph.task(ASK, |context: Ctx, number| async move {
        let answer: usize = context.interrupt("which", &"Which?")?;
        Ok(Add::Word(format!("{number}={answer}")))
    });
    graph.fan_out(START, ["ask"], move |_| (0..count).map(|n| ASK.dispatch(&n)).collect());
    graph.edge("ask", END);
    graph.compile().unwrap()
}

async fn asked(bench: &Bench, id: &verdict::graph::RunId) -> usize {
    bench.kinds(id).await.iter().filter(|kind| **kind == "interrupted").count()
}

/// In every order, and each is asked once.
#[tokio::test]
async fn four_parallel_nodes_are_asked_once_and_answered_in_any_order() {
    on_each(async |bench| {
        let graph = side_by_side(4);
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let id = bench.open(&graph).await;
            assert!(waits(&bench.run(&graph, &id).await.stop));
            for index in order {
                bench.answer(&id, &format!("2.{index}.which"), index).await;
                let ran = bench.run(&graph, &id).await;
                assert_eq!(ran.stop == Stop::Completed, index == order[3]);
                assert_eq!(asked(bench, &id).await, 4);
            }
            let ran = bench.run(&graph, &id).await;
            assert_eq!(words(&ran), ["0=0", "1=1", "2=2", "3=3"]);
        }
    })
    .await;
}

/// The questions are the same word for word; whose answer is whose follows from the task.
#[tokio::test]
async fn equal_requests_never_swap_their_answers() {
    on_each(async |bench| {
        let graph = side_by_side(3);
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        for (index, answer) in [(1, 10), (2, 20), (0, 0)] {
            bench.answer(&id, &format!("2.{index}.which"), answer).await;
        }
        assert_eq!(words(&bench.run(&graph, &id).await), ["0=0", "1=10", "2=20"]);
    })
    .await;
}

/// The node begins three times; what it does outside is done under one key.
#[tokio::test]
async fn two_interrupts_in_one_node_count_its_side_effect_once() {
    on_each(async |bench| {
        let effects = Arc::new(Mutex::new(BTreeMap::<String, u32>::new()));
        let outside = effects.clone();
        let mut graph = Builder::new();
        graph.node("pay", move |context: Ctx| {
            *outside.lock().unwrap().entry(context.idempotency_key()).or_default() += 1;
            async move {
                let sum: u32 = context.interrupt("sum", &"How much?")?;
                let to: String = context.interrupt("to", &"To whom?")?;
                Ok(Add::Word(format!("{sum} to {to}")))
            }
        });
        graph.entry("pay").edge("pay", END);
        let graph = graph.compile().unwrap();
        let id = bench.open(&graph).await;
        assert!(waits(&bench.run(&graph, &id).await.stop));
        bench.answer(&id, "1.0.sum", 5).await;
        assert!(waits(&bench.run(&graph, &id).await.stop));
        bench.answer(&id, "1.0.to", "ann").await;
        assert_eq!(words(&bench.run(&graph, &id).await), ["5 to ann"]);
        let effects = effects.lock().unwrap();
        assert_eq!(effects.values().copied().collect::<Vec<_>>(), [3], "one key, whoever counts");
    })
    .await;
}

#[tokio::test]
async fn work_before_an_interrupt_inside_a_subgraph_is_not_repeated() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = team(&calls);
        let id = bench.open(&graph).await;
        assert!(waits(&bench.run(&graph, &id).await.stop));
        assert!(waits(&bench.run(&graph, &id).await.stop), "it asks once");
        assert_eq!((asked(bench, &id).await, calls.of("plan"), calls.of("act")), (1, 1, 0));
        let elsewhere = bench.elsewhere().await;
        let (_, seen) = elsewhere.inspect::<Words>(&id).await.unwrap();
        assert_eq!(seen.interrupts()[0].path.tasks(), "2.0/2.0");
        let waiting: Vec<_> = seen.unfinished().collect();
        assert_eq!(waiting, [(0, &"team".into(), "for an answer")]);
        bench.answer(&id, QUESTION, "ann").await;
        let ran = super::bench::on(&elsewhere, execute(&graph), &id).await;
        assert_eq!(words(&ran), ["begin", "begin+plan+ask=ann+act+finish", "finish"]);
        assert_eq!((calls.of("plan"), calls.of("act")), (1, 1));
        let nodes: Vec<_> =
            ran.machine.history().iter().map(|task| task.path.name(&task.node)).collect();
        assert_eq!(
            nodes[1..5].iter().map(|n| &**n).collect::<Vec<_>>(),
            ["team/begin", "team/agent/plan", "team/agent/ask", "team/agent/act"]
        );
    })
    .await;
}

/// Each wrong answer is a question of its own.
#[tokio::test]
async fn a_wrong_answer_ten_times_is_eleven_questions() {
    on_each(async |bench| {
        let mut graph = Builder::new();
        graph.node("age", |context: Ctx| async move {
            for number in 0.. {
                let age: i64 = context.interrupt(&format!("age {number}"), &"How old?")?;
                if age >= 0 {
                    return Ok(Add::Level(age));
                }
            }
            Err(Fault::permanent("unreachable").into())
        });
        graph.entry("age").edge("age", END);
        let graph = graph.compile().unwrap();
        let id = bench.open(&graph).await;
        for number in 0..11 {
            assert!(waits(&bench.run(&graph, &id).await.stop));
            let answer = if number < 10 { -1 } else { 42 };
            bench.answer(&id, &format!("1.0.age {number}"), answer).await;
        }
        let ran = bench.run(&graph, &id).await;
        assert_eq!((ran.stop.clone(), ran.state().unwrap().level), (Stop::Completed, 42));
        assert_eq!(asked(bench, &id).await, 11);
    })
    .await;
}

#[tokio::test]
async fn a_fork_at_a_question_takes_another_answer_and_the_run_keeps_the_first() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = team(&calls);
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        bench.answer(&id, QUESTION, "ann").await;
        let ran = bench.run(&graph, &id).await;
        assert_eq!(words(&ran)[1], "begin+plan+ask=ann+act+finish");
        let at: StepRef = "2.0/2.0/1".parse().unwrap();
        let fork = bench.runtime.fork::<Add>(&id, at, false).await.unwrap();
        assert!(waits(&bench.run(&graph, &fork).await.stop), "asked anew");
        bench.answer(&fork, QUESTION, "ben").await;
        let forked = bench.run(&graph, &fork).await;
        assert_eq!(words(&forked)[1], "begin+plan+ask=ben+act+finish");
        assert_eq!(words(&bench.run(&graph, &id).await)[1], "begin+plan+ask=ann+act+finish");
        assert_eq!(calls.of("plan"), 1, "what came before the question was copied");
    })
    .await;
}

/// From every step of every depth, and each time only what comes after it runs.
#[tokio::test]
async fn a_run_is_replayed_from_a_step_inside_a_subgraph() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = around(&around(&calls.counted(&agent()), "agent"), "team");
        let id = bench.open(&graph).await;
        let wanted = words(&bench.run(&graph, &id).await).join(" ");
        for (from, left) in [("2.0/2.0/0", 3), ("2.0/2.0/1", 2), ("2.0/2.0/2", 1), ("2.0/2.0/3", 0)]
        {
            let _ = calls.take();
            let at: StepRef = from.parse().unwrap();
            let fork = bench.runtime.fork::<Add>(&id, at, false).await.unwrap();
            let ran = bench.run(&graph, &fork).await;
            assert_eq!(words(&ran).join(" "), wanted, "from {from}");
            assert_eq!(calls.take().len(), left, "from {from}");
        }
        let nowhere: StepRef = "2.0/7".parse().unwrap();
        assert!(bench.runtime.fork::<Add>(&id, nowhere, false).await.is_err());
    })
    .await;
}

/// Fed record by record or replayed as a whole, at every length of the log, with a failure and a
/// reopening in it.
#[tokio::test]
async fn state_is_the_fold_at_every_record_of_nested_graphs() {
    on_each(async |bench| {
        let calls = Calls::default();
        let flaky = calls.failing(&agent(), "act", 1, Fault::transient("down"));
        let flaky = flaky.tune("act", |node| {
            node.retry(RetryPolicy::none());
        });
        let graph = around(&around(&flaky.unwrap(), "agent"), "team");
        let id = bench.open(&graph).await;
        let mut failed = bench.run(&graph, &id).await;
        let Stop::Failed(failure) = failed.stop.clone() else { panic!("{}", failed.stop) };
        failed.retry_later(&failure, EPOCH).await.unwrap();
        let ran = bench.run(&graph, &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        let (_, stored) = bench.runtime.store.load(&id, 0).await.unwrap().unwrap();
        let records: Vec<Record<Add>> =
            (1..).zip(&stored).map(|(seq, one)| Record::decode(seq, one).unwrap()).collect();
        for length in 1..=records.len() {
            let replayed = RunMachine::<Words>::replay(records[..length].to_vec()).unwrap();
            let wanted: Vec<&str> =
                ["begin", "begin+plan+ask+act+finish", "finish"].into_iter().collect();
            let state = replayed.state().unwrap();
            assert_eq!(state.words, wanted[..state.words.len()], "at record {length}");
            let inside = replayed.inside::<Words>(0).unwrap();
            let nested = inside.as_ref().and_then(|team| team.inside::<Words>(0).unwrap());
            if let Some(agent) = nested {
                let done = ["plan", "ask", "act"];
                let words = &agent.state().unwrap().words;
                assert_eq!(*words, done[..words.len()], "at record {length}");
            }
        }
        assert_eq!((calls.of("act"), ran.machine.failures().len()), (2, 0));
    })
    .await;
}

/// The failure is in the log while its sibling still hangs.
#[tokio::test]
async fn a_hung_sibling_hides_no_failure() {
    on_each(async |bench| {
        let hung = diamond().replace("a", |_| std::future::pending::<Result<Add, _>>()).unwrap();
        let graph = hung
            .replace("b", |_| async { Err::<Add, _>(Fault::permanent("broken").into()) })
            .unwrap();
        let graph = around(&graph, "team");
        let id = bench.open(&graph).await;
        let failed = async {
            loop {
                let entries = bench.runtime.history(&id).await.unwrap();
                let fault = |entry: &HistoryEntry| match &entry.meta {
                    Meta::TaskFinished { fault: Some(fault), .. } => Some(fault.message.clone()),
                    _ => None,
                };
                if let Some(message) = entries.iter().find_map(fault) {
                    return message;
                }
                tokio::task::yield_now().await;
            }
        };
        let execute = execute(&graph);
        let cancel = execute.control.cancel.clone();
        let (ran, message) = tokio::join!(bench.execute(execute, &id), async {
            let message = failed.await;
            cancel.cancel();
            message
        });
        assert_eq!((message.as_str(), ran.stop), ("broken", Stop::Drained));
    })
    .await;
}

/// Neither a node nor a node of a subgraph goes on once the execution is dropped.
#[tokio::test]
async fn dropping_a_run_handle_leaves_nothing_running() {
    struct Alive(Arc<Mutex<BTreeSet<String>>>, String);
    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.lock().unwrap().remove(&self.1);
        }
    }
    on_each(async |bench| {
        let alive = Arc::new(Mutex::new(BTreeSet::new()));
        let begun = Arc::new(Notify::new());
        let hang = |inner: &TestGraph, node: &str| {
            let (alive, begun) = (alive.clone(), begun.clone());
            let hangs = move |context: Ctx| {
                let name = context.path().name(context.node()).to_string();
                alive.lock().unwrap().insert(name.clone());
                let guard = Alive(alive.clone(), name);
                begun.notify_one();
                async move {
                    let _guard = guard;
                    std::future::pending::<Result<Add, NodeError>>().await
                }
            };
            inner.replace(node, hangs).unwrap()
        };
        let graph = around(&around(&hang(&diamond(), "a"), "agent"), "team");
        let id = bench.open(&graph).await;
        tokio::select! {
            ran = bench.execute(Execute { ..execute(&graph) }, &id) => panic!("{}", ran.stop),
            () = begun.notified() => {}
        }
        let gone = async {
            while !alive.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(std::time::Duration::from_secs(20), gone).await;
        assert!(waited.is_ok(), "{:?} still runs", alive.lock().unwrap());
    })
    .await;
}

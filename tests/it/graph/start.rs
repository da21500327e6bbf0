//! 17.14: the engine as a library: one call to a run that ended or waits, one to answer it.

use std::collections::BTreeMap;

use serde::Serialize;
use verdict::{
    base::Fault,
    graph::{Drawing, RunStatus, prelude::*},
};

use super::{
    bench::{START as EPOCH, on_each},
    support::{Add, Builder, TestGraph, Words, execute, run, say, words},
};

type Ctx = Context<Words, ()>;

fn spec() -> NewSpec<Vec<String>> {
    NewSpec::new("words", 1, Vec::new()).key("one")
}

/// Asks `times` times, side by side.
fn asking(times: usize) -> TestGraph {
    const ASK: Target<usize> = Target::new("ask");
    let mut graph = Builder::new();
    graph.task(ASK, |context: Ctx, number| async move {
        let answer: String = context.interrupt("who", &number)?;
        Ok(Add::Word(answer))
    });
    graph.fan_out(START, ["ask"], move |_| (0..times).map(|n| ASK.dispatch(&n)).collect());
    graph.edge("ask", END);
    graph.compile().unwrap()
}

/// From nothing to a run that waits, to its end, to asking for it again: nothing runs twice.
#[tokio::test]
async fn one_call_runs_and_one_answers() {
    on_each(async |bench| {
        let (runtime, graph) = (&bench.runtime, asking(1));
        let asked = runtime.run(spec(), execute(&graph)).await.unwrap();
        assert_eq!(asked.stop, Stop::Waiting(None));
        assert!(asked.completed().unwrap_err().is_transient());
        let again = runtime.run(spec(), execute(&graph)).await.unwrap();
        assert_eq!((again.run, again.stop), (asked.run.clone(), Stop::Waiting(None)));
        let ran = runtime.answer(&asked.run, "who", &"ann", execute(&graph)).await.unwrap();
        assert_eq!(ran.completed().unwrap().words, ["ann"]);
        let ended = runtime.run(spec(), execute(&graph)).await.unwrap();
        assert_eq!(ended.stop, Stop::Ended);
        assert_eq!(ended.completed().unwrap().words, ["ann"], "found, not done again");
    })
    .await;
}

/// An interrupt that is not open, or not the only one of its name, is an error that says which are.
#[tokio::test]
async fn an_answer_to_nothing_is_an_error() {
    on_each(async |bench| {
        let (runtime, graph) = (&bench.runtime, asking(2));
        let id = runtime.run(spec(), execute(&graph)).await.unwrap().run;
        let answer = async |name: &str| {
            let answered = runtime.answer(&id, name, &"ann", execute(&graph)).await;
            answered.map(|ran| ran.stop).map_err(|fault| fault.message)
        };
        let wrong = answer("whom").await.unwrap_err();
        assert!(wrong.ends_with("no open interrupt `whom`: open are 2.0.who, 2.1.who"), "{wrong}");
        let several = answer("who").await.unwrap_err();
        assert!(several.ends_with("answer by id, one of 2.0.who, 2.1.who"), "{several}");
        assert_eq!(answer("2.1.who").await, Ok(Stop::Waiting(None)));
        assert_eq!(answer("who").await, Ok(Stop::Completed), "the only one left");
        let late = answer("who").await.unwrap_err();
        assert!(late.ends_with("none is"), "{late}");
    })
    .await;
}

/// A failure for good is the run's end; after any other, proceeding is another try.
#[tokio::test]
async fn a_failed_run_is_settled() {
    on_each(async |bench| {
        let mut graph = Builder::new();
        graph.node("flaky", |context: Ctx| async move {
            if context.run().reopened == 0 {
                Err(Fault::transient("down").into())
            } else {
                say(context).await
            }
        });
        graph.node("broken", |_| async { Err::<Add, _>(Fault::permanent("bad").into()) });
        graph.entry("flaky").edge("flaky", "broken").edge("broken", END);
        let graph = graph.compile().unwrap();
        let graph = graph
            .tune("flaky", |node| {
                node.retry(RetryPolicy::none());
            })
            .unwrap();
        let ran = bench.runtime.run(spec(), execute(&graph)).await.unwrap();
        assert_eq!(ran.completed().unwrap_err(), Fault::transient("down"));
        let head = bench.head(&ran.run).await;
        assert_eq!((head.status, head.not_before), (RunStatus::Queued, Some(EPOCH)));
        let ran = bench.runtime.proceed(&ran.run, execute(&graph)).await.unwrap();
        assert_eq!(ran.completed().unwrap_err(), Fault::permanent("bad"));
        assert_eq!(bench.head(&ran.run).await.status, RunStatus::Failed);
        let again = bench.runtime.run(spec(), execute(&graph)).await.unwrap();
        assert_eq!(again.completed().unwrap_err(), Fault::permanent("bad"));
    })
    .await;
}

/// E1: edges, branches and fan-outs may begin at the start; one plain edge costs no step.
#[tokio::test]
async fn ways_lead_on_from_the_start() {
    let mut graph = Builder::new();
    for name in ["a", "b", "c"] {
        graph.node(name, say);
    }
    graph
        .edge(START, "a")
        .branch(START, ["b", "c"], |state| if state.words.is_empty() { "c" } else { "b" });
    graph.edge("a", END).edge("b", END).edge("c", END);
    let graph = graph.compile().unwrap();
    assert_eq!(words(&run(&graph).await), ["a", "c"]);
    let drawn = Drawing::of(&graph).mermaid();
    assert!(drawn.contains("  START --> n_a\n  START -.-> n_b\n  START -.-> n_c\n"), "{drawn}");

    let mut graph = Builder::new();
    graph.node("a", say);
    graph.edge(START, "a").edge("a", END);
    assert_eq!(graph.compile().unwrap().nodes().len(), 1);
}

/// An input that has no JSON form fails the node that sends it, wherever it comes from.
#[tokio::test]
async fn an_input_without_a_json_form_cannot_get_lost() {
    #[derive(Serialize)]
    struct Unfit(BTreeMap<(u8, u8), u8>);
    let unfit = || Dispatch::with("a", &Unfit(BTreeMap::from([((1, 2), 3)])));
    let mut graph = Builder::new();
    graph.node("a", say);
    graph.fan_out(START, ["a"], move |_| vec![unfit()]).edge("a", END);
    let ran = run(&graph.compile().unwrap()).await;
    let fault = ran.completed().unwrap_err();
    assert!(
        fault.message.starts_with("node `START` sends `a` an input that has no JSON form"),
        "{fault}"
    );
}

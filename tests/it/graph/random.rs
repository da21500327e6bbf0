//! Graphs made up at random, and nodes that answer late, fail at first, or fail for good.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use verdict::{
    base::Fault,
    graph::{Context, Dispatch, END, NodeError, RetryPolicy},
};

use super::support::{Add, Builder, TestGraph, Words};

type Ctx = Context<Words, ()>;

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Does {
    Answers,
    /// Fails so often, then answers.
    Recovers(u32),
    /// Fails for good, and is passed over.
    PassedOver,
    /// Fails for good, and leads to the handler.
    Handled,
    /// Answers with where to go.
    Commands,
}

/// How a node leads to the next layer.
#[derive(Debug, Clone, Copy)]
pub enum Way {
    /// To so many of its nodes.
    Fixed(usize),
    /// To one, as the state says.
    Branch,
    /// So often to one, each time with an input of its own.
    FanOut(usize),
}

#[derive(Debug, Clone, Copy)]
pub struct Spot {
    pub does: Does,
    pub way: Way,
}

/// Layers of nodes, and how often the last leads back to the first.
#[derive(Debug, Clone)]
pub struct Plan {
    pub layers: Vec<Vec<Spot>>,
    pub turns: usize,
}

fn spot() -> impl Strategy<Value = Spot> {
    let does = prop_oneof![
        6 => Just(Does::Answers),
        2 => (1u32..3).prop_map(Does::Recovers),
        2 => Just(Does::PassedOver),
        1 => Just(Does::Handled),
        2 => Just(Does::Commands),
    ];
    let way = prop_oneof![
        3 => (1usize..4).prop_map(Way::Fixed),
        1 => Just(Way::Branch),
        1 => (0usize..4).prop_map(Way::FanOut),
    ];
    (does, way).prop_map(|(does, way)| Spot { does, way })
}

pub fn plan() -> impl Strategy<Value = Plan> {
    let layers = prop::collection::vec(prop::collection::vec(spot(), 1..5), 1..5);
    (layers, 0usize..3).prop_map(|(layers, turns)| Plan { layers, turns })
}

/// Which tasks were started: (step, index).
pub type Started = Arc<Mutex<Vec<(u32, u32)>>>;

/// A node's function. Who gives way how often, and so who ends first, is up to `seed`.
async fn act(does: Does, seed: u64, started: Started, context: Ctx) -> Result<Add, NodeError> {
    started.lock().unwrap().push((context.step(), context.index()));
    let spread = u64::from(context.step()) * 31 + u64::from(context.index());
    for _ in 0..fastrand::Rng::with_seed(seed ^ spread).u8(..4) {
        tokio::task::yield_now().await;
    }
    match does {
        Does::Recovers(times) if context.attempt() <= times => {
            return Err(Fault::transient("not yet").into());
        }
        Does::PassedOver | Does::Handled => {
            return Err(Fault::permanent(format!("{} gave up", context.node())).into());
        }
        _ => {}
    }
    let input: usize = context.input().unwrap_or(99);
    let (step, node, index) = (context.step(), context.node(), context.index());
    Ok(Add::Word(format!("{step}.{index} {node} {input} after {}", context.state().words.len())))
}

fn name(layer: usize, place: usize) -> String {
    format!("n{layer}_{place}")
}

/// The plan as a graph.
pub fn build(plan: &Plan, seed: u64, started: &Started) -> TestGraph {
    let mut graph = Builder::new();
    let handled = plan.layers.iter().flatten().any(|spot| spot.does == Does::Handled);
    graph.recursion_limit(1000);
    for (layer, spots) in plan.layers.iter().enumerate() {
        for (place, spot) in spots.iter().enumerate() {
            add(&mut graph, plan, (layer, place), *spot, (seed, started.clone()));
        }
    }
    add_plain(&mut graph, "first", (seed, started.clone()));
    add_plain(&mut graph, "last", (seed, started.clone()));
    graph.entry("first");
    for place in 0..plan.layers[0].len() {
        graph.edge("first", &name(0, place));
    }
    if handled {
        add_plain(&mut graph, "handler", (seed, started.clone()));
        graph.edge("handler", END);
    }
    let turns = plan.turns;
    graph.fan_out("last", ["first", END], move |state| {
        let been = state.words.iter().filter(|word| word.contains(" last ")).count();
        vec![Dispatch::to(if been <= turns { "first" } else { END })]
    });
    graph.compile().unwrap()
}

fn add_plain(graph: &mut Builder, name: &str, (seed, started): (u64, Started)) {
    graph.node(name, move |context| act(Does::Answers, seed, started.clone(), context));
}

fn add(
    graph: &mut Builder,
    plan: &Plan,
    (layer, place): (usize, usize),
    spot: Spot,
    (seed, started): (u64, Started),
) {
    let own = name(layer, place);
    let next: Vec<String> = match plan.layers.get(layer + 1) {
        Some(spots) => (0..spots.len()).map(|place| name(layer + 1, place)).collect(),
        None => vec!["last".to_owned()],
    };
    let does = spot.does;
    if does == Does::Commands {
        let target = next[place % next.len()].clone();
        graph.node(&own, move |context: Ctx| {
            let acted = act(does, seed, started.clone(), context);
            let target = target.clone();
            async move {
                let dispatches = [Dispatch::with(target.clone(), &7), Dispatch::to(target)];
                Ok(verdict::graph::Command::goto(dispatches).with(acted.await?))
            }
        });
        graph.dispatches(&own, next.iter().map(String::as_str));
        return;
    }
    let node = graph.node(&own, move |context| act(does, seed, started.clone(), context));
    let quick = std::time::Duration::from_millis(1);
    node.retry(RetryPolicy { first: quick, jitter: false, ..RetryPolicy::default() });
    match does {
        Does::PassedOver => {
            node.on_error_continue(|fault| Add::Word(fault.message.clone()));
        }
        Does::Handled => {
            node.on_error_goto("handler");
        }
        _ => {}
    }
    lead(graph, &own, next, (place, spot.way));
}

fn lead(graph: &mut Builder, own: &str, next: Vec<String>, (place, way): (usize, Way)) {
    let names = next.clone();
    let all = next.iter().map(String::as_str);
    match way {
        // Every node of the next layer is led to by somebody: the first fixed one takes them all.
        Way::Fixed(_) if place == 0 => {
            next.iter().for_each(|to| {
                graph.edge(own, to);
            });
        }
        Way::Fixed(count) => {
            next.iter().take(count).for_each(|to| {
                graph.edge(own, to);
            });
        }
        Way::Branch => {
            graph.fan_out(own, all, move |state| {
                vec![Dispatch::to(names[state.words.len() % names.len()].clone())]
            });
        }
        Way::FanOut(count) => {
            graph.fan_out(own, all, move |state| {
                let to = &names[state.words.len() % names.len()];
                (0..count).map(|i| Dispatch::with(to.clone(), &i)).collect()
            });
        }
    }
}

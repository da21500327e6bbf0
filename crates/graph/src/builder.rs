//! Graphs under construction.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    sync::Arc,
};

use serde::de::DeserializeOwned;

use crate::base::Result;

use super::{
    check::GraphError,
    command::{Command, Dispatch, NodeError, START, Target},
    context::Context,
    draw::Drawing,
    executor::run_inside,
    graph::{Compiled, Graph},
    node::{Node, Subgraph},
    retry::RetryPolicy,
    state::State,
};

/// The function behind a branch.
pub(super) type Route<S> = Arc<dyn Fn(&S) -> Vec<Dispatch> + std::marker::Send + Sync>;

/// Where a node leads.
pub(super) enum Edge<S> {
    /// Always there.
    Fixed(Arc<str>),
    /// Where the function says, among the declared targets.
    Branch { targets: Vec<Arc<str>>, route: Route<S> },
    /// Where the node's own command says.
    Sends(Vec<Arc<str>>),
}

impl<S> Clone for Edge<S> {
    fn clone(&self) -> Self {
        match self {
            Self::Fixed(to) => Self::Fixed(to.clone()),
            Self::Branch { targets, route } => {
                Self::Branch { targets: targets.clone(), route: route.clone() }
            }
            Self::Sends(targets) => Self::Sends(targets.clone()),
        }
    }
}

impl<S> Edge<S> {
    pub(super) fn targets(&self) -> &[Arc<str>] {
        match self {
            Self::Fixed(to) => std::slice::from_ref(to),
            Self::Branch { targets, .. } | Self::Sends(targets) => targets,
        }
    }
}

/// A graph under construction. Nothing is checked before [`GraphBuilder::compile`].
pub struct GraphBuilder<S: State, D> {
    pub(super) nodes: Vec<Node<S, D>>,
    pub(super) edges: BTreeMap<Arc<str>, Vec<Edge<S>>>,
    entry: Option<Arc<str>>,
    pub(super) before: BTreeSet<Arc<str>>,
    pub(super) after: BTreeSet<Arc<str>>,
    recursion_limit: u32,
}

impl<S: State, D> Default for GraphBuilder<S, D> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            edges: BTreeMap::new(),
            entry: None,
            before: BTreeSet::new(),
            after: BTreeSet::new(),
            recursion_limit: 100,
        }
    }
}

impl<S: State, D> GraphBuilder<S, D> {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node, an async function from its context to an update or a [`Command`], and answers
    /// it so that its policies can be set.
    pub fn node<F, Fut, C>(&mut self, name: &str, function: F) -> &mut Node<S, D>
    where
        F: Fn(Context<S, D>) -> Fut + std::marker::Send + Sync + 'static,
        Fut: Future<Output = Result<C, NodeError>> + std::marker::Send + 'static,
        C: Into<Command<S::Update>>,
    {
        let at = self.nodes.len();
        self.nodes.push(Node::new(name, function));
        &mut self.nodes[at]
    }

    /// Adds a node each of whose tasks is sent an input of its own: `function` gets it beside the
    /// context. What sends it is made by [`Target::dispatch`], so the two agree on its type.
    pub fn task<I, F, Fut, C>(&mut self, target: Target<I>, function: F) -> &mut Node<S, D>
    where
        I: DeserializeOwned + 'static,
        F: Fn(Context<S, D>, I) -> Fut + std::marker::Send + Sync + 'static,
        Fut: Future<Output = Result<C, NodeError>> + std::marker::Send + 'static,
        C: Into<Command<S::Update>> + std::marker::Send + 'static,
    {
        self.node(target.name(), move |context: Context<S, D>| {
            let answer = context.input().map(|input| function(context, input));
            async move { answer?.await }
        })
    }

    /// Adds a compiled graph as a node: `input` makes what it starts from of the task's context,
    /// once for each task, and `output` an update of its last state. What its nodes record is the
    /// run's, too: none that ended runs again, questions inside wait for their answers, and a failure
    /// inside is this node's. It is not retried unless asked to; a retry goes on where it failed.
    ///
    /// ```
    /// # use verdict_graph::prelude::*;
    /// # #[derive(Clone, serde::Serialize)]
    /// # struct Number(u32);
    /// # impl State for Number {
    /// #     type Input = u32;
    /// #     type Update = u32;
    /// #     fn new(input: u32) -> Self { Self(input) }
    /// #     fn merge(&mut self, update: u32) { self.0 = update; }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Fault> {
    /// let mut twice = GraphBuilder::<Number, ()>::new();
    /// twice.node("double", |ctx: Context<Number, ()>| async move { Ok(ctx.state().0 * 2) });
    /// twice.entry("double").edge("double", END);
    /// let twice = twice.compile()?;
    ///
    /// let mut graph = GraphBuilder::<Number, ()>::new();
    /// graph.subgraph("first", &twice, |ctx| Ok(ctx.state().0), |inner| inner.0);
    /// graph.subgraph("then", &twice, |ctx| Ok(ctx.state().0), |inner| inner.0 + 2);
    /// graph.entry("first").edge("first", "then").edge("then", END);
    /// let graph = graph.compile()?;
    /// let ran = graph.run(10, graph.with(())).await;
    /// assert_eq!(ran.completed()?.0, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub fn subgraph<G: State, K>(
        &mut self,
        name: &str,
        graph: &Graph<G, D>,
        input: impl Fn(&Context<S, D>) -> Result<G::Input> + std::marker::Send + Sync + 'static,
        output: impl Fn(&G) -> K + std::marker::Send + Sync + 'static,
    ) -> &mut Node<S, D>
    where
        D: std::marker::Send + Sync + 'static,
        K: Into<Command<S::Update>>,
    {
        let inside = Subgraph {
            drawing: Drawing::of(graph),
            nodes: graph.all_nodes(),
            sensitive: graph.sensitive().to_vec(),
        };
        let functions = Arc::new((graph.clone(), input, output));
        let node = self.node(name, move |context: Context<S, D>| {
            let functions = functions.clone();
            async move {
                let (graph, input, output) = &*functions;
                let state = run_inside(&context, graph, input).await?;
                Ok::<Command<S::Update>, NodeError>(output(&state).into())
            }
        });
        node.inside = Some(Arc::new(inside));
        node.retry(RetryPolicy::none())
    }

    /// Where runs begin: at this node. To begin at several, or where the input says, let edges,
    /// branches or fan-outs begin at [`START`] instead.
    pub fn entry(&mut self, node: &str) -> &mut Self {
        self.entry = Some(node.into());
        self
    }

    /// After `from`, always `to`. Several edges from one node run their targets side by side; use
    /// [`END`](super::END) to end there.
    pub fn edge(&mut self, from: &str, to: &str) -> &mut Self {
        self.link(from, Edge::Fixed(to.into()))
    }

    /// After `from`, the one of `targets` that the function names for the merged state.
    pub fn branch<'a>(
        &mut self,
        from: &str,
        targets: impl IntoIterator<Item = &'a str>,
        choose: impl Fn(&S) -> &'static str + std::marker::Send + Sync + 'static,
    ) -> &mut Self {
        self.fan_out(from, targets, move |state| vec![Dispatch::to(choose(state))])
    }

    /// After `from`, the tasks that the function makes from the merged state, each with an input of
    /// its own if it likes; none at all ends this way.
    pub fn fan_out<'a>(
        &mut self,
        from: &str,
        targets: impl IntoIterator<Item = &'a str>,
        route: impl Fn(&S) -> Vec<Dispatch> + std::marker::Send + Sync + 'static,
    ) -> &mut Self {
        let targets = targets.into_iter().map(Into::into).collect();
        self.link(from, Edge::Branch { targets, route: Arc::new(route) })
    }

    /// Declares where the commands of `from` may go.
    pub fn dispatches<'a>(
        &mut self,
        from: &str,
        targets: impl IntoIterator<Item = &'a str>,
    ) -> &mut Self {
        let targets = targets.into_iter().map(Into::into).collect();
        self.link(from, Edge::Sends(targets))
    }

    fn link(&mut self, from: &str, edge: Edge<S>) -> &mut Self {
        self.edges.entry(from.into()).or_default().push(edge);
        self
    }

    /// Pauses each time before `node` runs, until the interrupt `before` of its task is answered.
    /// The node finds the answer by `context.interrupt("before", &())`; an answer of `false` fails
    /// the node instead.
    pub fn interrupt_before(&mut self, node: &str) -> &mut Self {
        self.before.insert(node.into());
        self
    }

    /// Pauses each time after a step in which `node` ran, before the next begins, until the
    /// interrupt `after:NODE` is answered. An answer of `false` fails the run.
    pub fn interrupt_after(&mut self, node: &str) -> &mut Self {
        self.after.insert(node.into());
        self
    }

    /// The most steps a run may take; 100 unless set.
    pub fn recursion_limit(&mut self, steps: u32) -> &mut Self {
        self.recursion_limit = steps;
        self
    }

    /// Checks the graph and makes it immutable.
    ///
    /// # Errors
    /// The first thing that is wrong, with the nodes it is about.
    pub fn compile(mut self) -> Result<Graph<S, D>, GraphError> {
        let entry = self.resolve_entry()?;
        self.check_names(&entry)?;
        self.check_ways(&entry)?;
        let order: Vec<Arc<str>> = self.nodes.iter().map(|node| node.name.clone()).collect();
        let upstream = self.upstream();
        let subgraphs = || self.nodes.iter().filter_map(|node| node.inside.as_ref());
        let nested = subgraphs().next().is_some();
        let inner = subgraphs().flat_map(|inside| inside.sensitive.iter().copied());
        let sensitive = S::SENSITIVE.iter().copied().chain(inner).collect();
        let nodes = self.nodes.into_iter().map(|node| (node.name.clone(), Arc::new(node)));
        Ok(Graph::new(Compiled {
            nodes: nodes.collect(),
            order,
            edges: self.edges.into_iter().collect(),
            entry,
            before: self.before,
            after: self.after,
            recursion_limit: self.recursion_limit,
            upstream,
            nested,
            sensitive,
        }))
    }

    /// The node that runs enter by. What leads on from [`START`] is a node of that name, which does
    /// nothing, unless it always leads to one node.
    fn resolve_entry(&mut self) -> Result<Arc<str>, GraphError> {
        let Some(edges) = self.edges.get_mut(START) else {
            return self.entry.clone().ok_or(GraphError::NoEntry);
        };
        edges.extend(self.entry.take().map(Edge::Fixed));
        if let [Edge::Fixed(to)] = edges.as_slice() {
            let to = to.clone();
            self.edges.remove(START);
            return Ok(to);
        }
        if self.nodes.iter().any(|node| &*node.name == START) {
            return Err(GraphError::DuplicateName(START.to_owned()));
        }
        self.nodes.insert(0, Node::new(START, |_| async { Ok(Command::nothing()) }));
        Ok(START.into())
    }
}

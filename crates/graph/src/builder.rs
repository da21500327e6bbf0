//! Graphs: how they are built, checked, and then shared.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::Future,
    sync::Arc,
};

use super::{
    command::{Command, END, NodeError, Send},
    context::Context,
    node::{Node, OnError, boxed},
    state::State,
};

/// The function behind a branch.
pub(super) type Route<S> = Arc<dyn Fn(&S) -> Vec<Send> + std::marker::Send + Sync>;

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

/// What is wrong with a graph. The names are nodes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// No entry was named.
    #[error("the graph has no entry: name one with `entry`")]
    NoEntry,
    /// An edge or the entry names a node that is not there.
    #[error("`{from}` leads to `{to}`, which is no node")]
    UnknownTarget {
        /// Where the edge begins (`entry` for the entry itself).
        from: String,
        /// The name nobody bears.
        to: String,
    },
    /// An edge begins at, or a policy speaks of, a node that is not there.
    #[error("`{0}` is no node, but an edge or an interrupt begins there")]
    UnknownSource(String),
    /// Two nodes bear one name, or one bears a reserved name.
    #[error("the name `{0}` is taken")]
    DuplicateName(String),
    /// Nothing leads there from the entry.
    #[error("no way leads from the entry to {}", quoted(.0))]
    Unreachable(Vec<String>),
    /// Nothing leads from there to the end.
    #[error("no way leads to the end from {}", quoted(.0))]
    NoWayToEnd(Vec<String>),
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A graph under construction. Nothing is checked before [`GraphBuilder::compile`].
pub struct GraphBuilder<S: State, D> {
    nodes: Vec<Node<S, D>>,
    edges: BTreeMap<Arc<str>, Vec<Edge<S>>>,
    entry: Option<Arc<str>>,
    before: BTreeSet<Arc<str>>,
    after: BTreeSet<Arc<str>>,
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

    /// Where runs begin.
    pub fn entry(&mut self, node: &str) -> &mut Self {
        self.entry = Some(node.into());
        self
    }

    /// After `from`, always `to`. Several edges from one node run their targets side by side; use
    /// [`END`] to end there.
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
        self.fan_out(from, targets, move |state| vec![Send::to(choose(state))])
    }

    /// After `from`, the tasks that the function makes from the merged state, each with an input of
    /// its own if it likes; none at all ends this way.
    pub fn fan_out<'a>(
        &mut self,
        from: &str,
        targets: impl IntoIterator<Item = &'a str>,
        route: impl Fn(&S) -> Vec<Send> + std::marker::Send + Sync + 'static,
    ) -> &mut Self {
        let targets = targets.into_iter().map(Into::into).collect();
        self.link(from, Edge::Branch { targets, route: Arc::new(route) })
    }

    /// Declares where the commands of `from` may go.
    pub fn sends<'a>(
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
    pub fn compile(self) -> Result<Graph<S, D>, GraphError> {
        let entry = self.entry.clone().ok_or(GraphError::NoEntry)?;
        self.check_names(&entry)?;
        self.check_ways(&entry)?;
        let order: Vec<Arc<str>> = self.nodes.iter().map(|node| node.name.clone()).collect();
        let nodes = self.nodes.into_iter().map(|node| (node.name.clone(), Arc::new(node)));
        Ok(Graph(Arc::new(Compiled {
            nodes: nodes.collect(),
            order,
            edges: self.edges.into_iter().collect(),
            entry,
            before: self.before,
            after: self.after,
            recursion_limit: self.recursion_limit,
        })))
    }

    fn check_names(&self, entry: &Arc<str>) -> Result<(), GraphError> {
        let mut names = BTreeSet::from([END]);
        for node in &self.nodes {
            if !names.insert(&node.name) {
                return Err(GraphError::DuplicateName(node.name.to_string()));
            }
        }
        let known = |name: &str| names.contains(name);
        let unknown = |from: &str, to: &str| GraphError::UnknownTarget {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        if !known(entry) || &**entry == END {
            return Err(unknown("entry", entry));
        }
        let sources = self.edges.keys().chain(&self.before).chain(&self.after);
        if let Some(stranger) = sources.into_iter().find(|name| !known(name) || &***name == END) {
            return Err(GraphError::UnknownSource(stranger.to_string()));
        }
        for (from, to) in self.arrows() {
            if !known(&to) {
                return Err(unknown(&from, &to));
            }
        }
        Ok(())
    }

    /// Every (from, to) there can be, error handlers included.
    fn arrows(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let edges = self.edges.iter().flat_map(|(from, edges)| {
            let targets = edges.iter().flat_map(|edge| edge.targets());
            targets.map(|to| (from.clone(), to.clone()))
        });
        let handlers = self.nodes.iter().filter_map(|node| match &node.on_error {
            OnError::Handler(handler) => Some((node.name.clone(), handler.clone())),
            _ => None,
        });
        edges.chain(handlers).collect()
    }

    fn check_ways(&self, entry: &Arc<str>) -> Result<(), GraphError> {
        let arrows = self.arrows();
        let flipped: Vec<_> = arrows.iter().map(|(from, to)| (to.clone(), from.clone())).collect();
        let forward = reach(entry, &arrows);
        let missing = |reached: &BTreeSet<Arc<str>>| -> Vec<String> {
            let left = self.nodes.iter().filter(|node| !reached.contains(&node.name));
            left.map(|node| node.name.to_string()).collect()
        };
        let unreachable = missing(&forward);
        if !unreachable.is_empty() {
            return Err(GraphError::Unreachable(unreachable));
        }
        let stuck = missing(&reach(&END.into(), &flipped));
        if !stuck.is_empty() {
            return Err(GraphError::NoWayToEnd(stuck));
        }
        Ok(())
    }
}

fn reach(from: &Arc<str>, arrows: &[(Arc<str>, Arc<str>)]) -> BTreeSet<Arc<str>> {
    let mut ways: HashMap<&str, Vec<&Arc<str>>> = HashMap::new();
    for (from, to) in arrows {
        ways.entry(from).or_default().push(to);
    }
    let mut reached = BTreeSet::from([from.clone()]);
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for to in ways.get(&**at).into_iter().flatten() {
            if reached.insert((*to).clone()) {
                open.push(to);
            }
        }
    }
    reached
}

/// A compiled graph: immutable, cheap to clone, used for every run.
pub struct Graph<S: State, D>(Arc<Compiled<S, D>>);

/// What a graph shares between its clones.
pub struct Compiled<S: State, D> {
    pub(super) nodes: HashMap<Arc<str>, Arc<Node<S, D>>>,
    pub(super) order: Vec<Arc<str>>,
    pub(super) edges: HashMap<Arc<str>, Vec<Edge<S>>>,
    pub(super) entry: Arc<str>,
    pub(super) before: BTreeSet<Arc<str>>,
    pub(super) after: BTreeSet<Arc<str>>,
    pub(super) recursion_limit: u32,
}

impl<S: State, D> Clone for Graph<S, D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: State, D> std::ops::Deref for Graph<S, D> {
    type Target = Compiled<S, D>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<S: State, D> Graph<S, D> {
    /// The names of its nodes, as they were added.
    pub fn nodes(&self) -> &[Arc<str>] {
        &self.0.order
    }

    /// The same graph with another function in the place of `node`: a test double. Its edges and
    /// policies stay.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn replace<F, Fut, C>(&self, node: &str, function: F) -> Result<Self, GraphError>
    where
        F: Fn(Context<S, D>) -> Fut + std::marker::Send + Sync + 'static,
        Fut: Future<Output = Result<C, NodeError>> + std::marker::Send + 'static,
        C: Into<Command<S::Update>>,
    {
        self.change(node, |node| node.run = boxed(function))
    }

    /// The same graph with other policies at `node`.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn tune(&self, node: &str, tune: impl FnOnce(&mut Node<S, D>)) -> Result<Self, GraphError> {
        self.change(node, tune)
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Node<S, D>)) -> Result<Self, GraphError> {
        let old = self.0.nodes.get(name);
        let mut node = Node::clone(old.ok_or_else(|| GraphError::UnknownSource(name.to_owned()))?);
        change(&mut node);
        let mut nodes = self.0.nodes.clone();
        nodes.insert(node.name.clone(), Arc::new(node));
        Ok(Self(Arc::new(Compiled {
            nodes,
            order: self.0.order.clone(),
            edges: self.0.edges.clone(),
            entry: self.0.entry.clone(),
            before: self.0.before.clone(),
            after: self.0.after.clone(),
            recursion_limit: self.0.recursion_limit,
        })))
    }
}

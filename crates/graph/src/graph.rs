//! Compiled graphs: immutable, shared by every run.

use std::{
    collections::{BTreeSet, HashMap},
    future::Future,
    sync::Arc,
};

use super::{
    builder::Edge,
    check::GraphError,
    command::{Command, NodeError},
    context::Context,
    node::{Node, boxed},
    spec::Execute,
    state::State,
};

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
    /// The nodes from which a way leads to a deferred one, by its name.
    pub(super) upstream: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Whether any of its nodes is a subgraph.
    pub(super) nested: bool,
    /// See [`Graph::sensitive`].
    pub(super) sensitive: Vec<&'static str>,
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
    pub(super) fn new(compiled: Compiled<S, D>) -> Self {
        Self(Arc::new(compiled))
    }

    /// An execution of this graph with these dependencies and no further wishes.
    pub fn with(&self, deps: impl Into<Arc<D>>) -> Execute<S, D> {
        Execute::new(self.clone(), deps)
    }

    /// The names of its nodes, as they were added.
    pub fn nodes(&self) -> &[Arc<str>] {
        &self.0.order
    }

    /// The names of its nodes and of those in its subgraphs, as `NODE/NODE`.
    pub fn all_nodes(&self) -> Vec<Arc<str>> {
        let below = |node: &Arc<str>| -> Vec<Arc<str>> {
            let inside = self.0.nodes.get(node).and_then(|node| node.inside.as_ref());
            let below = inside.map(|inside| inside.nodes.as_slice()).unwrap_or_default();
            below.iter().map(|inner| format!("{node}/{inner}").into()).collect()
        };
        let order = self.0.order.iter();
        order.flat_map(|node| std::iter::once(node.clone()).chain(below(node))).collect()
    }

    /// The fields that its state, and those of its subgraphs, mark as [`State::SENSITIVE`].
    pub fn sensitive(&self) -> &[&'static str] {
        &self.0.sensitive
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
        self.change(node, |node| {
            node.run = boxed(function);
            node.inside = None;
        })
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
            upstream: self.0.upstream.clone(),
            nested: self.0.nested,
            sensitive: self.0.sensitive.clone(),
        })))
    }
}

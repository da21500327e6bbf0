//! A node: an async function from a context to an update, and the policies it runs under.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use super::{
    command::{Command, Dispatch, NodeError},
    context::Context,
    draw::Drawing,
    retry::RetryPolicy,
    state::State,
};
use crate::base::Fault;

/// What a node answers.
pub type NodeResult<S> = Result<Command<<S as State>::Update>, NodeError>;

pub(super) type NodeFuture<S> = Pin<Box<dyn Future<Output = NodeResult<S>> + std::marker::Send>>;

pub(super) type NodeFn<S, D> =
    Arc<dyn Fn(Context<S, D>) -> NodeFuture<S> + std::marker::Send + Sync>;

/// Makes the update that stands in for a failed task's.
type Instead<S> = Arc<dyn Fn(&Dispatch, &Fault) -> <S as State>::Update + std::marker::Send + Sync>;

/// What happens when a node has failed for good.
pub(super) enum OnError<S: State> {
    /// The run fails, once the step's other tasks have ended.
    Fail,
    /// The run goes on with this update instead.
    Continue(Instead<S>),
    /// The run goes on at this node, and at it alone.
    Handler(Arc<str>),
}

impl<S: State> Clone for OnError<S> {
    fn clone(&self) -> Self {
        match self {
            Self::Fail => Self::Fail,
            Self::Continue(update) => Self::Continue(update.clone()),
            Self::Handler(node) => Self::Handler(node.clone()),
        }
    }
}

/// A node of a graph under construction or compiled. Set its policies through what
/// [`GraphBuilder::node`](super::GraphBuilder::node) answers.
pub struct Node<S: State, D> {
    pub(super) name: Arc<str>,
    pub(super) run: NodeFn<S, D>,
    pub(super) retry: RetryPolicy,
    pub(super) timeout: Option<Duration>,
    pub(super) on_error: OnError<S>,
    pub(super) cancels_siblings: bool,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) deferred: bool,
    /// What is in it, if it is a subgraph.
    pub(super) inside: Option<Arc<Subgraph>>,
}

/// What others may know of a subgraph, without its types.
pub(super) struct Subgraph {
    pub(super) drawing: Drawing,
    /// Its nodes, and theirs.
    pub(super) nodes: Vec<Arc<str>>,
    pub(super) sensitive: Vec<&'static str>,
}

impl<S: State, D> Clone for Node<S, D> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            run: self.run.clone(),
            retry: self.retry.clone(),
            timeout: self.timeout,
            on_error: self.on_error.clone(),
            cancels_siblings: self.cancels_siblings,
            idle_timeout: self.idle_timeout,
            deferred: self.deferred,
            inside: self.inside.clone(),
        }
    }
}

impl<S: State, D> Node<S, D> {
    pub(super) fn new<F, Fut, C>(name: &str, function: F) -> Self
    where
        F: Fn(Context<S, D>) -> Fut + std::marker::Send + Sync + 'static,
        Fut: Future<Output = Result<C, NodeError>> + std::marker::Send + 'static,
        C: Into<Command<S::Update>>,
    {
        Self {
            name: name.into(),
            run: boxed(function),
            retry: RetryPolicy::default(),
            timeout: None,
            on_error: OnError::Fail,
            cancels_siblings: false,
            idle_timeout: None,
            deferred: false,
            inside: None,
        }
    }

    /// How often it is tried again. The default is [`RetryPolicy::default`].
    pub fn retry(&mut self, policy: RetryPolicy) -> &mut Self {
        self.retry = policy;
        self
    }

    /// How long one try may take. There is no limit by default.
    pub fn timeout(&mut self, limit: Duration) -> &mut Self {
        self.timeout = Some(limit);
        self
    }

    /// How long one try may go without a sign of life: [`Context::progress`], [`Context::alive`] and,
    /// in a subgraph, whatever its nodes record. There is no limit by default.
    pub fn idle_timeout(&mut self, limit: Duration) -> &mut Self {
        self.idle_timeout = Some(limit);
        self
    }

    /// A join of branches of unequal length: once something led here, waits until no task is left
    /// from which a way leads here, then runs once.
    ///
    /// ```
    /// # use verdict_graph::prelude::*;
    /// # #[derive(Clone, serde::Serialize)]
    /// # struct Names(Vec<String>);
    /// # impl State for Names {
    /// #     type Input = ();
    /// #     type Update = String;
    /// #     fn new(_: ()) -> Self { Self(Vec::new()) }
    /// #     fn merge(&mut self, update: String) { self.0.push(update); }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Fault> {
    /// let mut graph = GraphBuilder::<Names, ()>::new();
    /// for name in ["short", "long", "longer"] {
    ///     graph.node(name, move |_| async move { Ok(name.to_owned()) });
    /// }
    /// graph.node("join", |_| async { Ok("join".to_owned()) }).deferred();
    /// graph.edge(START, "short").edge(START, "long").edge("long", "longer");
    /// graph.edge("short", "join").edge("longer", "join").edge("join", END);
    /// let graph = graph.compile()?;
    /// let ran = graph.run((), graph.with(())).await;
    /// assert_eq!(ran.completed()?.0, ["short", "long", "longer", "join"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn deferred(&mut self) -> &mut Self {
        self.deferred = true;
        self
    }

    /// When it has failed for good, goes on with this update in its place. The failure stays in
    /// the log, and [`State::revisit`] can have the task run again later.
    pub fn on_error_continue(
        &mut self,
        update: impl Fn(&Fault) -> S::Update + std::marker::Send + Sync + 'static,
    ) -> &mut Self {
        self.on_task_error_continue(move |_, fault| update(fault))
    }

    /// As [`Node::on_error_continue`], for a node of several tasks: the update also depends on the
    /// task, by the input it was sent.
    pub fn on_task_error_continue(
        &mut self,
        update: impl Fn(&Dispatch, &Fault) -> S::Update + std::marker::Send + Sync + 'static,
    ) -> &mut Self {
        self.on_error = OnError::Continue(Arc::new(update));
        self
    }

    /// When it has failed for good, goes on at `handler` and nowhere else. The handler finds what
    /// failed in [`Context::failures`].
    pub fn on_error_goto(&mut self, handler: &str) -> &mut Self {
        self.on_error = OnError::Handler(handler.into());
        self
    }

    /// When it has failed for good and nothing passes that over, its siblings are cancelled; by
    /// default they run to their end and keep their results.
    pub fn cancels_siblings(&mut self) -> &mut Self {
        self.cancels_siblings = true;
        self
    }
}

pub(super) fn boxed<S, D, F, Fut, C>(function: F) -> NodeFn<S, D>
where
    S: State,
    F: Fn(Context<S, D>) -> Fut + std::marker::Send + Sync + 'static,
    Fut: Future<Output = Result<C, NodeError>> + std::marker::Send + 'static,
    C: Into<Command<S::Update>>,
{
    Arc::new(move |context| {
        let answer = function(context);
        Box::pin(async move { answer.await.map(Into::into) })
    })
}

//! A node: an async function from a context to an update, and the policies it runs under.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use super::{
    command::{Command, NodeError},
    context::Context,
    retry::RetryPolicy,
    state::State,
};
use crate::base::Fault;

/// What a node answers.
pub type NodeResult<S> = Result<Command<<S as State>::Update>, NodeError>;

pub(super) type NodeFuture<S> = Pin<Box<dyn Future<Output = NodeResult<S>> + std::marker::Send>>;

pub(super) type NodeFn<S, D> =
    Arc<dyn Fn(Context<S, D>) -> NodeFuture<S> + std::marker::Send + Sync>;

/// Makes the update that stands in for a failed node's.
type Instead<S> = Arc<dyn Fn(&Fault) -> <S as State>::Update + std::marker::Send + Sync>;

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

    /// When it has failed for good, goes on with this update in its place. The failure stays in
    /// the log, and [`State::revisit`] can have the task run again later.
    pub fn on_error_continue(
        &mut self,
        update: impl Fn(&Fault) -> S::Update + std::marker::Send + Sync + 'static,
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

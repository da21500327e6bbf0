//! One task: its tries, their timeouts and panics, up to the node's answer.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context as PollContext, Poll, Waker},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::time::{Instant, sleep, timeout};

use super::{
    command::NodeError,
    context::Context,
    event::RunEvent,
    node::{Node, NodeFuture, NodeResult},
    state::State,
};
use crate::base::Fault;

/// How a task ended.
pub(super) struct Answered<S: State> {
    pub(super) index: u32,
    pub(super) attempts: u32,
    pub(super) took: Duration,
    pub(super) result: NodeResult<S>,
}

/// A task after its first poll.
pub(super) enum First<S: State> {
    /// It had nothing to wait for.
    Answered(NodeResult<S>),
    /// It goes on elsewhere.
    Pending(NodeFuture<S>),
}

/// Starts a try and polls it once, here: a node with nothing to wait for costs no task of its own.
/// Whoever runs it on polls it again, so no wake-up is lost.
pub(super) fn first_poll<S: State, D>(node: &Node<S, D>, context: Context<S, D>) -> First<S> {
    let polled = catch_unwind(AssertUnwindSafe(|| {
        let mut future = (node.run)(context);
        match future.as_mut().poll(&mut PollContext::from_waker(Waker::noop())) {
            Poll::Ready(result) => First::Answered(result),
            Poll::Pending => First::Pending(future),
        }
    }));
    polled.unwrap_or_else(|panic| First::Answered(Err(panicked(&node.name, &*panic))))
}

/// Sees a task through, from a first try that is under way or has failed.
pub(super) async fn see_through<S: State, D: Send + Sync + 'static>(
    node: Arc<Node<S, D>>,
    mut context: Context<S, D>,
    first: First<S>,
    started: Instant,
) -> Answered<S> {
    let mut waits = node.retry.waits();
    let mut attempt = 1;
    let mut result = match first {
        First::Answered(result) => result,
        First::Pending(future) => one_try(&node, future).await,
    };
    loop {
        let wait = match &result {
            Err(NodeError::Fault(fault)) => waits.after(fault),
            _ => None,
        };
        let Some(wait) = wait else { break };
        announce(&context, &result, attempt, wait);
        sleep(wait).await;
        attempt += 1;
        context.attempt = attempt;
        result = match first_poll(&node, context.clone()) {
            First::Answered(result) => result,
            First::Pending(future) => one_try(&node, future).await,
        };
    }
    Answered { index: context.index, attempts: attempt, took: started.elapsed(), result }
}

/// The node run twice over, the first answer thrown away.
pub(super) fn twice<S: State, D>(node: &Node<S, D>, context: &Context<S, D>) -> NodeFuture<S> {
    let (once, again) = ((node.run)(context.clone()), (node.run)(context.clone()));
    Box::pin(async move {
        drop(once.await);
        again.await
    })
}

async fn one_try<S: State, D>(node: &Node<S, D>, future: NodeFuture<S>) -> NodeResult<S> {
    let caught = AssertUnwindSafe(future).catch_unwind();
    let ended = match node.timeout {
        None => caught.await,
        Some(limit) => match timeout(limit, caught).await {
            Ok(ended) => ended,
            Err(_) => {
                let limit = humantime::format_duration(limit);
                let message = format!("node `{}` took longer than {limit}", node.name);
                return Err(Fault::timeout(message).into());
            }
        },
    };
    ended.unwrap_or_else(|panic| Err(panicked(&node.name, &*panic)))
}

fn panicked(node: &str, panic: &(dyn Any + Send)) -> NodeError {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message");
    Fault::permanent(format!("node `{node}` panicked: {words}")).into()
}

fn announce<S: State, D>(
    context: &Context<S, D>,
    result: &NodeResult<S>,
    attempt: u32,
    wait: Duration,
) {
    let Err(NodeError::Fault(fault)) = result else { return };
    let run = context.run();
    tracing::info!(run = %run.id, node = %context.node(), attempt, %fault, ?wait, "node retried");
    context.shared.events.emit(|| RunEvent::NodeRetried {
        step: context.step(),
        node: context.node().clone(),
        index: context.index,
        attempt,
        fault: fault.clone(),
        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
    });
}

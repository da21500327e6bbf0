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
    pulse::Pulse,
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
        First::Pending(future) => one_try(&node, &context, future).await,
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
        context.alive();
        result = match first_poll(&node, context.clone()) {
            First::Answered(result) => result,
            First::Pending(future) => one_try(&node, &context, future).await,
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

async fn one_try<S: State, D>(
    node: &Node<S, D>,
    context: &Context<S, D>,
    future: NodeFuture<S>,
) -> NodeResult<S> {
    let caught = AssertUnwindSafe(future).catch_unwind();
    let ended = match (node.timeout, node.idle_timeout.zip(context.pulse.as_ref())) {
        (None, None) => Ok(caught.await),
        (Some(limit), None) => timeout(limit, caught).await.map_err(|_| over(node, limit)),
        (wall, idle) => tokio::select! {
            biased;
            ended = caught => Ok(ended),
            limit = wall_over(wall) => Err(over(node, limit)),
            limit = idle_over(idle) => Err(idle_fault(node, limit)),
        },
    };
    match ended {
        Ok(ended) => ended.unwrap_or_else(|panic| Err(panicked(&node.name, &*panic))),
        Err(fault) => Err(fault.into()),
    }
}

async fn wall_over(limit: Option<Duration>) -> Duration {
    match limit {
        Some(limit) => {
            sleep(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}

async fn idle_over(idle: Option<(Duration, &Arc<Pulse>)>) -> Duration {
    match idle {
        Some((limit, pulse)) => {
            pulse.stops(limit).await;
            limit
        }
        None => std::future::pending().await,
    }
}

fn over<S: State, D>(node: &Node<S, D>, limit: Duration) -> Fault {
    let limit = humantime::format_duration(limit);
    Fault::timeout(format!("node `{}` took longer than {limit}", node.name))
}

fn idle_fault<S: State, D>(node: &Node<S, D>, limit: Duration) -> Fault {
    let limit = humantime::format_duration(limit);
    Fault::timeout(format!("node `{}` gave no sign of life for {limit}", node.name))
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
    tracing::info!(run = %run.id, node = %context.node(), attempt, error = %fault, wait_s = wait.as_secs_f64(), "node retried");
    context.shared.events.emit(|| RunEvent::NodeRetried {
        step: context.step(),
        node: context.node().clone(),
        index: context.index,
        attempt,
        fault: fault.clone(),
        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
    });
}

//! A subgraph's execution, inside the task it is the node of. It drives its own graph; what it
//! records goes to the run's one writer, the outermost execution, which also knows what it recorded
//! before.

use std::sync::Arc;

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{Execution, Halt, Stop};
use crate::{
    base::{Clock, Fault, Result},
    command::{NodeError, Suspension},
    context::Context,
    control::Control,
    faults::Faults,
    graph::Graph,
    machine::{Inside, RunMachine, Todo},
    path::{Path, Place},
    record::{Body, Meta, Record, Redo, Start},
    state::State,
};

/// What a subgraph tells the outermost execution.
pub(super) enum FromInside {
    /// To be recorded, unless the subgraph was dropped since.
    Record(Box<Record<()>>, CancellationToken),
    /// To be answered once all that was told before is durable.
    Flush(oneshot::Sender<()>),
    /// To be answered with what the subgraph at that path has recorded.
    Load(Path, oneshot::Sender<Inside>),
    /// The run cannot go on here.
    Halt(Stop),
}

/// The way from a subgraph to the outermost execution. Dropped with it: who waits then waits to be
/// dropped, too.
#[derive(Clone)]
pub(super) struct Link {
    to: mpsc::UnboundedSender<FromInside>,
    path: Path,
    /// What the ids of its interrupts begin with.
    prefix: Arc<str>,
    /// Cancelled where the subgraph is dropped before its end. The tasks of one inside it may run on
    /// for a moment: an abort waits for nobody.
    dropped: CancellationToken,
    compress: bool,
    dirty: bool,
}

impl Link {
    pub(super) fn new(compress: bool) -> (Self, mpsc::UnboundedReceiver<FromInside>) {
        let (to, inbox) = mpsc::unbounded_channel();
        let (path, prefix) = (Path::default(), "".into());
        let dropped = CancellationToken::new();
        (Self { to, path, prefix, dropped, compress, dirty: false }, inbox)
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    async fn send(&self, message: FromInside) {
        if self.to.send(message).is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> FromInside) -> T {
        let (to, answer) = oneshot::channel();
        self.send(question(to)).await;
        match answer.await {
            Ok(answer) => answer,
            Err(_) => std::future::pending().await,
        }
    }

    pub(super) async fn record<U: serde::Serialize>(&mut self, record: &Record<U>) -> Halt<()> {
        let outside = record.seen_outside(&self.path, self.compress);
        let outside = outside.map_err(|e| Stop::StoreLost(e.into()))?;
        self.send(FromInside::Record(Box::new(outside), self.dropped.clone())).await;
        self.dirty = true;
        Ok(())
    }

    /// Waits until all that was recorded is durable.
    pub(super) async fn flush(&mut self) {
        if std::mem::take(&mut self.dirty) {
            self.ask(FromInside::Flush).await;
        }
    }
}

/// What a subgraph's execution needs of the one around it.
#[derive(Clone)]
pub(crate) struct Nest {
    pub(super) link: Link,
    pub(super) clock: Clock,
    pub(super) faults: Faults,
    pub(super) reopened: u32,
}

/// Runs `graph` as the subgraph of this task, from where it stopped, until it ends; answers its
/// last state.
pub(crate) async fn run_inside<S: State, C: State, D: Send + Sync + 'static>(
    context: &Context<S, D>,
    graph: &Graph<C, D>,
    input: &(impl Fn(&Context<S, D>) -> Result<C::Input> + Sync),
) -> std::result::Result<Arc<C>, NodeError> {
    let Some(nest) = &context.shared.nest else {
        return Err(Fault::permanent("a subgraph runs as a node of a graph only").into());
    };
    let (execution, answers) = match enter(context, nest, graph, input).await {
        Ok(entered) => entered,
        Err(fault) => return Err(fault.into()),
    };
    let cancel = execution.control.cancel.clone().drop_guard();
    let dropped = execution.link.as_ref().map(|link| link.dropped.clone().drop_guard());
    let (link, mut execution) = (nest.link.clone(), Box::new(execution));
    let stop = match Box::pin(execution.drive()).await {
        Ok(stop) | Err(stop) => stop,
    };
    drop(cancel);
    if let Some(dropped) = dropped {
        dropped.disarm();
    }
    match (stop, execution.machine.state()) {
        (Stop::Completed, Some(state)) => Ok(state.clone()),
        (Stop::Failed(failure), _) => Err(match failure.node {
            Some(node) => failure.fault.while_doing(format_args!("node `{node}`")),
            None => failure.fault,
        }
        .into()),
        (Stop::Waiting(_), _) => {
            let parked = execution.machine.parked();
            let wait = parked.map(|(until, reason)| (until, reason.to_owned()));
            Err(NodeError::Suspended(Suspension { wait, answers }))
        }
        (stop, _) => {
            link.send(FromInside::Halt(stop)).await;
            std::future::pending().await
        }
    }
}

async fn enter<S: State, C: State, D: Send + Sync + 'static>(
    context: &Context<S, D>,
    nest: &Nest,
    graph: &Graph<C, D>,
    input: &(impl Fn(&Context<S, D>) -> Result<C::Input> + Sync),
) -> Result<(Execution<C, D>, usize)> {
    let (step, node, index) = (context.step(), context.node().clone(), context.index());
    let again = if nest.reopened > 0 { format!("~{}", nest.reopened) } else { String::new() };
    let link = &nest.link;
    let path = context.path().inside(Place { step, node: node.clone(), index });
    let prefix = format!("{}{step}.{index}{again}/", link.prefix).into();
    let dropped = link.dropped.child_token();
    let mut link = Link { path: path.clone(), prefix, dropped, dirty: false, ..link.clone() };
    let mut inside = link.ask(|to| FromInside::Load(path.clone(), to)).await;
    let answers = inside.answers;
    let mut machine = if inside.records.is_empty() {
        let record = started(context, graph, &input(context)?, nest.clock.now())?;
        link.record(&record).await.map_err(lost)?;
        let mut machine = RunMachine::default();
        machine.apply(record)?;
        machine
    } else {
        inside.replay::<C>()?
    };
    if (context.redo || context.attempt() > 1) && matches!(machine.todo(), Todo::Failed(_)) {
        let meta = Meta::Reopened {
            why: "tried again".to_owned(),
            from: machine.tasks().0,
            redo: Redo::Failed,
        };
        let record = Record::<()>::new(nest.clock.now(), meta, Body::None);
        link.record(&record).await.map_err(lost)?;
        inside.records.push(record);
        machine = inside.replay()?;
    }
    machine.wake(nest.clock.now());
    let execution = Execution {
        graph: graph.clone(),
        deps: context.deps_arc(),
        machine,
        journal: None,
        link: Some(link),
        inbox: None,
        info: context.shared.run.clone(),
        events: context.shared.events.inside(&path),
        path,
        around: Some(context.shared.state.clone()),
        pulse: context.pulse.clone(),
        control: Control {
            drain: CancellationToken::new(),
            cancel: context.cancelled().child_token(),
        },
        clock: nest.clock.clone(),
        signature: None,
        timeout: None,
        faults: nest.faults.clone(),
        began: Instant::now(),
    };
    Ok((execution, answers))
}

fn lost(stop: Stop) -> Fault {
    Fault::permanent(stop.to_string())
}

fn started<S: State, C: State, D>(
    context: &Context<S, D>,
    graph: &Graph<C, D>,
    input: &C::Input,
    at: crate::base::Timestamp,
) -> Result<Record<C::Update>> {
    let node = context.node();
    let input = serde_json::value::to_raw_value(input).map_err(|e| {
        Fault::permanent(format!("the input of subgraph `{node}` has no JSON form: {e}"))
    })?;
    let meta = Meta::Started { workflow: node.clone(), version: 0, entry: graph.entry.clone() };
    Ok(Record::new(at, meta, Body::Start(Start { input: input.into(), envelope: None })))
}

/// What the outermost execution does for subgraphs.
impl<S: State, D: Send + Sync + 'static> Execution<S, D> {
    /// Does all that has been sent so far. Answers whether anything was recorded.
    pub(super) async fn receive(
        &mut self,
        first: Option<FromInside>,
        flushes: &mut Vec<oneshot::Sender<()>>,
    ) -> Halt<bool> {
        let (mut next, mut recorded) = (first, false);
        loop {
            let Some(message) = next.take().or_else(|| self.inbox.as_mut()?.try_recv().ok()) else {
                return Ok(recorded);
            };
            match message {
                FromInside::Record(_, dropped) if dropped.is_cancelled() => {}
                FromInside::Record(record, _) => {
                    recorded = true;
                    let Record { at, path, meta, body } = *record;
                    if let (Some(journal), Meta::Interrupted { id, .. }) =
                        (&mut self.journal, &meta)
                    {
                        journal.ask(id.clone());
                    }
                    self.append(Record { at, path, meta, body: body.untyped() }).await?;
                }
                FromInside::Flush(to) => flushes.push(to),
                // Nobody waits any more if this fails.
                FromInside::Load(path, to) => drop(to.send(self.machine.load_inside(&path))),
                FromInside::Halt(stop) => return Err(stop),
            }
        }
    }
}

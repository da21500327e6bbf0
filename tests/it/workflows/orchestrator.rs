//! X2: the orchestrator workflow (S2).

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use serde_json::{Value, json};
use verdict::{
    base::{Clock, Fault, Result, Timestamp},
    checkpoint::Memory,
    graph::{
        Context, Drawing, EndedExecution, NodeError, RunId, State, Stop, Store,
        store::{RunFilter, StoredRecord},
    },
    workflows::{
        InProcess, Workflow,
        orchestrator::{
            Agent, AgentContext, AgentOutput, AgentRegistry, AgentResult, ApprovalKind, BUILT_IN,
            Orchestrator, OrchestratorDeps, OrchestratorInput, OrchestratorState,
            OrchestratorUpdate, RoutingHints, Status, TaskAnalysis, build_agent_queue, route,
        },
    },
};

use super::{
    from_everywhere, machine,
    models::{Asked, Models, Reply},
    state_at, survives_everything,
};
use crate::{
    graph::bench::on_each,
    server::{post, serve, stop},
};

/// An agent that does what the test has put up for it, and otherwise its part.
struct Scripted {
    results: Mutex<VecDeque<Result<AgentResult>>>,
    told: Arc<Mutex<Vec<AgentContext>>>,
}

#[async_trait]
impl Agent for Scripted {
    async fn execute(&self, context: &AgentContext) -> Result<AgentResult> {
        self.told.lock().unwrap().push(context.clone());
        self.results.lock().unwrap().pop_front().unwrap_or_else(|| Ok(done()))
    }
}

fn done() -> AgentResult {
    AgentResult { success: true, result: json!("done"), ..AgentResult::default() }
}

fn hinted(hints: RoutingHints) -> Result<AgentResult> {
    Ok(AgentResult { routing_hints: hints, ..done() })
}

fn hints() -> RoutingHints {
    RoutingHints::default()
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A task whose analysis the model gives, and whose agents do what is put up for them.
struct Team {
    _models: Models,
    deps: OrchestratorDeps,
    told: BTreeMap<&'static str, Arc<Mutex<Vec<AgentContext>>>>,
}

impl Team {
    async fn new(
        analysis: Value,
        scripts: impl IntoIterator<Item = (&'static str, Vec<Result<AgentResult>>)>,
    ) -> Self {
        let models = Models::start(move |_| Reply::json(analysis.clone()));
        let (mut agents, mut told) = (AgentRegistry::new(), BTreeMap::new());
        let mut scripts: BTreeMap<_, _> = scripts.into_iter().collect();
        for (name, _) in BUILT_IN {
            let results = Mutex::new(scripts.remove(name).unwrap_or_default().into());
            let heard = Arc::<Mutex<Vec<AgentContext>>>::default();
            told.insert(*name, heard.clone());
            agents = agents.with(name, Scripted { results, told: heard });
        }
        let (clock, _) = Clock::manual(Timestamp(1_700_000_000_000));
        let deps = OrchestratorDeps { model: models.model(), agents, clock };
        Self { _models: models, deps, told }
    }

    fn workflow(&self) -> InProcess<Orchestrator> {
        let store = Arc::new(Memory::new(Clock::system()));
        InProcess::<Orchestrator>::new(self.deps.clone()).unwrap().on(store)
    }

    async fn run(&self) -> EndedExecution<OrchestratorState> {
        self.workflow().run(input()).await.unwrap()
    }

    /// What this agent was told, each time.
    fn told(&self, agent: &str) -> Vec<AgentContext> {
        self.told[agent].lock().unwrap().clone()
    }
}

fn input() -> OrchestratorInput {
    let input = json!({"prompt": "Add a login page", "tenant_id": "tenant-1", "task_id": "task-1"});
    serde_json::from_value(input).unwrap()
}

fn feature() -> Value {
    analysis("feature", json!({}))
}

/// A task of this type that needs nothing but what `also` says.
fn analysis(task_type: &str, also: Value) -> Value {
    let mut analysis = json!({
        "task_type": task_type, "complexity": "simple", "requires_ui": false,
        "requires_backend": true, "requires_architecture": false, "requires_approval": false,
        "suggested_agents": [],
    });
    for (name, value) in also.as_object().unwrap() {
        analysis[name] = value.clone();
    }
    analysis
}

/// Who ran, in order.
fn agents(state: &OrchestratorState) -> String {
    state.agent_outputs.iter().map(|output| &*output.agent_id).collect::<Vec<_>>().join(" ")
}

/// The interrupt that is open, and what it asks.
fn asked(ended: &EndedExecution<OrchestratorState>) -> (String, Value) {
    assert_eq!(ended.stop, Stop::Waiting(None));
    let [open] = ended.machine.interrupts() else { panic!() };
    (open.id.clone(), serde_json::from_str(open.request.get()).unwrap())
}

/// S2, 4.1: the nodes and edges of the main graph.
#[test]
fn its_graph_is_the_documents() {
    insta::assert_snapshot!(Drawing::of(&Orchestrator::graph().unwrap()).mermaid(), @r#"
    flowchart TD
      START((start))
      n_analyze["analyze"]
      n_route_to_agent["route_to_agent"]
      subgraph n_execute_agent["execute_agent"]
        n_execute_agent_START((start))
        n_execute_agent_n_find_agent["find_agent"]
        n_execute_agent_n_run_agent["run_agent"]
        n_execute_agent_END((end))
        n_execute_agent_START --> n_execute_agent_n_find_agent
        n_execute_agent_n_find_agent -.-> n_execute_agent_n_run_agent
        n_execute_agent_n_find_agent -.-> n_execute_agent_END
        n_execute_agent_n_run_agent --> n_execute_agent_END
      end
      n_awaiting_approval["awaiting_approval"]
      n_complete["complete"]
      n_error["error"]
      END((end))
      START --> n_analyze
      n_analyze -.-> n_route_to_agent
      n_analyze -.-> n_error
      n_route_to_agent -.-> n_execute_agent
      n_route_to_agent -.-> n_complete
      n_route_to_agent -.-> n_awaiting_approval
      n_execute_agent -.-> n_route_to_agent
      n_execute_agent -.-> n_awaiting_approval
      n_execute_agent -.-> n_error
      n_awaiting_approval -.-> n_route_to_agent
      n_awaiting_approval -.-> n_error
      n_complete --> END
      n_error --> END
    "#);
}

/// S2, 3.1: the state's channels and what they start with.
#[test]
fn a_task_starts_pending() {
    let state = OrchestratorState::new(input());
    assert_eq!((state.status, state.retry_count, state.max_retries), (Status::Pending, 0, 3));
    assert_eq!((&*state.tenant_id, &*state.task_id), ("tenant-1", "task-1"));
    assert_eq!(state.messages[0].content, "Add a login page");
    assert!(state.agent_queue.is_empty() && state.analysis.is_none());
}

/// S2, 5.1: who works on which task.
#[test]
fn the_queue_follows_from_the_analysis() {
    let all = json!({
        "complexity": "complex", "requires_ui": true, "requires_architecture": true,
    });
    let moderate = json!({"complexity": "moderate", "requires_backend": false});
    for (task, queue) in [
        (
            analysis("feature", all.clone()),
            "project_manager architect ui_designer frontend_developer backend_developer tester \
             reviewer",
        ),
        (analysis("refactor", moderate), "project_manager tester reviewer"),
        (analysis("bugfix", all), "bug_fixer tester reviewer"),
        (analysis("feature", json!({})), "backend_developer tester reviewer"),
        (analysis("docs", json!({"requires_backend": false})), "tester reviewer"),
    ] {
        let task: TaskAnalysis = serde_json::from_value(task).unwrap();
        assert_eq!(build_agent_queue(&task).join(" "), queue);
    }
}

/// S2, "should execute agents in order", "should handle workflow completion".
#[tokio::test]
async fn agents_work_in_order_until_the_task_is_complete() {
    let team = Team::new(analysis("bugfix", json!({})), []).await;
    let ended = team.run().await;
    assert_eq!(ended.stop, Stop::Completed);
    let state = ended.machine.state().unwrap();
    assert_eq!(state.completed_agents, ["bug_fixer", "tester", "reviewer"]);
    assert_eq!(state.status, Status::Completed);
    assert_eq!(state.current_agent, None);
    let last = &team.told("reviewer")[0];
    assert_eq!((last.previous_outputs.len(), &*last.prompt), (2, "Add a login page"));
}

/// S2, 5.2: an agent's suggestion goes before the queue, unless that agent has done its part.
#[tokio::test]
async fn a_suggested_agent_is_next_unless_it_is_done() {
    let suggest = |names: &[&str]| hinted(RoutingHints { suggest_next: list(names), ..hints() });
    let scripts = [
        ("backend_developer", vec![suggest(&["architect"])]),
        ("architect", vec![suggest(&["backend_developer"])]),
    ];
    let team = Team::new(feature(), scripts).await;
    let ended = team.run().await;
    let state = ended.machine.state().unwrap();
    assert_eq!(agents(state), "backend_developer architect tester reviewer");
}

/// S2, 5.2: agents that are not needed are skipped; a task that is complete needs nobody.
#[tokio::test]
async fn agents_are_skipped_when_nobody_needs_them() {
    let skip = RoutingHints { skip_agents: list(&["tester"]), ..hints() };
    let team = Team::new(feature(), [("backend_developer", vec![hinted(skip)])]).await;
    let ended = team.run().await;
    assert_eq!(agents(ended.machine.state().unwrap()), "backend_developer reviewer");

    let complete = RoutingHints { is_complete: true, ..hints() };
    let team = Team::new(feature(), [("backend_developer", vec![hinted(complete)])]).await;
    let ended = team.run().await;
    let state = ended.machine.state().unwrap();
    assert_eq!((agents(state).as_str(), state.status), ("backend_developer", Status::Completed));
}

/// S2, 5.2: work with failures goes to whoever mends them, and is looked at again.
#[tokio::test]
async fn failures_are_mended_and_looked_at_again() {
    let suggest_next = list(&["backend_developer"]);
    let failing = RoutingHints { has_failures: true, suggest_next, ..hints() };
    let team = Team::new(feature(), [("tester", vec![hinted(failing)])]).await;
    let ended = team.run().await;
    let state = ended.machine.state().unwrap();
    let wanted = "backend_developer tester backend_developer tester reviewer";
    assert_eq!(agents(state), wanted);
    assert_eq!((state.retry_count, state.status), (0, Status::Completed));
}

/// S2, 4.1 and 5.3: an agent that fails is tried again, and after the limit the task fails with the
/// reason.
#[tokio::test]
async fn a_failing_agent_is_tried_up_to_the_limit() {
    let failed = || Err(Fault::transient("out of memory"));
    let unsuccessful =
        || Ok(AgentResult { success: false, error: Some("no idea".to_owned()), ..done() });
    let team = Team::new(feature(), [("tester", vec![failed(), unsuccessful()])]).await;
    let ended = team.run().await;
    let state = ended.machine.state().unwrap();
    assert_eq!(agents(state), "backend_developer tester tester tester reviewer");
    assert_eq!((state.status, state.retry_count), (Status::Completed, 0));

    let team = Team::new(feature(), [("tester", vec![failed(), unsuccessful(), failed()])]).await;
    let ended = team.run().await;
    assert_eq!(ended.stop, Stop::Completed);
    let state = ended.machine.state().unwrap();
    assert_eq!(state.status, Status::Failed);
    let why = "agent `tester` failed 3 times in a row: out of memory";
    assert_eq!(state.error.as_deref(), Some(why));
    assert_eq!(state.completed_agents, ["backend_developer"]);
}

/// E21; S2, 1: a run of an agent is a subgraph. What it records, and what fails in it, is told under its
/// path; each try is a run of its own, and what others have left is recorded for none of them again.
#[tokio::test]
async fn a_run_of_an_agent_is_a_subgraph() {
    let said = "the cause was a null pointer";
    let found = Ok(AgentResult { result: json!(said), ..done() });
    let failed = Err(Fault::transient("out of memory"));
    let scripts = [("bug_fixer", vec![failed, found])];
    let team = Team::new(analysis("bugfix", json!({})), scripts).await;
    let store = Arc::new(Memory::new(Clock::system()));
    let workflow = InProcess::<Orchestrator>::new(team.deps.clone()).unwrap().on(store.clone());
    let ended = workflow.run(input()).await.unwrap();
    assert_eq!(ended.stop, Stop::Completed);
    let inside = ended.machine.history().iter().filter(|task| !task.path.is_empty());
    let ran = inside.map(|task| {
        let failed = if task.fault.is_some() { " failed" } else { "" };
        format!("{}{failed}", task.path.name(&task.node))
    });
    let ran: Vec<_> = ran.collect();
    let wanted = ["execute_agent/find_agent", "execute_agent/run_agent failed"];
    assert_eq!(ran[..2], wanted);
    assert_eq!(ran[2..], ["execute_agent/find_agent", "execute_agent/run_agent"].repeat(3));
    assert_eq!(team.told("tester")[0].previous_outputs.len(), 2);

    let (_, log) = store.load(&ended.run, 0).await.unwrap().unwrap();
    let text = |record: &StoredRecord| {
        String::from_utf8_lossy(record.payload.as_deref().unwrap_or_default()).into_owned()
    };
    let with_output = log.iter().filter(|record| text(record).contains(said)).count();
    assert_eq!(with_output, 2, "where it was made, and as the update of its task");
}

/// E20, E21: the log of a run in which `execute_agent` was one node is read, and goes on.
#[tokio::test]
async fn a_run_from_before_agents_had_a_subgraph_goes_on() {
    type Ctx = Context<OrchestratorState, OrchestratorDeps>;
    let before = Orchestrator::graph().unwrap().replace("execute_agent", |ctx: Ctx| async move {
        Ok::<_, NodeError>(OrchestratorUpdate::AgentRan(AgentOutput {
            agent_id: ctx.state().current_agent.clone().unwrap(),
            success: true,
            result: json!("done"),
            artifacts: Vec::new(),
            routing_hints: RoutingHints { needs_approval: true, ..hints() },
            error: None,
            timestamp: "2026-01-01T00:00:00Z".to_owned(),
        }))
    });
    let team = Team::new(analysis("bugfix", json!({})), []).await;
    let store = Arc::new(Memory::new(Clock::system()));
    let now = || InProcess::<Orchestrator>::new(team.deps.clone()).unwrap().on(store.clone());
    let ended = now().with_graph(before.unwrap()).run(input()).await.unwrap();
    assert!(ended.machine.history().iter().all(|task| task.path.is_empty()));
    let (interrupt, _) = asked(&ended);
    let answer = json!({"approved": true});
    let running = now().resume(&ended.run, &interrupt, &answer).await.unwrap();
    let ended = running.end().await.unwrap();
    assert_eq!(ended.stop, Stop::Completed);
    assert_eq!(agents(ended.machine.state().unwrap()), "bug_fixer tester reviewer");
    let inside = ended.machine.history().iter().filter(|task| !task.path.is_empty());
    assert_eq!(inside.count(), 4, "those of the two agents that came after");
}

/// S2, 5.3: an agent that is not registered ends the task, by its name.
#[tokio::test]
async fn an_unknown_agent_is_an_error_that_names_it() {
    let suggest = RoutingHints { suggest_next: list(&["wizard"]), ..hints() };
    let team = Team::new(feature(), [("backend_developer", vec![hinted(suggest)])]).await;
    let ended = team.run().await;
    let state = ended.machine.state().unwrap();
    assert_eq!(state.status, Status::Failed);
    let error = state.error.as_deref().unwrap();
    assert!(error.starts_with("agent not found: `wizard` (known: architect, "), "{error}");
}

/// Who needs an approval.
fn approval(agent: &'static str, options: &[&str]) -> (&'static str, Vec<Result<AgentResult>>) {
    let hints = RoutingHints { needs_approval: true, options: list(options), ..hints() };
    let asks = || hinted(hints.clone());
    (agent, vec![asks(), asks()])
}

/// S2, 4.1 and 5.4: the run pauses before it goes on; the request says what is to be approved; approved,
/// the next agent works, and nobody asks again.
#[tokio::test]
async fn an_approval_is_asked_for_once_and_lets_the_work_go_on() {
    let task = analysis("feature", json!({"requires_ui": true, "requires_architecture": true}));
    let scripts = [
        approval("architect", &[]),
        approval("ui_designer", &["blue", "green"]),
        approval("backend_developer", &[]),
        approval("reviewer", &[]),
    ];
    let team = Team::new(task, scripts).await;
    let workflow = team.workflow();
    let running = workflow.start(None, input()).await.unwrap();
    let id = running.id.clone();
    let mut ended = running.end().await.unwrap();
    for kind in ["architecture", "design", "implementation", "final"] {
        let (interrupt, request) = asked(&ended);
        assert_eq!(request["type"], "approval");
        assert_eq!(request["request"]["type"], kind);
        assert_eq!(ended.machine.state().unwrap().status, Status::AwaitingApproval);
        let mut answer = json!({"approved": true});
        if kind == "design" {
            assert_eq!(request["request"]["options"], json!(["blue", "green"]));
            answer["selected_option"] = json!("green");
        }
        ended = workflow.resume(&id, &interrupt, &answer).await.unwrap().end().await.unwrap();
    }
    assert_eq!(ended.stop, Stop::Completed);
    let state = ended.machine.state().unwrap();
    assert_eq!(state.status, Status::Completed);
    assert_eq!(state.approval_request.as_ref().unwrap().kind, ApprovalKind::Final);
    let next = &team.told("frontend_developer")[0];
    let chosen = next.approval.as_ref().unwrap().selected_option.as_deref();
    assert_eq!(chosen, Some("green"), "the next agent is told what was chosen");
    assert!(state.approval_response.as_ref().unwrap().timestamp.starts_with("2023-11-14T"));
}

/// S2, 5.4: rejected work goes back to whoever did it, with the feedback, and is asked about again.
#[tokio::test]
async fn rejected_work_goes_back_with_the_feedback() {
    let team = Team::new(feature(), [approval("backend_developer", &[])]).await;
    let workflow = team.workflow();
    let running = workflow.start(None, input()).await.unwrap();
    let id = running.id.clone();
    let (interrupt, _) = asked(&running.end().await.unwrap());
    let answer = json!({"approved": false, "feedback": "use OAuth"});
    let ended = workflow.resume(&id, &interrupt, &answer).await.unwrap().end().await.unwrap();
    let told = &team.told("backend_developer")[1];
    assert_eq!(told.approval.as_ref().unwrap().feedback.as_deref(), Some("use OAuth"));
    let (interrupt, _) = asked(&ended);
    let answer = json!({"approved": true});
    let ended = workflow.resume(&id, &interrupt, &answer).await.unwrap().end().await.unwrap();
    let state = ended.machine.state().unwrap();
    assert_eq!(agents(state), "backend_developer backend_developer tester reviewer");
    assert_eq!(state.status, Status::Completed);
}

/// S2, 5.4: an answer that does not fit, or picks what is no option, is asked for again.
#[tokio::test]
async fn an_unfit_answer_is_asked_for_again() {
    let team = Team::new(feature(), [approval("backend_developer", &["a", "b"])]).await;
    let workflow = team.workflow();
    let running = workflow.start(None, input()).await.unwrap();
    let id = running.id.clone();
    let mut ended = running.end().await.unwrap();
    for (answer, problem) in [
        (json!("yes"), "approved"),
        (json!({"approved": true, "selected_option": "c"}), "expected one of the options (a, b)"),
    ] {
        let (interrupt, _) = asked(&ended);
        ended = workflow.resume(&id, &interrupt, &answer).await.unwrap().end().await.unwrap();
        let (_, request) = asked(&ended);
        let told = request["problem"].as_str().unwrap();
        assert!(told.contains(problem) || problem == "approved", "{told}");
    }
    let (interrupt, _) = asked(&ended);
    assert!(interrupt.ends_with(".approval-3"), "{interrupt}");
    let abort = json!({"approved": false, "abort": true});
    let ended = workflow.resume(&id, &interrupt, &abort).await.unwrap().end().await.unwrap();
    let state = ended.machine.state().unwrap();
    assert_eq!((state.status, ended.stop), (Status::Aborted, Stop::Completed));
}

/// S2, 3.1, "requires approval": the outcome of such a task is approved by a person, though no agent
/// asked for that.
#[tokio::test]
async fn the_outcome_of_a_task_that_needs_approval_is_approved() {
    let team = Team::new(analysis("docs", json!({"requires_approval": true})), []).await;
    let (_, request) = asked(&team.run().await);
    assert_eq!(request["request"]["type"], "final");
    assert_eq!(request["request"]["description"], "Review the output of reviewer");
}

/// S2, 4.1: the routing functions, one by one.
#[test]
fn routing_follows_from_the_state() {
    let mut state = OrchestratorState::new(input());
    assert_eq!(route::route_after_analysis(&state), "error");
    let task = serde_json::from_value(feature()).unwrap();
    state.merge(OrchestratorUpdate::Analyzed(task));
    assert_eq!(route::route_after_analysis(&state), "route_to_agent");
    assert_eq!(route::route_after_routing(&state), "complete");
    state.merge(OrchestratorUpdate::Routed(route::next_agent(&state)));
    assert_eq!(state.current_agent.as_deref(), Some("backend_developer"));
    assert_eq!(state.status, Status::AgentWorking);
    assert_eq!(route::route_after_routing(&state), "execute_agent");
    let failed = || OrchestratorUpdate::AgentFailed {
        error: "no".to_owned(),
        timestamp: "2026-01-01T00:00:00Z".to_owned(),
    };
    for (tries, next) in [(1, "route_to_agent"), (2, "route_to_agent"), (3, "error")] {
        state.merge(failed());
        assert_eq!((state.retry_count, route::route_after_execution(&state)), (tries, next));
        state.merge(OrchestratorUpdate::Routed(route::next_agent(&state)));
    }
    assert_eq!(route::route_after_approval(&state), "route_to_agent");
}

/// S2, 6.1; N1: on every store.
#[tokio::test]
async fn a_task_survives_everything() {
    let team = Team::new(analysis("bugfix", json!({})), []).await;
    survives_everything(Orchestrator::graph().unwrap(), team.deps.clone(), input).await;
}

/// S2, 6.1: on every store, PostgreSQL among them: the latest checkpoint and any other, newest runs
/// first, a fork's link to its parent, deletion.
#[tokio::test]
async fn checkpoints_are_fetched_listed_linked_and_deleted() {
    on_each(async |bench| {
        let team = Team::new(analysis("bugfix", json!({})), []).await;
        let store = bench.runtime.store.clone();
        let workflow = InProcess::<Orchestrator>::new(team.deps.clone()).unwrap().on(store.clone());
        let running = workflow.start(None, input()).await.unwrap();
        let id: RunId = running.id.clone();
        running.end().await.unwrap();
        let (_, machine) = bench.runtime.inspect::<OrchestratorState>(&id).await.unwrap();
        assert_eq!(machine.state().unwrap().status, Status::Completed);
        let first = bench.runtime.checkpoint::<OrchestratorState>(&id, 1).await.unwrap();
        assert_eq!(first.agent_queue, ["bug_fixer", "tester", "reviewer"]);
        let fork = bench.runtime.fork::<OrchestratorUpdate>(&id, 1_u32, false).await.unwrap();
        let (_, forked) = bench.runtime.inspect::<OrchestratorState>(&fork).await.unwrap();
        assert_eq!(forked.forked().unwrap().parent, id);
        let all = store.list(&RunFilter::default()).await.unwrap();
        assert!(all.is_sorted_by(|one, next| one.created_at >= next.created_at));
        assert_eq!(all.len(), 2);
        assert!(store.delete(&id).await.unwrap());
        assert!(store.head(&id).await.unwrap().is_none());
    })
    .await;
}

/// What the built-in agents answer.
fn answers(asked: &Asked) -> Reply {
    let asks = asked.instructions.contains("You are the bug_fixer.");
    Reply::json(match &*asked.schema {
        "TaskAnalysis" => analysis("bugfix", json!({})),
        "AgentAnswer" => json!({
            "success": true, "summary": "done",
            "routing_hints": {"needs_approval": asks && asked.prompt.contains("ask me")},
        }),
        other => panic!("{other}"),
    })
}

/// X2: from the command line, from a message, over HTTP, with the built-in agents.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_starts_from_everywhere() {
    let models = Models::start(answers);
    let input = json!({"prompt": "Fix the null pointer bug in auth.ts"});
    for state in from_everywhere(&machine(&models), "orchestrator", &input).await {
        assert_eq!(state["status"], "completed");
        assert_eq!(state["completed_agents"], json!(["bug_fixer", "tester", "reviewer"]));
    }
}

/// X2: another process answers, from the command line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_is_given_from_the_command_line() {
    let models = Models::start(answers);
    let machine = machine(&models);
    let (process, at) = serve(&machine, "all").await;
    let input = json!({"prompt": "Fix it, but ask me first"});
    let run = post(at, &json!({"workflow": "orchestrator", "input": input})).await.json();
    let id = run["id"].as_str().unwrap();
    state_at(&machine, id, "parked").await;
    let resumed = machine.run(&["runs", "resume", id, "--with", r#"{"approved": true}"#]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(state_at(&machine, id, "completed").await["status"], "completed");
    stop(process).await;
}

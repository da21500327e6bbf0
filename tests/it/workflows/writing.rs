//! X1: the writing workflow (S1).

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use verdict::{
    graph::{Drawing, EndedExecution, Graph, Invalid, NodeError, State, Stop, Timings},
    model::ModelOptions,
    workflows::{
        InProcess, Workflow,
        writing::{
            AgentOutput, OutputStatus, Role, RoleAnalysis, Writing, WritingDeps, WritingInput,
            WritingOptions, WritingState, WritingUpdate, default_roles, graph,
        },
    },
};

use super::{
    from_everywhere, logged, machine,
    models::{Asked, Models, Reply},
    survives_everything,
};

fn role(id: &str, priority: u32) -> Value {
    json!({
        "id": id, "name": format!("The {id}"), "description": "writes", "priority": priority,
        "prompt_template": format!("You are the {id}. Answer: {{request}}"),
        "perspective": format!("the {id}'s"), "confidence": 0.9,
    })
}

fn three_roles() -> Value {
    let roles = [role("scientist", 1), role("educator", 3), role("writer", 2)];
    json!({"identified_roles": roles, "reasoning": "a paper needs all three"})
}

/// What the models answer when all is well.
fn answers(asked: &Asked) -> Value {
    match &*asked.schema {
        "RoleSelection" => three_roles(),
        "Draft" => json!({"content": format!("draft of {}", writer(asked))}),
        "Synthesis" => json!({"content": "all of it"}),
        other => panic!("{other}"),
    }
}

/// The role that writes.
fn writer(asked: &Asked) -> &str {
    let rest = asked.instructions.strip_prefix("You are the ").unwrap_or("");
    rest.split('.').next().unwrap_or_default()
}

async fn models(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> (Models, WritingDeps) {
    let models = Models::start(script);
    let deps = WritingDeps { model: models.model(), options: WritingOptions::default() };
    (models, deps)
}

async fn scripted() -> (Models, WritingDeps) {
    models(|asked| Reply::json(answers(asked))).await
}

fn input() -> WritingInput {
    WritingInput { request: "Write about quantum computing for a research paper".to_owned() }
}

async fn write(deps: WritingDeps) -> EndedExecution<WritingState> {
    InProcess::<Writing>::new(deps).unwrap().run(input()).await.unwrap()
}

async fn write_by(
    graph: Graph<WritingState, WritingDeps>,
    deps: WritingDeps,
) -> EndedExecution<WritingState> {
    InProcess::<Writing>::new(deps).unwrap().with_graph(graph).run(input()).await.unwrap()
}

fn way(ended: &EndedExecution<WritingState>) -> String {
    let nodes: Vec<_> = ended.machine.history().iter().map(|task| &*task.node).collect();
    nodes.join(" ")
}

/// S1, "Define Graph Nodes", "Configure Dynamic Routing": five nodes; the error handler is reachable
/// from all others.
#[test]
fn its_graph_is_the_specifications() {
    insta::assert_snapshot!(Drawing::of(&Writing::graph().unwrap()).mermaid(), @r#"
    flowchart TD
      START((start))
      n_role_analyzer["role_analyzer"]
      n_dynamic_agent_executor["dynamic_agent_executor"]
      n_synthesizer["synthesizer"]
      n_output_formatter["output_formatter"]
      n_error_handler["error_handler"]
      END((end))
      START --> n_role_analyzer
      n_role_analyzer -.-> n_dynamic_agent_executor
      n_role_analyzer -. error .-> n_error_handler
      n_dynamic_agent_executor -.-> n_synthesizer
      n_dynamic_agent_executor -.-> n_error_handler
      n_synthesizer --> n_output_formatter
      n_synthesizer -. error .-> n_error_handler
      n_output_formatter --> END
      n_output_formatter -. error .-> n_error_handler
      n_error_handler -.-> n_synthesizer
      n_error_handler -.-> n_output_formatter
    "#);
}

/// S1, "Initialize Writing Graph": the state has the specification's fields and knows no role.
#[test]
fn a_run_starts_with_the_request_alone() {
    let state = serde_json::to_value(WritingState::new(input())).unwrap();
    assert_eq!(
        state,
        json!({
            "user_request": input().request, "role_analysis": null, "agent_outputs": {},
            "synthesized_content": null, "errors": [], "final_output": null,
        })
    );
}

/// S1, "Analyze User Request": 2–4 roles by structured output, each with all that it needs, and the
/// reason.
#[tokio::test]
async fn the_analyzer_finds_roles_and_says_why() {
    let (models, deps) = scripted().await;
    let ended = write(deps).await;
    let analysis = ended.machine.state().unwrap().role_analysis.clone().unwrap();
    assert_eq!(analysis.reasoning, "a paper needs all three");
    let ids: Vec<_> = analysis.identified_roles.iter().map(|role| &*role.id).collect();
    assert_eq!(ids, ["scientist", "writer", "educator"], "by priority");
    let perspectives: BTreeSet<_> =
        analysis.identified_roles.iter().map(|role| &role.perspective).collect();
    assert_eq!(perspectives.len(), 3);
    let prompt = &models.asked()[0].prompt;
    assert!(prompt.starts_with("Name 2 to 4 roles"), "{prompt}");
    assert!(!analysis.is_default);
}

/// S1, "Returns between 2-4 roles (configurable)": the most important are kept, and roles that cannot
/// be used are not.
#[tokio::test]
async fn the_number_of_roles_is_configured() {
    let many = |asked: &Asked| match &*asked.schema {
        "RoleSelection" => {
            let mut unsure = role("unsure", 1);
            unsure["confidence"] = json!(7);
            let roles: Vec<_> = (1..6).map(|n| role(&format!("r{n}"), 6 - n)).collect();
            let roles = [vec![unsure, role("r1", 9)], roles].concat();
            Reply::json(json!({"identified_roles": roles, "reasoning": "many"}))
        }
        _ => Reply::json(answers(asked)),
    };
    let (_models, mut deps) = models(many).await;
    deps.options.max_roles = 2;
    let ended = write(deps).await;
    let state = ended.machine.state().unwrap();
    assert_eq!(state.roles().iter().map(|r| &*r.id).collect::<Vec<_>>(), ["r5", "r4"]);
    assert_eq!(state.agent_outputs.len(), 2);
}

/// S1, "Handle Ambiguous Requests": the default roles write, a warning is logged, nothing fails.
#[tokio::test]
async fn a_vague_request_gets_the_default_roles_and_a_warning() {
    for selection in [
        json!({"identified_roles": [], "reasoning": "?", "is_ambiguous": true}),
        json!({"identified_roles": [role("only", 1)], "reasoning": "one will do"}),
    ] {
        let vague = move |asked: &Asked| match &*asked.schema {
            "RoleSelection" => Reply::json(selection.clone()),
            _ => Reply::json(answers(asked)),
        };
        let (_models, deps) = models(vague).await;
        let (ended, log) = logged(write(deps)).await;
        assert_eq!(ended.stop, Stop::Completed);
        let state = ended.machine.state().unwrap();
        assert!(state.role_analysis.as_ref().unwrap().is_default);
        let ids: Vec<_> = state.roles().iter().map(|role| &*role.id).collect();
        assert_eq!(ids, ["general_writer", "editor", "content_strategist"]);
        assert!(log.contains("ambiguous request: the default roles write run="), "{log}");
        assert!(log.contains("words=8"), "{log}");
    }
}

/// S1, "Concurrent Agent Calls": no writer is answered before all are under way; what they wrote is kept
/// by role.
#[tokio::test]
async fn writers_write_side_by_side() {
    let script = |asked: &Asked| match &*asked.schema {
        "Draft" => Reply::json(answers(asked)).held(),
        _ => Reply::json(answers(asked)),
    };
    let (models, deps) = models(script).await;
    let (ended, ()) = tokio::join!(write(deps), models.release(3));
    let state = ended.machine.state().unwrap();
    let outputs: Vec<_> = state.agent_outputs.keys().map(String::as_str).collect();
    assert_eq!(outputs, ["educator", "scientist", "writer"]);
    let of_writer = &state.agent_outputs["writer"];
    assert_eq!(of_writer.status, OutputStatus::Completed);
    assert_eq!(of_writer.content.as_deref(), Some("draft of writer"));
    assert_eq!(state.final_output.as_ref().unwrap().content, "all of it");
}

/// S1, "Timeout Handling": a writer over its time is cancelled and marked, the others' work is kept, and
/// the answer says what is missing. The time is configured.
#[tokio::test]
async fn a_writer_over_its_time_is_missing_from_the_answer() {
    assert_eq!(WritingOptions::default().agent_timeout, Duration::from_secs(30));
    let script = |asked: &Asked| match writer(asked) {
        "educator" => Reply::text("").stalled(),
        _ => Reply::json(answers(asked)),
    };
    let (_models, deps) = models(script).await;
    let options =
        WritingOptions { agent_timeout: Duration::from_secs(3), ..WritingOptions::default() };
    let (ended, log) = logged(write_by(graph(&options).unwrap(), deps)).await;
    assert_eq!(ended.stop, Stop::Completed);
    let state = ended.machine.state().unwrap();
    let late = &state.agent_outputs["educator"];
    assert_eq!((late.status, late.content.as_deref()), (OutputStatus::TimedOut, None));
    let output = state.final_output.as_ref().unwrap();
    assert_eq!(
        output.content,
        "all of it\n\n---\n\nMissing from this text: The educator (timed out)."
    );
    assert_eq!(output.missing.len(), 1);
    assert!(log.contains(r#"agent="educator" kind="timed_out""#), "{log}");
    let once = "dynamic_agent_executor error_handler synthesizer output_formatter";
    assert!(way(&ended).ends_with(once), "{}", way(&ended));
}

/// S1, "Model API Failure": a writer whose model keeps failing is tried three times more, marked as
/// failed, and left out; the waits are 1 s, 2 s and 4 s.
#[tokio::test]
async fn a_writer_that_keeps_failing_is_marked_and_left_out() {
    assert_eq!(ModelOptions::default().retries, [1, 2, 4].map(Duration::from_secs));
    let script = |asked: &Asked, before| match writer(asked) {
        "writer" => Reply::status(503),
        "scientist" if before < 2 => Reply::status(429),
        _ => Reply::json(answers(asked)),
    };
    let models = Models::retried(script);
    let deps = WritingDeps { model: models.model(), options: WritingOptions::default() };
    let ended = write(deps).await;
    let tries = |of: &str| models.asked().iter().filter(|asked| writer(asked) == of).count();
    assert_eq!((tries("writer"), tries("scientist"), tries("educator")), (4, 3, 1));
    let state = ended.machine.state().unwrap();
    assert_eq!(state.agent_outputs["writer"].status, OutputStatus::Failed);
    assert_eq!(state.agent_outputs["scientist"].status, OutputStatus::Completed);
    let [error] = &state.errors[..] else { panic!("{:?}", state.errors) };
    assert_eq!(
        (&*error.node, error.role_id.as_deref()),
        ("dynamic_agent_executor", Some("writer"))
    );
    let content = &state.final_output.as_ref().unwrap().content;
    assert!(content.ends_with("Missing from this text: The writer (failed)."), "{content}");
    let synthesis = models.asked().pop().unwrap().prompt;
    assert!(synthesis.contains("draft of scientist") && !synthesis.contains("draft of writer"));
}

/// S1, "Synthesis proceeds with available agent outputs": without the synthesis itself, the parts stand
/// one after the other.
#[tokio::test]
async fn without_a_synthesis_the_parts_stand_by_themselves() {
    let script = |asked: &Asked| match &*asked.schema {
        "Synthesis" => Reply::status(400),
        _ => Reply::json(answers(asked)),
    };
    let (_models, deps) = models(script).await;
    let ended = write(deps).await;
    assert_eq!(ended.stop, Stop::Completed);
    let output = ended.machine.state().unwrap().final_output.clone().unwrap();
    assert!(!output.synthesized);
    let wanted = "## The scientist\n\ndraft of scientist\n\n## The writer\n\ndraft of writer\n\n\
                  ## The educator\n\ndraft of educator\n\n---\n\n\
                  The parts could not be combined; each stands by itself.";
    assert_eq!(output.content, wanted);
}

/// S1, "Error Recovery": with nothing at all there is no answer: the run fails, with the reason.
#[tokio::test]
async fn with_no_text_at_all_the_run_fails() {
    for schema in ["RoleSelection", "Draft"] {
        let script = move |asked: &Asked| match asked.schema == schema {
            true => Reply::status(401),
            false => Reply::json(answers(asked)),
        };
        let (_models, deps) = models(script).await;
        let Stop::Failed(failure) = write(deps).await.stop else { panic!("{schema}") };
        assert_eq!(failure.node.as_deref(), Some("error_handler"));
        let message = &failure.fault.message;
        assert!(message.starts_with("nothing was written: "), "{message}");
    }
}

/// S1, "Invalid State Transition", E4: an update that breaks the schema is refused with its field and
/// the expected type, the state stays, and the error handler runs.
#[tokio::test]
async fn an_update_that_breaks_the_schema_is_refused() {
    let unsure = |_| async {
        let role = Role { confidence: 1.5, ..default_roles().remove(0) };
        let identified_roles = vec![role];
        let analysis =
            RoleAnalysis { identified_roles, reasoning: String::new(), is_default: false };
        Ok::<_, NodeError>(WritingUpdate::RoleAnalysis(analysis))
    };
    let (_models, deps) = scripted().await;
    let graph = Writing::graph().unwrap().replace("role_analyzer", unsure).unwrap();
    let ended = write_by(graph, deps).await;
    assert_eq!(way(&ended), "role_analyzer error_handler");
    assert_eq!(**ended.machine.state().unwrap(), WritingState::new(input()));
    let Stop::Failed(failure) = ended.stop else { panic!() };
    assert_eq!(
        failure.fault.message,
        "nothing was written: invalid update: field `role_analysis.identified_roles[0].confidence`: \
         expected a number from 0 to 1"
    );
}

/// S1, "State Updates": each field of an update has its rule.
#[test]
fn updates_are_checked_field_by_field() {
    let mut state = WritingState::new(input());
    let refused = |state: &WritingState, update: WritingUpdate| {
        let Invalid { field, expected } = state.validate(&update).unwrap_err();
        format!("{field}: {expected}")
    };
    let roles = |change: fn(&mut Vec<Role>)| {
        let mut identified_roles = default_roles();
        change(&mut identified_roles);
        let reasoning = String::new();
        WritingUpdate::RoleAnalysis(RoleAnalysis { identified_roles, reasoning, is_default: true })
    };
    let of = |status, content: Option<&str>, role_id: &str| {
        let (role_id, content) = (role_id.to_owned(), content.map(str::to_owned));
        WritingUpdate::AgentOutput(AgentOutput { role_id, status, content, error: None })
    };
    let written = of(OutputStatus::Completed, Some("x"), "editor");
    assert_eq!(
        refused(&state, written.clone()),
        "agent_outputs.role_id: the id of an identified role"
    );
    assert_eq!(
        refused(&state, roles(Vec::clear)),
        "role_analysis.identified_roles: at least one role"
    );
    assert_eq!(
        refused(&state, roles(|all| all[1].id = "general_writer".to_owned())),
        "role_analysis.identified_roles[1].id: a word that no other role has"
    );
    assert_eq!(
        refused(&state, roles(|all| all[2].priority = 1)),
        "role_analysis.identified_roles[2].priority: a number that no other role has"
    );
    state.merge(roles(|_| ()));
    state.validate(&written).unwrap();
    assert_eq!(
        refused(&state, of(OutputStatus::Completed, None, "editor")),
        "agent_outputs.content: a text exactly when `completed`"
    );
    assert_eq!(
        refused(&state, WritingUpdate::SynthesizedContent(" ".to_owned())),
        "synthesized_content: a text that is not blank"
    );
}

/// S1, "Invoke Graph": the result has its duration, the order of nodes and the time of each.
#[tokio::test]
async fn a_run_tells_its_timings_and_its_order() {
    let (_models, deps) = scripted().await;
    let ended = write(deps).await;
    let timings = Timings::of(&ended.machine, ended.active);
    let executors = ["dynamic_agent_executor"; 3].join(" ");
    assert_eq!(
        timings.order.join(" "),
        format!("role_analyzer {executors} synthesizer output_formatter")
    );
    let nodes: Vec<_> = timings.nodes.keys().map(|node| &**node).collect();
    assert_eq!(
        nodes,
        ["dynamic_agent_executor", "output_formatter", "role_analyzer", "synthesizer"]
    );
    assert_eq!(Writing::TIMEOUT, Duration::from_secs(60));
}

/// S1, "State Persistence"; N1.
#[tokio::test]
async fn a_writing_run_survives_everything() {
    let (_models, deps) = scripted().await;
    survives_everything(Writing::graph().unwrap(), deps, input).await;
}

/// S1, "Return a unique graphExecutionId": from the command line, from a message, over HTTP, which
/// answers with the run's id at once; the settings reach the run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writing_run_starts_from_everywhere() {
    let (models, _) = scripted().await;
    let machine = machine(&models).set("workflows.writing.max_roles", "2");
    for state in from_everywhere(&machine, "writing", &json!(input())).await {
        assert_eq!(state["final_output"]["content"], "all of it");
        assert_eq!(state["agent_outputs"].as_object().unwrap().len(), 2);
    }
}

/// Settings that cannot work are refused by name.
#[test]
fn settings_that_cannot_work_are_refused() {
    let machine = crate::support::Machine::new().set("workflows.writing.max_roles", "1");
    let refused = machine.run(&["config", "check"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("workflows.writing.min_roles"), "{}", refused.stderr);
}

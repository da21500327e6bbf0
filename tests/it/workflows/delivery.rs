//! X4: the delivery workflow (S4).

use std::sync::Arc;

use serde_json::{Value, json};
use verdict::{
    base::Clock,
    checkpoint::Memory,
    graph::{Drawing, END, NodeError, RunEvent, RunId, State, Stop},
    workflows::{
        InProcess, Message, Workflow,
        delivery::{
            Decision, Delivery, DeliveryDeps, DeliveryInput, DeliveryState, DeliveryUpdate, graph,
            routes,
        },
    },
};

use super::{
    from_everywhere, machine,
    models::{Asked, Models, Reply},
    state_at, survives_everything,
};
use crate::server::{post, serve, stop};

/// What the agents answer: one that needs a design, gets blocked once, and is then ready.
fn answers(asked: &Asked) -> Value {
    let agent = |name: &str| asked.instructions.starts_with(&format!("You are the {name}"));
    let built = asked.prompt.matches(r#""from": "dev""#).count();
    match &*asked.schema {
        "Analysis" => json!({
            "requirements": ["a user can sign in"],
            "summary": "one requirement",
            "decisions": [{"decision": "no sign-up", "rationale": "not asked for"}],
        }),
        "Plan" => json!({"needs_architecture": true, "summary": "one story"}),
        "AgentReport" if agent("architect") => json!({"summary": "a session store"}),
        "AgentReport" if agent("developer") => json!({"summary": format!("build {}", built + 1)}),
        "Validation" if built < 2 => json!({
            "should_deploy": false, "gate_blocked": true, "issues": ["no test"],
            "summary": "tests are missing",
        }),
        "Validation" => {
            json!({"should_deploy": true, "gate_blocked": false, "summary": "all is well"})
        }
        other => panic!("{other}: {asked:?}"),
    }
}

async fn scripted() -> (Models, DeliveryDeps) {
    models(|asked| Reply::json(answers(asked))).await
}

async fn models(
    script: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
) -> (Models, DeliveryDeps) {
    let models = Models::start(script);
    let deps = DeliveryDeps { model: models.model() };
    (models, deps)
}

fn input() -> DeliveryInput {
    DeliveryInput { request: "let users sign in".to_owned() }
}

fn state(change: impl FnOnce(&mut DeliveryState)) -> DeliveryState {
    let mut state = DeliveryState::initial("anything");
    change(&mut state);
    state
}

/// S4, criterion 1 and tasks 2.1–2.4: the agents are nodes, connected by edges, entered at the
/// analyst.
#[test]
fn its_graph_is_the_storys() {
    insta::assert_snapshot!(Drawing::of(&Delivery::graph().unwrap()).mermaid(), @r#"
    flowchart TD
      START((start))
      n_analyst["analyst"]
      n_pm["pm"]
      n_architect["architect"]
      n_dev["dev"]
      n_tea["tea"]
      n_escalate["escalate"]
      END((end))
      START --> n_analyst
      n_analyst -.-> n_pm
      n_analyst -.-> n_escalate
      n_pm -.-> n_architect
      n_pm -.-> n_dev
      n_pm -.-> n_escalate
      n_architect -.-> n_dev
      n_dev -.-> n_tea
      n_tea -.-> n_dev
      n_tea -.-> END
      n_tea -.-> n_escalate
      n_escalate -.-> n_analyst
      n_escalate -.-> n_pm
      n_escalate -.-> n_architect
      n_escalate -.-> n_dev
      n_escalate -.-> n_tea
      n_escalate -.-> END
    "#);
}

/// S4, task 3.2.
#[test]
fn after_the_analyst_comes_the_pm_or_a_person() {
    let crystallised = |s: &mut DeliveryState| s.requirements = Some(vec!["one".to_owned()]);
    assert_eq!(routes::route_after_analyst(&state(crystallised)), "pm");
    assert_eq!(routes::route_after_analyst(&state(|_| ())), "escalate", "nothing crystallised");
    let none = state(|s| s.requirements = Some(Vec::new()));
    assert_eq!(routes::route_after_analyst(&none), "escalate");
    let stuck = state(|s| {
        crystallised(s);
        s.escalate_to_human = true;
    });
    assert_eq!(routes::route_after_analyst(&stuck), "escalate");
}

/// S4, task 3.3.
#[test]
fn after_the_pm_comes_the_architect_only_when_a_design_is_needed() {
    assert_eq!(routes::route_after_pm(&state(|s| s.needs_architecture = true)), "architect");
    assert_eq!(routes::route_after_pm(&state(|_| ())), "dev");
    let stuck = state(|s| (s.needs_architecture, s.escalate_to_human) = (true, true));
    assert_eq!(routes::route_after_pm(&stuck), "escalate");
}

/// S4, tasks 3.4 and 3.5.
#[test]
fn after_the_architect_comes_the_dev_and_after_the_dev_the_tea() {
    for flags in [false, true] {
        let any = state(|s| (s.escalate_to_human, s.gate_blocked) = (flags, flags));
        assert_eq!(routes::route_after_architect(&any), "dev");
        assert_eq!(routes::route_after_dev(&any), "tea");
    }
}

/// S4, task 3.6.
#[test]
fn after_the_tea_comes_the_end_or_the_dev_or_a_person() {
    assert_eq!(routes::route_after_tea(&state(|s| s.deployment_ready = true)), END);
    assert_eq!(routes::route_after_tea(&state(|s| s.gate_blocked = true)), "dev");
    assert_eq!(routes::route_after_tea(&state(|_| ())), "escalate", "neither");
    let stuck = state(|s| (s.escalate_to_human, s.deployment_ready) = (true, true));
    assert_eq!(routes::route_after_tea(&stuck), "escalate");
}

/// S4, criterion 2: the flags in the state decide the way, here through a design and one blocked gate.
#[tokio::test]
async fn a_delivery_takes_the_way_its_flags_say() {
    let (_models, deps) = scripted().await;
    let ended = InProcess::<Delivery>::new(deps).unwrap().run(input()).await.unwrap();
    assert_eq!(ended.stop, Stop::Completed);
    let way: Vec<_> = ended.machine.history().iter().map(|task| &*task.node).collect();
    assert_eq!(way, ["analyst", "pm", "architect", "dev", "tea", "dev", "tea"]);
    let state = ended.machine.state().unwrap();
    assert!(state.deployment_ready && !state.gate_blocked);
    assert!(state.deployment_decision.as_ref().unwrap().should_deploy);
    assert_eq!(state.requirements.as_deref(), Some(&["a user can sign in".to_owned()][..]));
}

/// S4, criterion 3: messages, the current agent, the handoff and the decisions are kept, and grow.
#[tokio::test]
async fn handoffs_decisions_and_messages_accumulate() {
    let (models, deps) = scripted().await;
    let ended = InProcess::<Delivery>::new(deps).unwrap().run(input()).await.unwrap();
    let state = ended.machine.state().unwrap();
    let said: Vec<_> = state.messages.iter().map(|m| format!("{} {}", m.id, m.content)).collect();
    assert_eq!(
        said[..3],
        ["request let users sign in", "1.analyst one requirement", "2.pm one story"]
    );
    assert_eq!(said.len(), 8);
    assert_eq!(state.current_agent, "tea");
    assert_eq!(state.handoff_context.as_ref().unwrap().source_agent, "tea");
    let decided = Decision {
        agent: "analyst".to_owned(),
        decision: "no sign-up".to_owned(),
        rationale: "not asked for".to_owned(),
    };
    assert_eq!(state.decisions, [decided]);
    let of_dev = models
        .asked()
        .into_iter()
        .filter(|asked| asked.instructions.starts_with("You are the developer"));
    let prompts: Vec<_> = of_dev.map(|asked| asked.prompt).collect();
    assert!(prompts[0].contains("a session store"), "the design is handed over");
    assert!(prompts[1].contains("no test"), "and what the gate found");
}

/// S4, criterion 3: a message with a known id takes the known one's place.
#[test]
fn a_message_with_a_known_id_replaces_it() {
    let mut state = DeliveryState::initial("anything");
    let messages = vec![Message::new("request", "user", "something else")];
    state.merge(DeliveryUpdate { messages, ..DeliveryUpdate::default() });
    assert_eq!(state.messages, [Message::new("request", "user", "something else")]);
}

/// E4: an update that contradicts itself is refused, by field.
#[test]
fn a_blocked_delivery_is_never_ready() {
    let update = DeliveryUpdate {
        deployment_ready: Some(true),
        gate_blocked: Some(true),
        ..Default::default()
    };
    let refused = DeliveryState::initial("anything").validate(&update).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "invalid update: field `deployment_ready`: expected false while `gate_blocked` is true"
    );
}

/// S4, criterion 4; N1.
#[tokio::test]
async fn a_delivery_survives_everything() {
    let (_models, deps) = scripted().await;
    survives_everything(Delivery::graph().unwrap(), deps, input).await;
}

/// S4, tasks 4.4 and 4.5: with a store runs are kept, under a given id or a made one; without, not.
#[tokio::test]
async fn runs_are_kept_when_there_is_a_store() {
    let (_models, deps) = scripted().await;
    let store = Arc::new(Memory::new(Clock::system()));
    let delivery = InProcess::<Delivery>::new(deps.clone()).unwrap().on(store.clone());
    let id = RunId::random();
    let running = delivery.start(Some(id.clone()), input()).await.unwrap();
    assert_eq!(running.id, id);
    running.end().await.unwrap();
    let made = delivery.start(None, input()).await.unwrap();
    assert_ne!(made.id, id);
    made.end().await.unwrap();
    let kept = verdict::graph::Store::list(&*store, &Default::default()).await.unwrap();
    assert_eq!(kept.len(), 2);
    let again = delivery.start(Some(id.clone()), input()).await.err().unwrap();
    assert_eq!(again.message, format!("there is a run {id} already"));
    InProcess::<Delivery>::new(deps).unwrap().run(input()).await.unwrap();
    let kept = verdict::graph::Store::list(&*store, &Default::default()).await.unwrap();
    assert_eq!(kept.len(), 2);
}

/// S4, task 5.2: a run can be watched as it goes.
#[tokio::test]
async fn a_delivery_streams() {
    let (_models, deps) = scripted().await;
    let mut running = InProcess::<Delivery>::new(deps).unwrap().start(None, input()).await.unwrap();
    let mut finished = Vec::new();
    while let Ok(told) = running.events.recv().await {
        match told.event {
            RunEvent::NodeFinished { node, update, .. } => {
                assert_eq!(update.unwrap()["current_agent"], *node);
                finished.push(node.to_string());
            }
            RunEvent::RunFinished { .. } => break,
            _ => {}
        }
    }
    assert_eq!(finished.join(" "), "analyst pm architect dev tea dev tea");
    assert_eq!(running.end().await.unwrap().stop, Stop::Completed);
}

/// S4, task 1.2: the entry point is configured; an unknown one is refused when the graph is built.
#[tokio::test]
async fn a_delivery_may_begin_elsewhere() {
    let (_models, deps) = scripted().await;
    let delivery = InProcess::<Delivery>::new(deps).unwrap().with_graph(graph("dev").unwrap());
    let ended = delivery.run(input()).await.unwrap();
    let way: Vec<_> = ended.machine.history().iter().map(|task| &*task.node).collect();
    assert_eq!(way, ["dev", "tea", "dev", "tea"]);
    let error = graph("opera").err().unwrap().to_string();
    assert_eq!(error, "`entry` leads to `opera`, which is no node");
}

/// S4, task 6.4: agents can be replaced one by one; a gate that never opens ends at the recursion
/// limit.
#[tokio::test]
async fn a_gate_that_never_opens_ends_at_the_recursion_limit() {
    let (_models, deps) = scripted().await;
    let blocked = |_| async {
        Ok::<_, NodeError>(DeliveryUpdate { gate_blocked: Some(true), ..Default::default() })
    };
    let graph = Delivery::graph().unwrap().replace("tea", blocked).unwrap();
    let ended = InProcess::<Delivery>::new(deps).unwrap().with_graph(graph).run(input()).await;
    let Stop::Failed(failure) = ended.unwrap().stop else { panic!() };
    let limit = "the run has taken 50 steps, its recursion limit; next would be tea";
    assert_eq!(failure.fault.message, limit);
}

/// An analyst that is stuck until somebody says more.
fn unsure(asked: &Asked) -> Reply {
    let helped = asked.prompt.contains("by e-mail");
    Reply::json(match &*asked.schema {
        "Analysis" if !helped => json!({
            "requirements": [], "summary": "too vague", "escalate_to_human": true,
            "question": "sign in how?",
        }),
        _ => answers(asked),
    })
}

/// S4, "escalate_to_human": a person is asked what the agent asked, and the work goes on at whoever
/// is named, with the guidance; an unfit answer is asked for again.
#[tokio::test]
async fn an_escalation_waits_for_a_person() {
    let (_models, deps) = models(unsure).await;
    let delivery =
        InProcess::<Delivery>::new(deps).unwrap().on(Arc::new(Memory::new(Clock::system())));
    let running = delivery.start(None, input()).await.unwrap();
    let id = running.id.clone();
    let ended = running.end().await.unwrap();
    assert_eq!(ended.stop, Stop::Waiting(None));
    let asked: Value = serde_json::from_str(ended.machine.interrupts()[0].request.get()).unwrap();
    let agents = ["analyst", "pm", "architect", "dev", "tea"];
    let wanted = json!({
        "type": "escalation", "source_agent": "analyst", "question": "sign in how?", "agents": agents,
    });
    assert_eq!(asked, wanted);

    let wrong = json!({"next": "opera"});
    let ended = delivery.resume(&id, "2.0.escalation", &wrong).await.unwrap().end().await.unwrap();
    let open = ended.machine.interrupts();
    assert_eq!(open[0].id, "2.0.escalation-2");
    assert!(open[0].request.get().contains("one of analyst, pm"), "{}", open[0].request.get());

    let right = json!({"guidance": "by e-mail"});
    let ended =
        delivery.resume(&id, "2.0.escalation-2", &right).await.unwrap().end().await.unwrap();
    assert_eq!(ended.stop, Stop::Completed);
    let way: Vec<_> = ended.machine.history().iter().map(|task| &*task.node).collect();
    assert_eq!(way[..4], ["analyst", "escalate", "analyst", "pm"]);
    assert!(!ended.machine.state().unwrap().escalate_to_human);
}

/// S4, "escalate_to_human": the person may end it, or send it on to somebody else.
#[tokio::test]
async fn a_person_may_stop_a_delivery_or_send_it_on() {
    for (answer, way) in [
        (json!({"stop": true}), "analyst escalate"),
        (json!({"guidance": "by e-mail", "next": "dev"}), "analyst escalate dev tea dev tea"),
    ] {
        let (_models, deps) = models(unsure).await;
        let delivery =
            InProcess::<Delivery>::new(deps).unwrap().on(Arc::new(Memory::new(Clock::system())));
        let running = delivery.start(None, input()).await.unwrap();
        let id = running.id.clone();
        running.end().await.unwrap();
        let resumed = delivery.resume(&id, "2.0.escalation", &answer).await.unwrap();
        let ended = resumed.end().await.unwrap();
        assert_eq!(ended.stop, Stop::Completed);
        let nodes: Vec<_> = ended.machine.history().iter().map(|task| &*task.node).collect();
        assert_eq!(nodes.join(" "), way);
    }
}

/// X4: from the command line, from a message, over HTTP.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_starts_from_everywhere() {
    let (models, _) = scripted().await;
    let states = from_everywhere(&machine(&models), "delivery", &json!(input())).await;
    for state in &states {
        assert_eq!(state["deployment_decision"], json!({"should_deploy": true, "issues": []}));
        assert_eq!(state, &states[0]);
    }
}

/// X4: an escalation is answered from the command line while a worker serves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_escalation_is_answered_from_the_command_line() {
    let (models, _) = models(unsure).await;
    let machine = machine(&models);
    let (process, at) = serve(&machine, "all").await;
    let run = post(at, &json!({"workflow": "delivery", "input": input()})).await.json();
    let id = run["id"].as_str().unwrap();
    state_at(&machine, id, "parked").await;
    let with = json!({"guidance": "by e-mail"}).to_string();
    let resumed = machine.run(&["runs", "resume", id, "--with", &with]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(state_at(&machine, id, "completed").await["deployment_ready"], true);
    stop(process).await;
}

/// Without a model a run fails, and says which setting is missing; a blank request starts none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_without_a_model_names_the_setting() {
    let machine = crate::support::Machine::new();
    let file = machine.text("input.json", json!(input()).to_string());
    let failed = machine.run(&["run", "delivery", "--input", &file]);
    assert_eq!(failed.code, Some(3), "{}", failed.stderr);
    assert!(failed.stderr.contains("set `model.chain`"), "{}", failed.stderr);
    let blank = machine.text("blank.json", r#"{"request": " "}"#);
    let refused = machine.run(&["run", "delivery", "--input", &blank]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("expected some words"), "{}", refused.stderr);
}

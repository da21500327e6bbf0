//! The description of the API, and whether it is of this API. `tests/api` has what is described tried
//! against the binary.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{HOST, ask, operating::Desk};

/// Every operation: method, path, description.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let of = |(path, item): (&String, &'static str)| (item.to_owned(), path.clone());
    let mut found = Vec::new();
    for (path, item) in paths {
        for method in ["get", "post", "put", "delete"] {
            if let Some(operation) = item.get(method) {
                let (method, path) = of((path, method));
                found.push((method.to_ascii_uppercase(), path, operation));
            }
        }
    }
    found
}

#[tokio::test]
async fn every_operation_is_described_whole() {
    let desk = Desk::new(false).await;
    let document = desk.seen("/api/openapi.json").await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3."), "{document}");
    let mut names = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let what = format!("{method} {path}");
        assert!(operation["summary"].is_string(), "{what} says what it does");
        let name = operation["operationId"].as_str().unwrap().to_owned();
        assert!(names.insert(name), "{what} has a name of its own");
        let refused = "/responses/default/content/application~1json/schema/$ref";
        let refused = operation.pointer(refused).and_then(Value::as_str);
        assert_eq!(refused, Some("#/components/schemas/Error"), "{what}");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let said = ["/description", "/schema/description", "/schema/items/description"]
                .map(|at| parameter.pointer(at));
            assert!(said.iter().flatten().any(|said| said.is_string()), "{what}: {parameter}");
        }
    }
    let references = document.to_string();
    for reference in references.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name} is described");
    }
    insta::assert_snapshot!(names.into_iter().collect::<Vec<_>>().join(" "), @"act_on_dead_letters act_on_runs cancel_run delete_run discard_dead_letter draw_run draw_workflow fork_run list_dead_letters list_interrupts list_pauses list_runs list_workflows pause replay_dead_letter resume_run run_events run_history send_event show_dead_letter show_run show_state start_run unpause");
}

/// What is described is there: no path is unknown, no method refused.
#[tokio::test]
async fn every_operation_that_is_described_is_there() {
    let desk = Desk::new(false).await;
    let document = desk.seen("/api/openapi.json").await;
    for (method, path, _) in operations(&document) {
        let path = path.replace("{id}", "00000000000000000000000000000000");
        let line = format!("{method} {}", path.replace("{name}", "play"));
        let answer = ask(desk.address, &line, &[HOST], "").await;
        assert_ne!(answer.status, 405, "{line}");
        if answer.status == 404 {
            assert_ne!(answer.error(), "there is nothing here", "{line}");
        }
    }
}

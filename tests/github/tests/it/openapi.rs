//! The fake against GitHub's own description: every answer fits the schema of its route, every route is one of GitHub's,
//! every webhook has the shape of GitHub's examples.
//!
//! `tests/github/setup` installs the description and the examples.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use fake_github::{Level, LoggedRequest};
use serde_json::{Map, Value, json};

use crate::{
    scenario::{scenario, steps},
    shapes::differences,
    site::{Receiver, Site, permissions},
};

/// A JSON file of one of the npm packages.
fn installed(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/octokit/node_modules/@octokit")
        .join(path);
    let text = fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}: run tests/github/setup", path.display()));
    serde_json::from_slice(&text).unwrap()
}

/// OpenAPI 3.0 as JSON Schema: `nullable` becomes a type, and what only OpenAPI knows goes.
fn schema(mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) => items.iter_mut().for_each(|item| *item = schema(item.take())),
        Value::Object(map) => {
            for gone in [
                "example",
                "examples",
                "discriminator",
                "externalDocs",
                "deprecated",
                "x-github-breaking-changes",
            ] {
                // A property may have such a name, too.
                if map.get(gone).is_none_or(|value| value.get("type").is_none()) {
                    map.remove(gone);
                }
            }
            map.values_mut().for_each(|item| *item = schema(item.take()));
            if map.get("nullable") == Some(&json!(true)) {
                map.remove("nullable");
                return json!({"anyOf": [{"type": "null"}, value]});
            }
        }
        _ => {}
    }
    value
}

/// The names of the shared schemas that one refers to, and those that these refer to.
fn reachable(description: &Value, from: &Value, found: &mut BTreeSet<String>) {
    match from {
        Value::Array(items) => items.iter().for_each(|item| reachable(description, item, found)),
        Value::Object(map) => {
            let name = map
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|path| path.strip_prefix("#/components/schemas/"));
            if let Some(name) = name
                && found.insert(name.to_owned())
            {
                reachable(description, &description["components"]["schemas"][name], found);
            }
            map.values().for_each(|item| reachable(description, item, found));
        }
        _ => {}
    }
}

/// A validator of one schema of the description.
fn validator(description: &Value, of: &Value) -> jsonschema::Validator {
    let mut names = BTreeSet::new();
    reachable(description, of, &mut names);
    let shared: Map<_, _> = names
        .into_iter()
        .map(|name| (name.clone(), schema(description["components"]["schemas"][&name].clone())))
        .collect();
    let whole = json!({"allOf": [schema(of.clone())], "components": {"schemas": shared}});
    jsonschema::draft202012::new(&whole).unwrap()
}

/// Where an instance does not fit.
fn mismatches(validator: &jsonschema::Validator, instance: &Value) -> Vec<String> {
    validator
        .iter_errors(instance)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// The schema of an answer: of its status, or that of errors for one that the description leaves out.
fn schema_of(description: &Value, request: &LoggedRequest) -> Option<Value> {
    let route = request.route.as_deref().unwrap();
    let operation = &description["paths"][route][request.method.to_lowercase()];
    assert!(operation.is_object(), "{} {route} is no route of GitHub's", request.method);
    let status = request.status.unwrap();
    let mut answer = operation["responses"][status.to_string()].clone();
    if let Some(name) =
        answer["$ref"].as_str().and_then(|path| path.strip_prefix("#/components/responses/"))
    {
        answer = description["components"]["responses"][name].clone();
    }
    let known = answer["content"]["application/json"]["schema"].clone();
    if route == "/app/installations" && status == 200 {
        // Its own schema wants every account to be a user and an enterprise at once.
        return Some(
            json!({"type": "array", "items": {"$ref": "#/components/schemas/installation"}}),
        );
    }
    match (known, status) {
        (Value::Object(known), _) => Some(Value::Object(known)),
        (_, 400..) => Some(json!({"$ref": "#/components/schemas/basic-error"})),
        (_, 204 | 304) => None,
        _ if !answer.is_null() => None,
        _ => panic!("{} {route} does not answer {status}", request.method),
    }
}

#[tokio::test]
async fn every_answer_fits_githubs_description() {
    let site = Site::new().await;
    scenario(&site).await;
    let description = installed("openapi/generated/api.github.com.json");
    let requests: Vec<_> =
        site.github.requests().into_iter().filter(|request| request.route.is_some()).collect();
    let mut validators: BTreeMap<String, jsonschema::Validator> = BTreeMap::new();
    let mut faults = Vec::new();
    for request in &requests {
        let Some(of) = schema_of(&description, request) else { continue };
        let validator =
            validators.entry(of.to_string()).or_insert_with(|| validator(&description, &of));
        for fault in mismatches(validator, &request.answer) {
            faults.push(format!(
                "{} {} {}: {fault}",
                request.method,
                request.path,
                request.status.unwrap()
            ));
        }
    }
    assert!(faults.is_empty(), "{} mismatch(es):\n{}", faults.len(), faults.join("\n"));
    let done = |method: &str, route: &str| {
        requests.iter().any(|request| {
            request.method == method
                && request.route.as_deref() == Some(route)
                && request.status < Some(300)
        })
    };
    let missed: Vec<_> =
        fake_github::routes().into_iter().filter(|(method, route)| !done(method, route)).collect();
    assert!(missed.is_empty(), "the scenario leaves out {missed:#?}");
}

#[tokio::test]
async fn every_webhook_has_the_shape_of_githubs_examples() {
    let site = Site::new().await;
    let receiver = Receiver::start().await;
    let all = permissions(&[
        ("contents", Level::Write),
        ("pull_requests", Level::Write),
        ("checks", Level::Write),
    ]);
    site.app.grant(site.installation, all);
    site.app.webhook(&receiver.url, "s");
    scenario(&site).await;
    site.app.webhook(&receiver.url, "s");
    steps(&site);
    site.github.webhooks_settled().await;
    let examples = installed("webhooks-examples/api.github.com/index.json");
    let description = installed("openapi/generated/api.github.com.json");
    let (mut seen, mut faults) = (BTreeSet::new(), BTreeSet::new());
    for delivery in site.app.deliveries() {
        let name = delivery
            .action
            .map_or(delivery.event.to_owned(), |action| format!("{}-{action}", delivery.event));
        seen.insert(name.clone());
        for difference in differences(delivery.event, &delivery.payload, &examples) {
            faults.insert(format!("{name}: {difference}"));
        }
        if seen.len() > 60 {
            continue;
        }
        let schema = name.replace('_', "-");
        let of = description["x-webhooks"][&schema]["post"]["requestBody"]["content"]["application/json"]["schema"].clone();
        assert!(of.is_object(), "GitHub has no webhook {schema}");
        for fault in mismatches(&validator(&description, &of), &delivery.payload) {
            faults.insert(format!("{name}: {fault}"));
        }
    }
    let faults: Vec<_> = faults.into_iter().collect();
    assert!(faults.is_empty(), "{} mismatch(es):\n{}", faults.len(), faults.join("\n"));
    assert!(seen.len() >= 25, "{seen:?}");
}

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

use crate::site::{Client, Receiver, Site, on_pull, permissions};

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
                if !map.get(gone).is_some_and(|value| value.get("type").is_some()) {
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
    play(&site).await;
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
    assert!(missed.is_empty(), "the play leaves out {missed:#?}");
}

/// Every route once with success, and the usual refusals.
async fn play(site: &Site) {
    read_repository(site).await;
    write_reviews(site).await;
    write_comments(site).await;
    run_checks(site).await;
    be_an_app(site).await;
    change_pulls(site).await;
}

async fn read_all(client: &Client, paths: &[&str]) {
    for path in paths {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
}

async fn read_repository(site: &Site) {
    let head = site.pull.head();
    let blob = site.bot.get("/repos/octo/demo/contents/code.rs").await.ok()["sha"]
        .as_str()
        .unwrap()
        .to_owned();
    let at = |rest: &str| format!("/repos/octo/demo{rest}");
    let paths = [
        "",
        "/branches",
        "/git/ref/heads/main",
        "/commits",
        &format!("/commits/{head}"),
        "/compare/main...feature",
        "/collaborators/alice/permission",
        "/contents/",
        "/contents/code.rs?ref=feature",
        "/git/trees/main?recursive=1",
        &format!("/git/blobs/{blob}"),
        "/pulls?state=all",
        "/pulls/1",
        "/pulls/1/files",
        "/pulls/1/commits",
        "/pulls/1/requested_reviewers",
        &format!("/commits/{head}/pulls"),
        "/issues/1",
        "/pulls/1/reviews",
    ];
    let paths: Vec<_> = paths.iter().map(|path| at(path)).collect();
    read_all(&site.bot, &paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
    read_all(
        &site.bot,
        &[
            "/search/repositories?q=demo",
            "/rate_limit",
            "/installation/repositories",
            "/apps/verdict",
        ],
    )
    .await;
    read_all(&site.alice, &["/user"]).await;
    assert_eq!(site.bot.get(&at("/pulls/99")).await.status, 404);
    assert_eq!(site.client(Some("no".into())).get(&at("/pulls/1")).await.status, 401);
}

async fn write_reviews(site: &Site) {
    let comments = json!([{"path": "code.rs", "line": 4, "body": "Here"}]);
    let draft = site
        .bot
        .post(&on_pull("/reviews"), json!({"body": "Draft", "comments": comments}))
        .await
        .ok();
    site.bot.delete(&on_pull(&format!("/reviews/{}", draft["id"]))).await.ok();
    let draft = site
        .bot
        .post(&on_pull("/reviews"), json!({"body": "Draft", "comments": comments}))
        .await
        .ok();
    let path = on_pull(&format!("/reviews/{}", draft["id"]));
    site.bot.post(&format!("{path}/events"), json!({"event": "REQUEST_CHANGES"})).await.ok();
    site.bot.put(&path, json!({"body": "Better"})).await.ok();
    read_all(
        &site.bot,
        &[&path, &format!("{path}/comments"), &on_pull("/reviews"), &on_pull("/comments")],
    )
    .await;
    site.alice.put(&format!("{path}/dismissals"), json!({"message": "Done"})).await.ok();
    let bad = json!({"event": "COMMENT", "body": "x", "comments": [{"path": "code.rs", "line": 20, "body": "x"}]});
    assert_eq!(site.bot.post(&on_pull("/reviews"), bad).await.status, 422);
}

async fn write_comments(site: &Site) {
    let body = json!({"body": "c", "path": "code.rs", "start_line": 2, "line": 4, "commit_id": site.pull.head()});
    let comment = site.bot.post(&on_pull("/comments"), body).await.ok();
    site.alice
        .post(&on_pull(&format!("/comments/{}/replies", comment["id"])), json!({"body": "r"}))
        .await
        .ok();
    let inline = format!("/repos/octo/demo/pulls/comments/{}", comment["id"]);
    site.bot.patch(&inline, json!({"body": "d"})).await.ok();
    let below =
        site.bot.post("/repos/octo/demo/issues/1/comments", json!({"body": "Summary"})).await.ok();
    let below = format!("/repos/octo/demo/issues/comments/{}", below["id"]);
    site.bot.patch(&below, json!({"body": "Summary 2"})).await.ok();
    site.bot.post("/repos/octo/demo/issues/1/reactions", json!({"content": "rocket"})).await.ok();
    for path in [&inline, &below] {
        let reaction =
            site.bot.post(&format!("{path}/reactions"), json!({"content": "eyes"})).await.ok();
        read_all(&site.bot, &[path, &format!("{path}/reactions")]).await;
        site.bot.delete(&format!("{path}/reactions/{}", reaction["id"])).await;
    }
    let labels = "/repos/octo/demo/issues/1/labels";
    site.bot.post(labels, json!({"labels": ["bug"]})).await.ok();
    let lists = [
        "/repos/octo/demo/pulls/comments",
        "/repos/octo/demo/issues/1/comments",
        "/repos/octo/demo/issues/1/reactions",
        labels,
    ];
    read_all(&site.bot, &lists).await;
    site.bot.delete(&format!("{labels}/bug")).await.ok();
    site.bot.delete(&inline).await;
    site.bot.delete(&below).await;
}

async fn run_checks(site: &Site) {
    let annotation = json!({"path": "code.rs", "start_line": 4, "end_line": 4, "annotation_level": "notice", "message": "m"});
    let output = json!({"title": "t", "summary": "s", "annotations": [annotation]});
    let run = json!({"name": "verdict", "head_sha": site.pull.head(), "status": "in_progress"});
    let run = site.bot.post("/repos/octo/demo/check-runs", run).await.ok();
    let path = format!("/repos/octo/demo/check-runs/{}", run["id"]);
    site.bot.patch(&path, json!({"conclusion": "neutral", "output": output})).await.ok();
    site.bot.post(&format!("{path}/rerequest"), Value::Null).await.ok();
    let listed = format!("/repos/octo/demo/commits/{}/check-runs", site.pull.head());
    read_all(&site.bot, &[&path, &format!("{path}/annotations"), &listed]).await;
    assert_eq!(site.bot.patch(&path, json!({"status": "queued"})).await.status, 422);
}

async fn be_an_app(site: &Site) {
    let receiver = Receiver::start().await;
    let app = site.as_app();
    app.patch("/app/hook/config", json!({"url": receiver.url, "secret": "s"})).await.ok();
    site.pull.comment("alice", "x");
    site.github.webhooks_settled().await;
    let delivery =
        format!("/app/hook/deliveries/{}", app.get("/app/hook/deliveries").await.ok()[0]["id"]);
    let installation = format!("/app/installations/{}", site.installation);
    let paths = [
        "/app",
        "/app/installations",
        "/app/hook/config",
        "/repos/octo/demo/installation",
        "/orgs/octo/installation",
    ];
    read_all(&app, &paths).await;
    read_all(&app, &["/users/octo/installation", &delivery, &installation]).await;
    app.post(&format!("{delivery}/attempts"), Value::Null).await.ok();
    let tokens = format!("{installation}/access_tokens");
    let token = app
        .post(&tokens, json!({"repositories": ["demo"], "permissions": {"checks": "write"}}))
        .await
        .ok();
    site.client(token["token"].as_str().map(ToOwned::to_owned)).delete("/installation/token").await;
    assert_eq!(app.post(&tokens, json!({"permissions": {"workflows": "write"}})).await.status, 422);
    let manifest = json!({"name": "Made", "url": "https://example.com", "redirect_url": "http://127.0.0.1:9/"}).to_string();
    let form = format!(
        "manifest={}",
        percent_encoding::utf8_percent_encode(&manifest, percent_encoding::NON_ALPHANUMERIC)
    );
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap();
    let sent = http
        .post(format!("{}/settings/apps/new", site.github.url()))
        .body(form)
        .send()
        .await
        .unwrap();
    let code =
        sent.headers()["location"].to_str().unwrap().split_once("code=").unwrap().1.to_owned();
    site.client(None).post(&format!("/app-manifests/{code}/conversions"), Value::Null).await.ok();
}

async fn change_pulls(site: &Site) {
    let reviewers = on_pull("/requested_reviewers");
    site.alice.post(&reviewers, json!({"reviewers": ["alice"]})).await.ok();
    site.alice.send("DELETE", &reviewers, &[], &json!({"reviewers": ["alice"]})).await.ok();
    site.alice.patch(&on_pull(""), json!({"title": "New"})).await.ok();
    site.work.git(&["checkout", "--quiet", "-b", "second"]);
    site.work.commit(&[("second.txt", "x\n")]);
    site.repository.update();
    site.alice
        .post("/repos/octo/demo/pulls", json!({"title": "2", "head": "second", "base": "main"}))
        .await
        .ok();
    site.alice.put(&on_pull("/merge"), json!({})).await.ok();
    site.bot.get(&on_pull("")).await.ok();
}

/// The types that a key has in all examples that have it, for keys that every example has.
fn shape(examples: &[&Value]) -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut keys: Option<BTreeSet<String>> = None;
    let mut types: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for example in examples {
        let mut paths = BTreeMap::new();
        walk("", example, &mut paths);
        let here: BTreeSet<_> = paths.keys().cloned().collect();
        keys = Some(keys.map_or(here.clone(), |keys| keys.intersection(&here).cloned().collect()));
        for (path, kind) in paths {
            types.entry(path).or_default().insert(kind);
        }
    }
    let keys = keys.unwrap_or_default();
    types.retain(|path, _| keys.contains(path));
    types
}

/// Every key below a value, as a path, with the type of what it holds. Lists are not looked into.
fn walk(path: &str, value: &Value, found: &mut BTreeMap<String, &'static str>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{key}");
        walk(&path, value, found);
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        found.insert(path, kind);
    }
}

/// Where a webhook differs from GitHub's examples of its event and action.
fn differences(event: &str, payload: &Value, examples: &Value) -> Vec<String> {
    let of_event = examples.as_array().unwrap().iter().filter(|entry| entry["name"] == event);
    let all: Vec<_> = of_event.flat_map(|entry| entry["examples"].as_array().unwrap()).collect();
    let same: Vec<_> =
        all.iter().copied().filter(|example| example["action"] == payload["action"]).collect();
    let wanted = shape(if same.is_empty() { &all } else { &same });
    assert!(!wanted.is_empty(), "GitHub has no example of {event}");
    let mut ours = BTreeMap::new();
    walk("", payload, &mut ours);
    // What an account or repository of the example happens to have, and what an installation of old had.
    let other = |path: &str| {
        path.contains("/permissions/") || path.contains("/milestone") || path.contains("/assignee")
    };
    let gone = |path: &str| matches!(path, "/installation/created_at" | "/installation/updated_at");
    let mut differences = Vec::new();
    for (path, types) in wanted.iter().filter(|(path, _)| !other(path) && !gone(path)) {
        match ours.get(path) {
            // GitHub says less about what is null.
            None if has_null_above(path, &ours) => {}
            None => differences.push(format!("{path} is missing")),
            Some(kind) if types.contains(kind) || *kind == "null" || types.contains("null") => {}
            Some(kind) => differences.push(format!("{path} is {kind}, not {types:?}")),
        }
    }
    differences
}

fn has_null_above(path: &str, ours: &BTreeMap<String, &'static str>) -> bool {
    let parents = path.match_indices('/').skip(1).map(|(at, _)| &path[..at]);
    parents.into_iter().any(|parent| ours.get(parent) == Some(&"null"))
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
    play(&site).await;
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

/// What people do, one webhook each.
fn steps(site: &Site) {
    site.work.git(&["checkout", "--quiet", "second"]);
    let pull = site.repository.pull(2);
    pull.set_draft(true);
    pull.set_draft(false);
    pull.label("bug", "alice");
    pull.unlabel("bug", "alice");
    pull.request_review("alice", "octo");
    pull.retitle("Better", "alice");
    pull.close();
    pull.reopen();
    site.work.commit(&[("second.txt", "y\n")]);
    site.repository.update();
    pull.review("alice", "Hm", Some(("second.txt", 1, "Here")));
    let comment = pull.review_comments()[0].id;
    pull.resolve("alice", comment);
    pull.comment("alice", "/verdict review");
    let group = pull.enqueue();
    group.destroy("dequeued");
    site.app.install("acme");
    let check = site.repository.pull(1).checks()[0].id;
    pull.rerequest_check(check);
    pull.merge();
}

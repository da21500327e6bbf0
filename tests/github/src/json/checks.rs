//! Check runs, and deliveries of webhooks.

use serde_json::{Map, Value, json};

use super::{add, app};
use crate::{
    clock::written,
    world::{
        World,
        checks::CheckRun,
        node_id,
        outbox::{Delivery, Receiver},
        repositories::Pull,
    },
};

/// A check run.
pub(crate) fn check_run(world: &World, run: &CheckRun) -> Value {
    let full_name = world.repositories[&run.repository].full_name();
    let url = format!("{}/repos/{full_name}/check-runs/{}", world.url, run.id);
    let html = format!("{}/{full_name}/runs/{}", world.url, run.id);
    json!({
        "id": run.id,
        "name": run.name,
        "node_id": node_id("CR", run.id),
        "head_sha": run.head_sha,
        "external_id": run.external_id.clone().unwrap_or_default(),
        "url": url,
        "html_url": html,
        "details_url": run.details_url.clone().unwrap_or_else(|| html.clone()),
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": written(run.started_at),
        "completed_at": run.completed_at.map(written),
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": run.annotations.len(),
            "annotations_url": format!("{url}/annotations"),
        },
        "check_suite": {"id": run.suite},
        "app": app(world, &world.apps[&run.app]),
        "pull_requests": pulls_of(world, run),
    })
}

/// The suite of a check run, as webhooks show it.
pub(crate) fn check_suite(world: &World, run: &CheckRun) -> Value {
    let full_name = world.repositories[&run.repository].full_name();
    let pulls = pulls_at(world, run);
    json!({
        "id": run.suite,
        "node_id": node_id("CS", run.suite),
        "head_branch": pulls.first().map(|pull| &pull.head.name),
        "head_sha": run.head_sha,
        "status": run.status,
        "conclusion": run.conclusion,
        "url": format!("{}/repos/{full_name}/check-suites/{}", world.url, run.suite),
        "before": pulls.first().map(|pull| &pull.base.sha),
        "after": run.head_sha,
        "pull_requests": pulls_of(world, run),
        "app": app(world, &world.apps[&run.app]),
        "created_at": written(run.started_at),
        "updated_at": written(run.completed_at.unwrap_or(run.started_at)),
    })
}

fn pulls_at<'a>(world: &'a World, run: &CheckRun) -> Vec<&'a Pull> {
    let at = |pull: &&Pull| {
        // Forks are left out, as on GitHub.
        pull.open && pull.head.repository == Some(run.repository) && pull.head.sha == run.head_sha
    };
    world.pulls.values().filter(at).collect()
}

fn pulls_of(world: &World, run: &CheckRun) -> Vec<Value> {
    let repository = &world.repositories[&run.repository];
    let url = format!("{}/repos/{}", world.url, repository.full_name());
    let repo = json!({"id": repository.id, "url": url, "name": repository.name});
    let shape = |pull: &Pull| {
        json!({
            "id": pull.id,
            "number": pull.number,
            "url": format!("{url}/pulls/{}", pull.number),
            "head": {"ref": pull.head.name, "sha": pull.head.sha, "repo": repo},
            "base": {"ref": pull.base.name, "sha": pull.base.sha, "repo": repo},
        })
    };
    pulls_at(world, run).into_iter().map(shape).collect()
}

/// A delivery as the log lists it, or whole with what was sent and answered.
pub(crate) fn delivery(delivery: &Delivery, whole: bool) -> Value {
    let installation = match delivery.receiver {
        Receiver::App { installation, .. } => Some(installation),
        Receiver::Repository(_) => None,
    };
    let outcome = delivery.outcome.as_ref();
    let code = outcome.map_or(0, |outcome| outcome.code);
    let mut shape = json!({
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": written(delivery.at),
        "redelivery": delivery.redelivery,
        "duration": outcome.map_or(0.0, |outcome| outcome.seconds),
        "status": outcome.map_or("pending", |outcome| outcome.status.as_str()),
        "status_code": code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": installation,
        "repository_id": delivery.repository,
        "throttled_at": null,
    });
    if whole {
        add(&mut shape, "url", json!(delivery.target.url));
        let sent: Map<_, _> = headers(delivery)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        add(&mut shape, "request", json!({"headers": sent, "payload": delivery.payload}));
        let answer = outcome.filter(|_| code != 0).map(|outcome| &outcome.body);
        add(&mut shape, "response", json!({"headers": {}, "payload": answer}));
    }
    shape
}

/// The headers of a delivery, without its signature.
fn headers(delivery: &Delivery) -> Vec<(&'static str, String)> {
    crate::server::webhooks::headers(delivery)
}

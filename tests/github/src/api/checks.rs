//! Check runs: made by Apps, changed by the one that made them, never opened again.

use serde_json::{Value, json};

use super::{
    Answer, Call, Route,
    call::{optional, required},
    message::{Reply, validation_failed},
};
use crate::{
    json as shape,
    world::checks::{CONCLUSIONS, CheckRun},
};

/// The longest summary and the longest text of an output, in characters.
const MAX_OUTPUT_CHARACTERS: usize = 65_535;
const MAX_ANNOTATIONS_PER_REQUEST: usize = 50;
const MAX_ACTIONS: usize = 3;

pub(super) const ROUTES: &[Route] = &[
    Route::creating("/repos/{owner}/{repo}/check-runs", "checks=write", create),
    Route::new("GET", "/repos/{owner}/{repo}/check-runs/{check_run_id}", "checks=read", show),
    Route::new("PATCH", "/repos/{owner}/{repo}/check-runs/{check_run_id}", "checks=write", update),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations",
        "checks=read",
        annotations,
    ),
    Route::new(
        "POST",
        "/repos/{owner}/{repo}/check-runs/{check_run_id}/rerequest",
        "checks=write",
        rerequest,
    ),
    Route::new("GET", "/repos/{owner}/{repo}/commits/{ref}/check-runs", "checks=read", list),
];

fn invalid(field: &str, message: &str) -> Reply {
    validation_failed("CheckRun", field, "invalid", message)
}

fn create(call: &mut Call<'_>) -> Answer {
    let (repository, body, now) = (call.repository()?, call.body()?, call.world.now());
    let app = call
        .who
        .app()
        .ok_or_else(|| Reply::refuse(403, "You must authenticate via a GitHub App."))?;
    let name = required(&body, "CheckRun", "name")?.to_owned();
    let head_sha = required(&body, "CheckRun", "head_sha")?.to_owned();
    let known = head_sha.len() == 40 && call.world.git(repository).resolve(&head_sha).is_some();
    if !known {
        return Err(Reply::refuse(422, &format!("No commit found for SHA: {head_sha}")));
    }
    let suite = call.world.suite(repository, app, &head_sha);
    let mut run = CheckRun {
        id: 0,
        repository,
        app,
        suite,
        name,
        head_sha,
        status: "queued".to_owned(),
        conclusion: None,
        details_url: None,
        external_id: None,
        title: None,
        summary: None,
        text: None,
        annotations: Vec::new(),
        actions: Vec::new(),
        started_at: now,
        completed_at: None,
    };
    change(call, &mut run, &body)?;
    run.id = call.world.id();
    call.world.checks.insert(run.id, run.clone());
    call.world.emit_check_run(&run, "created", json!({}));
    if run.status == "completed" {
        call.world.emit_check_run(&run, "completed", json!({}));
    }
    Reply::created(shape::check_run(call.world, &run))
}

fn find(call: &Call<'_>) -> Result<CheckRun, Reply> {
    let (repository, id) = (call.repository()?, call.number("check_run_id")?);
    let found = call.world.checks.get(&id).filter(|run| run.repository == repository);
    found.cloned().ok_or_else(Reply::not_found)
}

fn update(call: &mut Call<'_>) -> Answer {
    let (mut run, body) = (find(call)?, call.body()?);
    if call.who.app() != Some(run.app) {
        let message = format!(
            "Invalid app_id `{}` - check run can only be modified by the GitHub App that created it.",
            call.who.app().unwrap_or_default()
        );
        return Err(Reply::refuse(403, &message));
    }
    let open = run.status != "completed";
    change(call, &mut run, &body)?;
    call.world.checks.insert(run.id, run.clone());
    if open && run.status == "completed" {
        call.world.emit_check_run(&run, "completed", json!({}));
    }
    Reply::ok(shape::check_run(call.world, &run))
}

/// Writes what a body has into a run.
fn change(call: &Call<'_>, run: &mut CheckRun, body: &Value) -> Result<(), Reply> {
    if let Some(name) = optional(body, "name") {
        run.name = name;
    }
    run.details_url = optional(body, "details_url").or(run.details_url.take());
    run.external_id = optional(body, "external_id").or(run.external_id.take());
    change_status(call, run, body)?;
    if !body["output"].is_null() {
        change_output(run, &body["output"])?;
    }
    if let Some(actions) = body["actions"].as_array() {
        check_actions(actions)?;
        run.actions.clone_from(actions);
    }
    Ok(())
}

fn change_status(call: &Call<'_>, run: &mut CheckRun, body: &Value) -> Result<(), Reply> {
    let conclusion = optional(body, "conclusion");
    if conclusion.as_deref().is_some_and(|conclusion| !CONCLUSIONS.contains(&conclusion)) {
        return Err(invalid("conclusion", "is not included in the list"));
    }
    // A conclusion completes the run, whatever status is given.
    let status =
        if conclusion.is_some() { Some("completed".to_owned()) } else { optional(body, "status") };
    match status.as_deref() {
        None => {}
        Some("queued" | "in_progress") if run.status == "completed" => {
            return Err(invalid("status", "a completed check run cannot be reopened"));
        }
        Some("completed") if conclusion.is_none() && run.conclusion.is_none() => {
            return Err(validation_failed("CheckRun", "conclusion", "missing_field", ""));
        }
        Some(status @ ("queued" | "in_progress" | "completed")) => {
            status.clone_into(&mut run.status)
        }
        Some(_) => return Err(invalid("status", "is not included in the list")),
    }
    run.conclusion = conclusion.or(run.conclusion.take());
    if run.status == "completed" && run.completed_at.is_none() {
        let at = body["completed_at"].as_str().and_then(|at| at.parse().ok());
        run.completed_at = Some(at.unwrap_or_else(|| call.world.now()));
    }
    if let Some(at) = body["started_at"].as_str().and_then(|at| at.parse().ok()) {
        run.started_at = at;
    }
    Ok(())
}

fn change_output(run: &mut CheckRun, output: &Value) -> Result<(), Reply> {
    let title = optional(output, "title");
    if title.is_none() && run.title.is_none() {
        return Err(validation_failed("CheckRun", "output.title", "missing_field", ""));
    }
    let summary = required(output, "CheckRun", "summary")?.to_owned();
    let text = optional(output, "text");
    for (field, value) in [("output.summary", Some(&summary)), ("output.text", text.as_ref())] {
        if value.is_some_and(|value| value.chars().count() > MAX_OUTPUT_CHARACTERS) {
            return Err(invalid(
                field,
                &format!("Only {MAX_OUTPUT_CHARACTERS} characters are allowed"),
            ));
        }
    }
    let annotations = output["annotations"].as_array().cloned().unwrap_or_default();
    if annotations.len() > MAX_ANNOTATIONS_PER_REQUEST {
        return Err(invalid(
            "annotations",
            &format!("exceeds a maximum quantity of {MAX_ANNOTATIONS_PER_REQUEST}"),
        ));
    }
    annotations.iter().try_for_each(check_annotation)?;
    run.title = title.or(run.title.take());
    run.summary = Some(summary);
    run.text = text.or(run.text.take());
    run.annotations.extend(annotations);
    Ok(())
}

fn check_annotation(annotation: &Value) -> Result<(), Reply> {
    for field in ["path", "message"] {
        if annotation[field].as_str().is_none_or(str::is_empty) {
            return Err(invalid("annotations", &format!("{field} is missing")));
        }
    }
    let (start, end) = (annotation["start_line"].as_u64(), annotation["end_line"].as_u64());
    let (Some(start), Some(end)) = (start, end) else {
        return Err(invalid("annotations", "start_line and end_line are missing"));
    };
    if end < start {
        return Err(invalid("annotations", "end_line comes before start_line"));
    }
    if !matches!(annotation["annotation_level"].as_str(), Some("notice" | "warning" | "failure")) {
        return Err(invalid("annotations", "annotation_level is not included in the list"));
    }
    let columns = !annotation["start_column"].is_null() || !annotation["end_column"].is_null();
    if columns && start != end {
        return Err(invalid(
            "annotations",
            "columns are allowed only where start_line and end_line are the same",
        ));
    }
    Ok(())
}

fn check_actions(actions: &[Value]) -> Result<(), Reply> {
    if actions.len() > MAX_ACTIONS {
        return Err(invalid("actions", &format!("exceeds a maximum quantity of {MAX_ACTIONS}")));
    }
    for (field, longest) in [("label", 20), ("description", 40), ("identifier", 20)] {
        let fits = |action: &Value| {
            action[field].as_str().is_some_and(|text| text.chars().count() <= longest)
        };
        if !actions.iter().all(fits) {
            return Err(invalid(
                "actions",
                &format!("{field} is missing or longer than {longest} characters"),
            ));
        }
    }
    Ok(())
}

fn show(call: &mut Call<'_>) -> Answer {
    Reply::ok(shape::check_run(call.world, &find(call)?))
}

fn annotations(call: &mut Call<'_>) -> Answer {
    let run = find(call)?;
    let html = format!(
        "{}/{}/blob/{}",
        call.world.url,
        call.world.repositories[&run.repository].full_name(),
        run.head_sha
    );
    let row = |annotation: &Value| {
        json!({
            "path": annotation["path"], "start_line": annotation["start_line"], "end_line": annotation["end_line"],
            "start_column": annotation["start_column"], "end_column": annotation["end_column"],
            "annotation_level": annotation["annotation_level"], "title": annotation["title"],
            "message": annotation["message"], "raw_details": annotation["raw_details"],
            "blob_href": format!("{html}/{}", annotation["path"].as_str().unwrap_or_default()),
        })
    };
    call.page(run.annotations.iter().map(row).collect())
}

fn rerequest(call: &mut Call<'_>) -> Answer {
    let run = find(call)?;
    call.world.emit_check_run(&run, "rerequested", json!({}));
    Ok(Reply::json(201, json!({})))
}

fn list(call: &mut Call<'_>) -> Answer {
    let repository = call.repository()?;
    let asked = call.param("ref");
    let sha = call
        .world
        .git(repository)
        .resolve(asked)
        .ok_or_else(|| Reply::refuse(422, &format!("No commit found for SHA: {asked}")))?;
    let query = |name: &str| call.request.query(name);
    let fits = |run: &&CheckRun| {
        run.repository == repository
            && run.head_sha == sha
            && query("check_name").is_none_or(|name| name == run.name)
            && query("status").is_none_or(|status| status == run.status)
            && query("app_id").is_none_or(|id| id == run.app.to_string())
    };
    let mut runs: Vec<_> = call.world.checks.values().filter(fits).collect();
    runs.reverse();
    if query("filter") != Some("all") {
        let mut seen = Vec::new();
        runs.retain(|run| {
            let new = !seen.contains(&(run.app, run.name.clone()));
            seen.push((run.app, run.name.clone()));
            new
        });
    }
    let rows = runs.into_iter().map(|run| shape::check_run(call.world, run)).collect();
    call.page_in("check_runs", rows)
}

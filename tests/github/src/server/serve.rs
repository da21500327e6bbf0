//! A request's way: log it, see whether a fault hits it, carry it out, answer.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{ConnectInfo, State},
    http::{HeaderName, HeaderValue, Request as HttpRequest, Response, StatusCode},
};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::{Shared, admin, connection::Reset, git_http};
use crate::{
    api::{
        self, identity,
        message::{Payload, Reply, Request, pairs},
    },
    clock::written,
    world::{hits::Hit, log::LoggedRequest},
};

/// Larger bodies are refused.
const MAX_BODY_BYTES: usize = 512 * 1024 * 1024;

/// Answers one request.
pub(super) async fn serve(
    State(shared): State<Shared>,
    ConnectInfo(reset): ConnectInfo<Reset>,
    request: HttpRequest<Body>,
) -> Result<Response<Body>, Infallible> {
    let Ok(request) = read(request).await else {
        return Ok(respond(Reply::refuse(413, "Payload too large")));
    };
    if request.path.starts_with("/_fake/") {
        return Ok(respond(admin::answer(&shared, &request)));
    }
    let (number, hit) = arrive(&shared, &request);
    let response = match hit {
        None => respond(apply(&shared, request, number).await),
        Some(hit) => disturbed(&shared, request, number, hit, &reset).await,
    };
    shared.changed.notify_waiters();
    Ok(response)
}

async fn read(request: HttpRequest<Body>) -> Result<Request, axum::Error> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY_BYTES).await?;
    let query_text = head.uri.query().unwrap_or_default().to_owned();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    Ok(Request {
        method: head.method.to_string(),
        path: without_prefix(head.uri.path()),
        query: pairs(&query_text),
        query_text,
        headers: headers.collect(),
        body: body.to_vec(),
    })
}

/// An Enterprise Server has its API below `/api`.
fn without_prefix(path: &str) -> String {
    match path.strip_prefix("/api/v3") {
        Some(rest) if rest.starts_with('/') => rest.to_owned(),
        _ if path == "/api/graphql" => "/graphql".to_owned(),
        _ => path.to_owned(),
    }
}

/// Writes a request into the log, with the fault that hits it.
fn arrive(shared: &Shared, request: &Request) -> (u64, Option<Hit>) {
    let mut world = shared.world();
    let who = identity::identify(&world, request);
    let installation = who.as_ref().ok().and_then(identity::Identity::installation);
    let now = world.now();
    let hit = world.faults.hit(&request.method, &request.path, installation, now);
    let logged = LoggedRequest {
        number: 0,
        at: written(now),
        method: request.method.clone(),
        path: request.path.clone(),
        query: request.query_text.clone(),
        identity: who.map_or("unknown".to_owned(), |who| who.name()),
        body: request.logged_body(),
        status: None,
        applied: false,
        fault: hit.as_ref().map(|hit| hit.name().to_owned()),
        route: None,
        answer: Value::Null,
    };
    (world.log.add(logged), hit)
}

/// Carries a request out. It is done whole, also when the client has gone.
async fn apply(shared: &Shared, request: Request, number: u64) -> Reply {
    if git_http::is_for(&request) {
        let reply = git_http::answer(shared, request).await;
        note(shared, number, &reply, None);
        return reply;
    }
    let shared = shared.clone();
    let done = tokio::task::spawn_blocking(move || {
        let handled = {
            let mut world = shared.world();
            if request.method == "POST" && request.path.ends_with("/settings/apps/new") {
                let reply =
                    api::submit_manifest(&mut world, &request).unwrap_or_else(|refusal| refusal);
                api::Handled { reply, route: None }
            } else {
                api::handle(&mut world, &request)
            }
        };
        note(&shared, number, &handled.reply, handled.route);
        handled.reply
    });
    done.await.unwrap_or_else(|error| Reply::refuse(500, &format!("the fake failed: {error}")))
}

fn note(shared: &Shared, number: u64, reply: &Reply, route: Option<&str>) {
    let mut world = shared.world();
    if let Some(logged) = world.log.get_mut(number) {
        logged.status = Some(reply.status);
        logged.applied = true;
        logged.route = route.map(ToOwned::to_owned);
        logged.answer = reply.logged_body();
    }
}

/// Notes what was answered in place of the request's own answer.
fn note_status(shared: &Shared, number: u64, status: Option<u16>) {
    let mut world = shared.world();
    if let Some(logged) = world.log.get_mut(number) {
        logged.status = status;
    }
}

async fn disturbed(
    shared: &Shared,
    request: Request,
    number: u64,
    hit: Hit,
    reset: &Reset,
) -> Response<Body> {
    match hit {
        Hit::Answer { code, headers, body, done } => {
            if done {
                apply(shared, request, number).await;
            }
            note_status(shared, number, Some(code));
            let mut response = respond(Reply::json(code, body));
            for (name, value) in headers {
                add_header(&mut response, &name, &value);
            }
            response
        }
        Hit::Reset => lost(reset),
        Hit::Unanswered => std::future::pending().await,
        Hit::Truncate => truncated(&apply(shared, request, number).await),
        Hit::Slow(by) => {
            let reply = apply(shared, request, number).await;
            sleep_until(Instant::now() + by).await;
            respond(reply)
        }
        Hit::LostAnswer => {
            apply(shared, request, number).await;
            note_status(shared, number, None);
            lost(reset)
        }
        Hit::LateWrite { after, silent } => late(shared, request, number, after, silent).await,
    }
}

/// Answers before the write is done, or never.
async fn late(
    shared: &Shared,
    request: Request,
    number: u64,
    after: Option<Duration>,
    silent: bool,
) -> Response<Body> {
    let writer = shared.clone();
    let answered = if silent { None } else { Some(504) };
    note_status(shared, number, answered);
    // Registered before the answer, so that a release right after it is not missed.
    let mut released = Box::pin(writer.late_writes.clone().notified_owned());
    released.as_mut().enable();
    tokio::spawn(async move {
        match after {
            Some(after) => sleep_until(Instant::now() + after).await,
            None => released.await,
        }
        apply(&writer, request, number).await;
        note_status(&writer, number, answered);
        writer.changed.notify_waiters();
    });
    if silent {
        std::future::pending::<()>().await;
    }
    respond(Reply::json(
        504,
        json!({"message": "We couldn't respond to your request in time. Sorry about that. Please try resubmitting your request and contact us if the problem persists."}),
    ))
}

fn lost(reset: &Reset) -> Response<Body> {
    reset.now();
    Response::new(Body::from("never sent"))
}

/// Half of the body, and an end where the rest should be.
fn truncated(reply: &Reply) -> Response<Body> {
    let bytes = reply.bytes();
    let half = Bytes::copy_from_slice(&bytes[..bytes.len() / 2]);
    let mut response = respond(Reply { payload: Payload::Empty, ..reply.clone() });
    add_header(&mut response, "content-length", &bytes.len().to_string());
    add_header(&mut response, "content-type", "application/json; charset=utf-8");
    let cut = std::io::Error::from(std::io::ErrorKind::ConnectionAborted);
    *response.body_mut() = Body::from_stream(stream::iter([Ok(half), Err(cut)]));
    response
}

fn add_header(response: &mut Response<Body>, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        response.headers_mut().insert(name, value);
    }
}

fn respond(reply: Reply) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    add_header(&mut response, "server", "fake-github");
    for (name, value) in &reply.headers {
        add_header(&mut response, name, value);
    }
    match reply.payload {
        Payload::Json(body) => {
            add_header(&mut response, "content-type", "application/json; charset=utf-8");
            *response.body_mut() = Body::from(body.to_string());
        }
        Payload::Raw { kind, bytes } => {
            if !kind.is_empty() {
                add_header(&mut response, "content-type", kind);
            }
            *response.body_mut() = Body::from(bytes);
        }
        Payload::Empty => {}
    }
    response
}

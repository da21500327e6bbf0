//! What tests and people do to the fake itself, over HTTP: `/_fake/…`. JSON in, JSON out, no authentication.
//!
//! | request | does |
//! |---|---|
//! | `GET /_fake/requests` | the requests seen |
//! | `DELETE /_fake/requests` | forgets them |
//! | `POST /_fake/faults` | adds a fault: `{"method", "path", "skip", "times", "effect": {…}}` |
//! | `DELETE /_fake/faults` | removes all faults |
//! | `POST /_fake/clock` | `{"advance_seconds"}` |
//! | `POST /_fake/limits` | sets the rate limits |
//! | `POST /_fake/users` | `{"login", "repository"?, "role"?}`: a user's token, and a role in a repository |
//! | `POST /_fake/update` | `{"repository"}`: takes the commits of its source over |
//! | `POST /_fake/late-writes` | releases the late writes |

use serde_json::{Value, json};

use super::Shared;
use crate::{
    Fault, Limits, Role,
    api::message::{Answer, Reply, Request},
    clock::written,
    world::World,
};

/// Answers one of them.
pub(super) fn answer(shared: &Shared, request: &Request) -> Reply {
    if request.path == "/_fake/late-writes" {
        shared.late_writes.notify_waiters();
        return Reply::json(200, json!({}));
    }
    let mut world = shared.world();
    let reply = match (request.method.as_str(), request.path.trim_start_matches("/_fake/")) {
        ("GET", "requests") => Reply::ok(json!(world.log.list)),
        ("DELETE", "requests") => {
            world.log.list.clear();
            Reply::ok(json!({}))
        }
        ("POST", "faults") => {
            read::<Fault>(request).map(|fault| world.faults.add(fault)).map(|()| done())
        }
        ("DELETE", "faults") => {
            world.faults.clear();
            Reply::ok(json!({}))
        }
        ("POST", "clock") => advance(&mut world, request),
        ("POST", "limits") => {
            read::<Limits>(request).map(|limits| world.limiter.limits = limits).map(|()| done())
        }
        ("POST", "users") => add_user(&mut world, request),
        ("POST", "update") => update(&mut world, request),
        _ => Err(Reply::not_found()),
    };
    reply.unwrap_or_else(|refusal| refusal)
}

fn done() -> Reply {
    Reply::json(200, json!({}))
}

fn read<T: serde::de::DeserializeOwned>(request: &Request) -> Result<T, Reply> {
    serde_json::from_slice(&request.body).map_err(|error| Reply::refuse(400, &error.to_string()))
}

fn advance(world: &mut World, request: &Request) -> Answer {
    let body: Value = read(request)?;
    let seconds = body["advance_seconds"]
        .as_u64()
        .ok_or_else(|| Reply::refuse(400, "advance_seconds is missing"))?;
    world.clock.advance(std::time::Duration::from_secs(seconds));
    Reply::ok(json!({"now": written(world.now())}))
}

fn repository(world: &World, body: &Value) -> Result<u64, Reply> {
    let name = body["repository"].as_str().and_then(|name| name.split_once('/'));
    let found = name.and_then(|(owner, name)| world.find_repository(owner, name));
    found.ok_or_else(|| Reply::refuse(404, "no such repository"))
}

fn add_user(world: &mut World, request: &Request) -> Answer {
    let body: Value = read(request)?;
    let login = body["login"].as_str().ok_or_else(|| Reply::refuse(400, "login is missing"))?;
    if !body["role"].is_null() {
        let role: Role = serde_json::from_value(body["role"].clone())
            .map_err(|error| Reply::refuse(400, &error.to_string()))?;
        let id = repository(world, &body)?;
        world.repository_mut(id).collaborators.insert(login.to_lowercase(), role);
    }
    let token = world.user_token(login, None);
    Reply::ok(json!({"login": login, "token": token}))
}

fn update(world: &mut World, request: &Request) -> Answer {
    let body: Value = read(request)?;
    let id = repository(world, &body)?;
    world.update_repository(id, None).map_err(|error| Reply::refuse(500, &error))?;
    Reply::ok(json!({}))
}

//! What stands before every handler: permissions, API versions, rate limits.

use serde_json::{Value, json};

use super::{
    Call, Route,
    identity::Identity,
    message::{Answer, Reply, Request},
};
use crate::world::{
    World,
    actors::Level,
    limits::{Quota, Resource},
};

pub(super) const ROUTES: &[Route] = &[Route::new("GET", "/rate_limit", "", show_limits)];

/// A version of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Also what is served without a header.
    Of2022,
    /// The first with breaking changes.
    Of2026,
}

impl Version {
    /// The version that a request asks for.
    pub(super) fn asked(request: &Request) -> Result<Self, Reply> {
        match request.header("x-github-api-version") {
            None | Some("2022-11-28") => Ok(Self::Of2022),
            Some("2026-03-10") => Ok(Self::Of2026),
            Some(other) => {
                let message = format!(
                    "API version {other} is not supported. Supported versions: 2022-11-28, 2026-03-10."
                );
                Err(Reply::refuse(400, &message))
            }
        }
    }

    /// As the header writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Of2022 => "2022-11-28",
            Self::Of2026 => "2026-03-10",
        }
    }

    /// Takes out what the newer version has no longer.
    pub(super) fn adapt(self, template: &str, body: &mut Value) {
        if self == Self::Of2022 || !template.contains("/pulls") {
            return;
        }
        let rows = match body {
            Value::Array(rows) => rows.iter_mut().collect(),
            other => vec![other],
        };
        for row in rows
            .into_iter()
            .filter_map(Value::as_object_mut)
            .filter(|row| row.contains_key("mergeable") || row.contains_key("auto_merge"))
        {
            row.remove("merge_commit_sha");
            row.remove("assignee");
        }
    }
}

/// Checks the permission of a route.
pub(super) fn permit(call: &mut Call<'_>, route: &Route) -> Result<(), Reply> {
    if route.needs == "app" {
        let jwt = matches!(call.who, Identity::App(_));
        return if jwt {
            Ok(())
        } else {
            Err(Reply::refuse(401, "A JSON web token could not be decoded"))
        };
    }
    if route.needs.is_empty() {
        return Ok(());
    }
    if matches!(call.who, Identity::App(_)) {
        return Err(Reply::refuse(
            403,
            "You must authenticate with an installation access token in order to access this endpoint.",
        ));
    }
    let repository = if route.template.starts_with("/repos/{owner}/{repo}") {
        Some(call.repository()?)
    } else {
        None
    };
    if call.who == Identity::Anonymous && route.method != "GET" {
        return Err(Reply::refuse(401, "Requires authentication"));
    }
    let held = |need: &str| {
        let (name, level) = need.trim().split_once('=').unwrap_or((need, "read"));
        let level = match level {
            "admin" => Level::Admin,
            "write" => Level::Write,
            _ => Level::Read,
        };
        call.who.holds(call.world, repository, name, level)
    };
    if route.needs.split(';').any(|together| together.split(',').all(held)) {
        return Ok(());
    }
    match &call.who {
        Identity::User { permissions: None, .. } => Err(Reply::not_found()),
        Identity::User { .. } => {
            Err(Reply::refuse(403, "Resource not accessible by personal access token"))
        }
        _ => Err(Reply::forbidden()),
    }
}

/// Counts a request against the limits of whoever asks.
pub(super) fn take(
    world: &mut World,
    key: &str,
    resource: Resource,
    request: &Request,
    route: Option<&Route>,
) -> Result<(), Reply> {
    let now = world.now();
    if !world.limiter.take(key, resource, now) {
        return Err(Reply::refuse(403, &format!("API rate limit exceeded for {key}.")));
    }
    let points = if request.method == "GET" { 1 } else { 5 };
    if !world.limiter.take_points(key, points, now) {
        let mut refusal = Reply::refuse(
            403,
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        );
        refusal.headers.push(("retry-after", "60".to_owned()));
        return Err(refusal);
    }
    if route.is_some_and(|route| route.creates) && !world.limiter.take_content(key, now) {
        let message = "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later.";
        return Err(Reply::refuse(403, message));
    }
    Ok(())
}

/// Adds the headers that say how much of a limit is left.
pub(super) fn add_limit_headers(world: &World, reply: &mut Reply, key: &str, resource: Resource) {
    let Some(quota) = world.limiter.quota(key, resource, world.now()) else { return };
    reply.headers.extend([
        ("x-ratelimit-limit", quota.limit.to_string()),
        ("x-ratelimit-remaining", quota.remaining().to_string()),
        ("x-ratelimit-used", quota.used.to_string()),
        ("x-ratelimit-reset", quota.reset.as_second().to_string()),
        ("x-ratelimit-resource", resource.name().to_owned()),
    ]);
}

fn show_limits(call: &mut Call<'_>) -> Answer {
    let (key, now) = (call.who.limit_key(), call.world.now());
    let shape = |quota: Quota| json!({"limit": quota.limit, "used": quota.used, "remaining": quota.remaining(), "reset": quota.reset.as_second()});
    let quota = |resource| call.world.limiter.quota(&key, resource, now).map(shape);
    let Some(core) = quota(Resource::Core) else {
        return Err(Reply::refuse(404, "Rate limiting is not enabled."));
    };
    let mut resources = json!({"core": core});
    for resource in [Resource::Search, Resource::Graphql] {
        if let Some(quota) = quota(resource) {
            crate::json::add(&mut resources, resource.name(), quota);
        }
    }
    Reply::ok(json!({"resources": resources, "rate": core}))
}

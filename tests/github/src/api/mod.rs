//! The REST API: one request in, one answer out, with the world locked around it.
//!
//! Every route carries the path of GitHub's own description and the permission that GitHub names for it, in the form of
//! `x-accepted-github-permissions`. `handle` does what every request goes through: identity, limits, version, route,
//! permission, handler, conditional answer.
//!
//! Laid out: `message` (requests and answers) · `call` (what a handler gets) · `identity` · `gate` (permissions, versions,
//! limits) · then one file for each kind of thing.

mod app_hooks;
mod apps;
mod checks;
mod comments;
mod contents;
mod files;
pub(crate) mod gate;
pub(crate) mod identity;
mod issues;
mod manifest;
pub(crate) mod message;
mod pulls;
mod reactions;
mod repositories;
pub(crate) mod review_rules;
mod reviews;
mod search;

mod call;

use std::cmp::Reverse;

pub(crate) use call::Call;
use gate::Version;
use identity::Identity;
use message::{Answer, Payload, Reply, Request};

use crate::world::{World, digest, limits::Resource};

/// A handler of one route.
type Handler = fn(&mut Call<'_>) -> Answer;

/// One route.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// As in GitHub's description: `/repos/{owner}/{repo}`. A last `{path}` takes several segments.
    pub(crate) template: &'static str,
    /// Alternatives by `;`, what one needs together by `,`. Empty: anybody. `app`: an App by its JWT.
    pub(crate) needs: &'static str,
    /// Whether it counts against the limit of created content.
    pub(crate) creates: bool,
    handler: Handler,
}

impl Route {
    const fn new(
        method: &'static str,
        template: &'static str,
        needs: &'static str,
        handler: Handler,
    ) -> Self {
        Self { method, template, needs, creates: false, handler }
    }

    const fn creating(template: &'static str, needs: &'static str, handler: Handler) -> Self {
        Self { method: "POST", template, needs, creates: true, handler }
    }
}

/// Every route.
pub(crate) fn routes() -> impl Iterator<Item = &'static Route> {
    let lists: [&[Route]; 14] = [
        apps::ROUTES,
        app_hooks::ROUTES,
        manifest::ROUTES,
        repositories::ROUTES,
        contents::ROUTES,
        search::ROUTES,
        pulls::ROUTES,
        files::ROUTES,
        reviews::ROUTES,
        comments::ROUTES,
        issues::ROUTES,
        reactions::ROUTES,
        checks::ROUTES,
        gate::ROUTES,
    ];
    lists.into_iter().flatten()
}

/// What a request came to, for the log.
pub(crate) struct Handled {
    pub(crate) reply: Reply,
    pub(crate) route: Option<&'static str>,
}

/// Answers a request.
pub(crate) fn handle(world: &mut World, request: &Request) -> Handled {
    world.age_checks();
    let who = identity::identify(world, request);
    let found = find(request);
    let resource = match found.as_ref().map(|(route, _)| route.template) {
        Some(template) if template.starts_with("/search/") => Resource::Search,
        _ if request.path == "/graphql" => Resource::Graphql,
        _ => Resource::Core,
    };
    let key = who.as_ref().map_or("anonymous".to_owned(), Identity::limit_key);
    let route = found.as_ref().map(|(route, _)| *route);
    let free = matches!(who, Err(_) | Ok(Identity::App(_))) || request.path == "/rate_limit";
    let answer = if free { Ok(()) } else { gate::take(world, &key, resource, request, route) };
    let answer = answer.and_then(|()| answer_for(world, request, who, found));
    let mut reply = answer.unwrap_or_else(|refusal| refusal);
    if !free {
        conditional(world, request, &mut reply, &key, resource);
        gate::add_limit_headers(world, &mut reply, &key, resource);
    }
    if let Some(route) = route.filter(|route| !route.needs.is_empty() && route.needs != "app") {
        reply.headers.push(("x-accepted-github-permissions", route.needs.to_owned()));
    }
    reply.headers.push(("x-github-media-type", "github.v3; format=json".to_owned()));
    reply
        .headers
        .push(("x-github-request-id", digest(&world.id().to_string())[..16].to_uppercase()));
    Handled { reply, route: route.map(|route| route.template) }
}

fn answer_for(
    world: &mut World,
    request: &Request,
    who: Result<Identity, Reply>,
    found: Option<(&'static Route, Vec<(&'static str, String)>)>,
) -> Answer {
    let version = Version::asked(request)?;
    if request.path == "/graphql" && request.method == "POST" {
        return crate::graphql::answer(world, request, &who?);
    }
    let Some((route, params)) = found else { return Err(Reply::not_found()) };
    let mut call = Call { world, request, params, who: who? };
    gate::permit(&mut call, route)?;
    let mut reply = (route.handler)(&mut call)?;
    reply.headers.push(("x-github-api-version-selected", version.name().to_owned()));
    if let Payload::Json(body) = &mut reply.payload {
        version.adapt(route.template, body);
    }
    Ok(reply)
}

/// Takes the form of the manifest flow.
pub(crate) fn submit_manifest(world: &mut World, request: &Request) -> Answer {
    manifest::submit(world, &request.query_text, &request.body)
}

/// The route of a request with what its path names.
pub(crate) fn find(request: &Request) -> Option<(&'static Route, Vec<(&'static str, String)>)> {
    let on_path = |route: &'static Route| Some((route, parameters(route.template, &request.path)?));
    let mut found: Vec<_> =
        routes().filter(|route| route.method == request.method).filter_map(on_path).collect();
    // `/pulls/comments` is meant before `/pulls/{pull_number}`, and `/commits/{ref}/check-runs` before `/commits/{ref}`.
    found.sort_by_key(|(route, params)| (params.len(), Reverse(route.template.split('/').count())));
    found.into_iter().next()
}

fn parameters(template: &'static str, path: &str) -> Option<Vec<(&'static str, String)>> {
    let mut params = Vec::new();
    let (mut wanted, mut rest) = (template.split('/').skip(1).peekable(), path.strip_prefix('/')?);
    while let Some(segment) = wanted.next() {
        let several = wanted.peek().is_none()
            && (segment == "{path}" || segment == "{ref}" || segment == "{basehead}");
        let (here, after) = match rest.split_once('/') {
            Some((here, after)) if !several => (here, Some(after)),
            _ => (rest, None),
        };
        match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) if several || !here.is_empty() => params.push((name, message::decode(here))),
            None if segment == here => {}
            _ => return None,
        }
        match after {
            Some(after) => rest = after,
            None if wanted.peek() == Some(&"{path}") => rest = "",
            None if wanted.peek().is_some() => return None,
            None => rest = "",
        }
    }
    rest.is_empty().then_some(params)
}

/// Answers 304 where the client has this answer already. Such a request does not count.
fn conditional(
    world: &mut World,
    request: &Request,
    reply: &mut Reply,
    key: &str,
    resource: Resource,
) {
    let bytes = reply.bytes();
    if request.method != "GET" || reply.status != 200 {
        return;
    }
    let etag = format!("W/\"{}\"", digest(&String::from_utf8_lossy(&bytes)));
    let known = request.header("if-none-match");
    let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    if known.is_some_and(|known| known.split(',').any(|tag| strong(tag) == strong(&etag))) {
        world.limiter.give_back(key, resource);
        (reply.status, reply.payload) = (304, Payload::Empty);
    }
    reply.headers.push(("etag", etag));
    reply.headers.push(("cache-control", "private, max-age=60, s-maxage=60".to_owned()));
}

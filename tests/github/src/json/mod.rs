//! How things look in answers and webhooks: the shapes of GitHub's REST API.
//!
//! A test holds every answer against GitHub's OpenAPI description, and every webhook against GitHub's examples.
//!
//! Laid out: this file (users, Apps, repositories) · `pulls` · `reviews` · `commits` (commits, files, contents) · `checks`.

mod checks;
mod commits;
mod pulls;
mod reviews;

pub(crate) use checks::{check_run, check_suite, delivery};
pub(crate) use commits::{commit, file, push_commit, simple_commit};
pub(crate) use pulls::{issue, label, pull, pull_simple};
pub(crate) use reviews::{
    issue_comment, reaction, review, review_comment, review_comment_in_review, review_for_webhook,
};

use serde_json::{Value, json};

use crate::{
    clock::written,
    world::{
        World,
        actors::{App, Installation},
        node_id,
        repositories::Repository,
    },
};

/// Adds a key to an object.
pub(crate) fn add(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(key.to_owned(), value);
    }
}

/// A user, organisation or bot by login. One who is not known has no id.
pub(crate) fn user(world: &World, login: &str) -> Value {
    let known = world.users.get(&login.to_lowercase());
    let (id, kind) = known.map_or((0, "User"), |user| (user.id, user.kind));
    let login = known.map_or(login, |user| user.login.as_str());
    let url = format!("{}/users/{}", world.url, login.replace('[', "%5B").replace(']', "%5D"));
    json!({
        "login": login,
        "id": id,
        "node_id": node_id("U", id),
        "avatar_url": format!("{}/avatars/u/{id}?v=4", world.url),
        "gravatar_id": "",
        "url": url,
        "html_url": format!("{}/{login}", world.url),
        "followers_url": format!("{url}/followers"),
        "following_url": format!("{url}/following{{/other_user}}"),
        "gists_url": format!("{url}/gists{{/gist_id}}"),
        "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{url}/subscriptions"),
        "organizations_url": format!("{url}/orgs"),
        "repos_url": format!("{url}/repos"),
        "events_url": format!("{url}/events{{/privacy}}"),
        "received_events_url": format!("{url}/received_events"),
        "type": kind,
        "site_admin": false,
    })
}

/// An organisation as webhooks show it.
pub(crate) fn organization(world: &World, login: &str) -> Value {
    let id = world.users.get(&login.to_lowercase()).map_or(0, |user| user.id);
    let url = format!("{}/orgs/{login}", world.url);
    json!({
        "login": login,
        "id": id,
        "node_id": node_id("O", id),
        "url": url,
        "repos_url": format!("{url}/repos"),
        "events_url": format!("{url}/events"),
        "hooks_url": format!("{url}/hooks"),
        "issues_url": format!("{url}/issues"),
        "members_url": format!("{url}/members{{/member}}"),
        "public_members_url": format!("{url}/public_members{{/member}}"),
        "avatar_url": format!("{}/avatars/u/{id}?v=4", world.url),
        "description": null,
    })
}

/// Links of a repository: the key without `_url`, and what follows the repository's own URL.
const LINKS: [(&str, &str); 36] = [
    ("archive", "/{archive_format}{/ref}"),
    ("assignees", "/assignees{/user}"),
    ("blobs", "/git/blobs{/sha}"),
    ("branches", "/branches{/branch}"),
    ("collaborators", "/collaborators{/collaborator}"),
    ("comments", "/comments{/number}"),
    ("commits", "/commits{/sha}"),
    ("compare", "/compare/{base}...{head}"),
    ("contents", "/contents/{+path}"),
    ("contributors", "/contributors"),
    ("deployments", "/deployments"),
    ("downloads", "/downloads"),
    ("events", "/events"),
    ("forks", "/forks"),
    ("git_commits", "/git/commits{/sha}"),
    ("git_refs", "/git/refs{/sha}"),
    ("git_tags", "/git/tags{/sha}"),
    ("hooks", "/hooks"),
    ("issue_comment", "/issues/comments{/number}"),
    ("issue_events", "/issues/events{/number}"),
    ("issues", "/issues{/number}"),
    ("keys", "/keys{/key_id}"),
    ("labels", "/labels{/name}"),
    ("languages", "/languages"),
    ("merges", "/merges"),
    ("milestones", "/milestones{/number}"),
    ("notifications", "/notifications{?since,all,participating}"),
    ("pulls", "/pulls{/number}"),
    ("releases", "/releases{/id}"),
    ("stargazers", "/stargazers"),
    ("statuses", "/statuses/{sha}"),
    ("subscribers", "/subscribers"),
    ("subscription", "/subscription"),
    ("tags", "/tags"),
    ("teams", "/teams"),
    ("trees", "/git/trees{/sha}"),
];

/// A repository.
pub(crate) fn repository(world: &World, repository: &Repository) -> Value {
    let (id, full_name) = (repository.id, repository.full_name());
    let url = format!("{}/repos/{full_name}", world.url);
    let html = format!("{}/{full_name}", world.url);
    let about = &repository.about;
    let open = world.pulls.values().filter(|pull| pull.repository == id && pull.open).count();
    let mut shape = json!({
        "id": id,
        "node_id": node_id("R", id),
        "name": repository.name,
        "full_name": full_name,
        "private": repository.private,
        "owner": user(world, &repository.owner),
        "html_url": html,
        "description": about.description,
        "fork": repository.fork_of.is_some(),
        "url": url,
        "clone_url": format!("{html}.git"),
        "git_url": format!("git:{}.git", html.trim_start_matches("http:")),
        "ssh_url": format!("git@github.invalid:{full_name}.git"),
        "svn_url": html,
        "mirror_url": null,
        "homepage": null,
        "language": about.language,
        "license": null,
        "topics": about.topics,
        "visibility": if repository.private { "private" } else { "public" },
        "default_branch": repository.git.default_branch(),
        "size": 1,
        "forks": about.forks,
        "forks_count": about.forks,
        "stargazers_count": about.stars,
        "watchers": about.stars,
        "watchers_count": about.stars,
        "open_issues": open,
        "open_issues_count": open,
    });
    add_flags(&mut shape, repository);
    for (name, path) in LINKS {
        add(&mut shape, &format!("{name}_url"), json!(format!("{url}{path}")));
    }
    shape
}

fn add_flags(shape: &mut Value, repository: &Repository) {
    for flag in ["has_issues", "has_projects", "has_wiki", "has_downloads"] {
        add(shape, flag, json!(true));
    }
    for flag in
        ["has_pages", "has_discussions", "disabled", "is_template", "web_commit_signoff_required"]
    {
        add(shape, flag, json!(false));
    }
    add(shape, "allow_forking", json!(true));
    add(shape, "custom_properties", json!({}));
    add(shape, "archived", json!(repository.about.archived));
    add(shape, "created_at", json!(written(repository.created_at)));
    add(shape, "updated_at", json!(written(repository.pushed_at)));
    add(shape, "pushed_at", json!(written(repository.pushed_at)));
}

/// A repository as pushes show it: times in seconds, and a few keys that are found nowhere else.
pub(crate) fn repository_in_push(world: &World, found: &Repository) -> Value {
    let mut shape = repository(world, found);
    let mut owner = user(world, &found.owner);
    add(&mut owner, "name", json!(found.owner));
    add(&mut owner, "email", json!(null));
    add(&mut shape, "owner", owner);
    add(&mut shape, "created_at", json!(found.created_at.as_second()));
    add(&mut shape, "pushed_at", json!(found.pushed_at.as_second()));
    add(&mut shape, "master_branch", json!(found.git.default_branch()));
    add(&mut shape, "stargazers", json!(found.about.stars));
    shape
}

/// A repository by itself, with the few keys more that only this answer has.
pub(crate) fn full_repository(world: &World, found: &Repository) -> Value {
    let mut shape = repository(world, found);
    add(&mut shape, "network_count", json!(found.about.forks));
    add(&mut shape, "subscribers_count", json!(0));
    if let Some(parent) = found.fork_of.and_then(|id| world.repositories.get(&id)) {
        add(&mut shape, "parent", repository(world, parent));
        add(&mut shape, "source", repository(world, parent));
    }
    shape
}

/// An App.
pub(crate) fn app(world: &World, app: &App) -> Value {
    let html = format!("{}/apps/{}", world.url, app.slug);
    json!({
        "id": app.id,
        "slug": app.slug,
        "node_id": node_id("A", app.id),
        "client_id": format!("Iv23li{:014}", app.id),
        "owner": user(world, &app.owner),
        "name": app.name,
        "description": "",
        "external_url": html,
        "html_url": html,
        "created_at": written(app.created_at),
        "updated_at": written(app.created_at),
        "permissions": app.permissions,
        "events": app.events,
    })
}

/// An App on an account.
pub(crate) fn installation(world: &World, installation: &Installation) -> Value {
    let app = &world.apps[&installation.app];
    let url = format!("{}/app/installations/{}", world.url, installation.id);
    let target = world.users.get(&installation.account.to_lowercase());
    let suspended_at = installation.suspended.then(|| written(installation.created_at));
    json!({
        "id": installation.id,
        "client_id": format!("Iv23li{:014}", app.id),
        "account": user(world, &installation.account),
        "repository_selection": if installation.repositories.is_some() { "selected" } else { "all" },
        "access_tokens_url": format!("{url}/access_tokens"),
        "repositories_url": format!("{}/installation/repositories", world.url),
        "html_url": format!("{}/settings/installations/{}", world.url, installation.id),
        "app_id": app.id,
        "app_slug": app.slug,
        "target_id": target.map_or(0, |user| user.id),
        "target_type": target.map_or("Organization", |user| user.kind),
        "permissions": installation.permissions,
        "events": app.events,
        "created_at": written(installation.created_at),
        "updated_at": written(installation.created_at),
        "single_file_name": null,
        "has_multiple_single_files": false,
        "single_file_paths": [],
        "suspended_by": null,
        "suspended_at": suspended_at,
    })
}

/// How an author stands to a repository.
pub(crate) fn association(world: &World, repository: u64, login: &str) -> &'static str {
    let found = &world.repositories[&repository];
    if found.owner.eq_ignore_ascii_case(login) {
        "OWNER"
    } else if found.collaborators.contains_key(&login.to_lowercase()) {
        "COLLABORATOR"
    } else {
        "NONE"
    }
}

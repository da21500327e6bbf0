//! Apps, their installations, and the tokens of those.

use serde_json::{Value, json};

use super::{
    Answer, Call, Route,
    identity::Identity,
    message::{Reply, validation_failed},
};
use crate::{
    clock::written,
    json as shape,
    world::actors::{Installation, Level, Permissions},
};

pub(super) const ROUTES: &[Route] = &[
    Route::new("GET", "/app", "app", show),
    Route::new("GET", "/apps/{app_slug}", "", show_by_slug),
    Route::new("GET", "/app/installations", "app", list),
    Route::new("GET", "/app/installations/{installation_id}", "app", show_installation),
    Route::new("POST", "/app/installations/{installation_id}/access_tokens", "app", mint),
    Route::new("GET", "/repos/{owner}/{repo}/installation", "app", of_repository),
    Route::new("GET", "/orgs/{org}/installation", "app", of_account),
    Route::new("GET", "/users/{username}/installation", "app", of_account),
    Route::new("GET", "/installation/repositories", "metadata=read", repositories),
    Route::new("DELETE", "/installation/token", "", revoke),
    Route::new("GET", "/user", "", show_user),
];

fn app(call: &Call<'_>) -> Result<u64, Reply> {
    match call.who {
        Identity::App(id) => Ok(id),
        _ => Err(Reply::not_found()),
    }
}

fn show(call: &mut Call<'_>) -> Answer {
    let app = &call.world.apps[&app(call)?];
    let mut body = shape::app(call.world, app);
    let count =
        call.world.installations.values().filter(|installation| installation.app == app.id).count();
    shape::add(&mut body, "installations_count", json!(count));
    Reply::ok(body)
}

fn show_by_slug(call: &mut Call<'_>) -> Answer {
    let found = call.world.apps.values().find(|app| app.slug == call.param("app_slug"));
    Reply::ok(shape::app(call.world, found.ok_or_else(Reply::not_found)?))
}

fn list(call: &mut Call<'_>) -> Answer {
    let app = app(call)?;
    let of = call.world.installations.values().filter(|installation| installation.app == app);
    let rows = of.map(|installation| shape::installation(call.world, installation)).collect();
    call.page(rows)
}

/// The installation of the App that asks which fits.
fn find(call: &Call<'_>, fits: impl Fn(&Installation) -> bool) -> Result<Installation, Reply> {
    let app = app(call)?;
    let mut own = call.world.installations.values().filter(|installation| installation.app == app);
    own.find(|installation| fits(installation)).cloned().ok_or_else(Reply::not_found)
}

fn show_installation(call: &mut Call<'_>) -> Answer {
    let id = call.number("installation_id")?;
    let found = find(call, |installation| installation.id == id)?;
    Reply::ok(shape::installation(call.world, &found))
}

fn of_repository(call: &mut Call<'_>) -> Answer {
    let repository = call
        .world
        .find_repository(call.param("owner"), call.param("repo"))
        .ok_or_else(Reply::not_found)?;
    let found = find(call, |installation| call.world.covers(installation, repository))?;
    Reply::ok(shape::installation(call.world, &found))
}

fn of_account(call: &mut Call<'_>) -> Answer {
    let account = format!("{}{}", call.param("org"), call.param("username"));
    let found = find(call, |installation| installation.account.eq_ignore_ascii_case(&account))?;
    Reply::ok(shape::installation(call.world, &found))
}

fn mint(call: &mut Call<'_>) -> Answer {
    let id = call.number("installation_id")?;
    let installation = find(call, |installation| installation.id == id)?;
    if installation.suspended {
        return Err(Reply::refuse(403, "This installation has been suspended"));
    }
    let body = call.body()?;
    let repositories = chosen(call, &installation, &body)?;
    let permissions = granted(&installation, &body)?;
    let (token, expires_at) =
        call.world.installation_token(id, permissions.clone(), repositories.clone());
    let selection = if repositories.is_some() || installation.repositories.is_some() {
        "selected"
    } else {
        "all"
    };
    let mut answer = json!({
        "token": token, "expires_at": written(expires_at), "permissions": permissions, "repository_selection": selection,
    });
    if let Some(repositories) = repositories {
        let rows: Vec<_> = repositories
            .iter()
            .map(|id| shape::repository(call.world, &call.world.repositories[id]))
            .collect();
        shape::add(&mut answer, "repositories", json!(rows));
    }
    Reply::created(answer)
}

/// The repositories that a token is narrowed to.
fn chosen(
    call: &Call<'_>,
    installation: &Installation,
    body: &Value,
) -> Result<Option<Vec<u64>>, Reply> {
    let refused = || {
        let message = "There is at least one repository that does not exist or is not accessible to the parent installation.";
        Reply::refuse(422, message)
    };
    let covered = call.world.covered(installation);
    let mut chosen = Vec::new();
    for name in body["repositories"].as_array().into_iter().flatten() {
        let name = name.as_str().ok_or_else(refused)?;
        let same = |id: &&u64| call.world.repositories[id].name.eq_ignore_ascii_case(name);
        chosen.push(*covered.iter().find(same).ok_or_else(refused)?);
    }
    for id in body["repository_ids"].as_array().into_iter().flatten() {
        let id = id.as_u64().filter(|id| covered.contains(id)).ok_or_else(refused)?;
        chosen.push(id);
    }
    Ok((!chosen.is_empty()).then_some(chosen))
}

/// The permissions that a token is narrowed to. One that was not granted refuses all.
fn granted(installation: &Installation, body: &Value) -> Result<Permissions, Reply> {
    if body["permissions"].is_null() {
        return Ok(installation.permissions.clone());
    }
    let invalid = |_| validation_failed("Installation", "permissions", "invalid", "");
    let mut asked: Permissions =
        serde_json::from_value(body["permissions"].clone()).map_err(invalid)?;
    let too_much = |(name, level): (&String, &Level)| {
        installation.permissions.get(name).is_none_or(|held| held < level)
    };
    if asked.iter().any(too_much) {
        return Err(Reply::refuse(
            422,
            "The permissions requested are not granted to this installation.",
        ));
    }
    // Whoever has any permission may read metadata.
    asked.entry("metadata".to_owned()).or_insert(Level::Read);
    Ok(asked)
}

fn repositories(call: &mut Call<'_>) -> Answer {
    let Identity::Installation { id, .. } = &call.who else { return Err(Reply::forbidden()) };
    let installation = call.world.installations[id].clone();
    let covered =
        call.world.covered(&installation).into_iter().filter(|id| call.who.covers(call.world, *id));
    let rows =
        covered.map(|id| shape::repository(call.world, &call.world.repositories[&id])).collect();
    call.page_in("repositories", rows)
}

fn revoke(call: &mut Call<'_>) -> Answer {
    let token = call.request.header("authorization").and_then(|header| header.split_once(' '));
    let token = token.map(|(_, token)| token.trim().to_owned()).unwrap_or_default();
    if call.who.installation().is_none() {
        return Err(Reply::forbidden());
    }
    call.world.tokens.remove(&token);
    Reply::empty()
}

fn show_user(call: &mut Call<'_>) -> Answer {
    let Identity::User { login, .. } = &call.who else {
        let anonymous = call.who == Identity::Anonymous;
        return Err(if anonymous {
            Reply::refuse(401, "Requires authentication")
        } else {
            Reply::forbidden()
        });
    };
    let mut body = shape::user(call.world, login);
    for key in ["bio", "blog", "company", "email", "hireable", "location", "name"] {
        shape::add(&mut body, key, Value::Null);
    }
    for key in ["followers", "following", "public_gists", "public_repos"] {
        shape::add(&mut body, key, json!(0));
    }
    let now = written(call.world.now());
    shape::add(&mut body, "created_at", json!(now));
    shape::add(&mut body, "updated_at", json!(now));
    Reply::ok(body)
}

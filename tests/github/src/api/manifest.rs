//! The manifest flow: a form with an App's settings, a code, and the exchange of the code for the App and its key.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Answer, Call, Route,
    call::texts,
    message::{Payload, Reply, pairs},
};
use crate::{
    clock::after,
    json as shape,
    world::{
        World,
        actors::{HookTarget, NewApp},
        digest,
    },
};

const CODE_LIFETIME: Duration = Duration::from_hours(1);

pub(super) const ROUTES: &[Route] =
    &[Route::new("POST", "/app-manifests/{code}/conversions", "", convert)];

/// Takes the form that a browser posts to `/settings/apps/new`, and sends it back with a code.
pub(crate) fn submit(world: &mut World, query: &str, form: &[u8]) -> Answer {
    let form = pairs(&String::from_utf8_lossy(form));
    let refused = |message: &str| Reply::refuse(422, message);
    let manifest = form.get("manifest").ok_or_else(|| refused("The form has no manifest"))?;
    let manifest: Value =
        serde_json::from_str(manifest).map_err(|_| refused("The manifest is not JSON"))?;
    let redirect = manifest["redirect_url"]
        .as_str()
        .ok_or_else(|| refused("The manifest has no redirect_url"))?
        .to_owned();
    if manifest["url"].as_str().is_none() {
        return Err(refused("The manifest has no url"));
    }
    let code = digest(&format!("code {}", world.id()))[..40].to_owned();
    let expires = after(world.now(), CODE_LIFETIME);
    world.manifests.insert(code.clone(), (manifest, expires));
    let state = pairs(query).get("state").cloned().or_else(|| form.get("state").cloned());
    let state = state.map(|state| {
        format!(
            "&state={}",
            percent_encoding::utf8_percent_encode(&state, percent_encoding::NON_ALPHANUMERIC)
        )
    });
    let separator = if redirect.contains('?') { '&' } else { '?' };
    let to = format!("{redirect}{separator}code={code}{}", state.unwrap_or_default());
    Ok(Reply { status: 302, headers: vec![("location", to)], payload: Payload::Empty })
}

fn convert(call: &mut Call<'_>) -> Answer {
    let code = call.param("code").to_owned();
    let (manifest, expires) = call.world.manifests.remove(&code).ok_or_else(Reply::not_found)?;
    if expires <= call.world.now() {
        return Err(Reply::not_found());
    }
    let secret = digest(&format!("secret {code}"))[..40].to_owned();
    let invalid = |_| Reply::refuse(422, "The manifest's permissions are not valid");
    let permissions = match &manifest["default_permissions"] {
        Value::Null => Ok(Default::default()),
        permissions => serde_json::from_value(permissions.clone()).map_err(invalid),
    };
    let hook = manifest["hook_attributes"]["url"].as_str();
    let id = call.world.create_app(NewApp {
        name: manifest["name"].as_str().unwrap_or("app-from-manifest"),
        owner: "octo",
        permissions: permissions?,
        events: texts(&manifest, "default_events"),
        hook: HookTarget { url: hook.map(ToOwned::to_owned), secret: Some(secret.clone()) },
    });
    call.world.user("octo", "Organization");
    let app = &call.world.apps[&id];
    let mut body = shape::app(call.world, app);
    shape::add(&mut body, "client_secret", json!(digest(&format!("client {code}"))[..40]));
    shape::add(&mut body, "webhook_secret", json!(secret));
    shape::add(&mut body, "pem", json!(app.pem));
    Reply::created(body)
}

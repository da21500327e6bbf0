//! An App's webhook: where it goes, what was delivered, and delivering again.

use serde_json::{Value, json};

use super::{
    Answer, Call, Route,
    call::optional,
    identity::Identity,
    message::{Reply, validation_failed},
};
use crate::{
    json as shape,
    world::outbox::{Delivery, Receiver},
};

pub(super) const ROUTES: &[Route] = &[
    Route::new("GET", "/app/hook/config", "app", show_config),
    Route::new("PATCH", "/app/hook/config", "app", update_config),
    Route::new("GET", "/app/hook/deliveries", "app", list),
    Route::new("GET", "/app/hook/deliveries/{delivery_id}", "app", show),
    Route::new("POST", "/app/hook/deliveries/{delivery_id}/attempts", "app", redeliver),
];

fn app(call: &Call<'_>) -> Result<u64, Reply> {
    match call.who {
        Identity::App(id) => Ok(id),
        _ => Err(Reply::not_found()),
    }
}

fn config(call: &Call<'_>, app: u64) -> Value {
    let hook = &call.world.apps[&app].hook;
    let mut body = json!({"content_type": "json", "insecure_ssl": "0", "url": hook.url.clone().unwrap_or_default()});
    if hook.secret.is_some() {
        shape::add(&mut body, "secret", json!("********"));
    }
    body
}

fn show_config(call: &mut Call<'_>) -> Answer {
    let app = app(call)?;
    Reply::ok(config(call, app))
}

fn update_config(call: &mut Call<'_>) -> Answer {
    let (app, body) = (app(call)?, call.body()?);
    if let Some(found) = call.world.apps.get_mut(&app) {
        found.hook.url = optional(&body, "url").or(found.hook.url.take());
        found.hook.secret = optional(&body, "secret").or(found.hook.secret.take());
    }
    Reply::ok(config(call, app))
}

fn list(call: &mut Call<'_>) -> Answer {
    let app = app(call)?;
    let (_, per_page) = call.paging();
    let wanted = call.request.query("status");
    let fits = |delivery: &&Delivery| {
        let ok =
            delivery.outcome.as_ref().is_some_and(|outcome| (200..300).contains(&outcome.code));
        wanted.is_none_or(|status| (status == "success") == ok)
    };
    // Pages go by a cursor here: deliveries older than the one it names.
    let before: u64 = match call.request.query("cursor") {
        Some(cursor) => cursor.trim_start_matches("v1_").parse().map_err(|_| invalid_cursor())?,
        None => u64::MAX,
    };
    let all: Vec<_> = call
        .world
        .delivery_log(app)
        .into_iter()
        .filter(fits)
        .filter(|row| row.id < before)
        .collect();
    let rows: Vec<_> = all.iter().take(per_page).map(|row| shape::delivery(row, false)).collect();
    let next = (all.len() > per_page).then(|| all[per_page - 1].id);
    let mut reply = Reply::json(200, Value::Array(rows));
    if let Some(next) = next {
        let path = format!("{}/app/hook/deliveries", call.world.url);
        reply
            .headers
            .push(("link", format!("<{path}?per_page={per_page}&cursor=v1_{next}>; rel=\"next\"")));
    }
    Ok(reply)
}

fn invalid_cursor() -> Reply {
    validation_failed("HookDelivery", "cursor", "invalid", "")
}

/// The delivery that the path names, where it is the App's and still in the log.
fn find(call: &Call<'_>) -> Result<Delivery, Reply> {
    let (app, id) = (app(call)?, call.number("delivery_id")?);
    let found = call.world.delivery_log(app).into_iter().find(|delivery| delivery.id == id);
    found.cloned().ok_or_else(Reply::not_found)
}

fn show(call: &mut Call<'_>) -> Answer {
    Reply::ok(shape::delivery(&find(call)?, true))
}

fn redeliver(call: &mut Call<'_>) -> Answer {
    let found = find(call)?;
    debug_assert!(
        matches!(found.receiver, Receiver::App { .. }),
        "the log of an App has only its own"
    );
    call.world.redeliver(found.id);
    Ok(Reply::json(202, json!({})))
}

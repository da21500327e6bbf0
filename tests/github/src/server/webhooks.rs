//! Sends webhooks, signed, each on its own: in no order, and never twice.

use std::time::Duration;

use aws_lc_rs::hmac;
use tokio::{sync::mpsc, time::Instant};

use super::Shared;
use crate::world::outbox::{Delivery, Outcome, Receiver};

/// A receiver has to answer within this.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The headers of a delivery, without its signature.
pub(crate) fn headers(delivery: &Delivery) -> Vec<(&'static str, String)> {
    let (kind, target) = match delivery.receiver {
        Receiver::App { app, .. } => ("integration", app),
        Receiver::Repository(_) => ("repository", delivery.repository.unwrap_or_default()),
    };
    vec![
        ("accept", "*/*".to_owned()),
        ("content-type", "application/json".to_owned()),
        ("user-agent", "GitHub-Hookshot/fake".to_owned()),
        ("x-github-delivery", delivery.guid.clone()),
        ("x-github-event", delivery.event.to_owned()),
        ("x-github-hook-id", delivery.hook_id.to_string()),
        ("x-github-hook-installation-target-id", target.to_string()),
        ("x-github-hook-installation-target-type", kind.to_owned()),
    ]
}

/// `sha256=` and the HMAC of a body.
pub(crate) fn signature(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!("sha256={}", hex::encode(hmac::sign(&key, body)))
}

/// Sends what is put in line, until the other end is gone.
pub(super) async fn send_all(shared: Shared, mut deliveries: mpsc::UnboundedReceiver<u64>) {
    // A connection for each: a kept one may be closed by the receiver at the very moment it is used again.
    let builder = reqwest::Client::builder().pool_max_idle_per_host(0);
    let client = builder.timeout(ANSWER_WITHIN).no_proxy().build();
    let Ok(client) = client else { return };
    while let Some(id) = deliveries.recv().await {
        tokio::spawn(send(shared.clone(), client.clone(), id));
    }
}

async fn send(shared: Shared, client: reqwest::Client, id: u64) {
    let found = shared.world().deliveries.get(&id).cloned();
    let Some(delivery) = found else { return };
    let began = Instant::now();
    let (code, status, body) = post(&client, &delivery).await;
    let outcome = Outcome { code, status, seconds: began.elapsed().as_secs_f64(), body };
    if let Some(delivery) = shared.world().deliveries.get_mut(&id) {
        delivery.outcome = Some(outcome);
    }
    shared.changed.notify_waiters();
}

async fn post(client: &reqwest::Client, delivery: &Delivery) -> (u16, String, String) {
    let Some(url) = &delivery.target.url else { return (0, "no url".to_owned(), String::new()) };
    let body = delivery.payload.to_string();
    let mut request = client.post(url);
    for (name, value) in headers(delivery) {
        request = request.header(name, value);
    }
    if let Some(secret) = &delivery.target.secret {
        request = request.header("x-hub-signature-256", signature(secret, body.as_bytes()));
    }
    match request.body(body).send().await {
        Ok(response) => {
            let status = response.status();
            let text = response.text().await.unwrap_or_default();
            let name = if status.is_success() {
                "OK"
            } else {
                status.canonical_reason().unwrap_or("Error")
            };
            (status.as_u16(), name.to_owned(), text)
        }
        Err(error) if error.is_timeout() => (0, "timed out".to_owned(), String::new()),
        Err(_) => (0, "failed to connect to host".to_owned(), String::new()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn signs_as_githubs_documentation_shows() {
        let expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(super::signature("It's a Secret to Everybody", b"Hello, World!"), expected);
    }
}

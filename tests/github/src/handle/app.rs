//! A GitHub App, as its maker and the accounts it is on deal with it.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use crate::{
    Permissions, json as shape,
    server::Shared,
    world::{World, actors::HookTarget, outbox::Event},
};

/// A GitHub App.
#[derive(Clone)]
pub struct App {
    shared: Shared,
    id: u64,
}

/// A webhook sent to an App.
#[derive(Clone, Debug)]
pub struct WebhookDelivery {
    /// The id in the log.
    pub id: u64,
    /// The delivery id, which a redelivery has again.
    pub guid: String,
    /// The event.
    pub event: &'static str,
    /// Its action.
    pub action: Option<&'static str>,
    /// What was sent.
    pub payload: Value,
    /// The status answered; 0 for none.
    pub status: Option<u16>,
}

impl App {
    pub(super) fn new(shared: Shared, id: u64) -> Self {
        Self { shared, id }
    }

    /// The App's id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The login of what it writes: `name[bot]`.
    pub fn login(&self) -> String {
        self.shared.world().apps[&self.id].bot()
    }

    /// Its private key, PEM.
    pub fn private_key(&self) -> String {
        self.shared.world().apps[&self.id].pem.clone()
    }

    /// A JWT that it signs, good for nine minutes.
    pub fn jwt(&self) -> String {
        let now = self.shared.world().now().as_second();
        self.sign(&json!({"iat": now - 30, "exp": now + 540, "iss": self.id.to_string()}))
    }

    /// A JWT with claims of one's own.
    pub fn sign(&self, claims: &Value) -> String {
        let pem = self.private_key();
        let inner: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD.decode(inner).unwrap_or_else(|error| panic!("the App's key: {error}"));
        let key =
            RsaKeyPair::from_der(&der).unwrap_or_else(|error| panic!("the App's key: {error}"));
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": "RS256", "typ": "JWT"})), part(claims));
        let mut signature = vec![0; key.public_modulus_len()];
        let made =
            key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature);
        made.unwrap_or_else(|_| panic!("the App's key does not sign"));
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Sends its webhooks to a URL from now on.
    pub fn webhook(&self, url: &str, secret: &str) {
        let hook = HookTarget { url: Some(url.to_owned()), secret: Some(secret.to_owned()) };
        self.shared.world().apps.entry(self.id).and_modify(|app| app.hook = hook);
    }

    /// Puts it on all repositories of an account. The installation's id.
    pub fn install(&self, account: &str) -> u64 {
        let mut world = self.shared.world();
        let id = world.install(self.id, account, None);
        emit(&mut world, id, "created");
        id
    }

    /// Puts it on some repositories of an account. The installation's id.
    pub fn install_on(&self, account: &str, repositories: &[&super::Repository]) -> u64 {
        let chosen = repositories.iter().map(|repository| repository.id()).collect();
        let mut world = self.shared.world();
        let id = world.install(self.id, account, Some(chosen));
        emit(&mut world, id, "created");
        id
    }

    /// Changes what an installation is granted.
    pub fn grant(&self, installation: u64, permissions: Permissions) {
        self.shared
            .world()
            .installations
            .entry(installation)
            .and_modify(|found| found.permissions = permissions);
    }

    /// Suspends an installation, or lets it go on.
    pub fn suspend(&self, installation: u64, suspended: bool) {
        let mut world = self.shared.world();
        world.installations.entry(installation).and_modify(|found| found.suspended = false);
        emit(&mut world, installation, if suspended { "suspend" } else { "unsuspend" });
        world.installations.entry(installation).and_modify(|found| found.suspended = suspended);
    }

    /// Takes it off an account.
    pub fn uninstall(&self, installation: u64) {
        let mut world = self.shared.world();
        emit(&mut world, installation, "deleted");
        world.installations.remove(&installation);
    }

    /// A token of an installation with all it is granted.
    pub fn installation_token(&self, installation: u64) -> String {
        let mut world = self.shared.world();
        let permissions = world.installations[&installation].permissions.clone();
        world.installation_token(installation, permissions, None).0
    }

    /// The webhooks sent to it, oldest first.
    pub fn deliveries(&self) -> Vec<WebhookDelivery> {
        let world = self.shared.world();
        let seen = world.delivery_log(self.id).into_iter().rev().map(|delivery| WebhookDelivery {
            id: delivery.id,
            guid: delivery.guid.clone(),
            event: delivery.event,
            action: delivery.action,
            payload: delivery.payload.clone(),
            status: delivery.outcome.as_ref().map(|outcome| outcome.code),
        });
        seen.collect()
    }

    /// Sends a delivery again.
    pub fn redeliver(&self, delivery: u64) {
        self.shared.world().redeliver(delivery);
    }
}

fn emit(world: &mut World, installation: u64, action: &'static str) {
    let found = world.installations[&installation].clone();
    let row = |id: &u64| {
        let repository = &world.repositories[id];
        json!({"id": id, "node_id": crate::world::node_id("R", *id), "name": repository.name,
            "full_name": repository.full_name(), "private": repository.private})
    };
    let repositories: Vec<_> = world.covered(&found).iter().map(row).collect();
    let body = json!({"installation": shape::installation(world, &found), "repositories": repositories, "requester": null});
    world.emit(Event {
        name: "installation",
        action: Some(action),
        repository: None,
        sender: found.account,
        body,
        only_app: Some(found.app),
    });
}

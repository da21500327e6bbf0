//! Webhooks to be sent, and the log of what became of them.
//!
//! Every App whose installation covers the repository and which asked for the event gets a delivery of its own, with the
//! same delivery id; so does every hook of the repository. GitHub sends each once: a failed one stays failed until
//! somebody asks for it again.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{World, actors::HookTarget, digest};
use crate::{clock::after, json as shape};

/// How long the log keeps a delivery.
const KEPT: Duration = Duration::from_hours(3 * 24);

/// A webhook of a repository, without an App.
#[derive(Clone, Debug)]
pub(crate) struct RepositoryHook {
    pub(crate) id: u64,
    pub(crate) repository: u64,
    pub(crate) events: Vec<String>,
    pub(crate) target: HookTarget,
}

/// Something that webhooks are sent about.
pub(crate) struct Event {
    pub(crate) name: &'static str,
    pub(crate) action: Option<&'static str>,
    pub(crate) repository: Option<u64>,
    /// The login of whoever caused it.
    pub(crate) sender: String,
    /// The keys of this event; those that all have are added.
    pub(crate) body: Value,
    /// For this App alone, whatever it asked for.
    pub(crate) only_app: Option<u64>,
}

/// Where a delivery goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiver {
    App { app: u64, installation: u64 },
    Repository(u64),
}

/// One attempt to deliver one event to one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) id: u64,
    pub(crate) guid: String,
    pub(crate) receiver: Receiver,
    pub(crate) hook_id: u64,
    pub(crate) event: &'static str,
    pub(crate) action: Option<&'static str>,
    pub(crate) repository: Option<u64>,
    pub(crate) payload: Value,
    pub(crate) target: HookTarget,
    pub(crate) redelivery: bool,
    pub(crate) at: Timestamp,
    pub(crate) outcome: Option<Outcome>,
}

/// What a receiver answered.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// 0: no answer at all.
    pub(crate) code: u16,
    pub(crate) status: String,
    pub(crate) seconds: f64,
    pub(crate) body: String,
}

impl World {
    /// Writes deliveries of an event and puts them in line.
    pub(crate) fn emit(&mut self, event: Event) {
        let guid = self.guid();
        let installations: Vec<_> = self.installations.values().cloned().collect();
        for installation in installations {
            let app = self.apps[&installation.app].clone();
            let asked = match event.only_app {
                Some(only) => only == app.id,
                None => app.events.iter().any(|name| name == event.name),
            };
            let covered = event.repository.is_none_or(|id| self.covers(&installation, id));
            if !asked || !covered || installation.suspended {
                continue;
            }
            let receiver = Receiver::App { app: app.id, installation: installation.id };
            let mut payload = self.payload(&event);
            if event.name != "installation" {
                let node = super::node_id("INST", installation.id);
                shape::add(
                    &mut payload,
                    "installation",
                    json!({"id": installation.id, "node_id": node}),
                );
            }
            self.enqueue(&event, &guid, receiver, app.hook_id, app.hook, payload);
        }
        let hooks: Vec<_> = self.hooks.values().cloned().collect();
        for hook in hooks {
            let asked = hook.events.iter().any(|name| name == event.name || name == "*");
            if event.only_app.is_none() && asked && event.repository == Some(hook.repository) {
                let payload = self.payload(&event);
                self.enqueue(
                    &event,
                    &guid,
                    Receiver::Repository(hook.id),
                    hook.id,
                    hook.target,
                    payload,
                );
            }
        }
    }

    fn guid(&mut self) -> String {
        let hex = digest(&format!("delivery {}", self.id()));
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32])
    }

    fn payload(&self, event: &Event) -> Value {
        let mut payload = json!({});
        if let Some(action) = event.action {
            shape::add(&mut payload, "action", json!(action));
        }
        if let Value::Object(own) = &event.body {
            for (key, value) in own {
                shape::add(&mut payload, key, value.clone());
            }
        }
        if let Some(repository) = event.repository {
            let repository = &self.repositories[&repository];
            let push = event.name == "push";
            let shape_of = if push { shape::repository_in_push } else { shape::repository };
            shape::add(&mut payload, "repository", shape_of(self, repository));
            if self
                .users
                .get(&repository.owner.to_lowercase())
                .is_some_and(|user| user.kind == "Organization")
            {
                shape::add(
                    &mut payload,
                    "organization",
                    shape::organization(self, &repository.owner),
                );
            }
        }
        shape::add(&mut payload, "sender", shape::user(self, &event.sender));
        payload
    }

    fn enqueue(
        &mut self,
        event: &Event,
        guid: &str,
        receiver: Receiver,
        hook_id: u64,
        target: HookTarget,
        payload: Value,
    ) {
        if target.url.is_none() {
            return;
        }
        let (id, at) = (self.id(), self.now());
        let delivery = Delivery {
            id,
            guid: guid.to_owned(),
            receiver,
            hook_id,
            event: event.name,
            action: event.action,
            repository: event.repository,
            payload,
            target,
            redelivery: false,
            at,
            outcome: None,
        };
        self.deliveries.insert(id, delivery);
        self.send(id);
    }

    /// Sends a delivery again, with its id and its original payload, to where its receiver is now.
    pub(crate) fn redeliver(&mut self, id: u64) -> Option<u64> {
        let mut again = self.deliveries.get(&id)?.clone();
        if let Receiver::App { app, .. } = again.receiver {
            again.target = self.apps.get(&app)?.hook.clone();
        }
        (again.id, again.at, again.redelivery, again.outcome) = (self.id(), self.now(), true, None);
        let id = again.id;
        self.deliveries.insert(id, again);
        self.send(id);
        Some(id)
    }

    /// The deliveries of an App that the log still has, newest first.
    pub(crate) fn delivery_log(&self, app: u64) -> Vec<&Delivery> {
        let now = self.now();
        let of = |delivery: &&Delivery| matches!(delivery.receiver, Receiver::App { app: to, .. } if to == app);
        let kept = |delivery: &&Delivery| after(delivery.at, KEPT) > now;
        self.deliveries.values().rev().filter(of).filter(kept).collect()
    }

    /// How many deliveries have no outcome yet.
    pub(crate) fn deliveries_open(&self) -> usize {
        self.deliveries.values().filter(|delivery| delivery.outcome.is_none()).count()
    }
}

//! Checks everything the queue needs, one thing after the other.

use super::{
    Diagnosis, QueueError,
    clients::Clients,
    error::{bounded, classify},
    link::Link,
    topology::{dead_command, main_command, topic_command},
    verify::verify,
};

/// What Pub/Sub itself must be allowed to do, which cannot be asked from outside.
const AGENT: &str = "Pub/Sub's own service agent \
    (service-PROJECT_NUMBER@gcp-sa-pubsub.iam.gserviceaccount.com) also needs \
    roles/pubsub.publisher on the dead letters' topic and roles/pubsub.subscriber on the \
    subscription: see the subscription's page in the Cloud console";

impl Link {
    pub(super) async fn diagnose(&self) -> Vec<Diagnosis> {
        let clients = match self.clients().await {
            Ok(clients) => clients,
            Err(error) => return vec![row("credentials", Err(error.to_string()))],
        };
        let found = clients.subscription(&self.names.main()).await;
        let mut rows = vec![reach(&found, self.options.emulator.as_deref())];
        if rows[0].found.is_err() {
            return rows;
        }
        let signed = !matches!(&found, Err(error) if error.to_string().contains("not signed in"));
        let credentials = match (&self.options.emulator, &found) {
            (Some(_), _) => Ok("none needed: an emulator".to_owned()),
            (None, Err(error)) if !signed => Err(error.to_string()),
            (None, _) => Ok("accepted".to_owned()),
        };
        rows.push(row("credentials", credentials));
        let topic = match (&self.names.topic, &found) {
            (None, Ok(Some(found))) => found.topic.clone(),
            (topic, _) => self.names.topic_path(topic.as_ref().unwrap_or(&self.names.subscription)),
        };
        rows.push(row("topic", self.topic(&clients, &topic).await));
        rows.push(row("subscription", self.subscription(found, &topic)));
        rows.push(row("dead letters", self.dead_letters(&clients).await));
        rows.push(row("permissions", self.permissions(&clients, &topic).await));
        rows
    }

    async fn topic(&self, clients: &Clients, path: &str) -> Result<String, String> {
        match clients.has_topic(path).await {
            Ok(true) => Ok(path.to_owned()),
            Ok(false) => Err(missing(path, &topic_command(&self.names, path))),
            Err(error) => Err(error.to_string()),
        }
    }

    fn subscription(
        &self,
        found: Result<Option<google_cloud_pubsub::model::Subscription>, QueueError>,
        topic: &str,
    ) -> Result<String, String> {
        let path = self.names.main();
        match found.map_err(|error| error.to_string())? {
            None => Err(missing(&path, &main_command(&self.names, &self.options, topic))),
            Some(found) => match verify(&found, &self.names, &self.options) {
                Ok(accepted) if accepted.is_empty() => Ok(path),
                Ok(accepted) => Ok(format!("{path}; {}", accepted.join("; "))),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    async fn dead_letters(&self, clients: &Clients) -> Result<String, String> {
        self.topic(clients, &self.names.dead_topic()).await?;
        let path = self.names.dead();
        let found = clients.subscription(&path).await.map_err(|error| error.to_string())?;
        match found {
            None => Err(missing(&path, &dead_command(&self.names))),
            Some(found) if found.topic != self.names.dead_topic() => {
                let expected = self.names.dead_topic();
                Err(format!("{path} is on {}, expected {expected}", found.topic))
            }
            Some(_) => Ok(path),
        }
    }

    async fn permissions(&self, clients: &Clients, topic: &str) -> Result<String, String> {
        if self.options.emulator.is_some() {
            return Ok("not asked: an emulator allows everything".to_owned());
        }
        let publish = ["pubsub.topics.publish", "pubsub.topics.get"];
        let consume = ["pubsub.subscriptions.consume", "pubsub.subscriptions.get"];
        let (main, dead) = (self.names.main(), self.names.dead());
        let dead_topic = self.names.dead_topic();
        let mut lacking = Vec::new();
        for (resource, wanted) in
            [(topic, publish), (&dead_topic, publish), (&main, consume), (&dead, consume)]
        {
            let held = held(clients, resource, wanted).await.map_err(|error| error.to_string())?;
            let lacks = wanted.iter().filter(|wanted| !held.iter().any(|held| held == *wanted));
            lacking.extend(lacks.map(|permission| format!("{permission} on {resource}")));
        }
        match lacking.is_empty() {
            true => Ok(format!("all held; {AGENT}")),
            false => Err(format!("lacking: {}; {AGENT}", lacking.join(", "))),
        }
    }
}

/// Those of the permissions wanted that are held.
async fn held(
    clients: &Clients,
    resource: &str,
    wanted: [&str; 2],
) -> Result<Vec<String>, QueueError> {
    let call = clients.permissions.test_iam_permissions().set_resource(resource);
    let call = call.set_permissions(wanted).send();
    let doing = format!("asking for permissions on {resource}");
    bounded(clients.timeout, &doing, async {
        call.await.map(|held| held.permissions).map_err(|error| classify(&doing, &error))
    })
    .await
}

/// Any answer, a refusal too, shows that the service is there.
fn reach<T>(found: &Result<T, QueueError>, emulator: Option<&str>) -> Diagnosis {
    let place = emulator.unwrap_or("pubsub.googleapis.com");
    let found = match found {
        Err(error) if error.is_transient() => Err(error.to_string()),
        _ => Ok(format!("{place} answers")),
    };
    row("reach", found)
}

fn row(what: &'static str, found: Result<String, String>) -> Diagnosis {
    Diagnosis { what, found }
}

fn missing(path: &str, command: &str) -> String {
    format!("{path} is missing: start a worker with `queue.pubsub.create`, or run `{command}`")
}

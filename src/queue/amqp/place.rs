//! Where the broker is, and how one logs in there: read once, when the queue is opened.

use std::{path::Path, sync::Arc};

use lapin::{
    Connection, ConnectionProperties,
    tcp::{OwnedIdentity, OwnedTLSConfig},
    uri::{AMQPScheme, AMQPUri},
};
use url::Url;

use super::{Options, fault::fault};
use crate::base::{ExposeSecret, Fault};

/// The queue's name unless the URL has one.
const DEFAULT_QUEUE: &str = "verdict";
/// What the client reads from the URL; it ignores everything else silently.
const KNOWN_URL_PARAMETERS: [&str; 5] =
    ["frame_max", "channel_max", "heartbeat", "connection_timeout", "auth_mechanism"];
/// The longest name: the broker takes 255 bytes, and some of ours have a suffix.
const MAX_QUEUE_NAME_BYTES: usize = 200;

/// A broker, a virtual host, a user and a queue.
pub(super) struct Place {
    uri: AMQPUri,
    tls: OwnedTLSConfig,
    /// The queue's name.
    pub queue: String,
}

impl Place {
    pub(super) fn new(url: &str, options: &Options) -> Result<Arc<Self>, Fault> {
        let bad = |why: &str| Fault::permanent(format!("queue.url: {why}"));
        let parsed = Url::parse(url).map_err(|_| bad("expected amqp://HOST/VHOST?queue=NAME"))?;
        let mut queue = DEFAULT_QUEUE.to_owned();
        for (name, value) in parsed.query_pairs() {
            match &*name {
                "queue" => queue = value.into_owned(),
                name if KNOWN_URL_PARAMETERS.contains(&name) => {}
                name => {
                    let known = KNOWN_URL_PARAMETERS.join(", ");
                    return Err(bad(&format!(
                        "unknown parameter `{name}` (known: queue, {known})"
                    )));
                }
            }
        }
        if queue.is_empty() || queue.len() > MAX_QUEUE_NAME_BYTES || queue.starts_with("amq.") {
            return Err(bad("the queue's name must have 1 to 200 bytes and not begin with `amq.`"));
        }
        // The client's own message may repeat the URL, and with it the password.
        let mut uri: AMQPUri = url.parse().map_err(|_| {
            bad("expected amqp://USER:PASSWORD@HOST:PORT/VHOST with numbers in its parameters")
        })?;
        if let Some(url::Host::Ipv6(address)) = parsed.host() {
            uri.authority.host = address.to_string();
        }
        let heartbeat = u16::try_from(options.heartbeat.as_secs()).unwrap_or(u16::MAX);
        uri.query.heartbeat.get_or_insert(heartbeat.max(1));
        if let Some(user) = &options.user {
            uri.authority.userinfo.username.clone_from(user);
        }
        if let Some(password) = &options.password {
            password.expose_secret().clone_into(&mut uri.authority.userinfo.password);
        }
        let tls = tls(options)?;
        if uri.scheme == AMQPScheme::AMQP && (tls.cert_chain.is_some() || tls.identity.is_some()) {
            return Err(bad(
                "certificates are configured, and amqp: does not use them; write amqps:",
            ));
        }
        Ok(Arc::new(Self { uri, tls, queue }))
    }

    /// `HOST:PORT, virtual host V`: without user and password.
    pub(super) fn shown(&self) -> String {
        let authority = &self.uri.authority;
        format!("{}:{}, virtual host {}", authority.host, authority.port, self.uri.vhost)
    }

    /// One more connection. `name` is what the broker's own pages call it.
    pub(super) async fn connect(&self, name: &str) -> Result<Connection, Fault> {
        let failed = |error| fault(format_args!("connecting to {}", self.shown()), &error);
        let runtime = lapin::runtime::default_runtime().map_err(failed)?;
        let properties =
            ConnectionProperties::default().with_connection_name(format!("verdict {name}").into());
        let (uri, tls) = (self.uri.clone(), self.tls.clone());
        Connection::connect_uri_with_config(uri, properties, tls, runtime).await.map_err(failed)
    }
}

fn tls(options: &Options) -> Result<OwnedTLSConfig, Fault> {
    let read = |setting, path: &Option<_>, label| {
        path.as_deref().map(|path| pem(setting, path, label)).transpose()
    };
    let authorities = read("ca_path", &options.ca_path, "CERTIFICATE")?;
    let cert = read("client_cert_path", &options.client_cert_path, "CERTIFICATE")?;
    let key = read("client_key_path", &options.client_key_path, "PRIVATE KEY")?;
    let identity = match (cert, key) {
        (None, None) => None,
        (Some(pem), Some(key)) => {
            Some(OwnedIdentity::PKCS8 { pem: pem.into_bytes(), key: key.into_bytes() })
        }
        (None, Some(_)) => return Err(lacking("client_cert_path", "client_key_path")),
        (Some(_), None) => return Err(lacking("client_key_path", "client_cert_path")),
    };
    Ok(OwnedTLSConfig { identity, cert_chain: authorities })
}

fn lacking(one: &str, other: &str) -> Fault {
    Fault::permanent(format!("queue.amqp.{one}: it is needed when queue.amqp.{other} is set"))
}

/// A PEM file with at least one section of that kind.
fn pem(setting: &str, path: &Path, label: &str) -> Result<String, Fault> {
    let bad =
        |why: String| Fault::permanent(format!("queue.amqp.{setting}: {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let begins =
        |line: &str| line.starts_with("-----BEGIN ") && line.ends_with(&format!("{label}-----"));
    if text.lines().any(|line| begins(line.trim_end())) {
        return Ok(text);
    }
    Err(bad(format!("expected a PEM file with a section `{label}`")))
}

//! Places written as URLs, parsed once into what an adapter needs.
//!
//! Parsing knows every scheme; whether this binary was built with the adapter is asked apart, by
//! [`QueueUrl::feature`] and [`StoreUrl::feature`]. Shown or serialised, a place never has its
//! password.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::base::mask_urls;

/// A server's URL. [`fmt::Display`], [`fmt::Debug`] and serialising leave the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(Url);

impl ServerUrl {
    /// The URL whole, password included: for the client that connects, never for a log.
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask_urls(self.0.as_str()))
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({self})")
    }
}

/// Where messages wait: `queue.url`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum QueueUrl {
    /// `embedded:` or `embedded:PATH`: a SQLite file on this machine. Loaded settings always name
    /// the file.
    Embedded(Option<PathBuf>),
    /// `amqp://HOST/VHOST?queue=NAME`, or `amqps:`.
    Amqp(ServerUrl),
    /// `pubsub://PROJECT/SUBSCRIPTION?topic=TOPIC`.
    PubSub {
        /// The Google Cloud project.
        project: String,
        /// The subscription messages are pulled from.
        subscription: String,
        /// The topic `enqueue` publishes to.
        topic: Option<String>,
    },
}

/// Where runs are kept: `store.url`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum StoreUrl {
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `memory:`, gone with the process.
    Memory,
    /// `postgres://HOST/DATABASE`.
    Postgres(ServerUrl),
    /// `firestore://PROJECT/DATABASE`.
    Firestore {
        /// The Google Cloud project.
        project: String,
        /// The database, usually `(default)`.
        database: String,
    },
}

impl Default for QueueUrl {
    fn default() -> Self {
        Self::Embedded(None)
    }
}

impl Default for StoreUrl {
    fn default() -> Self {
        Self::Sqlite(PathBuf::from("verdict.db"))
    }
}

/// The Cargo features with adapters that this binary was built with.
pub(super) const BUILT: &[&str] = &[
    #[cfg(feature = "amqp")]
    "amqp",
    #[cfg(feature = "firestore")]
    "firestore",
    #[cfg(feature = "postgres")]
    "postgres",
    #[cfg(feature = "pubsub")]
    "pubsub",
];

/// What this binary was built with: the Cargo features with adapters, separated by commas.
pub fn built_with() -> String {
    BUILT.join(",")
}

impl QueueUrl {
    /// The Cargo feature that has the adapter for this place, if it needs one.
    pub fn feature(&self) -> Option<&'static str> {
        match self {
            Self::Embedded(_) => None,
            Self::Amqp(_) => Some("amqp"),
            Self::PubSub { .. } => Some("pubsub"),
        }
    }

    /// That feature, when this binary was built without it.
    pub fn missing(&self) -> Option<&'static str> {
        self.feature().filter(|feature| !BUILT.contains(feature))
    }
}

impl StoreUrl {
    /// The Cargo feature that has the adapter for this place, if it needs one.
    pub fn feature(&self) -> Option<&'static str> {
        match self {
            Self::Sqlite(_) | Self::Memory => None,
            Self::Postgres(_) => Some("postgres"),
            Self::Firestore { .. } => Some("firestore"),
        }
    }

    /// That feature, when this binary was built without it.
    pub fn missing(&self) -> Option<&'static str> {
        self.feature().filter(|feature| !BUILT.contains(feature))
    }
}

/// The text is no place. Says what was expected and repeats nothing of the text, which may hold
/// a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct InvalidPlace(&'static str);

const QUEUE: InvalidPlace = InvalidPlace(
    "`embedded:`, `embedded:PATH`, `amqp://HOST/VHOST?queue=NAME` or `pubsub://PROJECT/SUBSCRIPTION?topic=TOPIC`",
);
const STORE: InvalidPlace = InvalidPlace(
    "`sqlite:PATH`, `memory:`, `postgres://HOST/DATABASE` or `firestore://PROJECT/DATABASE`",
);

impl FromStr for QueueUrl {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let (scheme, rest) = text.split_once(':').ok_or(QUEUE)?;
        match scheme {
            "embedded" if rest.is_empty() => Ok(Self::Embedded(None)),
            "embedded" => file(rest).map(|path| Self::Embedded(Some(path))).ok_or(QUEUE),
            "amqp" | "amqps" => server(text).map(Self::Amqp).ok_or(QUEUE),
            "pubsub" => {
                let (url, project, subscription) = project(text).ok_or(QUEUE)?;
                let topic = url.query_pairs().find(|(name, _)| name == "topic");
                let topic = topic.map(|(_, topic)| topic.into_owned());
                Ok(Self::PubSub { project, subscription, topic })
            }
            _ => Err(QUEUE),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let (scheme, rest) = text.split_once(':').ok_or(STORE)?;
        match scheme {
            "sqlite" => file(rest).map(Self::Sqlite).ok_or(STORE),
            "memory" if rest.is_empty() => Ok(Self::Memory),
            "postgres" | "postgresql" => server(text).map(Self::Postgres).ok_or(STORE),
            "firestore" => {
                let (_, project, database) = project(text).ok_or(STORE)?;
                Ok(Self::Firestore { project, database })
            }
            _ => Err(STORE),
        }
    }
}

/// `PATH` or `//PATH`. `:memory:` is refused: it would look durable and be nothing of the kind.
fn file(rest: &str) -> Option<PathBuf> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    (!path.is_empty() && path != ":memory:" && !path.contains('\0')).then(|| PathBuf::from(path))
}

fn server(text: &str) -> Option<ServerUrl> {
    let url = Url::parse(text).ok()?;
    url.host_str().is_some_and(|host| !host.is_empty()).then_some(ServerUrl(url))
}

/// `SCHEME://PROJECT/NAME`: the URL, the project and the name.
fn project(text: &str) -> Option<(Url, String, String)> {
    let url = Url::parse(text).ok()?;
    let project = url.host_str().filter(|host| !host.is_empty())?.to_owned();
    let name = url.path().strip_prefix('/')?.to_owned();
    (!name.is_empty() && !name.contains('/')).then_some((url, project, name))
}

impl fmt::Display for QueueUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(None) => f.write_str("embedded:"),
            Self::Embedded(Some(path)) => write!(f, "embedded:{}", path.display()),
            Self::Amqp(url) => url.fmt(f),
            Self::PubSub { project, subscription, topic } => {
                write!(f, "pubsub://{project}/{subscription}")?;
                topic.iter().try_for_each(|topic| write!(f, "?topic={topic}"))
            }
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Memory => f.write_str("memory:"),
            Self::Postgres(url) => url.fmt(f),
            Self::Firestore { project, database } => write!(f, "firestore://{project}/{database}"),
        }
    }
}

impl TryFrom<String> for QueueUrl {
    type Error = InvalidPlace;

    fn try_from(text: String) -> Result<Self, InvalidPlace> {
        text.parse()
    }
}

impl TryFrom<String> for StoreUrl {
    type Error = InvalidPlace;

    fn try_from(text: String) -> Result<Self, InvalidPlace> {
        text.parse()
    }
}

impl From<QueueUrl> for String {
    fn from(place: QueueUrl) -> Self {
        place.to_string()
    }
}

impl From<StoreUrl> for String {
    fn from(place: StoreUrl) -> Self {
        place.to_string()
    }
}

//! Settings: read once, checked whole, handed to the parts that own them.
//!
//! What it promises: a later source beats an earlier one (default, settings file, environment); a
//! key nobody knows and a value that does not fit are errors that name the key and where it was
//! set; a secret's value is never shown, not even in an error. What it never does: read the
//! process's environment or keep anything global; the caller hands both in.
//!
//! Layout: one small file per section's options, `place` for URLs, `layer` for one source,
//! `source` for files and variables, `keys` for the names, `describe` for `config show`.

mod describe;
mod error;
mod error_map;
mod forge;
mod keys;
mod layer;
mod place;
mod queue;
mod source;
mod store;
mod workflows;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use figment::Figment;
use serde::{Deserialize, Serialize};

use crate::{
    server::{ServerError, ServerOptions},
    telemetry::LogOptions,
};

pub use crate::forge::github::GithubOptions;
pub use crate::model::ModelOptions;
pub use crate::worker::Options as WorkerOptions;
pub use describe::Described;
pub use error::ConfigError;
pub use forge::{ForgeOptions, LocalOptions};
pub use keys::{known_keys, variable_of};
pub use place::{InvalidPlace, QueueUrl, ServerUrl, StoreUrl, built_with};
pub use queue::QueueOptions;
pub use store::{EncryptionOptions, StoreOptions};
pub use workflows::WorkflowsOptions;

use layer::Layer;

/// Everything that can be set. Paths in loaded settings are absolute.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Where repositories come from.
    pub forge: ForgeOptions,
    /// GitHub.
    pub github: GithubOptions,
    /// Logs.
    pub log: LogOptions,
    /// Language models.
    pub model: ModelOptions,
    /// Where messages wait.
    pub queue: QueueOptions,
    /// The HTTP side.
    pub server: ServerOptions,
    /// Where runs are kept.
    pub store: StoreOptions,
    /// How work is taken.
    pub worker: WorkerOptions,
    /// The workflows beside the review.
    pub workflows: WorkflowsOptions,
    /// Which source each setting came from, where it was not the default.
    #[serde(skip)]
    origins: BTreeMap<String, String>,
}

/// What relative and unset places are taken from.
struct Surroundings {
    cwd: PathBuf,
    /// The file in the user's state folder; `None` without a home.
    state_file: Option<PathBuf>,
}

impl Settings {
    /// Loads the settings: `explicit`, else `verdict.toml` in `cwd` if there is one, then the
    /// environment over it. Reads no file but these and those named by `*_FILE` variables.
    ///
    /// # Errors
    /// A file that cannot be read, an unknown key, a value that does not fit, or a place this
    /// binary has no adapter for; of everything that is wrong, all.
    pub fn load(
        explicit: Option<&Path>,
        env: impl IntoIterator<Item = (String, String)>,
        cwd: &Path,
    ) -> Result<Self, ConfigError> {
        let env: BTreeMap<String, String> = env.into_iter().collect();
        let mut wrong = Vec::new();
        let mut layers = Vec::from_iter(source::file(explicit, cwd, &mut wrong));
        layers.extend(source::variables(&env, &mut wrong));
        let state_file = source::state_file(&env);
        Self::assemble(layers, wrong, &Surroundings { cwd: cwd.to_owned(), state_file })
    }

    /// Settings from the text of a settings file alone. Touches no file; relative paths stay
    /// relative and the unset store is `verdict.db`.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let surroundings =
            Surroundings { cwd: PathBuf::new(), state_file: Some("verdict.db".into()) };
        let mut wrong = Vec::new();
        let layer = Layer::toml("verdict.toml", text, &mut wrong);
        Self::assemble(vec![layer], wrong, &surroundings)
    }

    /// The settings of all layers, the last one counting most, unless something is `wrong` already
    /// or turns out to be: a value that is gets taken out, and the others are tried again.
    fn assemble(
        mut layers: Vec<Layer>,
        mut wrong: Vec<ConfigError>,
        around: &Surroundings,
    ) -> Result<Self, ConfigError> {
        loop {
            let error = match (Self::merged(&layers, around), wrong.pop()) {
                (Ok(settings), None) => return Ok(settings),
                (Ok(_), Some(last)) => return Err(last.after(wrong)),
                (Err(error), last) => {
                    wrong.extend(last);
                    error
                }
            };
            let take_out = |key| layers.iter_mut().rev().any(|layer| layer.remove(key));
            if !error.value_of().is_some_and(take_out) {
                return Err(error.after(wrong));
            }
            wrong.push(error);
        }
    }

    fn merged(layers: &[Layer], around: &Surroundings) -> Result<Self, ConfigError> {
        let figment = layers.iter().fold(Figment::from(Layer::defaults()), Figment::merge);
        let mut settings: Self = figment.extract().map_err(error_map::bad_value)?;
        for key in known_keys() {
            if let Some(layer) = layers.iter().rev().find(|layer| layer.holds(key)) {
                settings.origins.insert(key.clone(), layer.source.clone());
            }
        }
        settings.settle(around)?;
        settings.check()?;
        Ok(settings)
    }

    /// Fills in the places that depend on the surroundings.
    fn settle(&mut self, around: &Surroundings) -> Result<(), ConfigError> {
        let state_file = || {
            around.state_file.clone().ok_or_else(|| {
                self.bad("store.url", "not set, and without HOME there is no state folder to use")
            })
        };
        let store = match &self.store.url {
            _ if !self.origins.contains_key("store.url") => StoreUrl::Sqlite(state_file()?),
            StoreUrl::Sqlite(path) => StoreUrl::Sqlite(around.cwd.join(path)),
            other => other.clone(),
        };
        let queue = match (&self.queue.url, &store) {
            (QueueUrl::Embedded(Some(path)), _) => QueueUrl::Embedded(Some(around.cwd.join(path))),
            (QueueUrl::Embedded(None), StoreUrl::Sqlite(path)) => {
                QueueUrl::Embedded(Some(path.clone()))
            }
            (QueueUrl::Embedded(None), _) => QueueUrl::Embedded(Some(state_file()?)),
            (other, _) => other.clone(),
        };
        if self.github.cache_path.is_none() {
            let beside = around.state_file.as_deref().and_then(Path::parent);
            self.github.cache_path = beside.map(|folder| folder.join("github"));
        }
        self.store.url = store;
        self.queue.url = queue;
        for folder in &mut self.forge.local.allow {
            *folder = around.cwd.join(&*folder);
        }
        let tools = self.workflows.review.tools.iter_mut();
        for rules in tools.filter_map(|tool| tool.rules.as_mut()) {
            *rules = around.cwd.join(&*rules);
        }
        let amqp = &mut self.queue.amqp;
        let files = [
            &mut self.github.private_key_path,
            &mut self.github.cache_path,
            &mut amqp.ca_path,
            &mut amqp.client_cert_path,
            &mut amqp.client_key_path,
        ];
        for file in files.into_iter().flatten() {
            *file = around.cwd.join(&*file);
        }
        Ok(())
    }

    /// What no single value can tell: bounds, adapters, settings that need each other.
    fn check(&self) -> Result<(), ConfigError> {
        self.check_adapters(place::BUILT)?;
        if let Some((name, why)) = self.model.fault() {
            return Err(self.bad(&format!("model.{name}"), &why));
        }
        if let Some((name, why)) = self.queue.fault() {
            return Err(self.bad(&format!("queue.{name}"), why));
        }
        if let Some((name, why)) = self.store.fault() {
            return Err(self.bad(&format!("store.{name}"), &why));
        }
        if let Some((name, why)) = self.workflows.review.fault() {
            return Err(self.bad(&format!("workflows.review.{name}"), &why));
        }
        if let Some((name, why)) = self.workflows.writing.fault() {
            return Err(self.bad(&format!("workflows.writing.{name}"), why));
        }
        if let Some((name, why)) = self.worker.fault() {
            return Err(self.bad(&format!("worker.{name}"), why));
        }
        self.server.check().map_err(|error| {
            let read_only = matches!(error, ServerError::ReadOnly);
            let key = if read_only { "server.read_token" } else { "server.listen" };
            self.bad(key, &error.to_string())
        })
    }

    /// Refuses what a binary with these features has no adapter for.
    fn check_adapters(&self, built: &[&str]) -> Result<(), ConfigError> {
        let places =
            [("queue.url", self.queue.url.feature()), ("store.url", self.store.url.feature())];
        for (key, feature) in places {
            if let Some(feature) = feature.filter(|feature| !built.contains(feature)) {
                let why = format!(
                    "needs the Cargo feature `{feature}`, which this binary was built without: \
                     build it with `--features {feature}`, or `--features full` for every adapter"
                );
                return Err(self.bad(key, &why));
            }
        }
        Ok(())
    }

    fn bad(&self, key: &str, why: &str) -> ConfigError {
        let source_name = self.origin(key).to_owned();
        ConfigError::BadValue { key: key.to_owned(), source_name, why: why.to_owned() }
    }

    /// Where the setting was set: a file's path, a variable's name, or `default`.
    pub fn origin(&self, key: &str) -> &str {
        self.origins.get(key).map_or("default", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever this test was built with: a binary without an adapter refuses its places, and says
    /// what to build with.
    #[test]
    fn a_place_without_its_adapter_is_refused() {
        let every = ["amqp", "firestore", "postgres", "pubsub"];
        let stores = ["sqlite:a.db", "memory:", "postgres://host/runs", "firestore://project/runs"];
        let queues = ["embedded:", "amqp://host/vhost", "amqps://host/vhost", "pubsub://project/s"];
        let store = |url: &&str| {
            let mut settings = Settings::default();
            settings.store.url = url.parse().unwrap();
            ("store.url", settings.store.url.feature(), settings)
        };
        let queue = |url: &&str| {
            let mut settings = Settings::default();
            settings.queue.url = url.parse().unwrap();
            ("queue.url", settings.queue.url.feature(), settings)
        };
        let mut needed = Vec::new();
        for (key, feature, settings) in stores.iter().map(store).chain(queues.iter().map(queue)) {
            settings.check_adapters(&every).unwrap();
            let Some(feature) = feature else {
                settings.check_adapters(&[]).unwrap();
                continue;
            };
            needed.push(feature);
            let others = every.into_iter().filter(|one| *one != feature);
            let refused = settings.check_adapters(&Vec::from_iter(others)).unwrap_err().to_string();
            let begins = format!("bad value for `{key}` in ");
            let says = format!("needs the Cargo feature `{feature}`, which this binary was built");
            let what = format!("`--features {feature}`");
            assert!(refused.starts_with(&begins), "{refused}");
            assert!(refused.contains(&says) && refused.contains(&what), "{refused}");
        }
        needed.sort_unstable();
        needed.dedup();
        assert_eq!(needed, every, "each adapter is somebody's");
    }

    /// What an error says to build with is there to build with.
    #[test]
    fn features_that_places_need_are_features() {
        let manifest: toml::Table = toml::from_str(include_str!("../../Cargo.toml")).unwrap();
        let features = manifest["features"].as_table().unwrap();
        let full = features["full"].as_array().unwrap();
        for feature in ["amqp", "encryption", "firestore", "postgres", "pubsub"] {
            assert!(features.contains_key(feature), "{feature}");
            assert!(full.iter().any(|one| one.as_str() == Some(feature)), "{feature}");
        }
    }
}

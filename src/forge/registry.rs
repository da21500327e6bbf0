//! The forges of this process, by kind.

use std::{collections::BTreeMap, sync::Arc};

use super::{Change, EventRequest, Forge, Locator, Publisher, Question, Resolved, Target};
use crate::base::{Fault, Result};

/// Every forge of this process. Cheap to clone.
#[derive(Clone, Default)]
pub struct Forges(Arc<BTreeMap<&'static str, Ports>>);

#[derive(Clone)]
struct Ports {
    forge: Arc<dyn Forge>,
    publisher: Arc<dyn Publisher>,
}

impl<F: Forge + Publisher> From<Arc<F>> for Forges {
    fn from(forge: Arc<F>) -> Self {
        Self::default().with(forge)
    }
}

impl Forges {
    /// One more.
    #[must_use]
    pub fn with<F: Forge + Publisher>(mut self, forge: Arc<F>) -> Self {
        let ports = Ports { publisher: forge.clone(), forge };
        Arc::make_mut(&mut self.0).insert(ports.forge.kind(), ports);
        self
    }

    /// As [`Forge::resolve`], by the forge that the locator names.
    ///
    /// # Errors
    /// Permanent when there is no such forge; otherwise as that forge says.
    pub async fn resolve(&self, locator: &Locator) -> Result<Resolved> {
        self.of(&locator.forge)?.forge.resolve(locator).await
    }

    /// As [`Forge::open`], by the forge that the target names.
    ///
    /// # Errors
    /// Permanent when there is no such forge; otherwise as that forge says.
    pub async fn open(&self, target: &Target) -> Result<Arc<dyn Change>> {
        self.of(&target.forge)?.forge.open(target).await
    }

    /// As [`Forge::check`], of all of them.
    ///
    /// # Errors
    /// As the first forge that lacks something says.
    pub async fn check(&self) -> Result<()> {
        for ports in self.0.values() {
            ports.forge.check().await?;
        }
        Ok(())
    }

    /// As [`Forge::event`], by the forge of this kind; `None` when it is not configured.
    ///
    /// # Errors
    /// As that forge says.
    pub async fn event(&self, kind: &str, name: &str, body: &[u8]) -> Result<Option<EventRequest>> {
        match self.0.get(kind) {
            Some(ports) => ports.forge.event(name, body).await.map(Some),
            None => Ok(None),
        }
    }

    /// As [`Forge::base_text`], by the forge that the locator names.
    ///
    /// # Errors
    /// As that forge says.
    pub async fn base_text(&self, locator: &Locator, path: &str) -> Result<Option<String>> {
        self.of(&locator.forge)?.forge.base_text(locator, path).await
    }

    /// As [`Forge::owner_text`], by the forge of this kind.
    ///
    /// # Errors
    /// As that forge says.
    pub async fn owner_text(&self, kind: &str, place: &str, path: &str) -> Result<Option<String>> {
        self.of(kind)?.forge.owner_text(place, path).await
    }

    /// As [`Forge::answer`], by the forge that the question was asked on.
    ///
    /// # Errors
    /// As that forge says.
    pub async fn answer(&self, question: &Question, text: &str) -> Result<()> {
        self.of(&question.locator.forge)?.forge.answer(question, text).await
    }

    /// Who takes the reviews of this target.
    ///
    /// # Errors
    /// Permanent when there is no such forge.
    pub fn publisher(&self, target: &Target) -> Result<&dyn Publisher> {
        Ok(&*self.of(&target.forge)?.publisher)
    }

    fn of(&self, kind: &str) -> Result<&Ports> {
        self.0.get(kind).ok_or_else(|| {
            let known: Vec<&str> = self.0.keys().copied().collect();
            let known = known.join(", ");
            Fault::permanent(format!("no forge `{kind}` is configured (known: {known})"))
        })
    }
}

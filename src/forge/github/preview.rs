//! Pull requests that are reviewed for somebody's eyes: read from GitHub, published nowhere.
//!
//! A forge of its own, so that it stands in the run that nothing is published, whichever process
//! takes it up, and so that a preview is another review than the one that is published.

use std::sync::Arc;

use async_trait::async_trait;

use super::{GitHub, KIND};
use crate::{
    base::Result,
    forge::{
        Change, Forge, Locator, Publication, PublishContext, Published, Publisher, Resolved, Target,
    },
};

/// The kind of its targets.
const PREVIEW: &str = "github-preview";

/// GitHub, read only.
#[derive(Clone)]
pub struct Preview(pub(super) GitHub);

impl Preview {
    /// The locator of a pull request, `owner/repo#7` or its address.
    pub fn locator(place: &str) -> Locator {
        Locator { forge: PREVIEW.to_owned(), ..GitHub::locator(place) }
    }
}

#[async_trait]
impl Forge for Preview {
    fn kind(&self) -> &'static str {
        PREVIEW
    }

    async fn resolve(&self, locator: &Locator) -> Result<Resolved> {
        let resolved = self.0.resolve(locator).await?;
        let target = Target { forge: PREVIEW.to_owned(), ..resolved.target };
        // It supersedes nobody's review.
        Ok(Resolved { target, subject: None, ..resolved })
    }

    async fn owner_text(&self, place: &str, path: &str) -> Result<Option<String>> {
        self.0.owner_text(place, path).await
    }

    async fn open(&self, target: &Target) -> Result<Arc<dyn Change>> {
        self.0.open(&Target { forge: KIND.to_owned(), ..target.clone() }).await
    }
}

#[async_trait]
impl Publisher for Preview {
    async fn publish(&self, _: &PublishContext, _: &Publication) -> Result<Published> {
        Ok(Published::InRun)
    }
}

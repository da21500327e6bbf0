//! GitHub: changes of pull requests, and reviews on them.
//!
//! What it promises: a review is of one head commit and compares it with the merge base; there is
//! one review for each head, whatever crashed or was lost in between; limits are obeyed and shared
//! by all processes of one store. What it never does: execute or check out anything of the
//! repository, approve, or send a request twice by itself.
//!
//! | file | is |
//! |---|---|
//! | `options.rs` | where GitHub is and who verdict is there |
//! | `place.rs` | how pull requests are written |
//! | `event.rs` | what a webhook asks for |
//! | `auth.rs` | an App's tokens, or a user's |
//! | `client.rs`, `limits.rs` | requests, classified answers, shared pauses |
//! | `model.rs` | what is read of answers |
//! | `checkout.rs` | the commits of a pull request, fetched by git |
//! | `publish.rs`, `compose.rs`, `lines.rs` | one review, as GitHub takes it |
//! | `check.rs` | the check run of a head |

mod auth;
mod check;
mod checkout;
mod client;
mod compose;
mod event;
mod limits;
mod lines;
mod model;
mod options;
mod place;
mod publish;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use url::Url;

pub use self::{
    event::trimmed,
    options::GithubOptions,
    place::{InvalidPullPlace, PullPlace},
};

use self::{
    auth::Access,
    checkout::{Checkouts, Commits},
    client::{Call, Client},
    model::{Comparison, Pull},
};
use super::{
    Change, EventRequest, Forge, Locator, Publication, PublishContext, Published, Publisher,
    Resolved, Target,
};
use crate::base::{Fault, Result, key_value::KeyValueStore};

/// The kind of its targets.
const KIND: &str = "github";

/// Pull requests of one GitHub: github.com, or an Enterprise Server.
#[derive(Clone)]
pub struct GitHub {
    client: Client,
    checkouts: Checkouts,
    host: Arc<str>,
}

impl GitHub {
    /// As the options say. Limits are shared through `store`; commits are kept below `folder`.
    ///
    /// # Errors
    /// Permanent when the URL or the App's key cannot be used.
    pub fn new(
        options: &GithubOptions,
        store: Arc<dyn KeyValueStore>,
        folder: PathBuf,
    ) -> Result<Self> {
        let url = Url::parse(&options.url);
        let url = url.map_err(|error| Fault::permanent(format!("github.url: {error}")))?;
        let host = url.host_str().unwrap_or_default();
        Ok(Self {
            client: Client::new(options, store)?,
            // What was fetched from one server must not serve, nor its address get the token of, another.
            checkouts: Checkouts::new(folder.join(url.authority().replace(':', "_"))),
            host: host.strip_prefix("api.").unwrap_or(host).into(),
        })
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn access(&self, place: &PullPlace) -> Access {
        Access { owner: place.owner.clone(), repo: place.repo.clone() }
    }

    async fn pull(&self, place: &PullPlace) -> Result<Pull> {
        let PullPlace { owner, repo, number } = place;
        let call = Call::get(format!("/repos/{owner}/{repo}/pulls/{number}"));
        self.client.json(&self.access(place), call).await
    }

    /// What a pull request stands for now: its head against its merge base.
    async fn target(&self, place: &PullPlace, pull: &Pull) -> Result<Target> {
        let PullPlace { owner, repo, .. } = place;
        let (base, head) = (&pull.base.sha, &pull.head.sha);
        let path = format!("/repos/{owner}/{repo}/compare/{base}...{head}?per_page=1");
        let compared: Comparison = self.client.json(&self.access(place), Call::get(path)).await?;
        let (repo, head) = (place.to_string(), head.clone());
        Ok(Target { forge: KIND.to_owned(), repo, base: compared.merge_base_commit.sha, head })
    }

    fn subject(&self, place: &PullPlace) -> String {
        format!("{}/{}", self.host, place.to_string().to_ascii_lowercase())
    }
}

fn place_of(text: &str) -> Result<PullPlace> {
    text.parse().map_err(|error: InvalidPullPlace| Fault::permanent(error.to_string()))
}

#[async_trait]
impl Forge for GitHub {
    fn kind(&self) -> &'static str {
        KIND
    }

    async fn resolve(&self, locator: &Locator) -> Result<Resolved> {
        let place = place_of(&locator.place)?;
        let pull = self.pull(&place).await?;
        Ok(Resolved {
            target: self.target(&place, &pull).await?,
            subject: Some(self.subject(&place)),
            order: pull.updated_at.as_millisecond(),
        })
    }

    async fn open(&self, target: &Target) -> Result<Arc<dyn Change>> {
        if let Some(change) = self.checkouts.open(target).await? {
            return Ok(change);
        }
        let place = place_of(&target.repo)?;
        let pull = self.pull(&place).await?;
        let url = pull.base.repo.and_then(|repo| repo.clone_url);
        let url = url.ok_or_else(|| {
            Fault::permanent(format!("GitHub names no address to fetch {place} from"))
        })?;
        let authorization = self.client.git_authorization(&self.access(&place)).await?;
        self.checkouts.fetch(Commits { url: &url, authorization, target }).await
    }

    async fn event(&self, name: &str, body: &[u8]) -> Result<EventRequest> {
        event::requested(self, name, body).await
    }
}

#[async_trait]
impl Publisher for GitHub {
    async fn publish(&self, _: &PublishContext, review: &Publication) -> Result<Published> {
        let published = publish::publish(self, review).await?;
        // The check of a head that moved decides nothing any more.
        if published != Published::HeadMoved {
            check::conclude(self, &self.access(&place_of(&review.target.repo)?), review).await?;
        }
        Ok(published)
    }
}

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
//! | `event.rs`, `body.rs` | what a webhook asks for |
//! | `command.rs` | commands in comments |
//! | `merge_group.rs` | the verdict on heads of the merge queue |
//! | `auth.rs` | an App's tokens, or a user's |
//! | `client.rs`, `limits.rs` | requests, classified answers, shared pauses |
//! | `model.rs` | what is read of answers |
//! | `checkout.rs` | the commits of a pull request, fetched by git |
//! | `publish.rs`, `compose.rs`, `lines.rs` | one review, as GitHub takes it |
//! | `preview.rs` | reviews that are published nowhere |
//! | `missed.rs` | what no webhook brought |
//! | `manifest.rs`, `permissions.rs` | how the App is made, and what it needs |
//! | `history.rs` | what was said before, and what became of it |
//! | `dismiss.rs` | findings dismissed by a command |
//! | `summary.rs` | the comment that is brought up to date in place |
//! | `check.rs` | the check run of a head |
//! | `notes.rs` | who may publish, and other notes that processes share |
//! | `search.rs` | repositories found by words |

mod auth;
mod body;
mod check;
mod checkout;
mod client;
mod command;
mod compose;
mod dismiss;
mod event;
mod graphql;
mod history;
mod limits;
mod lines;
mod manifest;
mod merge_group;
mod missed;
mod model;
mod notes;
mod options;
mod permissions;
mod place;
mod preview;
mod publish;
mod search;
mod summary;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use url::Url;

pub use self::{
    body::trimmed,
    manifest::{Manifest, NewApp, exchange},
    missed::{MissedEvent, OpenPull, Undelivered},
    options::GithubOptions,
    permissions::Granted,
    place::{InvalidPullPlace, PullPlace},
    preview::Preview,
    search::GitHubSearch,
};

use self::{
    auth::Access,
    checkout::{Checkouts, Commits},
    client::{Call, Client},
    model::{Comparison, Contents, Pull},
};
use super::{
    Change, EventRequest, Forge, History, Locator, Publication, PublishContext, Published,
    Publisher, Question, Resolved, Selection, Standing, Target,
};
use crate::base::{Fault, Result, key_value::KeyValueStore};

/// The kind of its targets.
const KIND: &str = "github";

/// The repository that holds an account's defaults for all its repositories.
const DEFAULTS: &str = ".github";

/// Pull requests of one GitHub: github.com, or an Enterprise Server.
#[derive(Clone)]
pub struct GitHub {
    client: Client,
    checkouts: Checkouts,
    host: Arc<str>,
    store: Arc<dyn KeyValueStore>,
    /// How long a write may land after its answer was lost.
    settle: Duration,
    /// How long the right to publish is held unless kept: longer than a request may take.
    right_ttl: Duration,
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
            client: Client::new(options, store.clone())?,
            store,
            settle: options.settle,
            right_ttl: options.timeout + options.settle,
            // What was fetched from one server must not serve, nor its address get the token of, another.
            checkouts: Checkouts::new(folder.join(url.authority().replace(':', "_"))),
            host: host.strip_prefix("api.").unwrap_or(host).into(),
        })
    }

    /// Its pull requests for somebody's eyes: reviews of them are published nowhere.
    pub fn preview(&self) -> Preview {
        Preview(self.clone())
    }

    /// The locator of a pull request, `owner/repo#7` or its address.
    pub fn locator(place: &str) -> Locator {
        Locator { forge: KIND.to_owned(), place: place.to_owned(), selection: Selection::Default }
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

    /// The text of a file of the repository, on a branch or on the default one.
    async fn text(
        &self,
        access: &Access,
        path: &str,
        branch: Option<&str>,
    ) -> Result<Option<String>> {
        let Access { owner, repo } = access;
        let mut address = format!("/repos/{owner}/{repo}/contents/{path}");
        if let Some(branch) = branch {
            let escaped: String = url::form_urlencoded::byte_serialize(branch.as_bytes()).collect();
            address.push_str(&format!("?ref={escaped}"));
        }
        let found: Option<Contents> = self.client.find(access, Call::get(address)).await?;
        Ok(found.and_then(Contents::text))
    }

    fn subject(&self, place: &PullPlace) -> String {
        compose::subject(&self.host, place)
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
            introduction: Some(pull.introduction()),
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

    async fn base_text(&self, locator: &Locator, path: &str) -> Result<Option<String>> {
        let place = place_of(&locator.place)?;
        let pull = self.pull(&place).await?;
        self.text(&self.access(&place), path, Some(&pull.base.branch)).await
    }

    async fn owner_text(&self, place: &str, path: &str) -> Result<Option<String>> {
        let access = Access { repo: DEFAULTS.to_owned(), ..self.access(&place_of(place)?) };
        if !self.client.is_installed(&access).await? {
            return Ok(None);
        }
        self.text(&access, path, None).await
    }

    async fn answer(&self, question: &Question, text: &str) -> Result<()> {
        command::answer(self, question, text).await
    }
}

#[async_trait]
impl Publisher for GitHub {
    async fn publish(&self, _: &PublishContext, review: &Publication) -> Result<Published> {
        publish::publish(self, review).await
    }

    async fn history(&self, target: &Target) -> Result<History> {
        history::read(self, target).await
    }

    async fn show(&self, target: &Target, run: &str, standing: &Standing) -> Result<()> {
        let place = place_of(&target.repo)?;
        match check::Checks::of(self, &place, (&target.head, run)) {
            Some(checks) => checks.show(standing).await,
            None => Ok(()),
        }
    }
}

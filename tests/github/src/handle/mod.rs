//! The fake for tests: what people do on GitHub, and what is to be seen there.
//!
//! Nothing here goes through HTTP, counts against a limit or is hit by a fault.
//!
//! # Panics
//! All of it panics where a test is wrong: a branch or a path that does not exist.
//!
//! Laid out: this file (the fake as a whole) · `repository` · `pull` (what people do) · `views` (what is there) · `app`.

mod app;
mod pull;
mod repository;
mod views;

use std::{path::Path, time::Duration};

pub use app::{App, WebhookDelivery};
pub use pull::{MergeGroup, PullRequest, PullRequestBuilder};
pub use repository::Repository;
pub use views::{Check, Comment, IssueComment, Review};

use crate::{
    Fault, Limits, LoggedRequest, Permissions,
    server::{Server, Shared},
    world::{
        World,
        actors::{HookTarget, NewApp},
        repositories::{About, NewRepository},
    },
};

/// A fake GitHub that listens on a port of this machine until it is dropped.
pub struct FakeGitHub {
    server: Server,
}

impl FakeGitHub {
    /// Starts one on any free port of 127.0.0.1.
    #[expect(clippy::unused_async, reason = "starting may come to wait for something")]
    pub async fn start() -> Self {
        Self::listen("127.0.0.1:0")
            .unwrap_or_else(|error| panic!("the fake GitHub does not start: {error}"))
    }

    /// Starts one on an address.
    ///
    /// # Errors
    /// What the system says where it cannot listen there.
    pub fn listen(address: &str) -> std::io::Result<Self> {
        Ok(Self { server: Server::start(address)? })
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.server.shared
    }

    /// The base URL, of the API and of the pages: `http://127.0.0.1:PORT`. With `/api/v3` behind it, it is an Enterprise
    /// Server's.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// A private repository with the branches and tags of one on disk, which has to stay there: its objects are read in
    /// place. It may be shallow, and no partial clone.
    pub fn repository(&self, full_name: &str, source: impl AsRef<Path>) -> Repository {
        self.add_repository(full_name, Some(source.as_ref()), true, About::default())
    }

    /// A public repository with the branches and tags of one on disk.
    pub fn public_repository(&self, full_name: &str, source: impl AsRef<Path>) -> Repository {
        self.add_repository(full_name, Some(source.as_ref()), false, About::default())
    }

    /// A public repository without commits, to be found by a search.
    pub fn described_repository(&self, full_name: &str, about: About) -> Repository {
        self.add_repository(full_name, None, false, about)
    }

    fn add_repository(
        &self,
        full_name: &str,
        source: Option<&Path>,
        private: bool,
        about: About,
    ) -> Repository {
        let source = source.map(|path| {
            path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        });
        let new = NewRepository { full_name, source, private, about, fork_of: None };
        let id = self
            .shared()
            .world()
            .create_repository(new)
            .unwrap_or_else(|error| panic!("{full_name}: {error}"));
        Repository::new(self.shared().clone(), id)
    }

    /// A GitHub App that belongs to `octo` and asks for these permissions and events. It is on no account yet.
    pub fn app(&self, name: &str, permissions: Permissions, events: &[&str]) -> App {
        let events = events.iter().map(|event| (*event).to_owned()).collect();
        let mut world = self.shared().world();
        world.user("octo", "Organization");
        let new = NewApp { name, owner: "octo", permissions, events, hook: HookTarget::default() };
        let id = world.create_app(new);
        drop(world);
        App::new(self.shared().clone(), id)
    }

    /// A classic token of a user, good for whatever the user may do.
    pub fn token(&self, login: &str) -> String {
        self.shared().world().user_token(login, None)
    }

    /// A fine-grained token of a user.
    pub fn fine_grained_token(&self, login: &str, permissions: Permissions) -> String {
        self.shared().world().user_token(login, Some(permissions))
    }

    /// Puts a fault in the way. Of several that fit a request, the first added hits.
    pub fn fail(&self, fault: Fault) {
        self.shared().world().faults.add(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared().world().faults.clear();
    }

    /// How many faults have not yet hit as often as they are to.
    pub fn faults_left(&self) -> usize {
        self.shared().world().faults.left()
    }

    /// Does the late writes that wait, and returns when they are done.
    pub async fn release_late_writes(&self) {
        let waits =
            |world: &World| {
                world.log.list.iter().any(|request| {
                    request.fault.as_deref() == Some("late_write") && !request.applied
                })
            };
        self.until(|shared| {
            shared.late_writes.notify_waiters();
            !waits(&shared.world())
        })
        .await;
    }

    /// Returns when every webhook so far was answered or has failed.
    pub async fn webhooks_settled(&self) {
        self.until(|shared| shared.world().deliveries_open() == 0).await;
    }

    /// Returns when a request was seen that fits.
    pub async fn wait_for_request(&self, fits: impl Fn(&LoggedRequest) -> bool) -> LoggedRequest {
        let mut found = None;
        self.until(|shared| {
            found = shared.world().log.list.iter().find(|request| fits(request)).cloned();
            found.is_some()
        })
        .await;
        found.unwrap_or_else(|| unreachable!("it was found"))
    }

    async fn until(&self, mut done: impl FnMut(&Shared) -> bool) {
        loop {
            let changed = self.shared().changed.notified();
            if done(self.shared()) {
                return;
            }
            // What changes without a notice is seen a little later.
            let _ = tokio::time::timeout(Duration::from_millis(20), changed).await;
        }
    }

    /// Sets the rate limits. They are GitHub's unless set.
    pub fn limit(&self, limits: Limits) {
        self.shared().world().limiter.limits = limits;
    }

    /// Moves the fake's clock forward: tokens expire, limits reset, check runs turn stale.
    pub fn advance(&self, by: Duration) {
        self.shared().world().clock.advance(by);
    }

    /// The time on the fake's clock, in seconds since 1970.
    pub fn now(&self) -> i64 {
        self.shared().world().now().as_second()
    }

    /// Ids given out from now on are at least this: real ones can be above 2^53.
    pub fn ids_from(&self, lowest: u64) {
        self.shared().world().ids_from(lowest);
    }

    /// Whether a force-push moves the `commit_id` of earlier reviews to the new head, as GitHub was seen to do. It does
    /// unless set.
    pub fn moves_reviews_on_force_push(&self, moves: bool) {
        self.shared().world().moves_reviews = moves;
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.shared().world().log.list.clone()
    }

    /// Every request so far that is no `GET`.
    pub fn writes(&self) -> Vec<LoggedRequest> {
        self.requests().into_iter().filter(|request| request.method != "GET").collect()
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.shared().world().log.list.clear();
    }
}

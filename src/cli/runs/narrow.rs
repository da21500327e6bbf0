//! Which runs: what listing and deleting narrow by, and reading them page by page.

use std::time::Duration;

use super::CliError;
use crate::{
    app::App,
    base::{Fault, Timestamp},
    graph::{
        Head, RunId, RunStatus,
        store::{RunFilter, WaitingFor},
    },
};

/// Runs that fit every one of these.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Narrow {
    /// Only with one of these statuses.
    #[arg(long, value_delimiter = ',')]
    pub(super) status: Vec<RunStatus>,
    /// Only if it waits for one of these: person, time, limit, version, lease.
    #[arg(long, value_delimiter = ',', value_name = "WHAT")]
    pub(super) waiting: Vec<WaitingFor>,
    /// Only of this workflow.
    #[arg(long)]
    pub(super) workflow: Option<String>,
    /// Only about this subject.
    #[arg(long)]
    pub(super) subject: Option<String>,
    /// Only if nothing has happened to it for longer than this: `90m`, `30d`.
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub(super) older_than: Option<Duration>,
    /// Only if something has happened to it since: `90m`, `2d`.
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub(super) newer_than: Option<Duration>,
}

impl Narrow {
    /// The part of it that is no field of the port's filter.
    fn fits(&self, head: &Head, now: Timestamp) -> bool {
        let age = now.since(head.updated_at);
        self.older_than.is_none_or(|limit| age > limit)
            && self.newer_than.is_none_or(|limit| age <= limit)
    }
}

/// The most heads asked for at once.
const PAGE: usize = 200;

/// Runs that fit, the newest first. However many there are, one page is in memory.
pub(super) struct Pages<'a> {
    app: &'a App,
    narrow: &'a Narrow,
    filter: RunFilter,
    left: usize,
    now: Timestamp,
    over: bool,
}

impl<'a> Pages<'a> {
    /// At most `limit` of them, only those behind `after` in the listing.
    pub(super) fn new(
        app: &'a App,
        narrow: &'a Narrow,
        limit: usize,
        after: Option<&Head>,
    ) -> Self {
        let now = app.runtime.clock.now();
        let after = after.map(|head| (head.created_at, head.id.clone()));
        // What was made later has not stood still for as long.
        let old = narrow.older_than.map(|age| (now.minus(age), RunId::last()));
        let filter = RunFilter {
            statuses: narrow.status.clone(),
            waiting: narrow.waiting.clone(),
            workflow: narrow.workflow.clone(),
            subject: narrow.subject.clone(),
            id_prefix: None,
            after: after.into_iter().chain(old).min(),
            limit: PAGE.min(limit),
        };
        Self { app, narrow, filter, left: limit, now, over: limit == 0 }
    }

    /// The next of them; `None` when there are no more.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Head>>, CliError> {
        while !self.over {
            let heads = self.app.runtime.store.list(&self.filter).await.map_err(Fault::from)?;
            self.over = heads.len() < self.filter.limit;
            if let Some(last) = heads.last() {
                self.filter.after = Some((last.created_at, last.id.clone()));
            }
            let fits = heads.into_iter().filter(|head| self.narrow.fits(head, self.now));
            let page: Vec<_> = fits.take(self.left).collect();
            self.left -= page.len();
            self.over |= self.left == 0;
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }
}

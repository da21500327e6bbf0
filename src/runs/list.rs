//! Which runs there are, page by page.

use std::time::Duration;

use super::{Error, Runs};
use crate::{
    base::Timestamp,
    graph::{
        Head, RunId, RunStatus,
        store::{RunFilter, WaitingFor},
    },
};

/// Runs that fit every one of these.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RunQuery {
    /// Only with one of these statuses.
    #[arg(long, value_delimiter = ',')]
    pub status: Vec<RunStatus>,
    /// Only if it waits for one of these: person, time, limit, version, lease.
    #[arg(long, value_delimiter = ',', value_name = "WHAT")]
    pub waiting: Vec<WaitingFor>,
    /// Only of this workflow.
    #[arg(long)]
    pub workflow: Option<String>,
    /// Only about this subject.
    #[arg(long)]
    pub subject: Option<String>,
    /// Only if nothing has happened to it for longer than this: `90m`, `30d`.
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub older_than: Option<Duration>,
    /// Only if something has happened to it since: `90m`, `2d`.
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub newer_than: Option<Duration>,
    /// At most so many.
    #[arg(skip)]
    pub limit: Option<usize>,
    /// Only runs behind the one of this time and id in the listing.
    #[arg(skip)]
    pub after: Option<(Timestamp, RunId)>,
}

impl RunQuery {
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
pub struct Pages<'a> {
    runs: &'a Runs,
    query: RunQuery,
    filter: RunFilter,
    left: usize,
    now: Timestamp,
    over: bool,
}

impl Runs {
    /// The runs that fit.
    pub fn list(&self, query: RunQuery) -> Pages<'_> {
        let now = self.now();
        // What was made later has not stood still for as long.
        let old = query.older_than.map(|age| (now.minus(age), RunId::last()));
        let left = query.limit.unwrap_or(usize::MAX);
        let filter = RunFilter {
            statuses: query.status.clone(),
            waiting: query.waiting.clone(),
            workflow: query.workflow.clone(),
            subject: query.subject.clone(),
            id_prefix: None,
            after: query.after.clone().into_iter().chain(old).min(),
            limit: PAGE.min(left),
        };
        Pages { runs: self, query, filter, left, now, over: left == 0 }
    }
}

impl Pages<'_> {
    /// The next of them; `None` when there are no more.
    pub async fn next(&mut self) -> Result<Option<Vec<Head>>, Error> {
        while !self.over {
            let heads = self.runs.store().list(&self.filter).await?;
            self.over = heads.len() < self.filter.limit;
            if let Some(last) = heads.last() {
                self.filter.after = Some((last.created_at, last.id.clone()));
            }
            let fits = heads.into_iter().filter(|head| self.query.fits(head, self.now));
            let page: Vec<_> = fits.take(self.left).collect();
            self.left -= page.len();
            self.over |= self.left == 0;
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// All of them at once.
    pub async fn all(mut self) -> Result<Vec<Head>, Error> {
        let mut heads = Vec::new();
        while let Some(page) = self.next().await? {
            heads.extend(page);
        }
        Ok(heads)
    }
}

//! Rate limits: an hourly number of requests (primary), points a minute and how fast content may be created (secondary).
//!
//! All are GitHub's by default. Points are answered with `Retry-After`; created content without, and with a primary limit
//! that is far from used up, as measured on GitHub.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use jiff::Timestamp;
use serde::Deserialize;

use crate::clock::after;

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

/// How many requests are allowed. `None` is without a limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Requests an hour of an installation or a person.
    pub core: Option<u64>,
    /// Searches a minute.
    pub search: Option<u64>,
    /// Points an hour of GraphQL.
    pub graphql: Option<u64>,
    /// Points a minute: one for each `GET`, five for each write.
    pub points_per_minute: Option<u64>,
    /// Requests a minute that create content.
    pub content_per_minute: Option<usize>,
    /// Requests an hour that create content.
    pub content_per_hour: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            core: Some(5000),
            search: Some(30),
            graphql: Some(5000),
            points_per_minute: Some(900),
            content_per_minute: Some(80),
            content_per_hour: Some(500),
        }
    }
}

impl Limits {
    /// No limit at all, as on an Enterprise Server that configures none.
    pub fn none() -> Self {
        Self {
            core: None,
            search: None,
            graphql: None,
            points_per_minute: None,
            content_per_minute: None,
            content_per_hour: None,
        }
    }
}

/// Which limit a request counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    Core,
    Search,
    Graphql,
}

impl Resource {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Search => "search",
            Self::Graphql => "graphql",
        }
    }

    fn window(self) -> Duration {
        if self == Self::Search { MINUTE } else { HOUR }
    }
}

/// The state of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) limit: u64,
    pub(crate) used: u64,
    pub(crate) reset: Timestamp,
}

impl Quota {
    pub(crate) fn remaining(self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// Counts requests.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    pub(crate) limits: Limits,
    windows: BTreeMap<(String, Resource), (u64, Timestamp)>,
    content: BTreeMap<String, VecDeque<Timestamp>>,
    points: BTreeMap<String, VecDeque<(Timestamp, u64)>>,
}

impl Limiter {
    fn limit(&self, resource: Resource) -> Option<u64> {
        match resource {
            Resource::Core => self.limits.core,
            Resource::Search => self.limits.search,
            Resource::Graphql => self.limits.graphql,
        }
    }

    /// How much of a limit somebody has used; nothing where there is no limit.
    pub(crate) fn quota(&self, who: &str, resource: Resource, now: Timestamp) -> Option<Quota> {
        let limit = self.limit(resource)?;
        let (used, reset) = match self.windows.get(&(who.to_owned(), resource)) {
            Some((used, reset)) if *reset > now => (*used, *reset),
            _ => (0, after(now, resource.window())),
        };
        Some(Quota { limit, used, reset })
    }

    /// Counts a request. `false`: the limit is used up.
    pub(crate) fn take(&mut self, who: &str, resource: Resource, now: Timestamp) -> bool {
        let Some(quota) = self.quota(who, resource, now) else { return true };
        let allowed = quota.remaining() > 0;
        let used = quota.used + u64::from(allowed);
        self.windows.insert((who.to_owned(), resource), (used, quota.reset));
        allowed
    }

    /// Takes back a request that did not count: one answered with 304.
    pub(crate) fn give_back(&mut self, who: &str, resource: Resource) {
        if let Some((used, _)) = self.windows.get_mut(&(who.to_owned(), resource)) {
            *used = used.saturating_sub(1);
        }
    }

    /// Counts the points of a request. `false`: too many in a minute.
    pub(crate) fn take_points(&mut self, who: &str, points: u64, now: Timestamp) -> bool {
        let recent = self.points.entry(who.to_owned()).or_default();
        while recent.front().is_some_and(|(at, _)| after(*at, MINUTE) <= now) {
            recent.pop_front();
        }
        let spent: u64 = recent.iter().map(|(_, points)| points).sum();
        let allowed = self.limits.points_per_minute.is_none_or(|most| spent + points <= most);
        if allowed {
            recent.push_back((now, points));
        }
        allowed
    }

    /// Counts a request that creates content. `false`: too many of late.
    pub(crate) fn take_content(&mut self, who: &str, now: Timestamp) -> bool {
        let recent = self.content.entry(who.to_owned()).or_default();
        while recent.front().is_some_and(|at| after(*at, HOUR) <= now) {
            recent.pop_front();
        }
        let in_minute = recent.iter().rev().take_while(|at| after(**at, MINUTE) > now).count();
        let allowed = self.limits.content_per_minute.is_none_or(|most| in_minute < most)
            && self.limits.content_per_hour.is_none_or(|most| recent.len() < most);
        if allowed {
            recent.push_back(now);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_used_up_limit_resets_after_its_window() {
        let mut limiter =
            Limiter { limits: Limits { core: Some(2), ..Limits::none() }, ..Limiter::default() };
        assert!(
            limiter.take("a", Resource::Core, at(0)) && limiter.take("a", Resource::Core, at(1))
        );
        assert!(!limiter.take("a", Resource::Core, at(2)));
        assert!(limiter.take("b", Resource::Core, at(2)), "others have limits of their own");
        assert!(limiter.take("a", Resource::Core, at(3600)));
    }

    #[test]
    fn points_are_limited_by_minute() {
        let limits = Limits { points_per_minute: Some(7), ..Limits::none() };
        let mut limiter = Limiter { limits, ..Limiter::default() };
        let taken = [(0, 5), (1, 1), (2, 5), (3, 1), (60, 5)]
            .map(|(second, points)| limiter.take_points("a", points, at(second)));
        assert_eq!(taken, [true, true, false, true, true]);
    }

    #[test]
    fn content_is_limited_by_minute_and_hour() {
        let limits =
            Limits { content_per_minute: Some(2), content_per_hour: Some(3), ..Limits::none() };
        let mut limiter = Limiter { limits, ..Limiter::default() };
        let taken = [0, 1, 2, 61, 122, 3600].map(|second| limiter.take_content("a", at(second)));
        assert_eq!(taken, [true, true, false, true, false, true]);
    }
}

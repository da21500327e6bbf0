//! What stands in a request's path and query. What does not fit is refused as everything else is.

use std::{fmt, str::FromStr, time::Duration};

use axum::{
    extract::{FromRequestParts, rejection::PathRejection},
    http::{StatusCode, request::Parts},
};
use serde::{Deserialize, de::DeserializeOwned};
use utoipa::IntoParams;

use super::super::answer::Refusal;
use crate::{base::Timestamp, graph::Head};

/// The path's parameters.
pub(in crate::server) struct Path<T>(pub(in crate::server) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(params)| Self(params)).map_err(|rejected: PathRejection| {
            Refusal::new(StatusCode::NOT_FOUND, rejected.body_text())
        })
    }
}

/// The query's parameters.
pub(in crate::server) struct Query<T>(pub(in crate::server) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        query
            .map(|axum::extract::Query(params)| Self(params))
            .map_err(|rejected| Refusal::new(StatusCode::BAD_REQUEST, rejected.body_text()))
    }
}

/// A run named in the path.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(in crate::server) struct RunPath {
    /// The run's id, or its first four or more digits.
    #[param(pattern = "^[0-9a-fA-F]{4,32}$")]
    pub(in crate::server) id: String,
}

/// A dead letter named in the path.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(in crate::server) struct LetterPath {
    /// The letter's id.
    pub(in crate::server) id: String,
}

/// How many a page holds unless the request says, and at most.
const PAGE: (usize, usize) = (50, 500);

/// How many rows to show.
pub(in crate::server) fn limit(asked: Option<usize>) -> Result<usize, Refusal> {
    let (usual, most) = PAGE;
    let limit = asked.unwrap_or(usual);
    let fits = (1..=most).contains(&limit);
    fits.then_some(limit).ok_or_else(|| {
        let why = format!("`limit` is {limit}; expected a whole number from 1 to {most}");
        Refusal::new(StatusCode::BAD_REQUEST, why)
    })
}

/// The place behind which a page begins: a time, and an id among those of this time.
pub(in crate::server) fn after<I: FromStr>(
    cursor: Option<&str>,
) -> Result<Option<(Timestamp, I)>, Refusal> {
    let Some(cursor) = cursor else { return Ok(None) };
    let place = cursor
        .split_once('-')
        .and_then(|(at, id)| Some((Timestamp(at.parse().ok()?), id.parse().ok()?)));
    place.map(Some).ok_or_else(|| {
        let why = format!("`cursor` is `{cursor}`, which is no `next` of a page before");
        Refusal::new(StatusCode::BAD_REQUEST, why)
    })
}

/// The place behind a row, for the next page.
pub(in crate::server) fn cursor(at: Timestamp, id: &impl fmt::Display) -> String {
    format!("{}-{id}", at.0)
}

/// The page of these runs, of which one more than `limit` was asked for, and where the next begins.
pub(in crate::server) fn page(mut heads: Vec<Head>, limit: usize) -> (Vec<Head>, Option<String>) {
    let more = heads.len() > limit;
    heads.truncate(limit);
    let last = heads.last().filter(|_| more);
    let next = last.map(|last| cursor(last.created_at, &last.id));
    (heads, next)
}

/// Words of a list, separated by commas.
pub(in crate::server) fn words<T: FromStr<Err = String>>(
    name: &str,
    list: Option<&str>,
) -> Result<Vec<T>, Refusal> {
    let words = list.unwrap_or_default().split(',').filter(|word| !word.is_empty());
    let parsed: Result<Vec<T>, String> = words.map(str::parse).collect();
    parsed.map_err(|why| Refusal::new(StatusCode::BAD_REQUEST, format!("`{name}`: {why}")))
}

/// An age like `90m` or `2d`.
pub(in crate::server) fn age(name: &str, text: Option<&str>) -> Result<Option<Duration>, Refusal> {
    let parsed = text.map(humantime::parse_duration).transpose();
    parsed.map_err(|error| {
        let why = format!("`{name}`: {error}; expected an age like `90m` or `2d`");
        Refusal::new(StatusCode::BAD_REQUEST, why)
    })
}

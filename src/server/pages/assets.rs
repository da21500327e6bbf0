//! The style and the script of all pages.

use axum::{Router, http::header, routing::get};

use super::Pages;

pub(super) fn routes() -> Router<Pages> {
    let file = |kind: &'static str, text: &'static str| {
        get(async move || ([(header::CONTENT_TYPE, kind)], text))
    };
    Router::new()
        .route("/assets/style.css", file("text/css", include_str!("assets/style.css")))
        .route("/assets/live.js", file("text/javascript", include_str!("assets/live.js")))
}

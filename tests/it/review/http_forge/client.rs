//! A forge over HTTP: both ports, over the small API of [`super::server`]. One folder, as a real one
//! would be.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use reqwest::{Client, RequestBuilder, StatusCode, header::RETRY_AFTER};
use serde_json::{Value, json};
use verdict::{
    base::{Fault, Result},
    forge::{
        Change, Content, Entry, EntryKind, FileChange, Forge, Locator, Publication, PublishContext,
        Published, Publisher, Resolved, Status, Target, diff::PatchParser,
    },
};

#[derive(Clone)]
pub struct HttpForge {
    http: Client,
    address: String,
}

impl HttpForge {
    pub fn at(address: &str) -> Self {
        let http = Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
        Self { http, address: address.to_owned() }
    }

    async fn get(&self, path: &str) -> Result<Option<Value>> {
        self.answer(path, self.http.get(format!("{}{path}", self.address))).await
    }

    /// The one place where what can go wrong is classified. `None`: there is nothing.
    async fn answer(&self, path: &str, request: RequestBuilder) -> Result<Option<Value>> {
        let cut = |error: reqwest::Error| match error {
            error if error.is_connect() => Fault::outage(format!("{path}: {error}")),
            error if error.is_timeout() => Fault::timeout(format!("{path}: {error}")),
            error => Fault::transient(format!("{path}: {error}")),
        };
        let answer = request.send().await.map_err(cut)?;
        let status = answer.status();
        let asked = answer.headers().get(RETRY_AFTER).and_then(|wait| wait.to_str().ok());
        let asked = asked.and_then(|wait| wait.parse().ok()).map(Duration::from_secs);
        let body = answer.bytes().await.map_err(cut)?;
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if !status.is_success() {
            let passing = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
            let why = format!("{path}: answered {status}");
            let fault = if passing { Fault::transient(why) } else { Fault::permanent(why) };
            return Err(asked.map_or(fault.clone(), |wait| fault.after(wait)));
        }
        let value = serde_json::from_slice(&body);
        value.map(Some).map_err(|error| Fault::permanent(format!("{path}: {error}")))
    }
}

fn nothing(path: &str) -> Fault {
    Fault::permanent(format!("there is nothing at {path}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[async_trait]
impl Forge for HttpForge {
    fn kind(&self) -> &'static str {
        "http"
    }

    async fn resolve(&self, locator: &Locator) -> Result<Resolved> {
        let path = format!("/changes/{}", locator.place);
        let found = self.get(&path).await?.ok_or_else(|| nothing(&path))?;
        let target = Target {
            forge: self.kind().to_owned(),
            repo: locator.place.clone(),
            base: text(&found["base"]),
            head: text(&found["head"]),
        };
        let order = found["updated_at"].as_i64().unwrap_or_default();
        let subject = Some(format!("http:{}", locator.place));
        Ok(Resolved { subject, target, order, introduction: None })
    }

    async fn open(&self, target: &Target) -> Result<Arc<dyn Change>> {
        Ok(Arc::new(HttpChange { forge: self.clone(), number: target.repo.clone() }))
    }
}

#[async_trait]
impl Publisher for HttpForge {
    async fn publish(&self, context: &PublishContext, review: &Publication) -> Result<Published> {
        let comment = |c: &verdict::forge::Comment| json!({ "path": c.path, "lines": c.lines });
        let findings: String = review.comments.iter().map(|c| c.in_summary.as_str()).collect();
        let summary = [review.opening.as_str(), &findings, &review.closing].concat();
        let body = json!({
            "key": context.idempotency_key,
            "attempt": context.attempt,
            "verdict": review.verdict,
            "summary": summary,
            "comments": review.comments.iter().map(comment).collect::<Vec<_>>(),
        });
        let path = format!("/changes/{}/reviews", review.target.repo);
        let request = self.http.post(format!("{}{path}", self.address)).body(body.to_string());
        let stored = self.answer(&path, request).await?.ok_or_else(|| nothing(&path))?;
        Ok(Published::At(format!("{}/reviews/{}", self.address, stored["id"])))
    }
}

struct HttpChange {
    forge: HttpForge,
    number: String,
}

fn entry(value: &Value) -> Entry {
    match value.as_str() {
        Some(blob) => Entry { kind: EntryKind::File, blob: blob.to_owned() },
        None => Entry { kind: EntryKind::Absent, blob: "0".repeat(40) },
    }
}

#[async_trait]
impl Change for HttpChange {
    async fn files(&self) -> Result<Vec<FileChange>> {
        let path = format!("/changes/{}/files", self.number);
        let listed = self.forge.get(&path).await?.ok_or_else(|| nothing(&path))?;
        let files = listed.as_array().into_iter().flatten().map(|file| {
            let patch = PatchParser::bare().parse(text(&file["patch"]).as_bytes());
            let patch = patch.map_err(|error| Fault::permanent(format!("{path}: {error}")))?;
            let base = entry(&file["base"]);
            let added = base.kind == EntryKind::Absent;
            Ok(FileChange {
                path: text(&file["path"]),
                old_path: None,
                status: if added { Status::Added } else { Status::Modified },
                base,
                head: entry(&file["head"]),
                binary: false,
                unavailable: false,
                size: file["size"].as_u64(),
                hunks: patch.into_iter().flat_map(|file| file.hunks).collect(),
            })
        });
        files.collect()
    }

    async fn contents(&self, blobs: &[String], limit: u64) -> Result<Vec<Content>> {
        let mut contents = Vec::new();
        for blob in blobs {
            let found = self.forge.get(&format!("/blobs/{blob}")).await?;
            contents.push(match found.map(|found| text(&found["text"])) {
                None => Content::Missing,
                Some(text) if text.len() as u64 > limit => Content::TooLarge(text.len() as u64),
                Some(text) => Content::Text { text, lossy: false },
            });
        }
        Ok(contents)
    }

    async fn exists(&self, paths: &[String]) -> Result<Vec<bool>> {
        let tree = self.forge.get(&format!("/changes/{}/base", self.number)).await?;
        let tree = tree.unwrap_or_default();
        Ok(paths.iter().map(|path| tree.get(path).is_some()).collect())
    }

    async fn base_file(&self, path: &str, limit: u64) -> Result<Option<Content>> {
        let tree = self.forge.get(&format!("/changes/{}/base", self.number)).await?;
        let blob = tree.as_ref().and_then(|tree| tree.get(path)).map(text);
        let Some(blob) = blob else { return Ok(None) };
        Ok(self.contents(&[blob], limit).await?.pop())
    }

    async fn base_folder(&self, _: &str, _: u64) -> Result<Vec<(String, Content)>> {
        Ok(Vec::new())
    }
}

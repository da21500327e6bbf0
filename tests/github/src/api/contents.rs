//! Files and folders of a commit.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Answer, Call, Route, message::Reply};
use crate::{git::Entry, json as shape, world::node_id};

/// Above this a file's contents are empty unless asked for raw.
const INLINE_BYTES: u64 = 1024 * 1024;
/// Above this a file cannot be had here at all.
const MAX_BYTES: u64 = 100 * 1024 * 1024;
/// A tree with more entries is cut.
const MAX_TREE_ENTRIES: usize = 100_000;

pub(super) const ROUTES: &[Route] = &[
    Route::new("GET", "/repos/{owner}/{repo}/contents/{path}", "contents=read", show),
    Route::new("GET", "/repos/{owner}/{repo}/git/trees/{tree_sha}", "contents=read", tree),
    Route::new("GET", "/repos/{owner}/{repo}/git/blobs/{file_sha}", "contents=read", blob),
];

fn show(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let git = call.world.git(id);
    let asked = call.request.query("ref").map_or_else(|| git.default_branch(), ToOwned::to_owned);
    let commit = git
        .resolve(&asked)
        .ok_or_else(|| Reply::refuse(404, &format!("No commit found for the ref {asked}")))?;
    let path = call.param("path").trim_matches('/').to_owned();
    let entry = git.entry(&commit, &path).ok_or_else(Reply::not_found)?;
    let raw = call.request.header("accept").is_some_and(|accept| accept.contains(".raw"));
    match entry.kind.as_str() {
        "tree" => {
            let inside = |entry: Entry| {
                let path = if path.is_empty() {
                    entry.path.clone()
                } else {
                    format!("{path}/{}", entry.path)
                };
                row(call, id, &asked, &Entry { path, ..entry })
            };
            Reply::ok(Value::Array(git.list(&entry.sha, false).into_iter().map(inside).collect()))
        }
        "blob" if entry.size.unwrap_or(0) > MAX_BYTES => Err(too_large()),
        "blob" => {
            let bytes = git.blob(&entry.sha).ok_or_else(Reply::not_found)?;
            if raw {
                return Reply::raw("application/vnd.github.raw+json; charset=utf-8", bytes);
            }
            Reply::ok(file(row(call, id, &asked, &entry), &entry, &bytes))
        }
        _ => {
            let mut body = row(call, id, &asked, &entry);
            shape::add(&mut body, "submodule_git_url", Value::Null);
            Reply::ok(body)
        }
    }
}

fn too_large() -> Reply {
    let message = "This API returns blobs up to 100 MB in size. The requested blob is too large to fetch via the API, but you can always clone the repository via Git in order to obtain the blob.";
    super::message::validation_failed("Blob", "data", "too_large", message)
}

fn file(mut body: Value, entry: &Entry, bytes: &[u8]) -> Value {
    let inline = entry.size.unwrap_or(0) <= INLINE_BYTES;
    shape::add(&mut body, "content", json!(if inline { wrapped(bytes) } else { String::new() }));
    shape::add(&mut body, "encoding", json!(if inline { "base64" } else { "none" }));
    if entry.mode == "120000" {
        shape::add(&mut body, "target", json!(String::from_utf8_lossy(bytes)));
    }
    body
}

/// Base64 in lines of sixty characters, as GitHub writes it.
fn wrapped(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    let lines: Vec<_> = text.as_bytes().chunks(60).map(String::from_utf8_lossy).collect();
    if lines.is_empty() { String::new() } else { format!("{}\n", lines.join("\n")) }
}

fn row(call: &Call<'_>, id: u64, asked: &str, entry: &Entry) -> Value {
    let full_name = call.world.repositories[&id].full_name();
    let (world_url, path) = (&call.world.url, &entry.path);
    let url = format!("{world_url}/repos/{full_name}/contents/{path}?ref={asked}");
    let (kind, folder) = match (entry.kind.as_str(), entry.mode.as_str()) {
        ("tree", _) => ("dir", "trees"),
        ("commit", _) => ("submodule", "trees"),
        (_, "120000") => ("symlink", "blobs"),
        _ => ("file", "blobs"),
    };
    let git = format!("{world_url}/repos/{full_name}/git/{folder}/{}", entry.sha);
    let html = format!("{world_url}/{full_name}/blob/{asked}/{path}");
    let download = (kind == "file").then(|| format!("{world_url}/{full_name}/raw/{asked}/{path}"));
    json!({
        "name": path.rsplit('/').next(), "path": path, "sha": entry.sha, "size": entry.size.unwrap_or(0),
        "url": url, "html_url": html, "git_url": git, "download_url": download, "type": kind,
        "_links": {"self": url, "git": git, "html": html},
    })
}

fn tree(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let git = call.world.git(id);
    let asked = call.param("tree_sha").to_owned();
    let root = git.resolve(&asked).and_then(|commit| git.entry(&commit, ""));
    let sha = root.map_or(asked, |root| root.sha);
    let entries = git.list(&sha, call.request.query("recursive").is_some());
    if entries.is_empty() {
        return Err(Reply::not_found());
    }
    let url = format!("{}/repos/{}/git", call.world.url, call.world.repositories[&id].full_name());
    let truncated = entries.len() > MAX_TREE_ENTRIES;
    let row = |entry: &Entry| {
        let folder = if entry.kind == "blob" { "blobs" } else { "trees" };
        let mut row = json!({"path": entry.path, "mode": entry.mode, "type": entry.kind, "sha": entry.sha,
            "url": format!("{url}/{folder}/{}", entry.sha)});
        if let Some(size) = entry.size {
            shape::add(&mut row, "size", json!(size));
        }
        row
    };
    let rows: Vec<_> = entries.iter().take(MAX_TREE_ENTRIES).map(row).collect();
    Reply::ok(
        json!({"sha": sha, "url": format!("{url}/trees/{sha}"), "tree": rows, "truncated": truncated}),
    )
}

fn blob(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let sha = call.param("file_sha").to_owned();
    let bytes = call.world.git(id).blob(&sha).ok_or_else(Reply::not_found)?;
    if call.request.header("accept").is_some_and(|accept| accept.contains(".raw")) {
        return Reply::raw("application/vnd.github.raw; charset=utf-8", bytes);
    }
    let url = format!(
        "{}/repos/{}/git/blobs/{sha}",
        call.world.url,
        call.world.repositories[&id].full_name()
    );
    Reply::ok(json!({
        "sha": sha, "node_id": node_id("B", id), "size": bytes.len(), "url": url, "content": wrapped(&bytes),
        "encoding": "base64",
    }))
}

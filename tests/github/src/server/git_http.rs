//! Clone, fetch and push over HTTP: git's own `http-backend`, behind the same tokens as the API.

use std::process::Stdio;

use tokio::{io::AsyncWriteExt, process::Command};

use super::Shared;
use crate::{
    api::{
        identity::{self, Identity},
        message::{Payload, Reply, Request, decode},
    },
    git,
    world::actors::Level,
};

/// Whether a request is git's: `/owner/name[.git]/info/refs` and what follows it.
pub(super) fn is_for(request: &Request) -> bool {
    split(&request.path).is_some()
}

/// The repository and git's own part of a path.
fn split(path: &str) -> Option<(String, String, String)> {
    let mut segments = path.trim_start_matches('/').splitn(3, '/');
    let (owner, name, rest) = (segments.next()?, segments.next()?, segments.next()?);
    let ours = ["info/refs", "git-upload-pack", "git-receive-pack", "HEAD"].contains(&rest);
    let name = decode(name.strip_suffix(".git").unwrap_or(name));
    ours.then(|| (decode(owner), name, format!("/{rest}")))
}

/// Answers git.
pub(super) async fn answer(shared: &Shared, request: Request) -> Reply {
    let Some((owner, name, rest)) = split(&request.path) else { return Reply::not_found() };
    let writes =
        rest.contains("receive-pack") || request.query("service") == Some("git-receive-pack");
    let allowed = admit(shared, &request, &owner, &name, writes);
    let (repository, login, path) = match allowed {
        Ok(allowed) => allowed,
        Err(refusal) => return refusal,
    };
    let reply = backend(&request, &path, &rest, &login).await;
    if rest == "/git-receive-pack" {
        let (shared, login) = (shared.clone(), login.clone());
        let _ =
            tokio::task::spawn_blocking(move || shared.world().notice_pushes(repository, &login))
                .await;
    }
    reply.unwrap_or_else(|error| Reply::refuse(500, &format!("git http-backend failed: {error}")))
}

/// Whether somebody may read or write a repository: its id, their login, its folder.
fn admit(
    shared: &Shared,
    request: &Request,
    owner: &str,
    name: &str,
    writes: bool,
) -> Result<(u64, String, String), Reply> {
    let world = shared.world();
    let who = identity::identify(&world, request)?;
    let unauthorized = || {
        let mut reply = Reply::refuse(401, "Repository not found.");
        reply.headers.push(("www-authenticate", "Basic realm=\"GitHub\"".to_owned()));
        reply
    };
    let id = world.find_repository(owner, name).filter(|id| who.sees(&world, *id));
    let id = match (id, &who) {
        (Some(id), _) => id,
        (None, Identity::Anonymous) => return Err(unauthorized()),
        (None, _) => return Err(Reply::not_found()),
    };
    let level = if writes { Level::Write } else { Level::Read };
    if !who.holds(&world, Some(id), "contents", level) {
        return Err(if who == Identity::Anonymous {
            unauthorized()
        } else {
            Reply::refuse(403, "Write access to repository not granted.")
        });
    }
    let path = world.repositories[&id].git.path().to_string_lossy().into_owned();
    Ok((id, who.login(&world), path))
}

async fn backend(request: &Request, path: &str, rest: &str, login: &str) -> std::io::Result<Reply> {
    let mut command = Command::new("git");
    command.arg("http-backend").env_clear().envs(git::environment());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let header = |name: &str| request.header(name).unwrap_or_default().to_owned();
    command
        .env("GIT_PROJECT_ROOT", path)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", rest)
        .env("QUERY_STRING", &request.query_text)
        .env("REQUEST_METHOD", &request.method)
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    if !login.is_empty() {
        command.env("REMOTE_USER", login);
    }
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take();
    let body = request.body.clone();
    let feed = async move {
        if let Some(stdin) = &mut stdin {
            // It may answer before it has read all.
            let _ = stdin.write_all(&body).await;
        }
        drop(stdin);
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), feed);
    Ok(parse(output?.stdout))
}

/// Headers, an empty line, the body: the form of a CGI answer.
fn parse(output: Vec<u8>) -> Reply {
    let end = output.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else { return Reply::refuse(500, "git http-backend gave no answer") };
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let mut reply = Reply {
        status: 200,
        headers: Vec::new(),
        payload: Payload::Raw { kind: "", bytes: output[end + 4..].to_vec() },
    };
    for line in head.lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        match name.to_ascii_lowercase().as_str() {
            "status" => {
                reply.status =
                    value.split(' ').next().and_then(|code| code.parse().ok()).unwrap_or(500)
            }
            "content-type" => reply.headers.push(("content-type", value.to_owned())),
            "cache-control" => reply.headers.push(("cache-control", value.to_owned())),
            _ => {}
        }
    }
    reply
}

//! Contents by object id and commits by name, through one `git cat-file --batch` conversation per call.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStdout;

use super::{
    error::{GitError, Result},
    git::{Git, feed},
};
use crate::forge::Content;

const CHECK: &[&str] = &["cat-file", "--batch-check", "--buffer"];
const READ: &[&str] = &["cat-file", "--batch", "--buffer"];

/// What git says of an object before its content.
struct Header {
    id: String,
    kind: String,
    size: u64,
}

/// Sizes of blobs that were asked for before: what a blob holds never changes.
#[derive(Debug, Default)]
pub(super) struct Sizes(Mutex<HashMap<String, u64>>);

impl Sizes {
    /// Those of `blobs`, in their order; `None` where one is not known.
    pub(super) fn of(&self, blobs: &[String]) -> Vec<Option<u64>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blobs.iter().map(|blob| known.get(blob).copied()).collect()
    }
}

/// The sizes of `blobs`, in their order; `None` where the repository does not hold one.
pub(super) async fn sizes(git: &Git, blobs: &[String]) -> Result<Vec<Option<u64>>> {
    let known = git.sizes.of(blobs);
    let asked = blobs.iter().zip(&known).filter(|(_, size)| size.is_none());
    let asked: Vec<String> = asked.map(|(blob, _)| blob.clone()).collect();
    if asked.is_empty() {
        return Ok(known);
    }
    let found = headers(git, &asked).await?.into_iter();
    let found = asked.into_iter().zip(found).filter_map(|(blob, it)| Some((blob, it?.size)));
    git.sizes.0.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    Ok(git.sizes.of(blobs))
}

/// The commits that these revisions name, in their order; `None` where one names no commit.
pub(super) async fn commits(git: &Git, revisions: &[&str]) -> Result<Vec<Option<String>>> {
    // A line of its own for each; no revision has a line end in it.
    let name = |rev: &&str| format!("{}^{{commit}}", rev.replace('\n', "?"));
    let headers = headers(git, &revisions.iter().map(name).collect::<Vec<_>>()).await?;
    Ok(headers.into_iter().map(|header| header.map(|header| header.id)).collect())
}

/// What git says of the objects of these names, in their order; `None` where there is none.
async fn headers(git: &Git, names: &[String]) -> Result<Vec<Option<Header>>> {
    let work = async {
        let (running, input, mut out) = git.converse(CHECK)?;
        let read = async {
            let mut headers = Vec::with_capacity(names.len());
            for _ in names {
                headers.push(header(git, &mut out).await?);
            }
            Ok(headers)
        };
        // Both ways at once: a full pipe on one side must not stop the other.
        let (fed, headers) = tokio::join!(feed(input, names.to_vec()), read);
        let headers = git.end_after(CHECK, running, headers).await?;
        fed.map_err(|e| git.io(CHECK, &e))?;
        Ok(headers)
    };
    git.bounded(CHECK, work).await?
}

/// As [`contents`], and only the first of them that together have at most `all` bytes; the others
/// count as too large.
pub(super) async fn first_contents(
    git: &Git,
    blobs: &[String],
    limit: u64,
    all: u64,
) -> Result<Vec<Content>> {
    let sizes = sizes(git, blobs).await?;
    let mut left = all;
    let fits = |size: &&Option<u64>| {
        let size = size.filter(|s| *s <= limit).unwrap_or(0);
        left.checked_sub(size).map(|rest| left = rest).is_some()
    };
    let count = sizes.iter().take_while(fits).count();
    let mut contents = contents(git, &blobs[..count], limit).await?;
    let beyond = sizes[count..].iter().map(|s| s.map_or(Content::Missing, Content::TooLarge));
    contents.extend(beyond);
    Ok(contents)
}

/// The contents of `blobs`, in their order, none of them above `limit` bytes.
pub(super) async fn contents(git: &Git, blobs: &[String], limit: u64) -> Result<Vec<Content>> {
    let sizes = sizes(git, blobs).await?;
    let mut wanted: Vec<String> = blobs
        .iter()
        .zip(&sizes)
        .filter(|(_, size)| size.is_some_and(|s| s <= limit))
        .map(|(blob, _)| blob.clone())
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let read = read_all(git, wanted, limit).await?;
    let content = |(blob, size): (&String, &Option<u64>)| match size {
        None => Content::Missing,
        Some(size) if *size > limit => Content::TooLarge(*size),
        Some(_) => read.get(blob).cloned().unwrap_or(Content::Missing),
    };
    Ok(blobs.iter().zip(&sizes).map(content).collect())
}

async fn read_all(git: &Git, wanted: Vec<String>, limit: u64) -> Result<HashMap<String, Content>> {
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let work = async {
        let (running, input, mut out) = git.converse(READ)?;
        let read = async {
            let mut contents = HashMap::with_capacity(wanted.len());
            for blob in &wanted {
                let content = match header(git, &mut out).await? {
                    None => Content::Missing,
                    Some(header) => body(git, &mut out, header, limit).await?,
                };
                contents.insert(blob.clone(), content);
            }
            Ok(contents)
        };
        let (fed, contents) = tokio::join!(feed(input, wanted.clone()), read);
        let contents = git.end_after(READ, running, contents).await?;
        fed.map_err(|e| git.io(READ, &e))?;
        Ok(contents)
    };
    git.bounded(READ, work).await?
}

/// Reads `<id> <kind> <size>`; `None` for `<name> missing`, and where a name could stand for several.
async fn header(git: &Git, out: &mut BufReader<ChildStdout>) -> Result<Option<Header>> {
    let mut line = String::new();
    out.read_line(&mut line).await.map_err(|e| git.io(READ, &e))?;
    if !line.ends_with('\n') {
        return Err(git.cut_short(READ, "it ended in the middle of its answer"));
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [.., "missing" | "ambiguous"] => Ok(None),
        [id, kind, size] => {
            let size = size.parse().map_err(|_| garbled(&line))?;
            Ok(Some(Header { id: id.to_owned(), kind: kind.to_owned(), size }))
        }
        _ => Err(garbled(&line)),
    }
}

async fn body(
    git: &Git,
    out: &mut BufReader<ChildStdout>,
    Header { kind, size, .. }: Header,
    limit: u64,
) -> Result<Content> {
    if size > limit {
        return Err(garbled("an object changed its size"));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    out.read_exact(&mut bytes).await.map_err(|e| git.io(READ, &e))?;
    out.read_u8().await.map_err(|e| git.io(READ, &e))?;
    Ok(if kind == "blob" { text(bytes) } else { Content::Missing })
}

/// Bytes as text: NUL bytes make it binary, invalid UTF-8 is replaced and said so.
fn text(bytes: Vec<u8>) -> Content {
    if bytes.contains(&0) {
        return Content::Binary;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Content::Text { text, lossy: false },
        Err(error) => Content::Text {
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            lossy: true,
        },
    }
}

fn garbled(said: &str) -> GitError {
    GitError::Garbled("cat-file", said.trim().chars().take(100).collect())
}
